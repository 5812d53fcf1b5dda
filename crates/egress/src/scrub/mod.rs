//! `Scrubber`: replaces secrets in a stream, in every shape that programs commonly give
//! them, wherever the stream is cut into chunks (NET-20, NET-21).
//!
//! What is found, and what is not, is said in [`encodings`]. A scrubber is a net under the
//! broker, not a control: a program that holds a secret can always write it in a shape
//! that no pattern covers. The control is that no program inside holds one.

mod automaton;
mod encodings;
mod set;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use automaton::Automaton;

/// A secret shorter than this, in bytes, can't be scrubbed: it would be found in ordinary
/// text by chance, and its encodings even more so.
pub const SHORTEST_SECRET: usize = 8;

/// A secret longer than this, in bytes, is looked for by its first so many bytes and by its
/// last.
pub(crate) const LONGEST_SHAPE: usize = 1024;

/// What to look for: made once, shared by the scrubbers of all streams.
#[derive(Clone)]
pub struct Patterns {
    automaton: Arc<Automaton>,
    names: Arc<[String]>,
}

/// Shows names only.
impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patterns")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl Patterns {
    /// Prepares to find each of `secrets`, given by name and value.
    ///
    /// # Errors
    /// A value is shorter than [`SHORTEST_SECRET`].
    pub fn new<'a>(
        secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, TooShort> {
        let mut automaton = automaton::Builder::default();
        let mut names = Vec::new();
        for (index, (name, value)) in secrets.into_iter().enumerate() {
            if value.len() < SHORTEST_SECRET {
                return Err(TooShort {
                    name: name.to_owned(),
                });
            }
            for part in encodings::parts(value) {
                for encoding in encodings::of(part) {
                    automaton.add(&encoding, index);
                }
            }
            names.push(name.to_owned());
        }
        Ok(Self {
            automaton: Arc::new(automaton.finish()),
            names: names.into(),
        })
    }

    /// Replaces what is found in a text that is there as a whole.
    pub fn scrub(&self, text: &[u8]) -> Vec<u8> {
        let mut scrubber = Scrubber::new(self.clone());
        let mut out = Vec::with_capacity(text.len());
        scrubber.push(text, &mut out);
        scrubber.finish(&mut out);
        out
    }
}

/// A secret that is too short to be told from ordinary text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the secret {name} is shorter than {SHORTEST_SECRET} bytes, and so could not be kept out of the \
     output; use a longer one"
)]
pub struct TooShort {
    /// The secret's name.
    pub name: String,
}

/// Replaces secrets in one stream by `[secret NAME]`.
///
/// The output does not depend on how the stream is cut. Only what may still become a secret
/// is held back, and never more than the longest shape of one.
pub struct Scrubber {
    patterns: Patterns,
    threads: Vec<Thread>,
    /// Swapped with `threads` at each byte.
    next: Vec<Thread>,
    /// Where a place stands in `next`, if `turns` has the current turn for it.
    slots: Vec<u32>,
    turns: Vec<u32>,
    turn: u32,
    /// What came and did not go yet.
    held: Vec<u8>,
    /// Where `held` begins in the stream.
    base: u64,
    /// Up to where the stream went, or was replaced.
    done: u64,
    matches: Vec<Match>,
}

/// A place in a shape that was reached.
#[derive(Clone, Copy)]
struct Thread {
    place: u32,
    start: u64,
}

#[derive(Clone, Copy)]
struct Match {
    start: u64,
    end: u64,
    secret: u32,
}

/// Shows nothing of what is held back: it may be a part of a secret.
impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrubber")
            .field("patterns", &self.patterns)
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}

impl Scrubber {
    /// Begins a stream.
    pub fn new(patterns: Patterns) -> Self {
        let places = patterns.automaton.places();
        Self {
            patterns,
            threads: Vec::new(),
            next: Vec::new(),
            slots: vec![0; places],
            turns: vec![0; places],
            turn: 0,
            held: Vec::new(),
            base: 0,
            done: 0,
            matches: Vec::new(),
        }
    }

    /// Takes a chunk of the stream and appends to `out` what can go.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let begin = self.held.len();
        self.held.extend_from_slice(chunk);
        let automaton = Arc::clone(&self.patterns.automaton);
        let mut index = begin;
        while index < self.held.len() {
            if self.threads.is_empty() {
                index += automaton.skip(&self.held[index..]);
            }
            let Some(&byte) = self.held.get(index) else {
                break;
            };
            self.step(&automaton, byte, self.base + index as u64);
            index += 1;
        }
        let end = self.base + self.held.len() as u64;
        let limit = self.threads.iter().map(|thread| thread.start).min();
        self.flush(limit.unwrap_or(end), out);
    }

    /// Ends the stream: what was held back has become nothing.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.threads.clear();
        self.flush(self.base + self.held.len() as u64, out);
    }

    fn step(&mut self, automaton: &Automaton, byte: u8, offset: u64) {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            // A mark of four billion bytes ago would be taken for one of now.
            self.turns.fill(0);
            self.turn = 1;
        }
        let mut threads = std::mem::take(&mut self.threads);
        for thread in threads.drain(..) {
            self.advance(automaton, thread, byte, offset);
        }
        self.threads = threads;
        for &place in automaton.starts(byte) {
            let thread = Thread {
                place,
                start: offset,
            };
            self.advance(automaton, thread, byte, offset);
        }
        std::mem::swap(&mut self.threads, &mut self.next);
    }

    fn advance(&mut self, automaton: &Automaton, thread: Thread, byte: u8, offset: u64) {
        let place = automaton.place(thread.place);
        let length = offset - thread.start;
        if !automaton.takes(place, byte) || length < u64::from(place.after) {
            return;
        }
        if let Some(secret) = place.completes {
            self.matches.push(Match {
                start: thread.start,
                end: offset + 1,
                secret,
            });
        }
        for &next in automaton.follow(place) {
            let slot = next as usize;
            if self.turns[slot] == self.turn {
                // Two ways to one place: the longer one covers more.
                let there = &mut self.next[self.slots[slot] as usize];
                there.start = there.start.min(thread.start);
                continue;
            }
            self.turns[slot] = self.turn;
            self.slots[slot] = u32::try_from(self.next.len()).unwrap_or(u32::MAX);
            self.next.push(Thread {
                place: next,
                start: thread.start,
            });
        }
    }

    /// Lets go of everything before `limit`. No match that is still to come begins there.
    fn flush(&mut self, limit: u64, out: &mut Vec<u8>) {
        self.matches
            .sort_unstable_by_key(|one| (one.start, Reverse(one.end), one.secret));
        let mut later = Vec::new();
        for one in std::mem::take(&mut self.matches) {
            if one.start >= limit {
                later.push(one);
                continue;
            }
            if one.start >= self.done {
                out.extend_from_slice(self.between(self.done, one.start));
                let name = self.patterns.names.get(one.secret as usize);
                out.extend_from_slice(b"[secret ");
                out.extend_from_slice(name.map_or("", String::as_str).as_bytes());
                out.push(b']');
            }
            self.done = self.done.max(one.end);
        }
        self.matches = later;
        if self.done < limit {
            out.extend_from_slice(self.between(self.done, limit));
            self.done = limit;
        }
        let gone = usize::try_from(limit - self.base).unwrap_or(usize::MAX);
        drop(self.held.drain(..gone.min(self.held.len())));
        self.base = limit;
    }

    fn between(&self, from: u64, to: u64) -> &[u8] {
        let index = |at: u64| usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.held.get(index(from)..index(to)).unwrap_or_default()
    }
}
