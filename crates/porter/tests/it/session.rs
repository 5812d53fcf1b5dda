//! A session without an engine: the porter as a process, over directories.

use std::fs;
use std::path::Path;

use lazaret_protocol::{
    HashPolicy, Receipt, StreamLimits, Survey, SurveyError, SurveyRequest, Wanted, Writers,
    read_wanted,
};
use lazaret_tests::tree_text;
use lazaret_transfer::{
    BlobStore, GitMode, Packed, PendingSurvey, SelectionSpec, StreamEnd, VolumeState, WorkspaceDir,
    pack, unpack, verify_received,
};
use lazaret_tree::{Change, ChangeKind, Entry, Tree, diff, escape};

use super::exporting::{Exporting, list};

pub(super) struct Said {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

pub(super) fn porter(verb: &str, root: &Path, stdin: &[u8]) -> Said {
    porter_on(verb, &[root], stdin)
}

/// As [`porter`], on several paths.
pub(super) fn porter_on(verb: &str, paths: &[&Path], stdin: &[u8]) -> Said {
    let paths = paths.iter().map(|path| path.as_os_str());
    let arguments = std::iter::once(verb.as_ref()).chain(paths);
    let output = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
        .stdin_bytes(stdin)
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .expect("the porter was built");
    Said {
        code: output.status.code().expect("not killed"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("escaped"),
    }
}

impl Said {
    #[track_caller]
    pub(super) fn ok(self) -> Vec<u8> {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        self.stdout
    }

    #[track_caller]
    pub(super) fn failed(self) -> String {
        assert_eq!(self.code, 125);
        assert!(self.stdout.is_empty(), "nothing but a reason");
        let line = self.stderr.strip_suffix('\n').expect("one line");
        assert!(!line.contains('\n'), "one line");
        line.to_owned()
    }
}

pub(super) fn packed(dir: &Path) -> (Packed, Vec<u8>) {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let (git, exclude) = (GitMode::Full, Vec::new());
    let selector = SelectionSpec { git, exclude }
        .compile()
        .expect("no pattern");
    let mut stream = Vec::new();
    let packed = pack(&workspace, &selector, &mut stream, &mut |_| {}).expect("readable");
    (packed, stream)
}

/// A directory in memory where there is one: a survey flushes the whole file system, and
/// that of a busy disk takes its time.
pub(super) fn fast_tempdir() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// A volume with a workspace in it, as it is when the command starts.
pub(super) struct Session {
    pub(super) volume: tempfile::TempDir,
    pub(super) baseline: Tree,
    pub(super) receipt: Receipt,
}

impl Session {
    #[track_caller]
    pub(super) fn start(workspace: &Path) -> Self {
        let volume = fast_tempdir();
        let (packed, stream) = packed(workspace);
        let stdout = porter("receive", volume.path(), &stream).ok();
        let entries = packed.trailer.entries;
        let receipt = Receipt::read_from(&mut &stdout[..], entries).expect("a receipt");
        assert_eq!(receipt.arrived, packed.trailer);
        let baseline = packed.manifest.tree().expect("in path order");
        assert!(
            receipt
                .identities
                .keys()
                .map(|path| &**path)
                .eq(baseline.iter().map(|(path, _)| path))
        );
        Self {
            volume,
            baseline,
            receipt,
        }
    }

    pub(super) fn edit(&self, text: &str) {
        tree_text::build(text, self.volume.path());
    }

    fn known(&self) -> VolumeState {
        VolumeState::received(&self.baseline, &self.receipt).expect("of one tree")
    }

    /// Has the volume surveyed by a porter that goes on.
    pub(super) fn ask(
        &self,
        limits: StreamLimits,
        hash_policy: HashPolicy,
    ) -> (Exporting, Result<Survey, SurveyError>) {
        let mut request = Vec::new();
        let asked = SurveyRequest {
            hash_policy,
            ..self
                .known()
                .request(limits, Writers::Stopped, &self.baseline)
        };
        asked.write_to(&mut request).expect("to memory");
        let mut porter = Exporting::of(self.volume.path());
        let survey = porter.survey(&request, &limits);
        (porter, survey)
    }

    #[track_caller]
    pub(super) fn survey(&self, limits: StreamLimits) -> Result<Survey, SurveyError> {
        let (porter, survey) = self.ask(limits, HashPolicy::All);
        porter.send(&list(&[])).ok();
        survey
    }

    #[track_caller]
    pub(super) fn look(&self) -> VolumeState {
        let survey = self.survey(StreamLimits::DEFAULT).expect("a survey");
        let surveyed = self.known().surveyed(survey, &self.baseline);
        let whole = surveyed.and_then(PendingSurvey::whole);
        whole.expect("no contradiction")
    }

    /// As [`Session::look`], with the digests of new files from what was fetched.
    #[track_caller]
    pub(super) fn look_and_fetch(&self) -> VolumeState {
        let limits = StreamLimits::DEFAULT;
        let (porter, survey) = self.ask(limits, HashPolicy::KnownOnly);
        let surveyed = self
            .known()
            .surveyed(survey.expect("a survey"), &self.baseline);
        let surveyed = surveyed.expect("no contradiction");
        let wanted = surveyed.wanted(&self.baseline);
        for file in &wanted {
            let is_new = self.baseline.get(&file.path).is_none();
            assert_eq!(file.digest.is_none(), is_new, "{}", file.path);
        }
        let arrived = self.arrived(&wanted, porter);
        surveyed.arrived(&arrived).expect("all of it")
    }

    /// Fetches what is wanted and compares all of it with the volume.
    #[track_caller]
    pub(super) fn fetch(&self, wanted: &[Wanted]) -> Tree {
        let (porter, survey) = self.ask(StreamLimits::DEFAULT, HashPolicy::All);
        survey.expect("a survey");
        self.arrived(wanted, porter)
    }

    #[track_caller]
    fn arrived(&self, wanted: &[Wanted], porter: Exporting) -> Tree {
        let list = list(wanted);
        assert_eq!(read_wanted(&mut &list[..]).expect("our own"), wanted);
        let stream = porter.send(&list).ok();
        let store = tempfile::tempdir().expect("a temporary directory");
        let quarantine = BlobStore::create(&store.path().join("q")).expect("private");
        let mut input = &stream[..];
        let limits = StreamLimits::DEFAULT;
        let arrived =
            unpack(&mut input, limits, &quarantine, StreamEnd::Trailer).expect("our stream");
        assert!(arrived.refusals.is_empty() && arrived.notes.is_empty());
        verify_received(wanted, &arrived.tree).expect("what was surveyed");
        for file in wanted {
            let Some(Entry::File { digest, .. }) = arrived.tree.get(&file.path) else {
                panic!("{}", file.path);
            };
            let mut blob = quarantine.blob(digest, file.identity.size).expect("stored");
            let mut contents = Vec::new();
            std::io::Read::read_to_end(&mut blob, &mut contents).expect("readable");
            let there = fs::read(self.volume.path().join(file.path.as_str())).expect("there");
            assert_eq!(contents, there);
        }
        arrived.tree
    }
}

/// Sends `before` in, edits the volume, and prints what came out.
#[track_caller]
pub(super) fn check(before: &str, edits: &str) -> String {
    let workspace = tree_text::temp(before);
    let session = Session::start(workspace.path());
    session.edit(edits);
    print(&session)
}

#[track_caller]
pub(super) fn print(session: &Session) -> String {
    let seen = session.look();
    session.fetch(&seen.wanted(&session.baseline));
    assert_eq!(session.look_and_fetch(), seen);
    let collection = seen.collect(&session.baseline);
    let mut lines = Vec::new();
    for change in &diff(&session.baseline, &collection.tree) {
        let Change { path, after, .. } = change;
        let sign = match change.kind() {
            ChangeKind::Added => '+',
            ChangeKind::Modified => '~',
            ChangeKind::ModeOnly => 'x',
            ChangeKind::Deleted => '-',
            ChangeKind::TypeChanged => '!',
        };
        let kind = match after {
            None => "",
            Some(Entry::Dir) => "/",
            Some(Entry::Symlink { .. }) => "@",
            Some(Entry::File { .. }) => "",
        };
        lines.push(format!("{sign} {}{kind}", escape(path.as_str().as_bytes())));
    }
    for refusal in &collection.refusals {
        lines.push(refusal.to_string());
    }
    for skipped in &collection.left_out {
        lines.push(format!("left out: {}", escape(&skipped.name)));
    }
    for note in &collection.notes {
        lines.push(format!(
            "{}: {} [{}]",
            escape(&note.name),
            note.reason,
            note.code
        ));
    }
    lines.join("\n")
}

pub(super) const PROJECT: &str = r#"
    f README.md "hello\n"
    x run.sh "exit 0\n"
    d empty/
    f src/main.rs *40000
    f src/lib.rs ""
    l src/link -> ../README.md
    l out -> /etc/passwd
    f .git/HEAD "ref: refs/heads/main\n"
    f .git/objects/ab/cdefabcdefabcdefabcdefabcdefabcdefabcd "x"
    f "blank name" "x"
    f "\xc3\xa4\xe2\x80\xae" "x"
    f big *3000000
"#;
