//! The loop, on a terminal that is a script.

use std::collections::VecDeque;
use std::io;

use super::super::model::ReviewAnswer;
use super::super::run::{Console, Input, ReviewEnd, run};
use super::*;
use lazaret_gate::decision::NoAnswer;
use ratatui::layout::{Rect, Size};

enum Event {
    /// These bytes come in one piece.
    Types(&'static [u8]),
    /// These were typed meanwhile: they come next unless they are thrown away.
    TypedAhead(&'static [u8]),
    Resizes(u16, u16),
    Interrupts,
    Hangs,
}

struct Script {
    events: VecDeque<Event>,
    size: Size,
    cancelled: bool,
    suspended: usize,
    drawn: usize,
}

impl Console for Script {
    fn size(&self) -> Size {
        self.size
    }

    fn draw(&mut self, review: &Review, size: Size) -> io::Result<()> {
        assert_eq!(size, self.size);
        let screen = review.geometry.map(|geometry| geometry.screen);
        let known = screen.map(Rect::as_size);
        assert!(known.is_none_or(|known| known == size));
        self.drawn += 1;
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    fn read(&mut self, bytes: &mut Vec<u8>) -> Input {
        match self.events.pop_front() {
            Some(Event::Types(typed) | Event::TypedAhead(typed)) => {
                bytes.extend_from_slice(typed);
                Input::Bytes
            }
            Some(Event::Resizes(width, height)) => {
                self.size = Size::new(width, height);
                Input::Nothing
            }
            Some(Event::Interrupts) => {
                self.cancelled = true;
                Input::Nothing
            }
            Some(Event::Hangs) | None => Input::Gone,
        }
    }

    fn has_input(&self) -> bool {
        false
    }

    fn discard_typeahead(&mut self) {
        while let Some(Event::TypedAhead(_)) = self.events.front() {
            self.events.pop_front();
        }
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.suspended += 1;
        Ok(())
    }
}

fn play(events: impl IntoIterator<Item = Event>) -> (ReviewEnd, Review, Script) {
    let (mut review, mut backend) = sample();
    let mut script = Script {
        events: events.into_iter().collect(),
        size: Size::new(80, 24),
        cancelled: false,
        suspended: 0,
        drawn: 0,
    };
    let ended = run(&mut review, &mut backend, &mut script).unwrap();
    (ended, review, script)
}

#[test]
fn a_yes_is_an_answer_to_the_question() {
    let (ended, ..) = play([Event::Types(b"A"), Event::Types(b"y")]);
    assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Apply));
    let (ended, ..) = play([Event::Types(b"D"), Event::Types(b"y")]);
    assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Discard));
    let (ended, ..) = play([Event::Types(b"q")]);
    assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Keep));
}

#[test]
fn ui_06_what_was_typed_before_a_question_does_not_answer_it() {
    let unanswered = ReviewEnd::Unanswered(NoAnswer::EndOfInput);
    // Before the screen was there; in the same piece; while the question was drawn; as
    // the start of something longer.
    for events in [
        vec![Event::TypedAhead(b"Ay")],
        vec![Event::Types(b"Ay")],
        vec![Event::Types(b"Dy")],
        vec![Event::Types(b"A"), Event::TypedAhead(b"y")],
        vec![Event::Types(b"A\x1b"), Event::Types(b"[200~y")],
    ] {
        let (ended, ..) = play(events);
        assert_eq!(ended, unanswered);
    }
    let (_, review, _) = play([Event::Types(b"!allow\r")]);
    assert_eq!(review.items()[0].allowance, Allowance::None);
    let (_, review, _) = play([Event::Types(b"!"), Event::Types(b"allow\r")]);
    assert_eq!(review.items()[0].allowance, Allowance::Once);
}

#[test]
fn ui_07_a_terminal_that_is_gone_never_says_yes() {
    for start in [b"".as_slice(), b"A", b"D", b"!"] {
        let (ended, ..) = play([Event::Types(start), Event::Hangs]);
        assert_eq!(
            ended,
            ReviewEnd::Unanswered(NoAnswer::EndOfInput),
            "{start:?}"
        );
    }
}

#[test]
fn flt_08_a_signal_never_says_yes() {
    for start in [b"".as_slice(), b"A", b"D", b"!"] {
        let (ended, ..) = play([Event::Types(start), Event::Interrupts, Event::Types(b"y")]);
        assert_eq!(
            ended,
            ReviewEnd::Unanswered(NoAnswer::Interrupted),
            "{start:?}"
        );
    }
}

#[test]
fn the_screen_follows_its_size_and_comes_back_after_a_stop() {
    let (ended, _, script) = play([
        Event::Resizes(100, 30),
        Event::Resizes(20, 4),
        Event::Resizes(40, 10),
        Event::Types(b"\x1a"),
        Event::Types(b"q"),
    ]);
    assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Keep));
    assert_eq!(script.suspended, 1);
    assert!(script.drawn >= 5);
}

#[test]
fn a_patch_is_written_on_the_way() {
    let (_, review, _) = play([Event::Types(b"e")]);
    assert_eq!(review.notice.as_deref(), Some("Wrote it."));
}
