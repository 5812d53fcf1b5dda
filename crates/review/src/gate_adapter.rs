//! `GateAdapter`: a case as a review knows it, and the choices of a review as the gate knows them.

mod halves;
pub(crate) mod items;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use lazaret_gate::case::Case;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::export::{self, ReportInput};
use lazaret_gate::file_diff::FileDiff;
use lazaret_gate::file_side::FileSides;
use lazaret_gate::proposal::{self, ItemState, Origin, Proposal};
use lazaret_gate::propose::ProposeError;
use lazaret_gate::tip_report::WaitingReport;
use lazaret_transfer::SkipReason;
use lazaret_tree::{RelPath, escape};
use lazaret_validator::{Allowance as Allowed, Severity, Subject, is_allowable};

use self::items::{ALREADY, change_item, facts, mentioned, sign, status};
use super::backend::{ReviewBackend, ReviewBackendError};
use super::branch::CommitAt;
use super::commit_view::{CommitSource, commit_view};
use super::diff_view::{DiffView, Parts};
use super::item::{Allowance, BlockReason, Choice, FindingIndex, Item, ItemFindings, ItemStatus};
use super::plan::{Left, Plan, Taken};

/// A case under review.
#[derive(Debug)]
pub struct GateAdapter<'a> {
    case: &'a Case,
    /// What taking everything comes to.
    whole: Proposal,
    /// Which change of the whole each item is; none of those that are no change.
    places: Vec<Option<u32>>,
    /// What was shown last on the apply screen.
    shown: Option<Proposal>,
    /// The reports that were written last.
    exported: Vec<PathBuf>,
    /// Where commits are read; `None` if there are none.
    commits: Option<Box<dyn CommitSource + 'a>>,
    /// What reports say of the commits.
    waiting: Option<WaitingReport>,
}

impl<'a> GateAdapter<'a> {
    /// Lays a case out; `choices` is what was chosen before.
    ///
    /// # Errors
    /// When the case can't be judged.
    pub fn new(case: &'a Case, choices: &Choices) -> Result<(Self, Vec<Item>), ProposeError> {
        let mut everything = Choices::all();
        for allowed in choices.allowed() {
            everything.allow(allowed.clone());
        }
        let whole = case.propose(&everything)?;
        let mut adapter = Self {
            case,
            whole,
            places: Vec::new(),
            shown: None,
            exported: Vec::new(),
            commits: None,
            waiting: None,
        };
        let items = adapter.items(choices);
        Ok((adapter, items))
    }

    /// Lets it read commits, and tell of them in reports.
    pub fn with_commits(self, commits: Box<dyn CommitSource + 'a>, waiting: WaitingReport) -> Self {
        Self {
            commits: Some(commits),
            waiting: Some(waiting),
            ..self
        }
    }

    /// Returns the reports that were written last.
    pub fn exported(&self) -> &[PathBuf] {
        &self.exported
    }

    /// Returns what taking everything comes to.
    pub fn whole(&self) -> &Proposal {
        &self.whole
    }

    /// Takes what was shown last on the apply screen: what a yes is to.
    pub fn take_shown(&mut self) -> Option<Proposal> {
        self.shown.take()
    }

    /// Returns what is to be allowed from now on, of what `shown` would apply.
    pub fn remembered(&self, items: &[Item], shown: &Proposal) -> Vec<Allowed> {
        self.changes(items)
            .filter(|(item, _)| item.allowance == Allowance::Remembered)
            .filter_map(|(item, change)| Some((item, shown.item(change.path())?)))
            .filter(|(_, proposed)| proposed.state == ItemState::Applies)
            .flat_map(|(item, proposed)| allowances(item, proposed))
            .collect()
    }

    /// The change of the whole that an item is.
    fn change(&self, item: usize) -> Option<&proposal::ProposedChange> {
        self.whole.items().get((*self.places.get(item)?)? as usize)
    }

    /// The items that are changes, in path order.
    fn changes<'i>(
        &'i self,
        items: &'i [Item],
    ) -> impl Iterator<Item = (&'i Item, &'i proposal::ProposedChange)> {
        let items = items.iter().enumerate();
        items.filter_map(|(index, item)| Some((item, self.change(index)?)))
    }

    /// In path order; what is no path comes last, and what is about everything first.
    fn items(&mut self, choices: &Choices) -> Vec<Item> {
        let finding_index = FindingIndex::new(self.whole.shared_findings());
        let mut said = finding_index.by_subject().peekable();
        let count = self.whole.items().len();
        let (mut items, mut places) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let is_batch = |findings: &ItemFindings| subject(findings) == Some(&Subject::Batch);
        let input = said.next_if(is_batch);
        let caches = &self.case.caches;
        if input.is_some() || !caches.is_empty() {
            let findings = input.unwrap_or_else(|| ItemFindings::none(&finding_index));
            let mut item = mentioned(".".to_owned(), findings);
            let others = caches
                .iter()
                .filter(|cache| cache.reason != SkipReason::GitIgnore);
            let others = others.map(|cache| {
                format!(
                    "stays in the copy: {} ({})",
                    escape(&cache.name),
                    cache.reason
                )
            });
            let ignored = (!self.case.ignored.places.is_empty())
                .then(|| format!("{}; --with-ignored takes them", self.case.ignored));
            let whole = "the batch as a whole".to_owned();
            item.facts = std::iter::once(whole)
                .chain(others)
                .chain(ignored)
                .collect();
            items.push(item);
            places.push(None);
        }
        for (place, proposed) in (0..).zip(self.whole.items()) {
            // What was not carried is no change.
            let is_before =
                |findings: &ItemFindings| path(findings).is_some_and(|path| path < proposed.path());
            while let Some(findings) = said.next_if(is_before) {
                items.push(mentioned(name(&findings), findings));
                places.push(None);
            }
            let findings = said.next_if(|findings| path(findings) == Some(proposed.path()));
            let findings = findings.unwrap_or_else(|| ItemFindings::none(&finding_index));
            items.push(change_item(proposed, findings, choices));
            places.push(Some(place));
        }
        for findings in said {
            items.push(mentioned(name(&findings), findings));
            places.push(None);
        }
        self.places = places;
        self.join_halves(&mut items, choices);
        items
    }

    fn hunks(&self, item: &proposal::ProposedChange) -> usize {
        let texts = self.case.texts(item.proposed());
        texts.map_or(0, |(old, new)| FileDiff::new(&old, &new).hunks().len())
    }

    /// Returns what was taken and left, without what was allowed.
    pub fn picks(&self, items: &[Item]) -> Choices {
        let mut choices = Choices::all();
        // Left by choice, so that what was moved there is taken by choice too.
        let left = items.iter().filter(|item| item.choice == Choice::Leave);
        let alone: BTreeSet<usize> = left
            .filter_map(|item| item.moved_from)
            .map(|from| from as usize)
            .collect();
        for (index, item) in items.iter().enumerate() {
            let Some(change) = self.change(index) else {
                continue;
            };
            let pick = match (&item.choice, &item.status, item.allowance) {
                (Choice::Take, ..) if alone.contains(&index) => Pick::Alone,
                (Choice::Leave, ..) => Pick::Leave,
                (_, ItemStatus::Conflict(_), Allowance::Once | Allowance::Remembered) => {
                    Pick::SessionVersion
                }
                (Choice::Take, ..) => Pick::Take,
                (Choice::Hunks(hunks), ..) => Pick::Hunks(hunks.clone()),
            };
            choices.pick(&change.made.path, pick);
        }
        choices
    }

    /// What was chosen, in the gate's words. What was allowed is allowed for exactly what
    /// would be written, and for the codes that were on the screen.
    fn choices(&self, items: &[Item]) -> Result<Choices, ProposeError> {
        let mut choices = self.picks(items);
        let is_allowed =
            |item: &Item| item.allowance != Allowance::None && item.choice != Choice::Leave;
        let allowed: Vec<_> = (self.changes(items))
            .filter(|(item, _)| is_allowed(item))
            .map(|(item, change)| (item, change.path()))
            .collect();
        if allowed.is_empty() {
            return Ok(choices);
        }
        let judged = self.case.propose(&choices)?;
        for (item, path) in allowed {
            let proposed = judged.item(path);
            for allowance in proposed
                .into_iter()
                .flat_map(|proposed| allowances(item, proposed))
            {
                choices.allow(allowance);
            }
        }
        Ok(choices)
    }
}

fn subject(findings: &ItemFindings) -> Option<&Subject> {
    findings.iter().next().map(|finding| &finding.subject)
}

fn path(findings: &ItemFindings) -> Option<&RelPath> {
    subject(findings)?.path()
}

/// The escaped name of what something is said about.
fn name(findings: &ItemFindings) -> String {
    subject(findings).map_or(String::new(), ToString::to_string)
}

/// What a word for an item allows: what was on the screen.
fn allowances(item: &Item, proposed: &proposal::ProposedChange) -> Vec<Allowed> {
    let blocks = item
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Block);
    let codes: BTreeSet<&str> = blocks.map(|finding| finding.code).collect();
    codes
        .into_iter()
        .filter(|code| is_allowable(code))
        .map(|code| Allowed::of(proposed.proposed(), code))
        .collect()
}

impl ReviewBackend for GateAdapter<'_> {
    fn diff_view(&mut self, item: usize) -> Result<DiffView, ReviewBackendError> {
        let Some(proposed) = self.change(item) else {
            return Ok(DiffView::default());
        };
        let change = proposed.proposed();
        let mut diff_view = match self.case.texts(change) {
            Some((old, new)) => DiffView::compare(&old, &new),
            // Lines without a choice of hunks where only one side is text.
            None => {
                let sides = FileSides::read(self.case, change)?;
                DiffView {
                    words: sides.descriptions(),
                    parts: Parts::Whole,
                    ..DiffView::compare(sides.old.as_text(), sides.new.as_text())
                }
            }
        };
        let sides = self.case.three_sides(change)?.into_iter();
        let sides: Vec<String> = sides.map(|line| line.text).collect();
        diff_view.words.splice(0..0, sides);
        diff_view.words.splice(0..0, facts(proposed));
        Ok(diff_view)
    }

    fn commit_view(&mut self, at: CommitAt) -> Result<DiffView, ReviewBackendError> {
        let Some(commits) = &mut self.commits else {
            return Ok(DiffView::default());
        };
        let changes = commits.changes(at).map_err(ReviewBackendError::Commit)?;
        Ok(commit_view(&changes, commits.blobs()))
    }

    fn statuses(&mut self, items: &[Item]) -> Result<Vec<ItemStatus>, ReviewBackendError> {
        self.shown = None;
        let mut choices = self.choices(items)?;
        // What is left for now is judged as if it were taken, so that it can be.
        for (item, change) in self.changes(items) {
            if item.choice == Choice::Leave {
                choices.pick(&change.made.path, Pick::Take);
            }
        }
        let judged = self.case.propose(&choices)?;
        let statuses = items.iter().zip(&self.places).map(|(item, place)| {
            // Both are about all changes of the case, in the same order.
            let proposed = place.and_then(|place| judged.items().get(place as usize));
            match (proposed, &item.status, item.allowance) {
                (None, status, _) => status.clone(),
                // It was in conflict, and is passed: it must be possible to take that back.
                (Some(proposed), ItemStatus::Conflict(what), Allowance::Once)
                    if proposed.state == ItemState::Applies =>
                {
                    ItemStatus::Conflict(what.clone())
                }
                (Some(_), ItemStatus::Conflict(what), Allowance::Once) => {
                    let words = format!("it {what}, and yours can't be replaced");
                    ItemStatus::Stays(BlockReason::Said(words.into()))
                }
                (Some(proposed), _, allowance) => status(proposed, allowance != Allowance::None),
            }
        });
        Ok(statuses.collect())
    }

    fn propose(&mut self, items: &[Item]) -> Result<Plan, ReviewBackendError> {
        self.shown = None;
        let proposal = self.case.propose(&self.choices(items)?)?;
        let mut plan = Plan {
            changes: proposal.items().len(),
            ..Plan::default()
        };
        let mut applied = proposal.changes().iter().peekable();
        for ((item, whole), proposed) in self.changes(items).zip(proposal.items()) {
            if applied
                .next_if(|change| *change.path == *proposed.path())
                .is_none()
            {
                plan.left.push(Left {
                    path: item.path.clone(),
                    reason: reason(proposed),
                });
                continue;
            }
            let hunks = self.hunks(proposed);
            plan.hunks += hunks;
            plan.taken.push(Taken {
                sign: sign(proposed.proposed()),
                path: item.path.clone(),
                note: match proposed.origin {
                    Origin::Hunks => format!("{hunks} of {} hunks", self.hunks(whole)).into(),
                    _ => note(proposed, item),
                },
            });
        }
        for (item, place) in items.iter().zip(&self.places) {
            if place.is_none() && item.severity() == Some(Severity::Block) {
                let codes = item.findings.iter().map(|finding| finding.code);
                plan.left.push(Left {
                    path: item.path.clone(),
                    reason: BlockReason::Blocked(codes.collect()),
                });
            }
        }
        let is_applied = |path: &RelPath| {
            let changes = proposal.changes();
            changes
                .binary_search_by(|change| (*change.path).cmp(path))
                .is_ok()
        };
        let said = proposal.findings().iter().filter(|finding| {
            finding.severity > Severity::Note && finding.subject.path().is_some_and(is_applied)
        });
        plan.findings = said.cloned().collect();
        if proposal.digest().is_none() {
            plan.hindrance =
                Some("The batch is rejected: nothing of it can be applied.".to_owned());
        }
        self.shown = Some(proposal);
        Ok(plan)
    }

    fn export(&mut self, items: &[Item]) -> Result<String, ReviewBackendError> {
        let (Some(dir), Some(subject)) = (&self.case.session_dir, &self.case.subject) else {
            return Err(ReviewBackendError::NoSession);
        };
        let proposal = self.case.propose(&self.choices(items)?)?;
        let now = SystemTime::now();
        let mut input = ReportInput::new(
            export::ReportSubject::Session(subject),
            self.case,
            &proposal,
            now,
            Vec::new(),
        )?;
        input.commits = self.waiting.clone();
        self.exported = export::write_all(&input, self.case, dir)?;
        let said = "Wrote a patch and two reports; their paths are printed at the end.";
        Ok(said.to_owned())
    }
}

fn note(proposed: &proposal::ProposedChange, item: &Item) -> Cow<'static, str> {
    let is_allowed = item.status == ItemStatus::Blocked;
    match (proposed.origin, is_allowed) {
        (Origin::Merged, false) => "merged with yours",
        (Origin::Merged, true) => "merged with yours, allowed by you",
        (Origin::SessionVersion, false) => "in place of yours",
        (Origin::SessionVersion, true) => "in place of yours, allowed by you",
        (Origin::Session | Origin::Hunks, false) => "",
        (Origin::Session | Origin::Hunks, true) => "allowed by you",
    }
    .into()
}

/// Why something that would be in a plan is not.
fn reason(proposed: &proposal::ProposedChange) -> BlockReason {
    match &proposed.state {
        ItemState::LeftOut => BlockReason::Said("you left it out".into()),
        ItemState::Blocked(codes) => BlockReason::Blocked(codes.clone()),
        ItemState::Conflict(kind) => BlockReason::Conflict(kind.clone()),
        ItemState::AlreadyApplied => BlockReason::Said(ALREADY.into()),
        ItemState::Depends(path) => BlockReason::Depends(path.clone()),
        ItemState::Moved(place) => BlockReason::Moved(Arc::clone(place)),
        ItemState::Applies => BlockReason::Said("the batch is rejected".into()),
    }
}
