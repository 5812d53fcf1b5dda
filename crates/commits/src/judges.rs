//! `Judges`: one or two threads that compare trees and have the rules judge what differs.
//!
//! Each has a snapshot and a `cat-file` of its own, so they share nothing but the list of what is
//! to be compared. Results are in the order of that list, so they do not depend on the threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lazaret_transfer::ObjectId;
use lazaret_tree::ChangeSet;
use lazaret_validator::{Findings, JudgeInput, Outcome, Verdict, judge};

use crate::git::{GitError, IsCancelled};
use crate::objects::ObjectReader;
use crate::quarantine::Quarantine;
use crate::refusal::Refusal;
use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// Above how many comparisons a second thread is worth its memory: another list of all files.
const MANY: usize = 128;
/// How many comparisons a thread takes at once.
const PART: usize = 16;

/// Two trees, and the commit that the second one is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) commit: ObjectId,
    /// `None` for no files.
    pub(crate) before: Option<ObjectId>,
    pub(crate) after: Option<ObjectId>,
}

/// What differs, and what the rules say of it.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) changes: ChangeSet,
    pub(crate) findings: Findings,
}

/// The threads' state, which is kept from tip to tip.
#[derive(Debug)]
pub(crate) struct Judges<'a> {
    first: Judge<'a>,
    second: Option<Judge<'a>>,
}

#[derive(Debug)]
struct Judge<'a> {
    rules: &'a Rules,
    snapshot: Snapshot<'a>,
    /// Whether it met an object that could not be had: git may have ended over it.
    met_bad_object: bool,
}

impl<'a> Judges<'a> {
    /// Starts to read objects.
    ///
    /// # Errors
    /// When git can't be run.
    pub(crate) fn start(quarantine: &'a Quarantine, rules: &'a Rules) -> Result<Self, GitError> {
        let snapshot = Snapshot::empty(quarantine, quarantine.reader()?);
        Ok(Self {
            first: Judge {
                rules,
                snapshot,
                met_bad_object: false,
            },
            second: None,
        })
    }

    /// Lends a reader of objects.
    pub(crate) fn reader(&mut self) -> &mut ObjectReader {
        self.first.snapshot.reader()
    }

    /// Starts git again after a tip was refused, if git may have ended. The other thread may have
    /// met a damaged object too, so a new one takes its place.
    ///
    /// # Errors
    /// When git can't be run.
    pub(crate) fn restart_after(&mut self, refusal: &Refusal) -> Result<(), GitError> {
        self.second = None;
        if self.first.met_bad_object || matches!(refusal, Refusal::Object(_)) {
            self.first.snapshot = self.first.snapshot.restarted()?;
            self.first.met_bad_object = false;
        }
        Ok(())
    }

    /// Judges comparisons, of which the last is the largest. Returns the results in order, up to
    /// the first refusal; fewer if an end is wanted.
    pub(crate) fn judge(
        &mut self,
        comparisons: &[Comparison],
        is_cancelled: IsCancelled<'_>,
    ) -> Vec<Result<Judged, Refusal>> {
        if comparisons.len() > MANY && self.second.is_none() {
            self.second = self.first.beside(comparisons);
        }
        let Some(second) = &mut self.second else {
            let queue = Queue::in_order(comparisons);
            return queue.results([self.first.work(&queue, is_cancelled)]);
        };
        let queue = Queue::largest_first(comparisons);
        let judged = thread::scope(|scope| {
            let other = scope.spawn(|| second.work(&queue, &|| false));
            let own = self.first.work(&queue, is_cancelled);
            match other.join() {
                Ok(other) => [own, other],
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        queue.results(judged)
    }
}

impl<'a> Judge<'a> {
    /// Makes a second one, which starts where the first comparison does; `None` on a machine
    /// with one processor, or if git or an object can't be had: the first says so.
    fn beside(&mut self, comparisons: &[Comparison]) -> Option<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let start = comparisons.first().filter(|_| cores > 1)?;
        self.snapshot.move_to(start.before).ok()?;
        Some(Self {
            rules: self.rules,
            snapshot: self.snapshot.beside().ok()?,
            met_bad_object: false,
        })
    }

    /// Takes comparisons until none is left, one is refused, or an end is wanted.
    fn work(
        &mut self,
        queue: &Queue<'_>,
        is_cancelled: IsCancelled<'_>,
    ) -> Vec<(usize, Result<Judged, Refusal>)> {
        let mut results = Vec::new();
        while let Some(part) = queue.take() {
            for index in part {
                let Some(comparison) = queue.get(index) else {
                    break;
                };
                if is_cancelled() {
                    queue.end_before(0);
                    return results;
                }
                let judged = self.judge(*comparison);
                let is_refused = judged.is_err();
                self.met_bad_object = matches!(judged, Err(Refusal::Object(_)));
                results.push((index, judged));
                if is_refused {
                    queue.end_before(index);
                    return results;
                }
            }
        }
        results
    }

    fn judge(&mut self, comparison: Comparison) -> Result<Judged, Refusal> {
        let Comparison {
            commit,
            before,
            after,
        } = comparison;
        self.snapshot.move_to(before)?;
        let changes = self.snapshot.compare(commit, after)?;
        let input = JudgeInput {
            baseline: self.snapshot.tree(),
            changes: changes.clone(),
            refusals: &[],
            notes: &[],
            contents: &self.snapshot,
        };
        let Verdict {
            findings, outcome, ..
        } = judge(input, &self.rules.policy);
        self.snapshot.advance(after, &changes);
        if outcome == Outcome::Rejected {
            let gravest = findings.first().map(ToString::to_string);
            return Err(Refusal::Rejected {
                commit,
                reason: gravest.unwrap_or_default(),
            });
        }
        Ok(Judged {
            changes,
            findings: self.rules.mark_allowed(findings),
        })
    }
}

/// What is to be compared, in parts.
struct Queue<'a> {
    comparisons: &'a [Comparison],
    parts: Vec<Range<usize>>,
    next_part: AtomicUsize,
    /// No comparison from here on is needed, since one before it, or this one, is refused.
    end: AtomicUsize,
}

impl<'a> Queue<'a> {
    fn in_order(comparisons: &'a [Comparison]) -> Self {
        let starts = (0..comparisons.len()).step_by(PART);
        let parts = starts.map(|start| start..comparisons.len().min(start + PART));
        Self {
            comparisons,
            parts: parts.collect(),
            next_part: AtomicUsize::new(0),
            end: AtomicUsize::new(comparisons.len()),
        }
    }

    /// The last comparison first: no thread waits for the other one that is at it.
    fn largest_first(comparisons: &'a [Comparison]) -> Self {
        let last = comparisons.len().saturating_sub(1);
        let mut queue = Self::in_order(comparisons);
        queue.parts.insert(0, last..comparisons.len());
        if let Some(part) = queue.parts.last_mut() {
            part.end = last.max(part.start);
        }
        queue
    }

    fn take(&self) -> Option<Range<usize>> {
        let next = self.next_part.fetch_add(1, Ordering::Relaxed);
        self.parts.get(next).cloned()
    }

    /// Returns a comparison if it is still needed.
    fn get(&self, index: usize) -> Option<&'a Comparison> {
        let is_needed = index < self.end.load(Ordering::Relaxed);
        self.comparisons.get(index).filter(|_| is_needed)
    }

    fn end_before(&self, index: usize) {
        self.end.fetch_min(index, Ordering::Relaxed);
    }

    /// Puts what the threads have found in order, up to the first refusal.
    fn results<const N: usize>(
        &self,
        judged: [Vec<(usize, Result<Judged, Refusal>)>; N],
    ) -> Vec<Result<Judged, Refusal>> {
        let mut judged: Vec<_> = judged.into_iter().flatten().collect();
        judged.sort_unstable_by_key(|(index, _)| *index);
        let in_order = judged.into_iter().enumerate();
        let in_order = in_order.take_while(|(expected, (index, _))| expected == index);
        let mut results = Vec::new();
        for (_, (_, result)) in in_order {
            let is_refused = result.is_err();
            results.push(result);
            if is_refused {
                break;
            }
        }
        results
    }
}
