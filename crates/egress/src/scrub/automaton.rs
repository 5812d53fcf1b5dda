//! `Automaton`: all shapes of all secrets, as places that follow on each other.
//!
//! A place takes one byte and leads to the places that may come next (a position automaton:
//! McNaughton and Yamada, 1960). It is walked with a list of the places that are reached,
//! each once, so a byte costs no more than there are places, whatever the stream holds.

use std::collections::HashMap;

use super::encodings::{Encoding, Unit};
use super::set::ByteSet;

/// One byte of a shape.
#[derive(Clone, Copy)]
pub(super) struct State {
    set: u32,
    follow: (u32, u32),
    /// How many bytes of the shape have to be there before this one may come.
    pub(super) after: u8,
    /// The secret that is found with this byte.
    pub(super) completes: Option<u32>,
}

/// The finished automaton.
pub(super) struct Automaton {
    sets: Vec<ByteSet>,
    places: Vec<State>,
    follow: Vec<u32>,
    starts: Vec<Vec<u32>>,
    /// A bit for each two bytes that some shape begins with.
    pairs: Vec<u64>,
}

impl Automaton {
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    pub(super) fn place(&self, index: u32) -> State {
        self.places[index as usize]
    }

    pub(super) fn takes(&self, place: State, byte: u8) -> bool {
        self.sets[place.set as usize].has(byte)
    }

    pub(super) fn follow(&self, place: State) -> &[u32] {
        &self.follow[place.follow.0 as usize..place.follow.1 as usize]
    }

    pub(super) fn starts(&self, byte: u8) -> &[u32] {
        &self.starts[usize::from(byte)]
    }

    /// How many bytes at the front of `bytes` can begin nothing.
    pub(super) fn skip(&self, bytes: &[u8]) -> usize {
        let begins = |pair: &[u8]| {
            let index = usize::from(pair[0]) << 8 | usize::from(pair[1]);
            self.pairs[index >> 6] & 1 << (index & 63) != 0
        };
        // What the last byte begins is seen when the next one comes.
        let last = bytes.len().saturating_sub(1);
        bytes.windows(2).position(begins).unwrap_or(last)
    }
}

/// Puts an automaton together.
#[derive(Default)]
pub(super) struct Builder {
    sets: Vec<ByteSet>,
    known: HashMap<ByteSet, u32>,
    places: Vec<State>,
    follow: Vec<u32>,
    starts: Vec<u32>,
}

impl Builder {
    /// Adds one shape of the secret with this index.
    pub(super) fn add(&mut self, encoding: &Encoding, secret: usize) {
        let secret = number(secret);
        let mut entries: Vec<u32> = Vec::new();
        for (index, unit) in encoding.units.iter().enumerate().rev() {
            let completes = (index + 1 == encoding.units.len()).then_some(secret);
            let mut next = entries.clone();
            if completes.is_none() {
                for gap in &encoding.gaps {
                    next.extend(self.chain(gap, &entries, encoding.gap_after, None));
                }
            }
            entries = self.unit(unit, &next, completes);
            match index {
                0 => self.starts.extend(&entries),
                _ if index <= encoding.late => self.starts.extend(entries.first()),
                _ => {}
            }
        }
    }

    fn unit(&mut self, unit: &Unit, next: &[u32], completes: Option<u32>) -> Vec<u32> {
        let firsts = unit
            .iter()
            .filter_map(|way| self.chain(way, next, 0, completes));
        firsts.collect()
    }

    /// Places for a sequence of bytes; returns the first of them.
    fn chain(
        &mut self,
        way: &[ByteSet],
        next: &[u32],
        after: u8,
        completes: Option<u32>,
    ) -> Option<u32> {
        let mut then = next.to_vec();
        let mut completes = completes;
        for (index, set) in way.iter().enumerate().rev() {
            let begin = number(self.follow.len());
            self.follow.append(&mut then);
            let place = State {
                set: self.set(*set),
                follow: (begin, number(self.follow.len())),
                after: if index == 0 { after } else { 0 },
                completes: completes.take(),
            };
            then.push(number(self.places.len()));
            self.places.push(place);
        }
        then.first().copied()
    }

    fn set(&mut self, set: ByteSet) -> u32 {
        let fresh = number(self.sets.len());
        let index = *self.known.entry(set).or_insert(fresh);
        if index == fresh {
            self.sets.push(set);
        }
        index
    }

    pub(super) fn finish(self) -> Automaton {
        let mut automaton = Automaton {
            sets: self.sets,
            places: self.places,
            follow: self.follow,
            starts: vec![Vec::new(); 256],
            pairs: vec![0; 1 << 10],
        };
        for start in self.starts {
            let place = automaton.place(start);
            let first = automaton.sets[place.set as usize];
            for byte in first.iter() {
                automaton.starts[usize::from(byte)].push(start);
            }
            for next in automaton.follow(place).to_vec() {
                let second = automaton.place(next);
                // It can't come as the second.
                if second.after > 1 {
                    continue;
                }
                for (a, b) in first.iter().flat_map(|a| {
                    automaton.sets[second.set as usize]
                        .iter()
                        .map(move |b| (a, b))
                }) {
                    let index = usize::from(a) << 8 | usize::from(b);
                    automaton.pairs[index >> 6] |= 1 << (index & 63);
                }
            }
        }
        automaton
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("shapes are bounded by LONGEST_SHAPE")
}
