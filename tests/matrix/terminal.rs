//! A terminal of the test's own, with a typist and a reader.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(120);

/// The person's side of a pseudo terminal.
#[derive(Debug)]
pub(crate) struct Person {
    master: File,
    slave: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Person {
    /// Opens a terminal of so many columns and rows, and looks at it from now on.
    pub(crate) fn sit_down(columns: u16, rows: u16) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("a terminal: {error}");
        let opened = (|| {
            let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
            grantpt(&master)?;
            unlockpt(&master)?;
            let name = ptsname(&master, Vec::new())?;
            Ok::<_, rustix::io::Errno>((master, name))
        })();
        let (master, name) = opened.map_err(|errno| failed(errno.into()))?;
        let name = name.to_string_lossy().into_owned();
        let slave = OpenOptions::new().read(true).write(true).open(name);
        let person = Self {
            master: master.into(),
            slave: slave.map_err(failed)?,
            seen: Arc::default(),
        };
        person.resize(columns, rows)?;
        let (mut screen, seen) = (
            person.master.try_clone().map_err(failed)?,
            Arc::clone(&person.seen),
        );
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                seen.lock()
                    .expect("no thread panicked")
                    .extend_from_slice(&piece[..count]);
            }
        });
        Ok(person)
    }

    /// The terminal, for a program.
    pub(crate) fn terminal(&self) -> Result<File, String> {
        self.slave.try_clone().map_err(|error| error.to_string())
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) -> Result<(), String> {
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.master, size).map_err(|error| error.to_string())
    }

    pub(crate) fn types(&self, keys: &str) -> Result<(), String> {
        let written = (&self.master).write_all(keys.as_bytes());
        written.map_err(|error| format!("typing: {error}"))
    }

    /// All that the screen was sent.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().expect("no thread panicked")).into_owned()
    }

    /// Waits until the screen was sent all that programs have written.
    pub(crate) fn waits_for_all(&self) -> Result<(), String> {
        /// A title that no program sets; terminals show nothing of it.
        const MARK: &str = "\x1b]2;all\x07";
        let written = (&self.slave).write_all(MARK.as_bytes());
        written.map_err(|error| format!("a mark: {error}"))?;
        self.waits_for(MARK)
    }

    /// Waits until the screen was sent `text`.
    pub(crate) fn waits_for(&self, text: &str) -> Result<(), String> {
        let give_up = Instant::now() + LIMIT;
        while !self.seen().contains(text) {
            if Instant::now() > give_up {
                return Err(format!("{text:?} is not on the screen: {:?}", self.seen()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Whether the terminal is as a shell wants it: lines are edited, keys are shown.
    pub(crate) fn is_cooked(&self) -> Result<bool, String> {
        let wanted = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        let found = tcgetattr(&self.slave).map_err(|error| error.to_string())?;
        Ok(found.local_modes.contains(wanted))
    }
}
