//! Trees as text, and an update without a volume.

use std::collections::BTreeMap;

use lazaret_protocol::{
    Checksum, FileTime, Receipt, Survey, Trailer, UpdateReceipt, UpdateRequest, VolumeIdentity,
};
use lazaret_protocol::{FoundEntry, FoundKind, SpecialType};
use lazaret_tests::tree_text::{self, Line};
use lazaret_transfer::{
    AgentChanges, PendingSurvey, SkipReason, Skipped, SyncConflictKind, SyncPlan, VolumeState,
    Walked, reconcile,
};
use lazaret_tree::{Digest, Entry, Mode, RelPath, RelPathBuf, Tree};

/// The three sides, and what stays out on two of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    pub(super) baseline: Tree,
    pub(super) host: Tree,
    pub(super) left_out: Vec<String>,
    pub(super) volume: Tree,
    pub(super) others: BTreeMap<String, FoundKind>,
}

/// Reads `d`, `f`, `x`, `l` and, for a FIFO, `p`; `s` stands for a cache directory in a
/// volume, and for what is left out on the host.
fn read(text: &str) -> (Tree, BTreeMap<String, FoundKind>) {
    let (mut tree, mut others) = (Tree::new(), BTreeMap::new());
    for (path, line) in tree_text::parse(text) {
        let name = String::from_utf8(path).expect("UTF-8");
        let path: RelPathBuf = name.parse().expect("a path");
        for ancestor in path.ancestors() {
            tree.insert(ancestor.to_owned(), Entry::Dir);
        }
        let entry = match line {
            Line::Dir => Entry::Dir,
            Line::File { mode, content } => Entry::File {
                mode: Mode::from_unix(mode),
                size: content.len() as u64,
                digest: Digest::of(&content),
            },
            Line::Symlink { target } => Entry::Symlink {
                target: String::from_utf8(target)
                    .expect("UTF-8")
                    .parse()
                    .expect("a target"),
            },
            Line::Fifo => {
                others.insert(name, FoundKind::Special(SpecialType::Fifo));
                continue;
            }
            Line::Socket => {
                others.insert(name, FoundKind::Cache);
                continue;
            }
            other => panic!("{other:?}"),
        };
        tree.insert(path, entry);
    }
    (tree, others)
}

impl Case {
    pub(super) fn new(baseline: &str, host: &str, volume: &str) -> Self {
        let (baseline, _) = read(baseline);
        let (host, left_out) = read(host);
        let (volume, others) = read(volume);
        Self {
            baseline,
            host,
            left_out: left_out.into_keys().collect(),
            volume,
            others,
        }
    }

    pub(super) fn plan(&self, agent_changes: AgentChanges) -> SyncPlan {
        let skipped = self.left_out.iter().map(|name| Skipped {
            name: name.clone().into_bytes(),
            reason: SkipReason::GitIgnore,
            bytes: None,
        });
        let host = Walked {
            tree: self.host.clone(),
            skipped: skipped.collect(),
            tips: Default::default(),
        };
        reconcile(&self.baseline, &host, &self.state(), agent_changes)
    }

    pub(super) fn state(&self) -> VolumeState {
        let state = VolumeState::received(&self.volume, &receipt(&self.volume)).expect("of one");
        let found = self.others.iter().map(|(name, kind)| FoundEntry {
            name: name.clone().into_bytes(),
            kind: kind.clone(),
        });
        let survey = Survey {
            found: found.collect(),
            gone: Vec::new(),
        };
        let surveyed = state.surveyed(survey, &self.volume);
        surveyed.and_then(PendingSurvey::whole).expect("a tree")
    }

    /// Does what the porter would do, and refuses what it could not.
    pub(super) fn carry_out(&self, plan: &SyncPlan) -> Self {
        let mut after = self.clone();
        for path in plan.request.remove.iter().rev() {
            let below = |name: &str| name.starts_with(&format!("{}/", path.as_str()));
            assert!(
                after.volume.below(path).all(|(other, _)| *other == **path),
                "{path} is not empty"
            );
            assert!(
                !after.others.keys().any(|name| below(name)),
                "{path} has others"
            );
            let held = after.volume.remove(path).is_some();
            let other = after.others.remove(path.as_str()).is_some();
            assert!(held || other, "{path} is not there");
        }
        for (path, entry) in plan.request.send.iter() {
            if let Some(parent) = path.parent() {
                assert_eq!(after.volume.get(parent), Some(&Entry::Dir), "above {path}");
            }
            let there = after.volume.insert(path.to_owned(), entry.clone());
            let dirs = (there == Some(Entry::Dir), *entry == Entry::Dir);
            assert!(
                there.is_none() || dirs == (false, false),
                "{path} is in the way"
            );
            let other = after.others.remove(path.as_str());
            assert!(other != Some(FoundKind::Cache), "{path} is a cache");
        }
        let receipt = UpdateReceipt {
            written: receipt(&plan.request.send),
            stayed: Vec::new(),
        };
        let state = self
            .state()
            .updated(&plan.request, &receipt)
            .expect("a tree");
        assert_eq!(state.tree(), after.volume);
        after.baseline = plan.settled(after.baseline, &receipt);
        after
    }
}

pub(super) fn receipt(tree: &Tree) -> Receipt {
    let time = FileTime {
        seconds: 1,
        nanos: 1,
    };
    let identities = tree.iter().map(|(path, _)| {
        let identity = VolumeIdentity {
            ino: 1,
            size: 1,
            mode: 0o100_644,
            mtime: time,
            ctime: time,
        };
        (path.to_owned(), identity)
    });
    Receipt {
        arrived: Trailer {
            entries: tree.len() as u64,
            bytes: 0,
            stream: Checksum::of(b""),
        },
        identities: identities.collect(),
    }
}

/// Every parent is there, as a directory.
pub(super) fn is_whole(tree: &Tree) -> bool {
    tree.iter().all(|(path, _)| {
        path.parent()
            .is_none_or(|parent| tree.get(parent) == Some(&Entry::Dir))
    })
}

/// Prints what a plan does, and what the gate would see after it.
#[track_caller]
pub(super) fn check(
    agent_changes: AgentChanges,
    baseline: &str,
    host: &str,
    volume: &str,
) -> String {
    let case = Case::new(baseline, host, volume);
    let plan = case.plan(agent_changes);
    let after = case.carry_out(&plan);
    assert!(is_whole(&after.baseline) && is_whole(&after.volume));
    let again = after.plan(agent_changes);
    assert_eq!(again.request, UpdateRequest::default(), "once more");
    assert!(again.adopted.is_empty());
    assert_eq!(
        (&again.conflicts, &again.stays),
        (&plan.conflicts, &plan.stays)
    );
    assert_eq!(after.carry_out(&again).baseline, after.baseline);
    let mut lines = Vec::new();
    lines.extend(
        plan.request
            .remove
            .iter()
            .map(|path| format!("remove {path}")),
    );
    let send = plan.request.send.iter();
    lines.extend(send.map(|(path, _)| format!("send {path}")));
    lines.extend(plan.adopted.iter().map(|path| format!("adopt {path}")));
    lines.extend(plan.stays.iter().map(|path| format!("stays {path}")));
    for conflict in &plan.conflicts {
        let kind = match conflict.kind {
            SyncConflictKind::BothChanged => "both changed",
            SyncConflictKind::NoParent => "no parent",
            SyncConflictKind::WouldHide => "buried",
        };
        lines.push(format!("{kind} {}", conflict.path));
    }
    for change in &lazaret_tree::diff(&after.baseline, &after.volume) {
        lines.push(format!("agent {:?} {}", change.kind(), change.path));
    }
    lines.join("\n")
}

pub(super) fn starts_with(path: &RelPath, other: &str) -> bool {
    RelPath::new(other).is_ok_and(|other| path.starts_with(other))
}
