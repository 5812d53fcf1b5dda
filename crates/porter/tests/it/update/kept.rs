//! A kept session without an engine: the launcher's part of an update, and the porter as a
//! process.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lazaret_protocol::{
    FileTime, Receipt, StreamLimits, Survey, UpdateReceipt, UpdateRequest, Writers,
};
use lazaret_transfer::{
    AgentChanges, FileSelector, Hashing, Overlay, PendingSurvey, PendingUpdate, SelectionSpec,
    StatCache, StatCacheOutcome, StatCacheWriter, SyncConflict, SyncPlan, VolumeState, Walked,
    WorkspaceDir, pack_subset, reconcile, walk, walk_cached,
};
use lazaret_tree::{Entry, Mode, Tree};

use crate::exporting::{Exporting, list};
use crate::session::{fast_tempdir, packed, porter};

/// What goes wrong in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The host's side of order and stream ends after that many bytes.
    Cut(usize),
    /// The porter is killed once that many bytes of them were written.
    Kill(usize),
    /// The porter does all of it, but the host loses the receipt.
    LostReceipt,
}

/// How the porter is started.
pub(crate) type Starter = fn(&Path, &str) -> duct::Expression;

/// What the host keeps of a session, and its volume.
pub(crate) struct Kept {
    pub(crate) workspace: tempfile::TempDir,
    pub(crate) volume: tempfile::TempDir,
    pub(crate) baseline: Tree,
    pub(crate) known: VolumeState,
    pub(crate) intent: Option<PendingUpdate>,
    /// What the last look at the workspace left for the next one.
    pub(crate) stats: StatCache,
    pub(crate) start: Starter,
    /// When the agent's last process had ended, if that is known.
    pub(crate) quiet_since: Option<FileTime>,
    /// What the next update sends beside files of the workspace.
    pub(crate) overlay: Overlay,
}

/// An update that did not come to its end.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) stderr: String,
}

pub(crate) fn update_verb(root: &Path, flag: &str) -> duct::Expression {
    let arguments = ["update".as_ref(), root.as_os_str(), flag.as_ref()];
    duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
}

impl Kept {
    /// Copies `text` in.
    pub(crate) fn new(text: &str) -> Self {
        Self::in_volume(text, fast_tempdir())
    }

    /// Copies `text` into a directory that is there.
    pub(crate) fn in_volume(text: &str, volume: tempfile::TempDir) -> Self {
        let workspace = fast_tempdir();
        lazaret_tests::tree_text::build(text, workspace.path());
        Self::over(workspace, volume)
    }

    /// Copies a workspace into a directory that is there.
    pub(crate) fn over(workspace: tempfile::TempDir, volume: tempfile::TempDir) -> Self {
        let (packed, stream) = packed(workspace.path());
        let stdout = porter("receive", volume.path(), &stream).ok();
        let receipt = Receipt::read_from(&mut &stdout[..], packed.trailer.entries);
        let receipt = receipt.expect("a receipt");
        let baseline = packed.manifest.tree().expect("in path order");
        Self {
            workspace,
            volume,
            known: VolumeState::received(&baseline, &receipt).expect("of one tree"),
            baseline,
            intent: None,
            stats: StatCache::default(),
            start: update_verb,
            quiet_since: None,
            overlay: Overlay::default(),
        }
    }

    pub(crate) fn host(&self, text: &str) {
        lazaret_tests::tree_text::build(text, self.workspace.path());
    }

    pub(crate) fn agent(&self, text: &str) {
        lazaret_tests::tree_text::build(text, self.volume.path());
    }

    /// Updates, with nothing going wrong.
    #[track_caller]
    pub(crate) fn update(&mut self) -> SyncPlan {
        let plan = self.try_update(AgentChanges::Keep, Fault::None, &mut |_| {});
        plan.unwrap_or_else(|broken| panic!("{}", broken.stderr))
    }

    /// Does what the launcher does. `meanwhile` runs between the survey and the order, when
    /// no other process should.
    pub(crate) fn try_update(
        &mut self,
        agent_changes: AgentChanges,
        fault: Fault,
        meanwhile: &mut dyn FnMut(&SyncPlan),
    ) -> Result<SyncPlan, Broken> {
        let limits = StreamLimits::DEFAULT;
        let (their_stdin, mut stdin) = io::pipe().expect("a pipe");
        let (mut stdout, their_stdout) = io::pipe().expect("a pipe");
        let started = (self.start)(self.volume.path(), "--ahead")
            .stdin_file(their_stdin)
            .stdout_file(their_stdout)
            .stderr_capture()
            .unchecked();
        let child = started.start().expect("the porter was built");
        // It holds the porter's ends of the pipes.
        drop(started);
        let asked = self.known.request(limits, Writers::Stopped, &self.baseline);
        let survey = asked.write_to(&mut stdin).map_err(drop).and_then(|()| {
            let survey = Survey::read_from(&mut stdout, &limits);
            survey.map_err(drop)
        });
        let planned = survey.map(|survey| {
            let known = self.known.clone().surveyed(survey, &self.baseline);
            let known = known.and_then(PendingSurvey::whole);
            self.known = known.expect("no contradiction");
            if let Some(intent) = self.intent.take() {
                self.baseline = intent.fold_into_baseline(self.baseline.clone(), &self.known);
            }
            let host = self.look();
            reconcile(&self.baseline, &host, &self.known, agent_changes)
        });
        let mut done = Err(());
        if let Ok(plan) = planned {
            // What the launcher has on disk before the order is given.
            self.intent = Some(plan.pending_update());
            meanwhile(&plan);
            done = self.request(&plan.request, fault, &mut stdin, &child);
            done = done.and(match fault {
                Fault::LostReceipt => Err(()),
                _ => Ok(()),
            });
            drop(stdin);
            let receipt = UpdateReceipt::read_from(&mut stdout, &plan.request);
            if let (Ok(()), Ok(receipt)) = (done, receipt) {
                child.wait().expect("it ran");
                let known = self.known.clone().updated(&plan.request, &receipt);
                self.known = known.expect("for this order");
                self.baseline = plan.settled(self.baseline.clone(), &receipt);
                self.intent = None;
                return Ok(plan);
            }
        }
        drop(stdout);
        let output = child.wait().expect("it ran");
        assert!(
            done.is_err() || output.status.code() == Some(125),
            "{output:?}"
        );
        let stderr = String::from_utf8(output.stderr.clone()).expect("escaped");
        Err(Broken { stderr })
    }

    fn request(
        &self,
        request: &UpdateRequest,
        fault: Fault,
        stdin: &mut dyn Write,
        child: &duct::Handle,
    ) -> Result<(), ()> {
        let room = match fault {
            Fault::Cut(room) | Fault::Kill(room) => room,
            Fault::None | Fault::LostReceipt => usize::MAX,
        };
        let mut out = Cutting { inner: stdin, room };
        let workspace = WorkspaceDir::open_ambient(self.workspace.path()).expect("ours");
        let request = &UpdateRequest {
            quiet_since: self.quiet_since,
            ..request.clone()
        };
        let written = request.write_to(&mut out).map_err(drop).and_then(|()| {
            pack_subset(
                &workspace,
                &selector(),
                request,
                &self.overlay,
                &mut out,
                &mut |_| {},
            )
            .map(drop)
            .map_err(drop)
        });
        if let (Err(()), Fault::Kill(_)) = (written, fault) {
            child.kill().expect("ours");
        }
        written
    }

    /// Reads what may have changed in the workspace, and holds it against all of it.
    pub(crate) fn look(&mut self) -> Walked {
        let workspace = WorkspaceDir::open_ambient(self.workspace.path()).expect("ours");
        let mut stored = Vec::new();
        let mut recorder = StatCacheWriter::new(&workspace, &mut stored);
        let looked = walk_cached(&workspace, &selector(), &self.stats, &mut recorder);
        if recorder.finish().expect("to memory") == StatCacheOutcome::Written {
            self.stats = StatCache::read_from(&mut &stored[..]).expect("our own");
        }
        let looked = looked.expect("readable");
        let read = walk(&workspace, &selector(), Hashing::parallel()).expect("readable");
        assert_eq!(looked, read, "a file is not what the cache says");
        looked
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.volume.path().join(path)
    }

    /// Prints the volume.
    pub(crate) fn dump(&self) -> String {
        lazaret_tests::tree_text::dump(self.volume.path())
    }

    /// Asks for a survey, as a collection does, and takes it in.
    #[track_caller]
    pub(crate) fn survey(&mut self) {
        let limits = StreamLimits::DEFAULT;
        let mut request = Vec::new();
        let asked = self.known.request(limits, Writers::Stopped, &self.baseline);
        asked.write_to(&mut request).expect("to memory");
        let mut porter = Exporting::of(self.volume.path());
        let survey = porter.survey(&request, &limits).expect("a survey");
        porter.send(&list(&[])).ok();
        let known = self.known.clone().surveyed(survey, &self.baseline);
        let known = known.and_then(PendingSurvey::whole);
        self.known = known.expect("no contradiction");
    }

    /// Holds what is known of the volume against every byte of it.
    #[track_caller]
    pub(crate) fn assert_known(&self, what: &str) {
        assert_eq!(self.known.tree(), read_all(self.volume.path()), "{what}");
    }
}

/// Reads everything that is a file, a directory or a link; caches as they are made in these
/// tests are not entered, nor is what an update leaves.
pub(crate) fn read_all(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut waiting = vec![String::new()];
    while let Some(below) = waiting.pop() {
        for entry in fs::read_dir(root.join(&below)).expect("readable") {
            let entry = entry.expect("readable");
            let name = entry.file_name().into_string().expect("UTF-8");
            let path = match &*below {
                "" => name,
                below => format!("{below}/{name}"),
            };
            if path.ends_with("__pycache__") || path == ".lazaret-incoming" {
                continue;
            }
            let metadata = fs::symlink_metadata(entry.path()).expect("there");
            let found = if metadata.is_dir() {
                waiting.push(path.clone());
                Entry::Dir
            } else if metadata.is_symlink() {
                let target = fs::read_link(entry.path()).expect("there");
                Entry::Symlink {
                    target: target.to_str().expect("UTF-8").parse().expect("a target"),
                }
            } else if metadata.is_file() {
                let contents = fs::read(entry.path()).expect("readable");
                Entry::File {
                    mode: Mode::from_unix(std::os::unix::fs::MetadataExt::mode(&metadata)),
                    size: contents.len() as u64,
                    digest: lazaret_tree::Digest::of(&contents),
                }
            } else {
                continue;
            };
            tree.insert(path.parse().expect("a path"), found);
        }
    }
    tree
}

pub(crate) fn selector() -> FileSelector {
    let (git, exclude) = (lazaret_transfer::GitMode::Full, Vec::new());
    SelectionSpec { git, exclude }
        .compile()
        .expect("no pattern")
}

/// Names conflicts.
pub(crate) fn conflicts(plan: &SyncPlan) -> String {
    let paths = plan
        .conflicts
        .iter()
        .map(|SyncConflict { path, .. }| path.as_str());
    paths.collect::<Vec<_>>().join(" ")
}

/// Ends after some bytes.
struct Cutting<'a> {
    inner: &'a mut dyn Write,
    room: usize,
}

impl Write for Cutting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.room);
        if length == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = self.inner.write(&bytes[..length])?;
        self.room -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
