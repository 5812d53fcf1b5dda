//! A process beside a session's command, on the user's streams.

use std::io::{self, Read as _, Write as _};
use std::thread;

use lazaret_session::cancel::CancelLevel;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::{Exit, Signal, Size};
use lazaret_session::output::command_input::Typed;
use lazaret_session::spec::TerminalMode;
use serde::{Deserialize, Serialize};

use super::capped::Capped;
use super::terminal::Terminal;
use crate::app::App;
use crate::environment::StreamKind;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::ui::Output;
use crate::ui::terminal::user_terminal::UserTerminal;
use crate::ui::terminal::{Destination, filtered};

/// Whether it reads what the user's stdin has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StdinMode {
    /// Yes, to its end.
    Passed,
    /// Its stdin is empty.
    Empty,
}

/// How the user's streams are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    /// Whether it has the user's terminal.
    pub(crate) terminal: TerminalMode,
    /// Without one: whether it reads.
    pub(crate) stdin: StdinMode,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BesideEnd {
    /// With this exit code.
    Ended(i32),
    /// The user did not want to wait for its end.
    Left,
    /// The keeper is gone.
    Lost,
}

/// Carries the streams of a process that was started, until it has ended: stdout and stderr as far
/// as they are capped.
///
/// # Errors
/// The terminal can't be used.
pub(crate) fn carry(
    connection: &Connection,
    streams: Streams,
    [out, err]: &mut [Capped; 2],
    app: &App,
) -> Result<BesideEnd, Failure> {
    let ui = &app.ui;
    let kind = |kind| match (streams.terminal, kind) {
        (TerminalMode::Interactive, _) => Destination::Screen,
        (TerminalMode::None, StreamKind::Terminal) => Destination::Terminal,
        (TerminalMode::None, StreamKind::Other) => Destination::Other,
    };
    let mut stdout = filtered(ui.writer(Output::Stdout), kind(app.env.streams.stdout));
    let mut stderr = filtered(ui.writer(Output::Stderr), kind(app.env.streams.stderr));
    let terminal = match streams.terminal {
        TerminalMode::Interactive => {
            Some(Terminal::take(ui).or_fail(FailureKind::Usage, "the terminal can't be used")?)
        }
        TerminalMode::None => None,
    };
    let signalled = connection.clone();
    let _guard = app.cancel.guard(move |level| {
        let interrupt = Signal { n: INTERRUPT };
        match (level, Frame::json(Kind::Signal, &interrupt)) {
            (CancelLevel::Asked, Ok(frame)) => signalled.send_or_close(&frame),
            _ => signalled.close(),
        }
    });
    let typing = connection.clone();
    // Not joined: a read of stdin ends when stdin does.
    match (streams.terminal, streams.stdin) {
        (TerminalMode::Interactive, _) => drop(thread::spawn(move || type_in(&typing))),
        (TerminalMode::None, StdinMode::Passed) => {
            drop(thread::spawn(move || pass_stdin(&typing)));
        }
        (TerminalMode::None, StdinMode::Empty) => {}
    }
    let mut end = BesideEnd::Lost;
    while let Ok(Some(frame)) = connection.read() {
        let (to, shown) = match (frame.kind, frame.channel) {
            (Kind::Data, Channel::Stderr) => (&mut stderr, err.take(&frame.payload)),
            (Kind::Data, _) => (&mut stdout, out.take(&frame.payload)),
            (Kind::Exit, _) => {
                if let Ok(Exit { code, .. }) = frame.parse() {
                    end = BesideEnd::Ended(i32::from(code));
                }
                break;
            }
            _ => continue,
        };
        // A reader that went away ends nothing (FLT-18).
        drop(to.write_all(shown).and_then(|()| to.flush()));
    }
    let was_left = connection.is_closed();
    connection.close();
    drop(terminal);
    app.cancel.acknowledge();
    Ok(match end {
        BesideEnd::Lost if was_left => BesideEnd::Left,
        end => end,
    })
}

/// SIGINT (POSIX.1-2024, `kill`).
const INTERRUPT: i32 = 2;

fn type_in(connection: &Connection) {
    let mut terminal = UserTerminal::new();
    while !connection.is_closed() {
        let sent = match terminal.read() {
            Typed::Keys(bytes) => send(connection, &bytes),
            Typed::Resize(size) => Frame::json(Kind::Resize, &Size::from(size))
                .and_then(|frame| connection.send(&frame)),
            Typed::Nothing => Ok(()),
            Typed::Gone => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

pub(super) fn pass_stdin(connection: &Connection) {
    let mut buffer = [0; 32 << 10];
    loop {
        match io::stdin().read(&mut buffer) {
            Ok(0) => {
                // A process that has ended reads nothing more.
                drop(connection.send(&Frame::eof(Channel::Stdin)));
                return;
            }
            Ok(count) => {
                if send(connection, buffer.get(..count).unwrap_or_default()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn send(connection: &Connection, bytes: &[u8]) -> io::Result<()> {
    Frame::data(Channel::Stdin, bytes).try_for_each(|frame| connection.send(&frame))
}
