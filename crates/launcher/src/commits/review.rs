//! Commits as the review knows them.

use std::collections::BTreeMap;
use std::io;

use lazaret_commits::ObjectId;
use lazaret_commits::contents::CommitContents;
use lazaret_commits::examine::{Examination, ExaminedCommit, ExaminedTip};
use lazaret_gate::format::{count, date};
use lazaret_review::branch::{Branch, BranchChoice, BranchStatus, Commit, CommitAt, Commits};
use lazaret_review::commit_view::{CommitSource, SourceError};
use lazaret_tree::{Blobs, ChangeSet, Digest, RelPath, escape};
use lazaret_validator::Findings;

use super::open::{OpenCommits, OpenTip, TipState};
use super::text::short;

/// How many commits of one branch are listed; all of them are landed.
const MOST_COMMITS: usize = 1000;

/// Lays out what was found, in the order of the list.
pub(super) fn branches(opened: &OpenCommits) -> Commits {
    let stays = opened.stays.iter();
    let tips = opened.examined();
    Commits {
        branches: tips
            .map(|(tip, state)| branch(tip, state, &opened.examination))
            .collect(),
        facts: stays
            .map(|one| format!("stays in the copy: {one}"))
            .collect(),
    }
}

fn branch(open: &OpenTip, state: TipState<'_>, examination: &Examination) -> Branch {
    let (kind, label) = (open.tip.source.kind(), open.tip.label());
    let branch = Branch {
        name: match kind {
            "head" => label,
            kind => format!("{kind} {label}"),
        },
        lands_as: open.name.short().to_owned(),
        facts: vec![match open.tip.submodule() {
            None => format!("becomes {}", open.name),
            Some(name) => format!("becomes {} in submodule {name}", open.name),
        }],
        findings: [].into_iter().collect(),
        status: BranchStatus::Free,
        choice: BranchChoice::Land,
        commits: Vec::new(),
    };
    match state {
        TipState::Good(tip) => with(branch, tip, examination),
        TipState::Blocked(tip) => {
            let mut blocks = examination.blocks(tip);
            let why = blocks
                .next()
                .map_or(String::new(), |(_, finding)| format!("blocked: {finding}"));
            let hint = ". `lazaret commits land` takes `--allow PATH` for it.";
            Branch {
                status: BranchStatus::Stays(why + hint),
                choice: BranchChoice::Leave,
                ..with(branch, tip, examination)
            }
        }
        TipState::Refused(refusal) => Branch {
            status: BranchStatus::Stays(format!("refused: {refusal}")),
            choice: BranchChoice::Leave,
            ..branch
        },
    }
}

fn with(mut branch: Branch, tip: &ExaminedTip, examination: &Examination) -> Branch {
    let base = match tip.base {
        Some(base) => format!("on {}", short(&base)),
        None => "with a history of their own".to_owned(),
    };
    branch.facts.push(format!(
        "{} {base}, {}",
        number(tip.commits.len(), "commit"),
        number(tip.changes.len(), "change")
    ));
    if let Some(more) = tip.commits.len().checked_sub(MOST_COMMITS + 1) {
        let more = count(more as u64 + 1);
        branch
            .facts
            .push(format!("{more} older commits are not listed"));
    }
    let commits = tip.commits.iter().rev().take(MOST_COMMITS);
    let commits = commits.filter_map(|id| Some(commit(id, examination.commit(id)?)));
    Branch {
        findings: findings(&tip.findings),
        commits: commits.collect(),
        ..branch
    }
}

fn commit(id: &ObjectId, examined: &ExaminedCommit) -> Commit {
    let commit = &examined.commit;
    let time = date(u64::try_from(commit.time).unwrap_or(0));
    let mut facts = vec![
        format!("commit {id}"),
        format!("{}, {time}", escape(&commit.author)),
        number(examined.changes.len(), "change"),
    ];
    if commit.is_signed {
        facts.push("signed; the signature is not verified".to_owned());
    }
    if commit.parents.len() > 1 {
        facts.push("a merge, compared with its first parent".to_owned());
    }
    Commit {
        subject: escape(commit.subject()),
        facts,
        findings: findings(&examined.findings),
    }
}

fn findings(findings: &Findings) -> lazaret_review::item::ItemFindings {
    findings.iter().map(|finding| (**finding).clone()).collect()
}

fn number(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{} {what}s", count(number as u64)),
    }
}

/// Reads the changes of the commits that [`branches`] lists.
#[derive(Debug)]
pub(super) struct CommitReader<'a> {
    opened: &'a OpenCommits,
    /// Of each repository, started with the first commit of it that is shown.
    contents: BTreeMap<&'a RelPath, CommitContents<'a>>,
}

impl<'a> CommitReader<'a> {
    pub(super) fn new(opened: &'a OpenCommits) -> Self {
        Self {
            opened,
            contents: BTreeMap::new(),
        }
    }

    fn find(&self, at: CommitAt) -> Option<(ObjectId, &'a ExaminedCommit)> {
        let examination = &self.opened.examination;
        let tip = examination.tips.get(at.branch)?.as_ref().ok()?;
        let mut commits = tip.commits.iter().rev();
        let id = commits.nth(at.commit)?;
        Some((*id, examination.commit(id)?))
    }

    fn start(&self, inside: &RelPath) -> Result<CommitContents<'a>, SourceError> {
        let mut fetched = self.opened.fetched();
        let fetched = fetched.find(|(fetched, _)| *fetched.inside == *inside);
        let (fetched, _) = fetched.ok_or("the commits were not fetched")?;
        Ok(CommitContents::open(&fetched.commits.quarantine)?)
    }
}

impl CommitSource for CommitReader<'_> {
    fn changes(&mut self, at: CommitAt) -> Result<ChangeSet, SourceError> {
        let (id, examined) = self.find(at).ok_or("there is no such commit")?;
        let tip = self.opened.tips.get(at.branch);
        let inside = &*tip.ok_or("there is no such branch")?.tip.repository;
        let mut contents = match self.contents.remove(inside) {
            Some(contents) => contents,
            None => self.start(inside)?,
        };
        // After an error the next commit gets a reader of its own.
        let changes = contents.changes(id, &examined.commit)?;
        self.contents.insert(inside, contents);
        Ok(changes)
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for CommitReader<'_> {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let mut found = self.contents.values().map(|contents| contents.open(digest));
        let none = || Err(io::ErrorKind::NotFound.into());
        found.find(Result::is_ok).unwrap_or_else(none)
    }
}
