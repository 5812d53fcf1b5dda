//! `Plan`: exactly what an apply would do, as the apply screen shows it.
//!
//! A plan names what it is about; the words are made for the lines that are drawn.

use std::borrow::Cow;
use std::sync::Arc;

use lazaret_validator::Finding;

use super::item::{BlockReason, Sign};

/// Something that would be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// What would happen at the path.
    pub sign: Sign,
    /// The escaped path.
    pub path: Arc<str>,
    /// `2 of 3 hunks`, `merged`, `allowed: ci.workflow`; empty for all of an ordinary change.
    pub note: Cow<'static, str>,
}

/// Something that would stay in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The escaped path.
    pub path: Arc<str>,
    /// Why.
    pub reason: BlockReason,
}

/// A branch that would be landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// What it is called inside, escaped.
    pub name: String,
    /// What it would be called.
    pub lands_as: String,
}

/// A line of the apply screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanLine<'a> {
    /// What follows.
    Heading(&'static str),
    /// What a rule says of something that would be applied.
    Finding(&'a Finding),
    /// Something that would be applied.
    Taken(&'a Taken),
    /// A branch that would be landed.
    Landing(&'a Landing),
    /// Something that would stay.
    Left(&'a Left),
    /// Nothing.
    Blank,
}

/// Exactly what an apply would do. Derived by the gate from what was chosen, never from
/// what is on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What would be applied.
    pub taken: Vec<Taken>,
    /// Hunks of it.
    pub hunks: usize,
    /// How many changes there are in all.
    pub changes: usize,
    /// What would be landed, beside the changes.
    pub landings: Vec<Landing>,
    /// What would stay.
    pub left: Vec<Left>,
    /// What the rules say of exactly the bytes that would be written.
    pub findings: Vec<Arc<Finding>>,
    /// Why nothing can be applied, if that is so.
    pub hindrance: Option<String>,
}

/// A part of the apply screen.
#[derive(Debug, Clone, Copy)]
enum Part {
    Findings,
    Taken,
    Landings,
    Left,
}

impl Part {
    const ALL: [Self; 4] = [Self::Findings, Self::Taken, Self::Landings, Self::Left];

    fn heading(self) -> &'static str {
        match self {
            Self::Findings => "What the rules say of it:",
            Self::Taken => "Will be applied:",
            Self::Landings => "Will be landed:",
            Self::Left => "Stays in the copy:",
        }
    }
}

impl Plan {
    /// Counts the lines of everything that there is to know before a yes.
    pub fn len(&self) -> usize {
        // A heading above each part, and a blank line between them.
        let parts = self.parts().map(|(_, length)| length + 2);
        parts.sum::<usize>().saturating_sub(1)
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns one line, counted from 0.
    pub fn line(&self, index: usize) -> Option<PlanLine<'_>> {
        let mut index = index;
        let mut parts = self.parts().peekable();
        while let Some((part, length)) = parts.next() {
            match index {
                0 => return Some(PlanLine::Heading(part.heading())),
                at if at <= length => {
                    return Some(match part {
                        Part::Findings => PlanLine::Finding(self.findings.get(at - 1)?),
                        Part::Taken => PlanLine::Taken(self.taken.get(at - 1)?),
                        Part::Landings => PlanLine::Landing(self.landings.get(at - 1)?),
                        Part::Left => PlanLine::Left(self.left.get(at - 1)?),
                    });
                }
                at if at == length + 1 && parts.peek().is_some() => return Some(PlanLine::Blank),
                at => index = at.checked_sub(length + 2)?,
            }
        }
        None
    }

    /// The parts that there are, with the number of their lines.
    fn parts(&self) -> impl Iterator<Item = (Part, usize)> {
        let parts = Part::ALL.into_iter().map(|part| {
            let length = match part {
                Part::Findings => self.findings.len(),
                Part::Taken => self.taken.len(),
                Part::Landings => self.landings.len(),
                Part::Left => self.left.len(),
            };
            (part, length)
        });
        parts.filter(|(_, length)| *length > 0)
    }

    /// Whether there is anything to say yes to.
    pub fn can_apply(&self) -> bool {
        self.hindrance.is_none() && !(self.taken.is_empty() && self.landings.is_empty())
    }
}
