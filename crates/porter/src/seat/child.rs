//! `Child`: the command of a seat, with pipes or a terminal.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use lazaret_protocol::{Seated, TerminalSize, exit};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};

use crate::command::exec;
use crate::pid1::spawn;
use crate::syscall;

/// What a terminal may still hold once its command has ended, in bytes: the kernel's buffers of
/// one (`drivers/tty/tty_buffer.c`) are half of it.
const TERMINAL: usize = 128 << 10;

/// Where a command's output comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Stdout,
    Stderr,
    /// Both.
    Terminal,
}

/// The command.
#[derive(Debug)]
pub(super) struct Child {
    /// Its process, which leads its session.
    pub(super) pid: Pid,
    pub(super) stdin: Option<File>,
    pub(super) outputs: Vec<(Source, File)>,
}

impl Child {
    /// Starts the command, in a session of its own.
    ///
    /// # Errors
    /// When pipes, terminal or process can't be made.
    pub(super) fn start(seated: Seated, terminal: Option<TerminalSize>) -> io::Result<Self> {
        match terminal {
            Some(size) => Self::on_terminal(seated, size),
            None => Self::on_pipes(seated),
        }
    }

    fn on_pipes(seated: Seated) -> io::Result<Self> {
        let (stdin, to_stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from_stdout, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from_stderr, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let streams = [stdin, stdout, stderr];
        let pid = fork(seated, &streams, Sitting::AtPipes)?;
        let files = [to_stdin, from_stdout, from_stderr].map(File::from);
        for file in &files {
            rustix::io::ioctl_fionbio(file, true)?;
        }
        let [stdin, stdout, stderr] = files;
        Ok(Self {
            pid,
            stdin: Some(stdin),
            outputs: vec![(Source::Stdout, stdout), (Source::Stderr, stderr)],
        })
    }

    fn on_terminal(seated: Seated, size: TerminalSize) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        unlockpt(&master)?;
        let terminal = ioctl_tiocgptpeer(&master, flags)?;
        resize(&master, size)?;
        let streams = [terminal.try_clone()?, terminal.try_clone()?, terminal];
        let pid = fork(seated, &streams, Sitting::AtTerminal)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let master = File::from(master);
        Ok(Self {
            pid,
            stdin: Some(master.try_clone()?),
            outputs: vec![(Source::Terminal, master)],
        })
    }

    /// Takes the exit code, once the command has ended: 128 + n for a signal.
    pub(super) fn code(&self) -> io::Result<Option<u8>> {
        let Some((_, status)) = waitpid(Some(self.pid), WaitOptions::NOHANG)? else {
            return Ok(None);
        };
        let killed = status.terminating_signal().map(|signal| 128 + signal);
        let code = status.exit_status().or(killed);
        Ok(code.map(|code| u8::try_from(code).unwrap_or(u8::MAX)))
    }

    /// Returns the terminal, if the command has one.
    pub(super) fn terminal(&self) -> Option<&File> {
        let mut outputs = self.outputs.iter();
        let found = outputs.find(|(source, _)| *source == Source::Terminal);
        found.map(|(_, file)| file)
    }
}

/// Tells a terminal its size.
pub(super) fn resize(terminal: impl std::os::fd::AsFd, size: TerminalSize) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(terminal, size)?)
}

/// Returns the character that ends the input of a terminal; `None` for one that passes on every
/// character as it is.
pub(super) fn end_of_file(terminal: &File) -> Option<u8> {
    let attributes = tcgetattr(terminal).ok()?;
    attributes
        .local_modes
        .contains(LocalModes::ICANON)
        .then(|| attributes.special_codes[SpecialCodeIndex::VEOF])
}

/// Returns how much an output may still hold once its command has ended, in bytes.
pub(super) fn capacity(source: Source, file: &File) -> usize {
    match source {
        Source::Terminal => TERMINAL,
        Source::Stdout | Source::Stderr => {
            rustix::pipe::fcntl_getpipe_size(file).unwrap_or(TERMINAL)
        }
    }
}

/// What the command's streams are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sitting {
    AtPipes,
    AtTerminal,
}

fn fork(seated: Seated, streams: &[OwnedFd; 3], sitting: Sitting) -> io::Result<Pid> {
    let pid = syscall::fork(|| match take(streams, sitting) {
        Ok(()) => match seated {
            Seated::Command(command) => exec::start(command),
            Seated::Message => spawn::start(),
        },
        Err(error) => {
            crate::report_error(&format!("seat: {error}"));
            exit::FAILED
        }
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Begins a session with these streams, and keeps nothing else of the seat's: what comes before the
/// command proves that (CON-12), and hears signals.
fn take([stdin, stdout, stderr]: &[OwnedFd; 3], sitting: Sitting) -> io::Result<()> {
    rustix::process::setsid()?;
    if sitting == Sitting::AtTerminal {
        rustix::process::ioctl_tiocsctty(stdin)?;
    }
    rustix::stdio::dup2_stdin(stdin.as_fd())?;
    rustix::stdio::dup2_stdout(stdout.as_fd())?;
    rustix::stdio::dup2_stderr(stderr.as_fd())?;
    syscall::reset_signals();
    syscall::close_from(3)
}
