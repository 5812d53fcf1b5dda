//! A user's repository and a copy of it, as two directories.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lazaret_commits::git::Git;
use lazaret_protocol::{
    FileTime, FoundEntry, FoundKind, Receipt, Survey, UpdateReceipt, VolumeIdentity, Writers,
};
use lazaret_tests::git_world::{call, git};
use lazaret_transfer::{
    AgentChanges, FileSelector, GitMode, Hashing, ObjectId, PendingSurvey, SelectionSpec, Tips,
    VolumeState, WorkspaceDir, has_own_objects, new_refs, own_work, pack, pack_subset, reconcile,
    walk,
};
use lazaret_tree::{Digest, Entry, Tree};

use super::BothWays;
use crate::cancel::Cancel;
use crate::commits::history_source::{BranchRefs, HistorySource};
use crate::commits::repository_news::RepositoryNews;
use crate::commits::signed::write_signed;
use crate::lifecycle::file_limit::FileLimit;
use crate::lifecycle::update::UpdateOptions;
use crate::spec::Source;
use crate::store::SessionDir;
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::{GateLimits, WriteScope};
use crate::store::sync_state::{SyncState, add_tips, put_sent, read_tips, write_own_work};

pub(super) struct World {
    scratch: tempfile::TempDir,
    dir: SessionDir,
    state: SyncState,
    cancel: Cancel,
    history: HistorySource,
    mode: GitMode,
    /// What the command, which goes on, can only read; `None` if it has ended.
    pub(super) write_scope: Option<WriteScope>,
    /// How many commits, stashes and tags wait to be landed, as of the last look.
    waiting: usize,
}

impl World {
    /// A repository with `main` and `side`, copied in.
    pub(super) fn new(init: &[&str], mode: GitMode) -> Self {
        let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let scratch = scratch.unwrap();
        for name in ["host", "copy", "session"] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        let host = scratch.path().join("host");
        git(&host, &[&["init", "-q", "-b", "main"], init].concat());
        write(&host, "a", "one\n");
        commit(&host, "first");
        git(&host, &["branch", "side"]);
        write(&host, "a", "two\n");
        commit(&host, "second");
        git(&host, &["repack", "-qad"]);
        let program = Git::find("/usr/local/bin:/usr/bin".as_ref(), &host).unwrap();
        let mut world = Self {
            dir: SessionDir::at(&scratch.path().join("session")),
            state: SyncState {
                baseline: Tree::new(),
                volume: VolumeState::default(),
            },
            cancel: Cancel::new(),
            history: HistorySource {
                git: program,
                branches: BranchRefs::Heads,
            },
            scratch,
            mode,
            write_scope: None,
            waiting: 0,
        };
        let mut stream = Vec::new();
        let workspace = world.workspace();
        let packed = pack(&workspace, &world.selector(), &mut stream, &mut |_| {}).unwrap();
        world.unpack(&stream);
        world.state.baseline = packed.manifest.tree().unwrap();
        let mut deferred = DeferredSync::default();
        add_tips(&world.dir, &packed.tips, &mut deferred).unwrap();
        put_sent(&world.dir, &packed.tips, &mut deferred).unwrap();
        world.collect();
        world
    }

    pub(super) fn host(&self) -> PathBuf {
        self.scratch.path().join("host")
    }

    pub(super) fn copy(&self) -> PathBuf {
        self.scratch.path().join("copy")
    }

    fn workspace(&self) -> WorkspaceDir {
        WorkspaceDir::open_ambient(&self.host()).unwrap()
    }

    fn selector(&self) -> FileSelector {
        let spec = SelectionSpec {
            git: self.mode,
            exclude: Vec::new(),
        };
        spec.compile().unwrap()
    }

    fn unpack(&self, stream: &[u8]) {
        duct::cmd!("tar", "-x", "--no-same-owner")
            .dir(self.copy())
            .stdin_bytes(stream)
            .run()
            .unwrap();
    }

    /// Looks at the copy, as when its command has ended; returns how many commits, stashes and
    /// tags wait to be landed.
    pub(super) fn collect(&mut self) -> usize {
        let mut found = Vec::new();
        read_below(&self.copy(), "", &mut found);
        let gone = Vec::new();
        let surveyed = VolumeState::default().surveyed(Survey { found, gone }, &Tree::new());
        self.state.volume = surveyed.and_then(PendingSurvey::whole).unwrap();
        let texts = |digest: &Digest, size: u64| {
            let mut waiting = vec![self.copy().join(".git")];
            while let Some(dir) = waiting.pop() {
                for entry in fs::read_dir(dir).unwrap().flatten() {
                    if entry.file_type().unwrap().is_dir() {
                        waiting.push(entry.path());
                    } else if entry.metadata().unwrap().len() == size {
                        let bytes = fs::read(entry.path()).unwrap();
                        if Digest::of(&bytes) == *digest {
                            return Some(bytes);
                        }
                    }
                }
            }
            None
        };
        let SyncState { baseline, volume } = &self.state;
        let tips = read_tips(&self.dir);
        let own = own_work(baseline, volume, &tips, &texts);
        write_own_work(&self.dir, own.as_ref()).unwrap();
        let unlanded = new_refs(baseline, volume, &tips, &texts);
        self.waiting = unlanded.listed.len();
        self.waiting
    }

    /// Lands every branch and tag of the copy.
    pub(super) fn land(&self) {
        let copy = self.copy();
        let copy = copy.to_str().unwrap();
        let refs = [
            "+refs/heads/*:refs/heads/lazaret/s/*",
            "+refs/tags/*:refs/tags/lazaret/s/*",
        ];
        let fetch = [&["fetch", "-q", "--no-tags", copy], &refs[..]].concat();
        git(&self.host(), &fetch);
        let listed = git(&self.host(), &["rev-list", "--all"]);
        let tags = git(&self.host(), &["for-each-ref", "--format=%(objectname)"]);
        let ids = listed.lines().chain(tags.lines());
        let landed: Tips = ids
            .filter_map(|id| ObjectId::from_hex(id.as_bytes()))
            .collect();
        add_tips(&self.dir, &landed, &mut DeferredSync::default()).unwrap();
    }

    /// Whether git made objects in the copy.
    pub(super) fn has_own_objects(&self) -> bool {
        has_own_objects(&self.state.baseline, &self.state.volume)
    }

    /// Notes that a commit was landed.
    pub(super) fn note_landed(&self, landed: &str) {
        let landed: Tips = ObjectId::from_hex(landed.as_bytes()).into_iter().collect();
        add_tips(&self.dir, &landed, &mut DeferredSync::default()).unwrap();
    }

    /// Notes that a commit was landed with a signature.
    pub(super) fn note_signed(&self, made: &str, signed: &str) {
        let id = |text: &str| ObjectId::from_hex(text.as_bytes()).unwrap();
        write_signed(&self.dir, &[(id(made), id(signed))].into()).unwrap();
    }

    /// Brings the copy up to date.
    pub(super) fn update(&mut self) -> RepositoryNews {
        let (workspace, selector) = (self.workspace(), self.selector());
        let walked = walk(&workspace, &selector, Hashing::parallel()).unwrap();
        let SyncState { baseline, volume } = &self.state;
        let options = UpdateOptions {
            gate: LIMITS,
            agent_changes: match self.waiting {
                0 => AgentChanges::Keep,
                _ => AgentChanges::KeepCommits,
            },
        };
        let agent_changes = options.in_state(&self.dir, &self.state, Writers::Stopped);
        let plan = reconcile(baseline, &walked, volume, agent_changes);
        let source = Source {
            dir: &workspace,
            selector: &selector,
            history: Some(&self.history),
        };
        let both_ways = BothWays {
            dir: &self.dir,
            made: self.dir.file("history"),
            source,
            limit: FileLimit::of(LIMITS),
            write_scope: self.write_scope.as_ref(),
            cancel: &self.cancel,
        };
        let settled = both_ways.settle(plan, &self.state, &walked).unwrap();
        let mut deferred = DeferredSync::default();
        add_tips(&self.dir, &walked.tips, &mut deferred).unwrap();
        let request = &settled.plan.request;
        for path in request.remove.iter().rev() {
            let path = self.copy().join(path.as_str());
            match path.is_dir() && !path.is_symlink() {
                true => fs::remove_dir(&path).unwrap(),
                false => fs::remove_file(&path).unwrap(),
            }
        }
        let mut stream = Vec::new();
        let overlay = &settled.overlay;
        let sent = pack_subset(
            &workspace,
            &selector,
            request,
            overlay,
            &mut stream,
            &mut |_| {},
        );
        self.unpack(&stream);
        let identities = request.send.iter();
        let receipt = UpdateReceipt {
            written: Receipt {
                arrived: sent.unwrap(),
                identities: identities
                    .map(|(path, _)| (path.to_owned(), identity(0)))
                    .collect(),
            },
            stayed: Vec::new(),
        };
        let baseline = settled.plan.settled(self.state.baseline.clone(), &receipt);
        let volume = self
            .state
            .volume
            .clone()
            .updated(request, &receipt)
            .unwrap();
        self.state = SyncState { baseline, volume };
        if let Some(sent) = &settled.sent {
            put_sent(&self.dir, sent, &mut deferred).unwrap();
        }
        settled.news
    }

    /// Returns every object that the copy's refs, reflogs and index reach.
    pub(super) fn reached(&self) -> BTreeSet<String> {
        let all = [
            "rev-list",
            "--objects",
            "--all",
            "HEAD",
            "--reflog",
            "--indexed-objects",
        ];
        let listed = git(&self.copy(), &all);
        let ids = listed.lines().filter_map(|line| line.split(' ').next());
        ids.map(ToOwned::to_owned).collect()
    }

    /// Returns those of some objects that neither side has.
    pub(super) fn lost(&self, objects: &BTreeSet<String>) -> Vec<String> {
        let is_there = |dir: &Path, id: &str| call(dir, &["cat-file", "-e", id]).status.success();
        let held = self.reached();
        let lost = objects
            .iter()
            .filter(|id| !held.contains(*id) && !is_there(&self.host(), id));
        lost.cloned().collect()
    }
}

const LIMITS: GateLimits = GateLimits {
    max_entries: 1 << 20,
    max_bytes: 1 << 30,
    max_file_bytes: 1 << 30,
};

pub(super) fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap();
}

pub(super) fn commit(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", message]);
}

pub(super) fn id(dir: &Path, name: &str) -> String {
    git(dir, &["rev-parse", name]).trim_end().to_owned()
}

fn identity(size: u64) -> VolumeIdentity {
    let never = FileTime {
        seconds: 0,
        nanos: 0,
    };
    VolumeIdentity {
        ino: 1,
        size,
        mode: 0o100_644,
        mtime: never,
        ctime: never,
    }
}

fn read_below(root: &Path, below: &str, found: &mut Vec<FoundEntry>) {
    for entry in fs::read_dir(root.join(below)).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let path = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        let kind = match entry.file_type().unwrap().is_dir() {
            true => {
                read_below(root, &path, found);
                FoundKind::Dir {
                    identity: identity(0),
                }
            }
            false => {
                let bytes = fs::read(entry.path()).unwrap();
                FoundKind::File {
                    identity: identity(bytes.len() as u64),
                    links: 1,
                    digest: Some(Digest::of(&bytes)),
                }
            }
        };
        let name = path.into_bytes();
        found.push(FoundEntry { name, kind });
    }
}

impl World {
    /// Whether a path of the copy is as it was sent.
    pub(super) fn is_as_sent(&self, path: &str) -> bool {
        let path = path.parse::<lazaret_tree::RelPathBuf>().unwrap();
        let held: Option<&Entry> = self.state.volume.get(&path);
        held.is_some() && held == self.state.baseline.get(&path)
    }
}
