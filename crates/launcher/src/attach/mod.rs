//! A client that is attached to a session's command.

pub(crate) mod beside;
pub(crate) mod capped;
mod denial_notes;
pub mod keys;
mod terminal;
mod terminal_input;

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use lazaret_runtime::SessionId;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::journal::{Happening, SessionEvent};
use lazaret_session::keeper::message::{Accepted, Attach, AttachMode, Exit, Request, Size};
use lazaret_session::store::Store;
use rustix::termios::tcgetattr;

use crate::app::App;
use crate::attach::beside::{StdinMode, pass_stdin};
use crate::attach::denial_notes::DenialNotes;
use crate::attach::keys::PrefixKey;
use crate::attach::terminal::{Driven, Terminal, TypingEnd};
use crate::environment::StreamKind;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::keeper::{plain, words};
use crate::session_access::live::ask;
use crate::ui::terminal::user_terminal::size;
use crate::ui::terminal::{Destination, filtered};
use crate::ui::{Output, OutputFormat, UiWriter, Verbosity};

/// At most one notice in this time.
const NOTICE_INTERVAL: Duration = Duration::from_secs(1);

/// How it ended.
#[derive(Debug)]
pub(crate) enum AttachEnd {
    /// The user left, and the session goes on.
    Detached,
    /// The command has ended with this code, and the session stays.
    Idle(i32),
    /// The session has ended, with this report as JSON, if that was asked for.
    Ended(Exit, Vec<u8>),
    /// The keeper is gone.
    Lost,
}

/// What SIGINT and SIGTERM do to a client; SIGHUP, with which its terminal goes, always has it leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnSignal {
    /// It leaves.
    Leave,
    /// It has the session stopped, and follows it to its end; again, and it is killed.
    Stop,
}

/// What a client is to a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttachAs {
    pub(crate) mode: AttachMode,
    /// Whether the command, if it has no terminal, reads this process's stdin.
    pub(crate) stdin: StdinMode,
    pub(crate) on_signal: OnSignal,
}

/// Attaches the user's streams to a session, until the user leaves or it ends.
///
/// # Errors
/// The session has no keeper, or that refuses.
pub(crate) fn attach(
    store: &Store,
    id: &SessionId,
    how: AttachAs,
    app: &App,
) -> Result<AttachEnd, Failure> {
    let AttachAs {
        mode,
        stdin,
        on_signal,
    } = how;
    let streams = app.env.streams;
    let has_terminal = [streams.stdin, streams.stdout] == [StreamKind::Terminal; 2]
        && app.ui.format() == OutputFormat::Text;
    let request = Request::Attach(Attach {
        mode: match (mode, has_terminal) {
            (AttachMode::Watch, false) => AttachMode::Follow,
            (mode, _) => mode,
        },
        size: has_terminal.then(|| Size::from(size())),
        report: app.ui.format() == OutputFormat::Json,
    });
    let (connection, accepted) = ask(store, &store.find(id)?, &request)?;
    let attached = Attached {
        connection: &connection,
        accepted: &accepted,
        session: id,
        app,
    };
    let leaving = connection.clone();
    let _guard = app.cancel.guard(move |_| {
        let is_gone = has_terminal && tcgetattr(io::stdin()).is_err();
        match on_signal {
            OnSignal::Stop if !is_gone => {
                // A keeper that is gone has ended the session.
                leaving.send_or_close(&Frame::new(Kind::Signal, Vec::new()));
            }
            OnSignal::Stop | OnSignal::Leave => leaving.close(),
        }
    });
    let end = match has_terminal && accepted.terminal {
        true => attached.on_terminal()?,
        false => attached.on_streams(stdin),
    };
    let was_left = connection.is_closed() && app.cancel.level().is_some();
    // It was for the session.
    app.cancel.acknowledge();
    Ok(match end {
        AttachEnd::Lost if was_left => AttachEnd::Detached,
        end => end,
    })
}

/// Returns the prefix of the session's profile.
fn prefix(accepted: &Accepted) -> PrefixKey {
    let key = accepted.prefix.and_then(|key| PrefixKey::new(key).ok());
    key.unwrap_or_default()
}

struct Attached<'a> {
    connection: &'a Connection,
    accepted: &'a Accepted,
    session: &'a SessionId,
    app: &'a App,
}

impl Attached<'_> {
    /// Shows a command that draws on a terminal on the user's. What lazaret itself says waits until
    /// the command has ended.
    fn on_terminal(&self) -> Result<AttachEnd, Failure> {
        let ui = &self.app.ui;
        let terminal =
            Terminal::take(ui).or_fail(FailureKind::Usage, "the terminal can't be used")?;
        let driven = Driven {
            connection: self.connection,
            drives: self.accepted.driver.into(),
            prefix: prefix(self.accepted),
            over: AtomicBool::new(false),
        };
        let end = thread::scope(|scope| {
            self.read(&mut OnTerminal {
                screen: ui.writer(Output::Stdout),
                stderr: ui.writer(Output::Stderr),
                held: Vec::new(),
                session: self.session.to_string(),
                last_notice: None,
                taken: Some(Taken {
                    terminal,
                    typing: scope.spawn(|| driven.type_in()),
                    over: &driven.over,
                }),
                left: Left::No,
            })
        });
        Ok(end)
    }

    /// Shows what a command prints on the user's streams.
    fn on_streams(&self, stdin: StdinMode) -> AttachEnd {
        if stdin == StdinMode::Passed {
            let typing = self.connection.clone();
            // Not joined: a read of stdin ends when stdin does.
            thread::spawn(move || pass_stdin(&typing));
        }
        let kind = |kind| match kind {
            StreamKind::Terminal => Destination::Terminal,
            StreamKind::Other => Destination::Other,
        };
        let (ui, streams) = (&self.app.ui, self.app.env.streams);
        self.read(&mut OnStreams {
            stdout: filtered(ui.writer(Output::Stdout), kind(streams.stdout)),
            stderr: filtered(ui.writer(Output::Stderr), kind(streams.stderr)),
            messages: ui.writer(Output::Stderr),
        })
    }

    /// Shows frames to the end.
    fn read(&self, shown: &mut dyn Shown) -> AttachEnd {
        let end = self.frames(shown);
        match shown.finish() {
            Left::Yes => AttachEnd::Detached,
            Left::No => end,
        }
    }

    fn frames(&self, shown: &mut dyn Shown) -> AttachEnd {
        let mut report = Vec::new();
        let mut denials = DenialNotes::new(self.session.clone());
        let is_told = self.app.ui.verbosity() > Verbosity::Quiet;
        while let Ok(Some(frame)) = self.connection.read() {
            match frame.kind {
                Kind::Data => shown.output(&frame),
                Kind::Message => shown.message(&frame.payload),
                Kind::Report => report.extend(frame.payload),
                Kind::Event => {
                    let Ok(SessionEvent { what, .. }) = frame.parse() else {
                        continue;
                    };
                    match what {
                        Happening::RunEnded {
                            exit_code,
                            stays: true,
                            ..
                        } => return AttachEnd::Idle(exit_code),
                        Happening::RunEnded { .. } => drop(shown.finish()),
                        Happening::NeedsInput { text } if !text.is_empty() => shown.notice(&text),
                        Happening::Disk { .. } => shown.paused(&words(&what)),
                        Happening::Denied { target, reason } if is_told => {
                            if let Some(note) = denials.next(&target, reason) {
                                shown.denied(&note);
                            }
                        }
                        _ => {}
                    }
                }
                Kind::Exit => {
                    return match frame.parse() {
                        Ok(exit) => AttachEnd::Ended(exit, report),
                        Err(_) => AttachEnd::Lost,
                    };
                }
                _ => {}
            }
        }
        AttachEnd::Lost
    }
}

/// Whether the user left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Yes,
    No,
}

/// Where a session is shown. A reader that went away ends nothing (FLT-18).
trait Shown {
    /// What the command printed.
    fn output(&mut self, frame: &Frame);
    /// What lazaret itself says.
    fn message(&mut self, text: &[u8]);
    /// The command has sent a notification, which the filter of the screen leaves out. A bell
    /// passes it.
    fn notice(&mut self, _text: &str) {}
    /// The command is paused, which would look as if it hung.
    fn paused(&mut self, line: &str);
    /// The network refused the command something.
    fn denied(&mut self, note: &str);
    /// The command prints nothing more, or the user left.
    fn finish(&mut self) -> Left {
        Left::No
    }
}

/// The user's terminal, which the command draws on.
struct OnTerminal<'a> {
    screen: UiWriter,
    stderr: UiWriter,
    held: Vec<u8>,
    session: String,
    last_notice: Option<Instant>,
    /// `None` once it was given back.
    taken: Option<Taken<'a>>,
    left: Left,
}

/// The terminal in raw mode, and the thread that reads it.
struct Taken<'a> {
    terminal: Terminal,
    typing: ScopedJoinHandle<'a, TypingEnd>,
    over: &'a AtomicBool,
}

impl Shown for OnTerminal<'_> {
    fn output(&mut self, frame: &Frame) {
        if self.taken.is_some() {
            drop(self.screen.write_all(&frame.payload));
        }
    }

    fn message(&mut self, text: &[u8]) {
        match self.taken {
            Some(_) => self.held.extend(text),
            None => drop(self.stderr.write_all(text)),
        }
    }

    /// Rings, and passes the text on as a notification of iTerm2 (OSC 9). The text begins with a
    /// word of lazaret's: ConEmu takes one that begins with a number for a command.
    fn notice(&mut self, text: &str) {
        let now = Instant::now();
        let is_early = |last: Instant| now.saturating_duration_since(last) < NOTICE_INTERVAL;
        if self.taken.is_none() || self.last_notice.is_some_and(is_early) {
            return;
        }
        self.last_notice = Some(now);
        let line = format!("\x07\x1b]9;lazaret {}: {}\x1b\\", self.session, plain(text));
        drop(self.screen.write_all(line.as_bytes()));
    }

    /// Over what the command has drawn: the keeper has the screen drawn again when it goes on.
    fn paused(&mut self, line: &str) {
        if self.taken.is_some() {
            let line = format!("\r\n\x1b[0;7m lazaret: {line} \x1b[0m\r\n");
            drop(self.screen.write_all(line.as_bytes()));
            self.notice("paused");
        }
    }

    /// Over what the command has drawn it would be in the way of people who do not care: it waits
    /// for the end, and terminals that show notifications (OSC 9) tell of it at once.
    fn denied(&mut self, note: &str) {
        if self.taken.is_some() {
            let line = format!("\x1b]9;lazaret {}: {}\x1b\\", self.session, plain(note));
            drop(self.screen.write_all(line.as_bytes()));
        }
        self.message(format!("note: {note}\n").as_bytes());
    }

    fn finish(&mut self) -> Left {
        if let Some(Taken {
            terminal,
            typing,
            over,
        }) = self.taken.take()
        {
            // Before the terminal is given back: then a read would wait for a whole line.
            over.store(true, Ordering::SeqCst);
            if matches!(typing.join(), Ok(TypingEnd::Detached)) {
                self.left = Left::Yes;
            }
            drop(terminal);
            let held = std::mem::take(&mut self.held);
            let said: &[u8] = match self.left {
                // The command has left the cursor anywhere.
                Left::Yes => b"\n",
                Left::No => &held,
            };
            drop(self.stderr.write_all(said));
        }
        self.left
    }
}

/// The user's streams.
struct OnStreams {
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    messages: UiWriter,
}

impl Shown for OnStreams {
    fn output(&mut self, frame: &Frame) {
        let to = match frame.channel {
            Channel::Stderr => &mut self.stderr,
            Channel::Stdin | Channel::Stdout | Channel::Screen => &mut self.stdout,
        };
        drop(to.write_all(&frame.payload).and_then(|()| to.flush()));
    }

    fn message(&mut self, text: &[u8]) {
        drop(self.messages.write_all(text));
    }

    fn paused(&mut self, line: &str) {
        self.message(format!("warning: {line}\n").as_bytes());
    }

    fn denied(&mut self, note: &str) {
        self.message(format!("note: {note}\n").as_bytes());
    }
}
