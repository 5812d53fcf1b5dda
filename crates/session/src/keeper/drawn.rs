//! `Drawn`: what a command has printed, as far as a client that comes later needs it.

use std::collections::VecDeque;
use std::time::Instant;

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
    /// Pipes.
    Pipes,
}

/// What was printed so far, as far as a client that comes later needs it.
#[derive(Debug)]
pub(super) enum Drawn {
    /// The command has a terminal.
    Screen(Box<Screen>),
    /// It has none: the last bytes, each with its stream.
    Tail(VecDeque<Frame>, usize),
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
            Streams::Pipes => Self::Tail(VecDeque::new(), 0),
        }
    }

    /// Whether the command has a terminal.
    pub(super) fn has_terminal(&self) -> bool {
        matches!(self, Self::Screen(_))
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
            Self::Tail(tail, held) => {
                let frames: Vec<Frame> = Frame::data(channel, chunk).collect();
                for frame in &frames {
                    *held += frame.payload.len();
                    tail.push_back(frame.clone());
                }
                while *held > TAIL
                    && let Some(oldest) = tail.pop_front()
                {
                    *held -= oldest.payload.len();
                }
                Printed {
                    frames,
                    replies: Vec::new(),
                    notice: None,
                }
            }
        }
    }

    /// Returns what a client is to get that has seen nothing.
    pub(super) fn frames(&self) -> Vec<Frame> {
        match self {
            Self::Screen(screen) if !screen.is_drawn => Vec::new(),
            Self::Screen(screen) => {
                let first = Frame::new(Kind::Screen, Vec::new());
                let rest = screen.state.restore();
                std::iter::once(first)
                    .chain(Frame::data(Channel::Screen, &rest))
                    .collect()
            }
            Self::Tail(tail, _) => tail.iter().cloned().collect(),
        }
    }
}
