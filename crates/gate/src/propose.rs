//! From what came out to a case, and from a case and choices to a proposal: the trees that the
//! judge looks at.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lazaret_transfer::{EntryAt, InsertError, WorkspaceDir};
use lazaret_tree::{
    Adjustment, Change, ChangeSet, Entry, Mode, RelPath, RelPathBuf, Renames, Tree, diff, escape,
};
use lazaret_validator::{
    Allowance, Finding, JudgeInput, Outcome, Policy, Validated, Verdict, Withheld, WithheldReason,
    judge_reusing, link_ends, split,
};
use rustix::fs::AtFlags;

use super::case::Case;
use super::choices::{Choices, Pick};
use super::contents::Contents;
use super::drift::{Drift, DriftConflict, DriftError, drifts, insert};
use super::file_diff::FileDiff;
use super::ignored::{IgnoreContext, Ignored, IgnoredFiles};
use super::input::GateInput;
use super::proposal::{ItemState, Origin, Proposal, ProposedChange};

/// Why a case can't be put together.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The workspace can't be compared.
    #[error(transparent)]
    Drift(#[from] DriftError),
    /// What would be applied can't be derived.
    #[error(transparent)]
    Propose(#[from] ProposeError),
}

/// Why what would be applied can't be derived.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// Hunks are chosen of what has none.
    #[error("{} is no text that could be taken in parts", escape(.path.as_str().as_bytes()))]
    NotText {
        /// Where.
        path: RelPathBuf,
    },
    /// Contents of chosen hunks can't be kept.
    #[error(transparent)]
    Store(#[from] InsertError),
}

impl Case {
    /// Puts a case together.
    ///
    /// # Errors
    /// When the workspace can't be read, or the quarantine not be written.
    pub fn assemble(input: GateInput) -> Result<Self, CaseError> {
        let all = diff(&input.baseline, &input.collected);
        let left_out = left_out(&input.workspace, link_ends(&input.baseline, &all));
        let all = all.into_vec();
        drop(input.collected);
        let is_git = |change: &Change| change.path.components().next() == Some(".git");
        let (git, changes): (Vec<_>, Vec<_>) = all.into_iter().partition(|change| is_git(change));
        let root = input.workspace.path().to_str().map(str::to_owned);
        let policy = Policy {
            root,
            left_out,
            ..input.policy
        };
        let mut contents = Contents::new(
            input.quarantine,
            input.base,
            input.workspace,
            &changes,
            &input.baseline,
        );
        let context = IgnoreContext {
            baseline: &input.baseline,
            contents: &contents,
            policy: &policy,
        };
        let (changes, ignored) = match input.ignored {
            IgnoredFiles::Stay => context.set_aside(changes),
            IgnoredFiles::Offered => (changes, Ignored::default()),
        };
        let mut notes = input.notes;
        let path = |note: &Adjustment| RelPath::from_bytes(&note.name).map(RelPath::to_owned);
        notes.retain(|note| !path(note).is_ok_and(|path| ignored.holds(&path)));
        let mut caches = input.caches;
        caches.extend(ignored.skipped());
        let mut case = Self {
            drifts: drifts(&changes, &mut contents)?,
            changes,
            caches,
            ignored,
            contents,
            subject: input.subject,
            session_dir: input.session_dir,
            baseline: input.baseline,
            refusals: input.refusals,
            notes,
            git,
            policy,
            whole: None,
        };
        case.judge_whole()?;
        Ok(case)
    }

    /// Looks at the workspace again: the user may have gone on editing.
    ///
    /// # Errors
    /// When the workspace can't be read, or the quarantine not be written.
    pub fn refresh(&mut self) -> Result<(), CaseError> {
        self.drifts = drifts(&self.changes, &mut self.contents)?;
        Ok(self.judge_whole()?)
    }

    /// Says that a finding about a change is allowed, whatever is chosen: what the user
    /// told lazaret to remember.
    ///
    /// # Errors
    /// As [`Case::propose`].
    pub fn allow(&mut self, allowances: Vec<Allowance>) -> Result<(), ProposeError> {
        if !allowances.is_empty() {
            self.policy.allowed.extend(allowances);
            self.judge_whole()?;
        }
        Ok(())
    }

    fn judge_whole(&mut self) -> Result<(), ProposeError> {
        self.whole = None;
        self.whole = Some(self.propose(&Choices::all())?);
        Ok(())
    }

    /// Derives what would be applied, and has it judged.
    ///
    /// Reads and judges the whole batch again, unless everything is taken: not for every
    /// key press.
    ///
    /// # Errors
    /// When the session's files can't be read or written, or hunks are picked of something
    /// that has none.
    pub fn propose(&self, choices: &Choices) -> Result<Proposal, ProposeError> {
        propose(self, choices)
    }
}

/// Finds which of these places are there in the workspace, a link included. Nothing is opened.
fn left_out(workspace: &WorkspaceDir, places: BTreeSet<RelPathBuf>) -> BTreeSet<RelPathBuf> {
    let is_there = |place: &RelPathBuf| {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statat(workspace.fd(), place.as_str(), flags).is_ok()
    };
    places.into_iter().filter(is_there).collect()
}

/// Derives a proposal. What everything taken comes to is judged once, when the case is
/// opened; a batch that is rejected as a whole can't be passed in parts.
fn propose(case: &Case, choices: &Choices) -> Result<Proposal, ProposeError> {
    if let Some(whole) = &case.whole
        && (whole.validated.is_none() || *choices == Choices::all())
    {
        return Ok(whole.clone());
    }
    let mut items = Vec::with_capacity(case.changes.len());
    for (made, drift) in case.changes.iter().zip(&case.drifts) {
        items.push(item(case, made, drift, choices.of(&made.path))?);
    }
    let policy = Policy {
        allowed: [case.policy.allowed.clone(), choices.allowed().to_vec()].concat(),
        alone: choices.alone(),
        ..case.policy.clone()
    };
    let (kept, before_judge) = separate(&items, &policy);
    let verdict = settled_verdict(case, &items, kept, &policy);
    if verdict.outcome == Outcome::Rejected {
        return Ok(Proposal {
            items: Arc::new(items),
            findings: Arc::new(verdict.findings),
            outcome: verdict.outcome,
            validated: None,
        });
    }
    let validated = verdict.validated.map(|validated| {
        let hollow = hollow(&items, validated.changes());
        match hollow.is_empty() {
            true => validated,
            false => validated.without(&hollow),
        }
    });
    let mut validated = validated;
    let judged = validated.as_mut().map(Validated::take_withheld);
    for withheld in before_judge.iter().chain(judged.iter().flatten()) {
        mark(&mut items, withheld);
    }
    Ok(Proposal {
        items: Arc::new(items),
        findings: Arc::new(verdict.findings),
        outcome: verdict.outcome,
        validated: validated.map(Arc::new),
    })
}

/// What is wanted of one change, before anything is judged.
fn item(
    case: &Case,
    made: &Arc<Change>,
    drift: &Drift,
    pick: &Pick,
) -> Result<ProposedChange, ProposeError> {
    let (instead, origin, state) = match drift {
        Drift::Already => (None, Origin::Session, ItemState::AlreadyApplied),
        Drift::Expected => (None, Origin::Session, ItemState::Applies),
        Drift::Merged(merged) => (Some(merged.clone()), Origin::Merged, ItemState::Applies),
        Drift::Conflict(conflict) => clashing(made, conflict, pick),
    };
    let mut item = ProposedChange {
        made: made.clone(),
        instead,
        state,
        origin,
    };
    if item.state == ItemState::Applies {
        match pick {
            Pick::Take | Pick::Alone | Pick::SessionVersion => {}
            Pick::Leave => item.state = ItemState::LeftOut,
            Pick::Hunks(chosen) => match in_part(case, item.proposed(), chosen)? {
                Part::All => {}
                Part::Nothing => item.state = ItemState::LeftOut,
                Part::Some(after) => {
                    item.instead = Some(Arc::new(Change {
                        after: Some(after),
                        ..item.proposed().clone()
                    }));
                    item.origin = Origin::Hunks;
                }
            },
        }
    }
    Ok(item)
}

/// What is wanted where the user changed the path too, and nothing can be merged.
fn clashing(
    made: &Change,
    DriftConflict { kind, host }: &DriftConflict,
    pick: &Pick,
) -> (Option<Arc<Change>>, Origin, ItemState) {
    match (pick, replacing(made, host)) {
        (Pick::SessionVersion, Some(proposed)) => (
            Some(Arc::new(proposed)),
            Origin::SessionVersion,
            ItemState::Applies,
        ),
        (Pick::Leave, _) => (None, Origin::Session, ItemState::LeftOut),
        _ => (None, Origin::Session, ItemState::Conflict(kind.clone())),
    }
}

/// The session's version over whatever the user has there now. Directories are not
/// replaced: what is in them was not looked at.
fn replacing(made: &Change, host: &EntryAt) -> Option<Change> {
    let before = match host {
        EntryAt::Nothing => None,
        EntryAt::Entry(entry) => Some(entry.clone()),
        EntryAt::Other => return None,
    };
    let sides = [&before, &made.before, &made.after];
    let holds_dir = sides.iter().any(|side| **side == Some(Entry::Dir));
    (!holds_dir && before != made.after).then(|| Change {
        path: made.path.clone(),
        before,
        after: made.after.clone(),
    })
}

/// What a choice of hunks comes to.
enum Part {
    Nothing,
    Some(Entry),
    All,
}

fn in_part(case: &Case, proposed: &Change, chosen: &BTreeSet<usize>) -> Result<Part, ProposeError> {
    let Some((old, new)) = case.texts(proposed) else {
        return Err(ProposeError::NotText {
            path: proposed.path.clone(),
        });
    };
    let diff = FileDiff::new(&old, &new);
    let count = diff.hunks().len();
    if chosen.is_empty() {
        return Ok(Part::Nothing);
    }
    if chosen.iter().copied().eq(0..count) {
        return Ok(Part::All);
    }
    let text = diff.with_hunks(chosen);
    // What the rest is merged with later, should the user go on editing: see `drift`.
    insert(&case.contents, old.as_bytes())?;
    let (digest, size) = insert(&case.contents, &text)?;
    // The execute bit is no hunk: it comes with the whole change, or not.
    let mode = match (&proposed.before, &proposed.after) {
        (Some(Entry::File { mode, .. }), _) | (None, Some(Entry::File { mode, .. })) => *mode,
        _ => Mode::Plain,
    };
    Ok(Part::Some(Entry::File { mode, size, digest }))
}

/// Takes away what is not wanted or can't be had, and all that depends on it.
fn separate(items: &[ProposedChange], policy: &Policy) -> (Vec<Arc<Change>>, Vec<Withheld>) {
    let halves = taken_in_part(items);
    let open = items
        .iter()
        .filter(|item| item.state != ItemState::AlreadyApplied);
    let reason = |item: &ProposedChange| match &item.state {
        ItemState::LeftOut => Some(WithheldReason::LeftOut),
        ItemState::Conflict(_) => Some(WithheldReason::Conflict),
        _ if policy.alone.contains(item.path()) => None,
        _ => halves.get(item.path()).cloned(),
    };
    let mut changes = Vec::with_capacity(items.len());
    changes.extend(open.clone().map(|item| Arc::clone(item.shared())));
    split(changes, open.map(reason).collect(), &policy.alone)
}

/// Finds what was moved over a file of which only some hunks are taken: its contents are not
/// there as a whole.
fn taken_in_part(items: &[ProposedChange]) -> BTreeMap<RelPathBuf, WithheldReason> {
    let is_in_part = |item: &ProposedChange| item.origin == Origin::Hunks;
    if !items.iter().any(is_in_part) {
        return BTreeMap::new();
    }
    let made: Vec<&Change> = items.iter().map(|item| &*item.made).collect();
    let renames = Renames::of(&made);
    let pairs = renames.pairs().filter(|pair| is_in_part(&items[pair.to]));
    pairs
        .map(|pair| {
            let place = made[pair.to].path.as_str().as_bytes().into();
            let path = made[pair.from].path.clone();
            (path, WithheldReason::Moved(place))
        })
        .collect()
}

/// Judges what is kept, and again without what that withholds, until nothing more is
/// withheld: a link that leads to something harmless in the whole batch may lead elsewhere
/// where a part of the batch is missing.
fn settled_verdict(
    case: &Case,
    items: &[ProposedChange],
    kept: Vec<Arc<Change>>,
    policy: &Policy,
) -> Verdict {
    let mut verdict = judge_once(case, items, kept, policy);
    loop {
        let Some(validated) = verdict.validated.take() else {
            return verdict;
        };
        let is_link = |change: &Arc<Change>| matches!(change.after, Some(Entry::Symlink { .. }));
        let is_lost = |withheld: &&Withheld| withheld.reason != WithheldReason::Git;
        let lost = validated.withheld().iter().filter(is_lost);
        if !validated.changes().iter().any(is_link) || lost.clone().next().is_none() {
            verdict.validated = Some(validated);
            return verdict;
        }
        let lost: Vec<Withheld> = lost.cloned().collect();
        let again = judge_once(case, items, validated.changes().to_vec(), policy);
        let Some(second) = again.validated else {
            return again;
        };
        let stays = second.changes().len() == validated.changes().len();
        let is_new = |finding: &&Arc<Finding>| !verdict.findings.contains(finding);
        let more: Vec<_> = again.findings.iter().filter(is_new).cloned().collect();
        verdict.findings.extend(more);
        Finding::put_in_order(&mut verdict.findings);
        if verdict.outcome == Outcome::Clean {
            verdict.outcome = again.outcome;
        }
        verdict.validated = Some(second.with_withheld(lost));
        if stays {
            return verdict;
        }
    }
}

/// Finds directories that would be made for nothing: all that was to be in them is held
/// back.
fn hollow(
    items: &[ProposedChange],
    changes: &[Arc<Change>],
) -> BTreeMap<RelPathBuf, WithheldReason> {
    let mut hollow = BTreeMap::new();
    let mut filled: BTreeSet<&RelPath> = BTreeSet::new();
    // What is in a directory comes after it.
    for change in changes.iter().rev() {
        let path = &*change.path;
        let is_made = change.before.is_none() && change.after == Some(Entry::Dir);
        let next = items.partition_point(|item| item.path() <= path);
        let inside = items.get(next).map(ProposedChange::path);
        match inside.filter(|inside| inside.starts_with(path)) {
            Some(inside) if is_made && !filled.contains(path) => {
                hollow.insert(path.to_owned(), WithheldReason::Keeps(inside.to_owned()));
            }
            _ => filled.extend(path.parent()),
        }
    }
    hollow
}

/// Judges the trees of what is kept. What was said of everything is said of most parts of it
/// too, and shared.
fn judge_once(
    case: &Case,
    items: &[ProposedChange],
    kept: Vec<Arc<Change>>,
    policy: &Policy,
) -> Verdict {
    let before = before(case, items, &kept);
    // Changes in `.git` never are applied, but what they are is said each time.
    let changes = ChangeSet::new(kept.into_iter().chain(case.git.iter().cloned()).collect());
    let input = JudgeInput {
        changes,
        baseline: &before,
        refusals: &case.refusals,
        notes: &case.notes,
        contents: &case.contents,
    };
    let known = case.whole.as_ref().map(Proposal::shared_findings);
    judge_reusing(input, policy, known.unwrap_or_default())
}

/// The workspace as it is now, as far as the batch is about it.
fn before<'a>(case: &'a Case, items: &[ProposedChange], kept: &[Arc<Change>]) -> Cow<'a, Tree> {
    let mut before = Cow::Borrowed(&case.baseline);
    let there = items
        .iter()
        .filter(|item| item.state == ItemState::AlreadyApplied);
    let there = there.map(|item| (&item.made.path, item.made.after.as_ref()));
    let kept = kept
        .iter()
        .map(|change| (&change.path, change.before.as_ref()));
    for (path, entry) in there.chain(kept) {
        if before.get(path) == entry {
            continue;
        }
        match entry {
            Some(entry) => drop(before.to_mut().insert(path.clone(), entry.clone())),
            None => drop(before.to_mut().remove(path)),
        }
    }
    before
}

/// Writes down why an item does not apply.
fn mark(items: &mut [ProposedChange], withheld: &Withheld) {
    let path = &*withheld.path;
    let found = items.binary_search_by(|item| item.path().cmp(path));
    if let Some(item) = found.ok().and_then(|at| items.get_mut(at))
        && item.state == ItemState::Applies
    {
        item.state = ItemState::of(&withheld.reason);
    }
}
