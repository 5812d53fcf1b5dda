//! A program on a terminal, and what comes back from it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use xshell::Cmd;

/// A program that was started on a pseudo terminal.
#[derive(Debug)]
pub(super) struct OnTerminal {
    words: String,
    child: Child,
    master: File,
    /// What came back after what was awaited last.
    rest: Vec<u8>,
}

impl OnTerminal {
    /// Starts it on a terminal of 80 columns and 24 rows.
    pub(super) fn start(command: Cmd<'_>) -> Result<Self> {
        let words = command.to_string();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let size = Winsize {
            ws_col: 80,
            ws_row: 24,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str()?)?;
        // The terminal ends with its program: no end of it stays open here.
        let child = Command::from(command)
            .env("TERM", "xterm-256color")
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(slave)
            .spawn()
            .with_context(|| format!("start `{words}`"))?;
        Ok(Self {
            words,
            child,
            master: master.into(),
            rest: Vec::new(),
        })
    }

    /// Waits until `text` has come back.
    ///
    /// # Errors
    /// It ends before.
    pub(super) fn awaits(&mut self, text: &str) -> Result<()> {
        let text = text.as_bytes();
        loop {
            let mut windows = self.rest.windows(text.len());
            if let Some(at) = windows.position(|window| window == text) {
                self.rest.drain(..at + text.len());
                return Ok(());
            }
            let mut piece = [0; 4096];
            match self.master.read(&mut piece) {
                Ok(length @ 1..) => self.rest.extend_from_slice(&piece[..length]),
                _ => bail!(
                    "`{}` ended: {}",
                    self.words,
                    String::from_utf8_lossy(&self.rest)
                ),
            }
        }
    }

    /// Types a letter and returns when it came back.
    pub(super) fn echo(&mut self, letter: char) -> Result<Duration> {
        let start = Instant::now();
        self.master.write_all(letter.to_string().as_bytes())?;
        self.awaits(&letter.to_string())?;
        Ok(start.elapsed())
    }

    /// Waits for its end, reading what it writes.
    pub(super) fn ends(mut self) -> Result<()> {
        let mut piece = [0; 4096];
        // A terminal without a program is an error (EIO).
        while let Ok(1..) = self.master.read(&mut piece) {}
        self.child.wait()?;
        Ok(())
    }

    /// Ends it by SIGKILL.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
