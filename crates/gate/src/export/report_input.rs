//! `ReportInput`: everything that a report tells of, whatever its form.

use std::cell::OnceCell;
use std::ops::Range;
use std::time::SystemTime;

use lazaret_transfer::{ConflictKind, Skipped};
use lazaret_tree::{Change, Digest, RelPath, RelPathBuf};
use lazaret_validator::{Finding, Limits, Outcome, Severity};

use crate::case::Case;
use crate::choices::{Choices, Pick};
use crate::file_diff::LineCounts;
use crate::file_side::{ContentsError, line_counts};
use crate::proposal::{ItemState, Origin, Proposal, ProposedChange};
use crate::propose::ProposeError;
use crate::subject;
use crate::tip_report::WaitingReport;

/// A judged batch, ready to be written down. Nothing in it is escaped yet.
#[derive(Debug)]
pub struct ReportInput<'a> {
    /// What it is about.
    pub subject: ReportSubject<'a>,
    /// When the report is made.
    pub now: SystemTime,
    /// The changes, in path order, `.git` left out.
    pub items: Vec<ReportItem<'a>>,
    /// What the rules found, the gravest first.
    pub findings: Vec<&'a Finding>,
    /// Their indices in the order of the paths that they are about.
    about: Vec<usize>,
    /// The sum of it.
    pub outcome: Outcome,
    /// What is in the way in the workspace.
    pub conflicts: Vec<(RelPathBuf, ConflictKind)>,
    /// What was not compared, or stays in the copy.
    pub left_out: &'a [Skipped],
    /// What the batch was judged by.
    pub limits: &'a Limits,
    /// The digest of what would be applied; `None` when nothing may be, or when only a part
    /// is told of.
    pub digest: Option<Digest>,
    /// The paths that the report was cut down to; none for the whole.
    pub paths: Vec<RelPathBuf>,
    /// The commits that wait; `None` if none do, or if the report is cut down to paths.
    pub commits: Option<WaitingReport>,
}

/// What a batch is about.
#[derive(Debug, Clone, Copy)]
pub enum ReportSubject<'a> {
    /// A session.
    Session(&'a subject::Subject),
    /// Two trees that `lazaret check` was given.
    Check(&'a Checked),
}

impl ReportSubject<'_> {
    /// Names it in a word: the session, or `check`.
    pub fn name(&self) -> String {
        match self {
            Self::Session(session) => session.name.clone(),
            Self::Check(_) => "check".to_owned(),
        }
    }
}

/// What `lazaret check` compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The base, as a path.
    pub base: String,
    /// The candidate, as a path, or `-` for stdin.
    pub candidate: String,
    /// The profile whose limits hold.
    pub profile: String,
}

/// One change, with what was said about it.
#[derive(Debug)]
pub struct ReportItem<'a> {
    /// The change and what becomes of it.
    pub proposed: &'a ProposedChange,
    /// Where [`ReportInput::about`] names those of the findings that are about it.
    about: Range<usize>,
    /// The gravest of them that is not allowed.
    pub gravest: Option<Severity>,
    counts: OnceCell<Option<LineCounts>>,
}

/// Proposes all of a case for a report: where the workspace was changed too and the two
/// can't be merged, the session's version is judged and shown like all others. What would be
/// applied is another matter: that is said beside it.
///
/// # Errors
/// As [`Case::propose`].
pub fn propose(case: &Case) -> Result<Proposal, ProposeError> {
    let whole = case.propose(&Choices::all())?;
    let mut choices = Choices::all();
    for (path, _) in whole.conflicts() {
        choices.pick(path, Pick::SessionVersion);
    }
    case.propose(&choices)
}

impl<'a> ReportInput<'a> {
    /// Puts a batch together, cut down to `paths` and what lies below them; no path means
    /// all of it. Findings about the batch as a whole always stay.
    ///
    /// # Errors
    /// As [`Case::propose`].
    pub fn new(
        subject: ReportSubject<'a>,
        case: &'a Case,
        proposal: &'a Proposal,
        now: SystemTime,
        paths: Vec<RelPathBuf>,
    ) -> Result<Self, ProposeError> {
        let covered = |path: &RelPath| {
            paths.is_empty() || paths.iter().any(|wanted| path.starts_with(wanted))
        };
        let findings: Vec<&Finding> = proposal
            .findings()
            .iter()
            .map(|finding| &**finding)
            .filter(|finding| finding.subject.path().is_none_or(covered))
            .collect();
        let mut about: Vec<usize> = (0..findings.len()).collect();
        let path = |index: usize| findings[index].subject.path();
        about.sort_by(|&a, &b| path(a).cmp(&path(b)));
        let items = proposal.items().iter().filter(|item| covered(item.path()));
        let items = items
            .map(|proposed| {
                let own = Some(proposed.path());
                let start = about.partition_point(|&index| path(index) < own);
                let more = about[start..].iter();
                let end = start + more.take_while(|&&index| path(index) == own).count();
                let open = about[start..end].iter().map(|&index| findings[index]);
                let open = open.filter(|finding| !finding.allowed);
                ReportItem {
                    proposed,
                    gravest: open.map(|finding| finding.severity).max(),
                    about: start..end,
                    counts: OnceCell::new(),
                }
            })
            .collect();
        let whole = case.propose(&Choices::all())?;
        let conflicts = whole.conflicts().filter(|(path, _)| covered(path));
        Ok(Self {
            subject,
            now,
            items,
            findings,
            about,
            outcome: proposal.outcome(),
            conflicts: conflicts
                .map(|(path, kind)| (path.clone(), kind.clone()))
                .collect(),
            left_out: &case.caches,
            limits: case.limits(),
            digest: proposal.digest().filter(|_| paths.is_empty()),
            paths,
            commits: None,
        })
    }

    /// Says that nothing may be applied, for a reason that came before any judging.
    pub fn reject(&mut self, finding: &'a Finding) {
        self.outcome = Outcome::Rejected;
        self.digest = None;
        self.items.clear();
        self.findings = vec![finding];
        self.about = vec![0];
    }

    /// Returns which of the findings are about a change, by their indices.
    pub fn about(&self, item: &ReportItem<'_>) -> &[usize] {
        &self.about[item.about.clone()]
    }

    /// Whether there is nothing to tell of.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.findings.is_empty() && self.commits.is_none()
    }

    /// Whether any change may be applied.
    pub fn applies(&self) -> bool {
        self.items.iter().any(|item| self.may_apply(item))
    }

    /// Whether a change may be applied; none of a rejected batch.
    pub fn may_apply(&self, item: &ReportItem<'_>) -> bool {
        let taken = matches!(item.state(), ItemState::Applies | ItemState::AlreadyApplied);
        taken && self.outcome != Outcome::Rejected
    }

    /// LineCounts findings of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// Adds up the lines of all changes that could be compared.
    ///
    /// # Errors
    /// When contents can't be read.
    pub fn lines(&self, case: &Case) -> Result<LineCounts, ContentsError> {
        let mut sum = LineCounts::default();
        for item in &self.items {
            if let Some(counts) = item.counts(case)? {
                sum.added += counts.added;
                sum.removed += counts.removed;
            }
        }
        Ok(sum)
    }
}

impl<'a> ReportItem<'a> {
    /// Where.
    pub fn path(&self) -> &'a RelPath {
        self.proposed.path()
    }

    /// What becomes of it.
    pub fn state(&self) -> &'a ItemState {
        &self.proposed.state
    }

    /// The change as it would be written.
    pub fn change(&self) -> &'a Change {
        self.proposed.proposed()
    }

    /// The change for somewhere else than the workspace: what the session did to what was
    /// sent in, whatever the user did meanwhile.
    pub fn elsewhere(&self) -> &'a Change {
        match self.proposed.origin {
            Origin::Session | Origin::Merged | Origin::SessionVersion => &self.proposed.made,
            Origin::Hunks => self.proposed.proposed(),
        }
    }

    /// LineCounts the lines of the change; `None` for what is no text. Read once.
    ///
    /// # Errors
    /// When contents can't be read.
    pub fn counts(&self, case: &Case) -> Result<Option<LineCounts>, ContentsError> {
        if let Some(counts) = self.counts.get() {
            return Ok(*counts);
        }
        let counted = line_counts(case, self.change())?;
        Ok(*self.counts.get_or_init(|| counted))
    }

    /// Whether a person has to look at it: it must never be folded away (AUD-04).
    pub fn is_remarkable(&self) -> bool {
        self.gravest >= Some(Severity::Warn)
            || !matches!(self.state(), ItemState::Applies | ItemState::AlreadyApplied)
            || self.proposed.origin != Origin::Session
    }
}

/// Words for what becomes of a change: a stable one, one for people, and the name of the other
/// entry that is to blame. The name is not escaped.
pub fn words(state: &ItemState) -> (&'static str, &'static str, Option<&[u8]>) {
    match state {
        ItemState::Applies => ("applies", "applies", None),
        ItemState::AlreadyApplied => ("already", "the workspace has it already", None),
        ItemState::LeftOut => ("left-out", "left out by choice", None),
        ItemState::Conflict(_) => ("conflict", "in conflict with the workspace", None),
        ItemState::Blocked(_) => ("blocked", "blocked by findings", None),
        ItemState::Depends(path) => {
            let path = path.as_str().as_bytes();
            ("depends", "can't happen without", Some(path))
        }
        ItemState::Moved(place) => {
            let words = match RelPath::from_bytes(place) {
                Ok(_) => "stays, since the place that it was moved to is not applied:",
                Err(_) => "stays, since it may have been moved to what is not carried:",
            };
            ("moved", words, Some(place))
        }
    }
}
