//! Branches and commits in the review: their rows, their pages, and what is chosen.

use super::branch::{Branch, BranchChoice, BranchStatus, Commit, CommitAt, Commits};
use super::item::{BlockReason, Mark};
use super::model::Review;
use super::page::PageLayout;
use super::plan::{Landing, Left, Plan};
use super::tree::{Body, BranchRow, Row, RowKind};

/// Branches with more commits than this are closed at first.
const MOST_OPEN: usize = 20;

impl Commits {
    /// Iterates over the branches that are closed at first.
    pub(super) fn long_branches(&self) -> impl Iterator<Item = usize> {
        let branches = self.branches.iter().enumerate();
        let long = branches.filter(|(_, branch)| branch.commits.len() > MOST_OPEN);
        long.map(|(place, _)| place)
    }

    /// Returns the mark of all branches that can be landed.
    pub(super) fn mark(&self) -> Mark {
        let free = self.branches.iter().filter(|branch| branch.is_free());
        let mut marks = free.map(Branch::mark);
        let Some(first) = marks.next() else {
            return Mark::Stays;
        };
        match marks.all(|mark| mark == first) {
            true => first,
            false => Mark::Partly,
        }
    }
}

impl Review {
    /// Borrows the commits, with what was chosen.
    pub fn commits(&self) -> &Commits {
        &self.commits
    }

    /// Lists the rows of the commits on show. `search` is in lower case.
    pub(super) fn commit_rows(&self, search: &str) -> Vec<Row> {
        if self.commits.is_empty() {
            return Vec::new();
        }
        let is_found = |text: &str| text.to_lowercase().contains(search);
        let least = self.show.least();
        let mut rows = Vec::new();
        for (place, branch) in self.commits.branches.iter().enumerate() {
            let is_named = is_found(&branch.name);
            let is_wanted = |commit: &Commit| {
                least.is_none_or(|least| commit.findings.severity() >= Some(least))
                    && (is_named || is_found(&commit.subject))
            };
            let wanted: Vec<usize> = (branch.commits.iter().enumerate())
                .filter(|(_, commit)| is_wanted(commit))
                .map(|(commit, _)| commit)
                .collect();
            let is_grave = least.is_none_or(|least| branch.severity() >= Some(least));
            if wanted.is_empty() && !(is_named && is_grave) {
                continue;
            }
            let is_closed = self.closed_branches.contains(&place);
            rows.push(Row {
                depth: 1,
                kind: RowKind::Branch(BranchRow {
                    branch: place,
                    is_closed,
                }),
            });
            if !is_closed {
                rows.extend(wanted.into_iter().map(|commit| Row {
                    depth: 2,
                    kind: RowKind::Commit(CommitAt {
                        branch: place,
                        commit,
                    }),
                }));
            }
        }
        // What the filter lets nothing through of has no heading.
        if !rows.is_empty() || (search.is_empty() && least.is_none()) {
            rows.insert(
                0,
                Row {
                    depth: 0,
                    kind: RowKind::Commits,
                },
            );
        }
        rows
    }

    /// Lays out what there is to say of a row of the commits.
    pub(super) fn commit_page(&self, row: &Row, width: usize) -> PageLayout {
        let mut page = PageLayout::default();
        match &row.kind {
            RowKind::Branch(row) => {
                let branch = &self.commits.branches[row.branch];
                page.name(&branch.name, width);
                page.facts(&branch.facts, width);
                page.findings_at(&branch.findings, width);
                if let BranchStatus::Stays(why) = &branch.status {
                    page.status(&format!("Stays in the copy: {why}"), width);
                }
            }
            RowKind::Commit(at) => {
                if let Some(commit) = self.commits.at(*at) {
                    page.name(&commit.subject, width);
                    page.facts(&commit.facts, width);
                    page.findings_at(&commit.findings, width);
                    page.body(self.body_of(Body::Commit(*at)), width);
                }
            }
            RowKind::Commits | RowKind::Dir(_) | RowKind::File(_) => {
                page.name("Commits", width);
                let (landed, all) = (self.commits.picked().count(), self.commits.branches.len());
                if all > 0 {
                    page.facts(&[format!("{landed} of {all} will be landed")], width);
                }
                page.facts(&self.commits.facts, width);
            }
        }
        page
    }

    /// Opens or closes a branch.
    pub(super) fn fold_branch(&mut self, branch: usize) {
        if !self.closed_branches.remove(&branch) {
            self.closed_branches.insert(branch);
        }
        self.list_again();
    }

    /// Returns which branches are on show.
    pub(super) fn branches_on_show(&self) -> Vec<usize> {
        let rows = self.rows.iter().map(|row| &row.kind);
        let branches = rows.filter_map(|kind| match kind {
            RowKind::Branch(row) => Some(row.branch),
            _ => None,
        });
        branches.collect()
    }

    /// Whether all that can be landed of some branches will be.
    pub(super) fn are_landed(&self, branches: &[usize]) -> bool {
        let mut free = self.free_branches(branches);
        free.all(|branch| branch.choice == BranchChoice::Land)
    }

    /// Has branches landed, or leaves them, as far as that can be chosen.
    pub(super) fn choose_branches(&mut self, branches: &[usize], choice: BranchChoice) {
        for place in branches {
            let branch = &mut self.commits.branches[*place];
            if branch.is_free() {
                branch.choice = choice;
            }
        }
    }

    /// Has branches landed unless all of them will be already; then leaves them.
    pub(super) fn toggle_branches(&mut self, branches: &[usize]) {
        if self.free_branches(branches).next().is_none() {
            self.say("This can't be landed; the pane beside the list says why.");
            return;
        }
        let choice = match self.are_landed(branches) {
            true => BranchChoice::Leave,
            false => BranchChoice::Land,
        };
        self.choose_branches(branches, choice);
        self.lay_out();
    }

    /// Adds to a plan which branches are landed, and which stay.
    pub(super) fn plan_commits(&self, plan: &mut Plan) {
        for branch in &self.commits.branches {
            let why = match (&branch.status, branch.choice) {
                (BranchStatus::Free, BranchChoice::Land) => {
                    plan.landings.push(Landing {
                        name: branch.name.clone(),
                        lands_as: branch.lands_as.clone(),
                    });
                    continue;
                }
                (BranchStatus::Free, BranchChoice::Leave) => "you left it out".to_owned(),
                (BranchStatus::Stays(why), _) => why.clone(),
            };
            plan.left.push(Left {
                path: branch.name.as_str().into(),
                reason: BlockReason::Said(why.into()),
            });
        }
    }

    /// Says that a commit is no choice of its own.
    pub(super) fn explain_commit(&mut self) {
        self.say("A commit is landed with its branch: take or leave that.");
    }

    fn free_branches(&self, branches: &[usize]) -> impl Iterator<Item = &Branch> {
        let branches = branches.iter().map(|place| &self.commits.branches[*place]);
        branches.filter(|branch| branch.is_free())
    }
}
