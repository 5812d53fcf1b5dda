//! `Drawn`: what a command has printed, as far as a client that comes later needs it.

use std::collections::VecDeque;
use std::time::Instant;

use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::TerminalSize;

use super::frame::{Channel, Frame, Kind};
use crate::output::screen::{Notice, Notices, ScreenSanitizer, ScreenState};

/// How much of the output of a command without a terminal a client is shown that comes later.
const TAIL: usize = 64 << 10;

/// What a command is connected with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Streams {
    /// A terminal of this size.
    Terminal(TerminalSize),
    /// Pipes, and what it reads.
    Pipes(CommandStdin),
}

/// What was printed so far, as far as a client that comes later needs it.
#[derive(Debug)]
pub(super) enum Drawn {
    /// The command has a terminal.
    Screen(Box<Screen>),
    /// It has none.
    Pipes(Tail),
}

/// The last bytes, each with its stream.
#[derive(Debug)]
pub(super) struct Tail {
    stdin: CommandStdin,
    frames: VecDeque<Frame>,
    held: usize,
}

#[derive(Debug)]
pub(super) struct Screen {
    /// Whether anything was printed: a client that comes before keeps its screen as it is.
    is_drawn: bool,
    filter: ScreenSanitizer,
    state: ScreenState,
    notices: Notices,
}

/// What came of a piece of output.
#[derive(Debug)]
pub(super) struct Printed {
    /// What clients are to get.
    pub(super) frames: Vec<Frame>,
    /// What a terminal would answer to its queries.
    pub(super) replies: Vec<u8>,
    /// What of it is for the user.
    pub(super) notice: Option<Notice>,
}

impl Tail {
    fn add(&mut self, frame: Frame) {
        self.held += frame.payload.len();
        self.frames.push_back(frame);
        while self.held > TAIL
            && let Some(oldest) = self.frames.pop_front()
        {
            self.held -= oldest.payload.len();
        }
    }
}

impl Drawn {
    /// Nothing was printed yet.
    pub(super) fn of(streams: Streams) -> Self {
        match streams {
            Streams::Terminal(size) => Self::Screen(Box::new(Screen {
                is_drawn: false,
                filter: ScreenSanitizer::default(),
                state: ScreenState::new(size),
                notices: Notices::default(),
            })),
            Streams::Pipes(stdin) => Self::Pipes(Tail {
                stdin,
                frames: VecDeque::new(),
                held: 0,
            }),
        }
    }

    /// Whether the command has a terminal.
    pub(super) fn has_terminal(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// Whether the command reads what a client sends.
    pub(super) fn takes_input(&self) -> bool {
        match self {
            Self::Screen(_) => true,
            Self::Pipes(tail) => tail.stdin == CommandStdin::Kept,
        }
    }

    /// Says that the terminal has another size.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        if let Self::Screen(screen) = self {
            screen.state.resize(size);
        }
    }

    /// Takes what was printed.
    pub(super) fn draw(&mut self, channel: Channel, chunk: &[u8]) -> Printed {
        match self {
            Self::Screen(screen) => {
                screen.is_drawn = true;
                screen.notices.feed(chunk);
                let notice = screen.notices.take(Instant::now());
                let filtered = screen.filter.pass(chunk);
                screen.state.feed(&filtered);
                Printed {
                    frames: Frame::data(Channel::Screen, &filtered).collect(),
                    replies: screen.state.take_replies(),
                    notice,
                }
            }
            Self::Pipes(tail) => {
                let frames: Vec<Frame> = Frame::data(channel, chunk).collect();
                frames.iter().for_each(|frame| tail.add(frame.clone()));
                Printed {
                    frames,
                    replies: Vec::new(),
                    notice: None,
                }
            }
        }
    }

    /// Returns the size of the terminal, if the command has one.
    pub(super) fn size(&self) -> Option<TerminalSize> {
        match self {
            Self::Screen(screen) => Some(screen.state.size()),
            Self::Pipes(_) => None,
        }
    }

    /// Returns what a client is to get that has seen nothing. With `crop`, its terminal has that
    /// size.
    pub(super) fn frames(&self, crop: Option<TerminalSize>) -> Vec<Frame> {
        match self {
            Self::Screen(screen) if !screen.is_drawn => Vec::new(),
            Self::Screen(screen) => {
                let first = Frame::new(Kind::Screen, Vec::new());
                let rest = match crop {
                    Some(size) => screen.state.crop(size),
                    None => screen.state.restore(),
                };
                std::iter::once(first)
                    .chain(Frame::data(Channel::Screen, &rest))
                    .collect()
            }
            Self::Pipes(tail) => tail.frames.iter().cloned().collect(),
        }
    }
}
