//! Files in and out: the porter as a process, over directories.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use lazaret_tests::{Random, random_tree, tree_text};
use lazaret_transfer::{
    Change, ChangeKind, Collection, Ending, Entry, GitMode, Packed, Quarantine, Receipt, Selection,
    StreamLimits, Survey, SurveyError, SurveyRequest, Tree, WorkspaceDir, check_arrived, diff,
    escape, pack, read_wanted, unpack, write_wanted,
};

struct Said {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

fn porter(verb: &str, root: &Path, stdin: &[u8]) -> Said {
    let arguments = [verb.as_ref(), root.as_os_str()];
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
    fn ok(self) -> Vec<u8> {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        self.stdout
    }

    #[track_caller]
    fn failed(self) -> String {
        assert_eq!(self.code, 125);
        assert!(self.stdout.is_empty(), "nothing but a reason");
        let line = self.stderr.strip_suffix('\n').expect("one line");
        assert!(!line.contains('\n'), "one line");
        line.to_owned()
    }
}

fn packed(dir: &Path) -> (Packed, Vec<u8>) {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let (git, exclude) = (GitMode::Full, Vec::new());
    let selector = Selection { git, exclude }.compile().expect("no pattern");
    let mut stream = Vec::new();
    let packed = pack(&workspace, &selector, &mut stream, &mut |_| {}).expect("readable");
    (packed, stream)
}

/// A directory in memory where there is one: a survey flushes the whole file system, and
/// that of a busy disk takes its time.
fn fast_tempdir() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// A volume with a workspace in it, as it is when the command starts.
struct Session {
    volume: tempfile::TempDir,
    baseline: Tree,
    receipt: Receipt,
}

impl Session {
    #[track_caller]
    fn start(workspace: &Path) -> Self {
        let volume = fast_tempdir();
        let (packed, stream) = packed(workspace);
        let stdout = porter("receive", volume.path(), &stream).ok();
        let entries = packed.trailer.entries;
        let receipt = Receipt::read_from(&mut &stdout[..], entries).expect("a receipt");
        assert_eq!(receipt.arrived, packed.trailer);
        let baseline = packed.tree;
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

    fn edit(&self, text: &str) {
        tree_text::build(text, self.volume.path());
    }

    fn survey_bytes(&self, limits: StreamLimits) -> Vec<u8> {
        let receipt = self.receipt.clone();
        let mut request = Vec::new();
        let written = SurveyRequest { limits, receipt }.write_to(&mut request);
        written.expect("to memory");
        porter("survey", self.volume.path(), &request).ok()
    }

    fn survey(&self, limits: StreamLimits) -> Result<Survey, SurveyError> {
        Survey::read_from(&mut &self.survey_bytes(limits)[..], &limits)
    }

    #[track_caller]
    fn collect(&self) -> Collection {
        let survey = self.survey(StreamLimits::DEFAULT).expect("a survey");
        survey.collect(&self.baseline).expect("no contradiction")
    }

    /// Fetches what is wanted and compares all of it with the volume.
    #[track_caller]
    fn fetch(&self, collection: &Collection) -> Tree {
        let wanted = collection.wanted(&self.baseline);
        let mut list = Vec::new();
        write_wanted(&wanted, &mut list).expect("to memory");
        assert_eq!(read_wanted(&mut &list[..]).expect("our own"), wanted);
        let stream = porter("send", self.volume.path(), &list).ok();
        let store = tempfile::tempdir().expect("a temporary directory");
        let quarantine = Quarantine::create(&store.path().join("q")).expect("private");
        let mut input = &stream[..];
        let limits = StreamLimits::DEFAULT;
        let arrived = unpack(&mut input, limits, &quarantine, Ending::Trailer).expect("our stream");
        assert!(arrived.refusals.is_empty() && arrived.notes.is_empty());
        check_arrived(&wanted, &arrived.tree).expect("what was surveyed");
        for file in &wanted {
            let mut blob = quarantine.blob(&file.digest, file.size).expect("stored");
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
fn check(before: &str, edits: &str) -> String {
    let workspace = tree_text::temp(before);
    let session = Session::start(workspace.path());
    session.edit(edits);
    print(&session)
}

#[track_caller]
fn print(session: &Session) -> String {
    let collection = session.collect();
    session.fetch(&collection);
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

const PROJECT: &str = r#"
    f README.md "hello\n"
    x run.sh "exit 0\n"
    d empty/
    f src/main.rs *40000
    f src/lib.rs ""
    l src/link -> ../README.md
    l out -> /etc/passwd
    f .git/HEAD "ref: refs/heads/main\n"
    f .git/objects/ab/cd "x"
    f "blank name" "x"
    f "\xc3\xa4\xe2\x80\xae" "x"
    f big *3000000
"#;

#[test]
fn what_arrives_is_what_was_there() {
    let workspace = tree_text::temp(PROJECT);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let file = fs::File::open(workspace.path().join("README.md")).expect("just built");
    file.set_modified(old).expect("our own");
    let session = Session::start(workspace.path());
    let config = "f .git/config \"[core]\\n\\trepositoryformatversion = 0\\n\\tfilemode = true\\n\\tbare = false\\n\"";
    tree_text::build(config, workspace.path());
    assert_eq!(
        tree_text::dump(session.volume.path()),
        tree_text::dump(workspace.path())
    );
    let metadata =
        |path: &str| fs::symlink_metadata(session.volume.path().join(path)).expect("there");
    assert_eq!(metadata("README.md").mtime(), 1_600_000_000);
    assert_eq!(metadata("README.md").mode() & 0o7777, 0o644);
    assert_eq!(metadata("run.sh").mode() & 0o7777, 0o755);
    assert_eq!(metadata("src").mode() & 0o7777, 0o755);
}

#[test]
fn tar_52_what_nobody_touched_is_no_change() {
    let before = r#"
        l absolute -> /etc/passwd
        l up -> ../../outside
        l loop -> loop
        f Makefile "all:\n"
        f "rlo\xe2\x80\xaex" "x"
        f A "x"
        f a "x"
        f "C:x" "x"
        f .vscode/tasks.json "{}"
    "#;
    insta::assert_snapshot!(check(before, ""), @"");
    let workspace = tree_text::temp(before);
    let session = Session::start(workspace.path());
    let survey = session.survey(StreamLimits::DEFAULT).expect("a survey");
    assert_eq!(survey, Survey::default(), "nothing is even read");
}

#[test]
fn ordinary_work_comes_out() {
    let edits = r#"
        f README.md "changed\n"
        f new/deep/file "new"
        x run.sh "exit 0\n"
        m 644 run.sh
        - src/lib.rs
        - empty
        - src/link
        l src/link -> lib.rs
        f copy "hello\n"
        f copy2 "same"
        f copy3 "same"
        f .git/objects/ef/gh "y"
        f .git/hooks/pre-commit "evil"
    "#;
    insta::assert_snapshot!(check(PROJECT, edits), @r"
    + .git/hooks/
    + .git/hooks/pre-commit
    + .git/objects/ef/
    + .git/objects/ef/gh
    ~ README.md
    + copy
    + copy2
    + copy3
    - empty
    + new/
    + new/deep/
    + new/deep/file
    x run.sh
    - src/lib.rs
    ~ src/link@
    ");
}

#[test]
fn nothing_below_git_is_fetched_and_each_content_once() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    session.edit("f .git/objects/ef/gh \"y\"\nf b \"same\"\nf c \"same\"\nf README.md \"new\"");
    let fetched = session.fetch(&session.collect());
    let fetched: Vec<_> = fetched.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(fetched, ["README.md", "b"]);
}

#[test]
fn a_rewrite_with_the_same_bytes_is_no_change() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    let readme = session.volume.path().join("README.md");
    let before = fs::metadata(&readme)
        .expect("there")
        .modified()
        .expect("Unix");
    fs::write(&readme, "hello\n").expect("ours");
    assert_eq!(print(&session), "");
    // The same size, and the time of before: only ctime tells.
    fs::write(&readme, "HELLO\n").expect("ours");
    let file = fs::File::options().write(true).open(&readme).expect("ours");
    file.set_modified(before).expect("ours");
    assert_eq!(print(&session), "~ README.md");
}

#[test]
fn types_change_both_ways() {
    let before = r#"
        f file "x"
        f dir/a "x"
        f dir/b/c "x"
        l link -> file
    "#;
    let edits = r#"
        - file
        f file/inside "y"
        - dir
        f dir "y"
        - link
        f link "y"
    "#;
    insta::assert_snapshot!(check(before, edits), @r"
    ! dir
    - dir/a
    - dir/b
    - dir/b/c
    ! file/
    + file/inside
    ! link
    ");
}

#[test]
fn tar_28_tar_41_tar_42_odd_entries_are_refused_by_name_and_delete_nothing() {
    let before = r#"
        f keep "x"
        f dir/a "x"
        f dir/b "x"
        l link -> keep
    "#;
    let edits = r#"
        - keep
        p keep
        - dir
        p dir
        - link
        l link -> "\xff"
        s socket
        f "bad\xff" "x"
        f "esc\e]0;x\x07" "x"
        f "dir\n/inside" "x"
        f good "x"
    "#;
    insta::assert_snapshot!(check(before, edits), @r"
    + good
    bad\xff: the path is not UTF-8 [name.encoding]
    dir: a FIFO [type.fifo]
    dir\u{a}: the path has a control character [name.control]
    esc\u{1b}]0;x\u{7}: the path has a control character [name.control]
    keep: a FIFO [type.fifo]
    link: the link target is not UTF-8 [link.encoding]
    socket: a socket [type.socket]
    ");
}

#[test]
fn tar_30_special_modes_and_hard_links_are_noted() {
    let edits = r#"
        f suid "x"
        m 4755 suid
        d shared/
        m 2775 shared
        d tmp/
        m 1777 tmp
        f none "x"
        m 0 none
        h twin -> run.sh
    "#;
    insta::assert_snapshot!(check("x run.sh \"x\"", edits), @r"
    + none
    + shared/
    + suid
    + tmp/
    + twin
    run.sh: one of 2 names of a file; becomes a copy [link.hard]
    shared: the mode bits 2000 are dropped [mode.special]
    suid: the mode bits 4000 are dropped [mode.special]
    tmp: the mode bits 1000 are dropped [mode.special]
    twin: one of 2 names of a file; becomes a copy [link.hard]
    ");
}

#[test]
fn tar_40_deep_directories_are_refused_and_not_entered() {
    let workspace = tree_text::temp("f a \"x\"");
    let session = Session::start(workspace.path());
    fs::create_dir_all(session.volume.path().join("d/".repeat(70))).expect("short enough");
    let printed = print(&session);
    assert!(printed.ends_with("[path.too_deep]"), "{printed}");
    assert_eq!(printed.lines().count(), 65);
}

#[test]
fn app_17_caches_that_appear_stay_where_they_are() {
    let before = r#"
        f Cargo.toml ""
        f package.json ""
        f node_modules "a file"
        f src/target/mine "x"
    "#;
    let edits = r#"
        f target/debug/big *100000
        - node_modules
        f node_modules/a/index.js "x"
        f venv/pyvenv.cfg ""
        f cache/CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
        f cache/x "x"
        f fake/CACHEDIR.TAG "Signature: no"
        f src/target/more "x"
        f src/CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
    "#;
    insta::assert_snapshot!(check(before, edits), @r"
    + fake/
    + fake/CACHEDIR.TAG
    + src/CACHEDIR.TAG
    + src/target/more
    left out: cache
    left out: node_modules
    left out: target
    left out: venv
    ");
}

#[test]
fn tar_48_tar_49_limits_end_the_survey_early() {
    let workspace = tree_text::temp("f a \"x\"");
    let session = Session::start(workspace.path());
    let limited = |limits: StreamLimits| session.survey(limits).expect_err("over").to_string();
    let default = StreamLimits::DEFAULT;
    let huge = fs::File::create(session.volume.path().join("sparse")).expect("ours");
    huge.set_len(3 << 40).expect("a hole");
    assert_eq!(
        limited(default),
        "sparse: 3298534883328 bytes are more than 536870912"
    );
    huge.set_len(1000).expect("a hole");
    let total_bytes = 999;
    assert_eq!(
        limited(StreamLimits {
            total_bytes,
            ..default
        }),
        "more than 999 bytes in all"
    );
    let entries = 1;
    assert_eq!(
        limited(StreamLimits { entries, ..default }),
        "more than 1 entries"
    );
    let name_bytes = 6;
    let error = limited(StreamLimits {
        name_bytes,
        ..default
    });
    assert_eq!(error, "the names alone are more than 6 bytes");
}

#[test]
fn flt_16_surveys_of_a_still_volume_are_equal() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    for number in 0..300 {
        session.edit(&format!("f new/{number} *{}", number * 100));
    }
    let first = session.survey_bytes(StreamLimits::DEFAULT);
    for _ in 0..3 {
        assert_eq!(session.survey_bytes(StreamLimits::DEFAULT), first);
    }
}

#[test]
fn a_file_that_changed_since_the_survey_ends_the_stream() {
    let workspace = tree_text::temp(PROJECT);
    let session = Session::start(workspace.path());
    session.edit("f a \"new\"\nf b \"also\"");
    let wanted = session.collect().wanted(&session.baseline);
    let mut list = Vec::new();
    write_wanted(&wanted, &mut list).expect("to memory");
    let volume = session.volume.path();
    for (edit, reason) in [
        ("f b \"ALSO\"", "porter: send: b: changed since the survey"),
        (
            "f b \"longer\"",
            "porter: send: b: changed since the survey",
        ),
        ("- b", "porter: send: b: changed since the survey"),
        ("l b -> a", "porter: send: b: changed since the survey"),
        ("- b\np b", "porter: send: b: changed since the survey"),
        ("- b\nd b/", "porter: send: b: changed since the survey"),
    ] {
        tree_text::build(edit, volume);
        let said = porter("send", volume, &list);
        assert_eq!((said.code, said.stderr.trim_end()), (125, reason), "{edit}");
        let store = tempfile::tempdir().expect("a temporary directory");
        let quarantine = Quarantine::create(&store.path().join("q")).expect("private");
        let mut stream = &said.stdout[..];
        let limits = StreamLimits::DEFAULT;
        unpack(&mut stream, limits, &quarantine, Ending::Trailer).expect_err("no trailer");
    }
}

#[test]
fn flt_04_no_receipt_without_the_whole_stream() {
    let workspace = tree_text::temp("f a \"x\"\nd b/\nf b/c *2000\nl d -> a");
    let (_, stream) = packed(workspace.path());
    let receive = |stream: &[u8]| {
        let volume = tempfile::tempdir().expect("a temporary directory");
        porter("receive", volume.path(), stream).failed()
    };
    for blocks in 0..stream.len() / 512 {
        receive(&stream[..blocks * 512]);
        receive(&stream[..blocks * 512 + 100]);
    }
    assert_eq!(
        receive(&stream[..1024]),
        "porter: receive: the stream has no end mark [stream.no_eof]"
    );
    // A bit in a body is found by the tree's digest only.
    let mut changed = stream.clone();
    changed[512] ^= 1;
    assert_eq!(
        receive(&changed),
        "porter: receive: what arrived is not what was sent [trailer.tree]"
    );
}

#[test]
fn receive_wants_an_empty_directory_and_sorted_plain_members() {
    let workspace = tree_text::temp("f a \"x\"");
    let (_, stream) = packed(workspace.path());
    let full = tree_text::temp("f other \"x\"");
    assert_eq!(
        porter("receive", full.path(), &stream).failed(),
        "porter: receive: the directory is not empty"
    );
    assert_eq!(tree_text::dump(full.path()), "f other \"x\"\n");
    let missing = full.path().join("missing");
    let said = porter("receive", &missing, &stream).failed();
    assert!(
        said.ends_with("No such file or directory (os error 2)"),
        "{said}"
    );
    let link = full.path().join("link");
    std::os::unix::fs::symlink("/tmp", &link).expect("ours");
    porter("receive", &link, &stream).failed();
}

#[test]
fn broken_requests_are_refused() {
    let root = tree_text::temp("");
    for verb in ["survey", "send", "receive"] {
        for bytes in [&b""[..], b"nonsense", &[0; 4096], &[0xff; 100_000]] {
            porter(verb, root.path(), bytes).failed();
        }
    }
}

#[test]
fn unreadable_modes_do_not_stop_a_survey_that_may_read() {
    let workspace = tree_text::temp("f dir/a \"x\"");
    let session = Session::start(workspace.path());
    session.edit("f dir/b \"x\"\nm 0 dir/b\nm 0 dir");
    if fs::read_dir(session.volume.path().join("dir")).is_ok() {
        assert_eq!(print(&session), "+ dir/b");
    }
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(session.volume.path().join("dir"), mode).expect("ours");
}

#[test]
fn random_trees_go_in_and_come_out() {
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let workspace = fast_tempdir();
        random_tree::grow(random, workspace.path(), 12);
        let session = Session::start(workspace.path());
        let there = tree_text::dump(workspace.path());
        assert_eq!(
            tree_text::dump(session.volume.path()),
            there,
            "seed {seed}, in"
        );
        random_tree::prune(random, session.volume.path());
        random_tree::grow(random, session.volume.path(), 6);
        let collection = session.collect();
        assert!(collection.refusals.is_empty(), "seed {seed}");
        // What a fresh walk of the volume finds is what survey and baseline amount to.
        let (walked, _) = packed(session.volume.path());
        assert_eq!(collection.tree, walked.tree, "seed {seed}, out");
        session.fetch(&collection);
    }
}

#[test]
fn twenty_thousand_files_go_in_and_the_changed_ones_come_out() {
    let workspace = fast_tempdir();
    for directory in 0..200 {
        let at = workspace.path().join(format!("d{directory}"));
        fs::create_dir(&at).expect("new");
        for file in 0..100 {
            fs::write(at.join(format!("f{file}")), format!("{directory} {file}")).expect("new");
        }
    }
    let session = Session::start(workspace.path());
    assert_eq!(session.baseline.len(), 20_200);
    session.edit("f d7/f7 \"changed\"\n- d8/f8\nf d9/new \"new\"");
    assert_eq!(print(&session), "~ d7/f7\n- d8/f8\n+ d9/new");
}
