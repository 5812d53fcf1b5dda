//! `Desk`: a workspace, what a session made of it, and what the user did meanwhile.

use std::io;
use std::path::{Path, PathBuf};

use lazaret_gate::apply::apply;
use lazaret_gate::case::Case;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::decision::{ApplyPlan, approve};
use lazaret_gate::format::causes;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::input::GateInput;
use lazaret_gate::proposal::{ItemState, Origin, Proposal};
use lazaret_gate::propose::ProposeError;
use lazaret_tests::tree_text;
use lazaret_transfer::{
    ApplyError, BlobStore, FileSelector, GitMode, Hashing, MergeBases, SelectionSpec, WorkspaceDir,
    pack, record_merge_bases, walk,
};
use lazaret_tree::{RelPath, escape};
use lazaret_validator::Policy;

/// The three sides of a case, on disk.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) root: tempfile::TempDir,
    pub(super) policy: Policy,
    pub(super) base: Base,
    pub(super) ignored: IgnoredFiles,
}

/// Whether the session kept the texts that were sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Kept,
    Lost,
}

impl Desk {
    /// Starts from `before`; the session and the user then do their edits.
    pub(super) fn new(before: &str, session: &str, host: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["workspace", "volume"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
            tree_text::build(before, &root.path().join(dir));
        }
        let desk = Self {
            root,
            policy: Policy::shipped(),
            base: Base::Kept,
            ignored: IgnoredFiles::Stay,
        };
        let workspace = desk.open("workspace");
        let packed = pack(&workspace, &selector(), &mut io::sink(), &mut |_| {});
        let tree = packed.unwrap().manifest.tree().unwrap();
        let path = desk.path("base");
        record_merge_bases(&workspace, &tree, &path, 1 << 20, &mut || true).unwrap();
        let mut stored = Vec::new();
        lazaret_protocol::write_tree(&tree, &mut stored).unwrap();
        std::fs::write(desk.path("baseline"), stored).unwrap();
        tree_text::build(session, &desk.path("volume"));
        desk.edit(host);
        desk
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The user edits the workspace.
    pub(super) fn edit(&self, edits: &str) {
        tree_text::build(edits, &self.path("workspace"));
    }

    pub(super) fn workspace(&self) -> String {
        tree_text::dump(&self.path("workspace"))
    }

    fn open(&self, name: &str) -> WorkspaceDir {
        WorkspaceDir::open_ambient(&self.path(name)).unwrap()
    }

    pub(super) fn case(&self) -> Case {
        let volume = self.open("volume");
        let everything = SelectionSpec {
            git: GitMode::None,
            exclude: Vec::new(),
        };
        let everything = everything.compile_exclude_only().unwrap();
        let collected = walk(&volume, &everything, Hashing::parallel())
            .unwrap()
            .tree;
        let mut stored = &std::fs::read(self.path("baseline")).unwrap()[..];
        let quarantine = self.path("quarantine");
        let quarantine = match quarantine.exists() {
            true => BlobStore::open(&quarantine).unwrap(),
            false => BlobStore::create(&quarantine).unwrap(),
        };
        for (path, entry) in collected.iter() {
            if matches!(entry, lazaret_tree::Entry::File { .. }) {
                let mut file = volume.open_file(path).unwrap();
                quarantine.insert(&mut file, u64::MAX).unwrap();
            }
        }
        let base = match self.base {
            // Where nothing was text, there is none.
            Base::Kept => MergeBases::open(&self.path("base")).ok(),
            Base::Lost => None,
        };
        Case::assemble(GateInput {
            baseline: lazaret_protocol::read_tree(&mut stored).unwrap(),
            collected,
            refusals: Vec::new(),
            notes: Vec::new(),
            caches: Vec::new(),
            ignored: self.ignored,
            quarantine,
            base,
            workspace: self.open("workspace"),
            policy: self.policy.clone(),
            subject: None,
            session_dir: None,
        })
        .unwrap()
    }

    /// Applies a proposal as it was shown.
    pub(super) fn apply(&self, case: &Case, proposal: Proposal) -> Result<ApplyPlan, ApplyError> {
        let plan = approve(proposal).unwrap();
        let number = (1..)
            .find(|number| !self.journal(*number).exists())
            .unwrap();
        apply(case, &plan, &self.journal(number))?;
        Ok(plan)
    }

    /// Where the n-th apply keeps its journal.
    pub(super) fn journal(&self, number: u32) -> PathBuf {
        self.path("apply").join(number.to_string())
    }
}

fn selector() -> FileSelector {
    let selection = SelectionSpec {
        git: GitMode::None,
        exclude: Vec::new(),
    };
    selection.compile().unwrap()
}

/// One line per item, then one per finding.
pub(super) fn shown(proposal: &Proposal) -> String {
    let mut text = String::new();
    for item in proposal.items() {
        let state = match &item.state {
            ItemState::Applies => "applies".to_owned(),
            ItemState::AlreadyApplied => "already".to_owned(),
            ItemState::LeftOut => "left out".to_owned(),
            ItemState::Conflict(kind) => format!("conflict: {kind}"),
            ItemState::Blocked(codes) => format!("blocked: {}", codes.join(" ")),
            ItemState::Depends(path) => format!("depends on {path}"),
            ItemState::Moved(place) => format!("moved to {}", escape(place)),
        };
        let origin = match item.origin {
            Origin::Session => "",
            Origin::Merged => " (merged)",
            Origin::Hunks => " (hunks)",
            Origin::SessionVersion => " (theirs)",
        };
        text.push_str(&format!("{}: {state}{origin}\n", item.path()));
    }
    for finding in proposal.findings() {
        text.push_str(&format!("{finding}\n"));
    }
    text
}

/// Everything taken but for these.
pub(super) fn picks(picks: &[(&str, Pick)]) -> Choices {
    let mut choices = Choices::all();
    for (path, pick) in picks {
        choices.pick(RelPath::new(path).unwrap(), pick.clone());
    }
    choices
}

/// Proposes to take everything.
pub(super) fn all(case: &Case) -> Proposal {
    case.propose(&Choices::all()).unwrap()
}

/// Why choices can't be proposed.
pub(super) fn refused(proposed: Result<Proposal, ProposeError>) -> String {
    causes(&proposed.unwrap_err()).join(": ")
}

/// Reads a file of the workspace.
pub(super) fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}
