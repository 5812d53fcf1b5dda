//! `Plan`: exactly what an apply would do, as the apply screen shows it.

use std::sync::Arc;

use lazaret_validator::Severity;

use super::item::Sign;

/// Something that would be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// What would happen at the path.
    pub sign: Sign,
    /// The escaped path.
    pub path: Arc<str>,
    /// `2 of 3 hunks`, `merged`, `allowed: ci.workflow`; empty for all of an ordinary change.
    pub note: String,
}

/// Something that would stay in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The escaped path.
    pub path: Arc<str>,
    /// Why.
    pub why: String,
}

/// What a rule says of something that would be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How grave it is.
    pub severity: Severity,
    /// The escaped path, with a line where there is one.
    pub place: String,
    /// The code and the reason.
    pub words: String,
}

/// A line of the apply screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanLine<'a> {
    /// What follows.
    Heading(&'static str),
    /// A finding.
    Finding(&'a Said),
    /// Something that would be applied.
    Taken(&'a Taken),
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
    /// What would stay.
    pub left: Vec<Left>,
    /// What the rules say of exactly the bytes that would be written.
    pub findings: Vec<Said>,
    /// Why nothing can be applied, if that is so.
    pub hindrance: Option<String>,
}

impl Plan {
    /// Lists everything that there is to know before a yes.
    pub fn lines<'a>(&'a self) -> Vec<PlanLine<'a>> {
        let mut lines = Vec::new();
        let mut section = |heading, part: Vec<PlanLine<'a>>| {
            if part.is_empty() {
                return;
            }
            if !lines.is_empty() {
                lines.push(PlanLine::Blank);
            }
            lines.push(PlanLine::Heading(heading));
            lines.extend(part);
        };
        let findings = self.findings.iter();
        section(
            "What the rules say of it:",
            findings.map(PlanLine::Finding).collect(),
        );
        let taken = self.taken.iter().map(PlanLine::Taken);
        section("Will be applied:", taken.collect());
        let left = self.left.iter().map(PlanLine::Left);
        section("Stays in the copy:", left.collect());
        lines
    }

    /// Whether there is anything to say yes to.
    pub fn can_apply(&self) -> bool {
        self.hindrance.is_none() && !self.taken.is_empty()
    }
}
