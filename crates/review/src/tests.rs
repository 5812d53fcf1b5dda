//! What the tests of the review share: a bench without a gate, and reviews of made-up items.

mod choosing;
mod looping;

use lazaret_validator::{Finding, Severity, Subject};

use super::backend::{ReviewBackend, ReviewBackendError};
use super::branch::CommitAt;
use super::diff_view::{DiffView, FileHead};
use super::item::tests::item;
use super::item::{
    Allowance, BlockReason, Choice, Item, ItemFindings, ItemStatus, Mark, Sign, Tag,
};
use super::keys::Key;
use super::model::{Effect, Review, Title};
use super::plan::{Left, Plan, Taken};
use super::tree::Body;

/// A bench that knows two versions of each item.
#[derive(Debug, Default)]
pub(super) struct FakeBench {
    pub(super) versions: Vec<(String, String)>,
    pub(super) proposed: usize,
}

impl ReviewBackend for FakeBench {
    fn diff_view(&mut self, item: usize) -> Result<DiffView, ReviewBackendError> {
        let (old, new) = &self.versions[item];
        Ok(DiffView::compare(old, new))
    }

    fn commit_view(&mut self, at: CommitAt) -> Result<DiffView, ReviewBackendError> {
        let mut view = DiffView::compare("one\n", "one\ntwo\n");
        view.files = vec![
            FileHead {
                hunk: 0,
                sign: Sign::Modified,
                path: format!("src/{}-{}.rs", at.branch, at.commit),
                words: Vec::new(),
            },
            FileHead {
                hunk: 1,
                sign: Sign::Added,
                path: "logo.png".to_owned(),
                words: vec!["binary, 12 bytes".to_owned()],
            },
        ];
        Ok(view)
    }

    fn statuses(&mut self, items: &[Item]) -> Result<Vec<ItemStatus>, ReviewBackendError> {
        Ok(items.iter().map(|item| item.status.clone()).collect())
    }

    fn propose(&mut self, items: &[Item]) -> Result<Plan, ReviewBackendError> {
        self.proposed += 1;
        let mut plan = Plan {
            changes: items.len(),
            ..Plan::default()
        };
        for (item, (old, new)) in items.iter().zip(&self.versions) {
            let all = DiffView::compare(old, new).hunks.len();
            let path = item.path.clone();
            let note = match (&item.choice, item.allowance) {
                (Choice::Hunks(hunks), _) => format!("{} of {all} hunks", hunks.len()).into(),
                (_, Allowance::Once | Allowance::Remembered) => "allowed: ci.workflow".into(),
                _ => "".into(),
            };
            match item.mark() {
                Mark::Taken | Mark::Partly => {
                    plan.hunks += (0..all).filter(|hunk| item.takes_hunk(*hunk)).count();
                    plan.taken.push(Taken {
                        sign: item.sign,
                        path,
                        note,
                    });
                }
                Mark::Left => plan.left.push(Left {
                    path,
                    reason: BlockReason::Said("you left it out".into()),
                }),
                Mark::Stays => plan.left.push(Left {
                    path,
                    reason: BlockReason::Said("blocked".into()),
                }),
            }
        }
        Ok(plan)
    }

    fn export(&mut self, _items: &[Item]) -> Result<String, ReviewBackendError> {
        Ok("Wrote it.".to_owned())
    }
}

pub(super) fn finding(severity: Severity, code: &'static str, message: &'static str) -> Finding {
    Finding {
        severity,
        code,
        subject: Subject::Batch,
        allowed: false,
        message: message.into(),
        hint: None,
        line: None,
    }
}

fn lines(range: std::ops::RangeInclusive<usize>) -> String {
    range.map(|n| format!("line {n}\n")).collect()
}

/// One of each kind: blocked, warned about, new, deleted, merged, with several hunks.
pub(super) fn sample() -> (Review, FakeBench) {
    let mut workflow = item(Sign::Added, ".github/workflows/ci.yml");
    workflow.status = ItemStatus::Blocked;
    workflow.findings = ItemFindings::from_iter([finding(
        Severity::Block,
        "ci.workflow",
        "runs on your CI with its secrets",
    )]);
    let mut makefile = item(Sign::Modified, "Makefile");
    makefile.findings = ItemFindings::from_iter([Finding {
        line: Some(2),
        hint: Some("Read what it runs."),
        ..finding(Severity::Warn, "suspect.build", "a build file changed")
    }]);
    let old = item(Sign::Deleted, "docs/old.md");
    let mut merged = item(Sign::Modified, "src/lib.rs");
    merged.tag = Some(Tag::Merged);
    merged.facts = ["you changed it too; both changes fit".to_owned()].into();
    let mut script = item(Sign::Modified, "src/run.sh");
    script.facts = ["became executable".to_owned()].into();
    let long = lines(1..=40);
    let changed = long
        .replace("line 3\n", "line three\n")
        .replace("line 20\n", "line 20\n\tline 20½\n")
        .replace("line 40\n", "line 40");
    let versions = [
        ("", "on: push\njobs: {}\n"),
        ("all:\n\tcc a.c\n", "all:\n\tcc a.c b.c\n"),
        ("gone\nfor good\n", ""),
        (&long, &changed),
        ("#!/bin/sh\n", "#!/bin/sh\n"),
    ];
    let backend = FakeBench {
        versions: versions
            .into_iter()
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
            .collect(),
        proposed: 0,
    };
    let title = Title {
        session: "harbour-1".to_owned(),
        workspace: "/home/ada/harbour".to_owned(),
        commits: None,
    };
    let review = Review::new(title, vec![workflow, makefile, old, merged, script]);
    (review, backend)
}

/// Presses keys as the loop does, and returns what the last one asked for.
pub(super) fn press(review: &mut Review, backend: &mut FakeBench, keys: &[Key]) -> Effect {
    let mut effect = Effect::None;
    settle(review, backend);
    for key in keys {
        effect = review.press(*key);
        if effect == Effect::Propose {
            let plan = backend.propose(review.items()).unwrap();
            review.ask(plan);
        }
        settle(review, backend);
    }
    effect
}

/// Reads what is wanted, as the loop does before it draws.
pub(super) fn settle(review: &mut Review, backend: &mut FakeBench) {
    if let Some(body) = review.wanted_body() {
        let diff_view = match body {
            Body::Item(item) => backend.diff_view(item),
            Body::Commit(at) => backend.commit_view(at),
        };
        review.put_body(body, diff_view.unwrap());
    }
    while let Some(item) = review.wanted_counts() {
        review.put_counts(item, backend.diff_view(item).unwrap().counts());
    }
}

pub(super) fn typed(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}
