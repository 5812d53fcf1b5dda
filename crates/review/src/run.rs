//! The loop: keys in, effects out, until the review has ended.

use std::io;

use lazaret_gate::decision::NoAnswer;
use lazaret_gate::format::{causes, harmless};
use ratatui::layout::Size;

use super::backend::{ReviewBackend, ReviewBackendError};
use super::diff_view::DiffView;
use super::keys::Decoder;
use super::model::{Effect, Review, ReviewAnswer};
use super::tree::Body;

/// What a read from the terminal brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Bytes, which were appended.
    Bytes,
    /// Nothing for a moment.
    Nothing,
    /// The terminal is gone.
    Gone,
}

/// The terminal, as far as the loop knows it.
pub trait Console {
    /// Returns columns and rows.
    fn size(&self) -> Size;

    /// Draws on a screen of `size`, which is the one that the review knows.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn draw(&mut self, review: &Review, size: Size) -> io::Result<()>;

    /// Whether the user wants an end (Ctrl-C, SIGTERM, SIGHUP).
    fn is_cancelled(&self) -> bool;

    /// Waits a moment for bytes.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Input;

    /// Whether bytes wait to be read.
    fn has_input(&self) -> bool;

    /// Throws away what was typed up to now.
    fn discard_typeahead(&mut self);

    /// Gives the terminal back, stops the process, and takes the terminal again once it is
    /// continued.
    ///
    /// # Errors
    /// When the terminal can't be taken again.
    fn suspend(&mut self) -> io::Result<()>;
}

/// How a review came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewEnd {
    /// The user ended it.
    By(ReviewAnswer),
    /// It ended without an answer; that is never a yes (UI-07).
    Unanswered(NoAnswer),
}

/// Runs a review to its end.
///
/// # Errors
/// When the gate fails.
pub fn run(
    review: &mut Review,
    backend: &mut dyn ReviewBackend,
    console: &mut dyn Console,
) -> Result<ReviewEnd, ReviewBackendError> {
    let mut decoder = Decoder::default();
    let mut bytes = Vec::new();
    let mut keys = Vec::new();
    let mut size = None;
    let mut drawing = Drawing::Due;
    console.discard_typeahead();
    loop {
        if console.is_cancelled() {
            return Ok(ReviewEnd::Unanswered(NoAnswer::Interrupted));
        }
        let now = console.size();
        if size != Some(now) {
            size = Some(now);
            review.resize(now.width, now.height);
            drawing = Drawing::Due;
        }
        if let Some(body) = review.wanted_body() {
            review.put_body(body, diff_view(backend, body));
            drawing = Drawing::Due;
        }
        if drawing == Drawing::Due {
            if console.draw(review, now).is_err() {
                return Ok(ReviewEnd::Unanswered(NoAnswer::EndOfInput));
            }
            drawing = Drawing::Done;
        }
        // Counting can wait, a person can't.
        if !console.has_input()
            && let Some(item) = review.wanted_counts()
        {
            review.put_counts(item, diff_view(backend, Body::Item(item)).counts());
            drawing = Drawing::Due;
            continue;
        }
        bytes.clear();
        keys.clear();
        match console.read(&mut bytes) {
            Input::Gone => return Ok(ReviewEnd::Unanswered(NoAnswer::EndOfInput)),
            Input::Nothing => decoder.settle(&mut keys),
            Input::Bytes => decoder.feed(&bytes, &mut keys),
        }
        for &key in &keys {
            drawing = Drawing::Due;
            let effect = review.press(key);
            match carry_out(effect, review, backend)? {
                Step::On => {}
                Step::End(end) => return Ok(ReviewEnd::By(end)),
                // The rest of what was typed was typed before the question could be read.
                Step::Ask => {
                    if console.draw(review, now).is_err() {
                        return Ok(ReviewEnd::Unanswered(NoAnswer::EndOfInput));
                    }
                    console.discard_typeahead();
                    decoder.clear();
                    break;
                }
                Step::Suspend => {
                    if console.suspend().is_err() {
                        return Ok(ReviewEnd::Unanswered(NoAnswer::EndOfInput));
                    }
                    size = None;
                    break;
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drawing {
    Due,
    Done,
}

enum Step {
    On,
    Ask,
    Suspend,
    End(ReviewAnswer),
}

fn carry_out(
    effect: Effect,
    review: &mut Review,
    backend: &mut dyn ReviewBackend,
) -> Result<Step, ReviewBackendError> {
    Ok(match effect {
        Effect::None => Step::On,
        Effect::Ask => Step::Ask,
        Effect::Propose => {
            let plan = backend.propose(review.items())?;
            review.ask(plan);
            Step::Ask
        }
        Effect::Rejudge => {
            let statuses = backend.statuses(review.items())?;
            review.rejudged(statuses);
            Step::On
        }
        Effect::Export => {
            let said = match backend.export(review.items()) {
                Ok(said) => said,
                Err(error) => words(&error),
            };
            review.say(said);
            Step::On
        }
        Effect::Suspend => Step::Suspend,
        Effect::End(end) => Step::End(end),
    })
}

/// What can't be read is said where it would be shown: the other files can be reviewed.
fn diff_view(backend: &mut dyn ReviewBackend, body: Body) -> DiffView {
    let read = match body {
        Body::Item(item) => backend.diff_view(item),
        Body::Commit(at) => backend.commit_view(at),
    };
    read.unwrap_or_else(|error| DiffView::of_words(vec![words(&error)]))
}

fn words(error: &ReviewBackendError) -> String {
    harmless(&causes(error).join(": "))
}
