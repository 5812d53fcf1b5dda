//! The memory that each verb takes for the largest batch that there may be: 256 MiB (P9).
//!
//! Sessions are written as a collection leaves them, and what a porter would say is written
//! beforehand: no volume has to hold 199,000 files. What writes each file of a batch is measured
//! with a part of the batch, for it takes time.
//!
//! What counts is the growth from one half of a batch to all of it, not a peak: the program's
//! own pages depend on how it was built and on what else is in the page cache.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lazaret_gate::allowlist::Allowlist;
use lazaret_launcher::gate::{Asked, GateOptions, gate};
use lazaret_launcher::profile::ApplyMode;
use lazaret_protocol::{
    Checksum, FileTime, FoundEntry, FoundKind, Receipt, StreamWriter, Survey, SurveyRequest,
    Trailer, VolumeIdentity, read_wanted,
};
use lazaret_session::store::record::GateLimits;
use lazaret_session::store::sync_state::SyncState;
use lazaret_transfer::{BlobStore, VolumeState};
use lazaret_tree::{Digest, Entry, LinkTarget, Mode, RelPathBuf, Tree};

use super::review::Terminal;
use super::world::World;
use crate::support::{Peak, peak};

/// As many entries as there may be, nearly.
const ALL: usize = 199_000;
/// What the verbs are given that would take minutes for all.
const SOME: usize = ALL / 5;
/// Bytes of one name: together as many as names may have.
const NAME_BYTES: usize = 116;

/// What the largest batch may take.
const MOST_KIB: u64 = 256 << 10;

const LIMITS: GateLimits = GateLimits {
    max_entries: 200_000,
    max_bytes: 1 << 32,
    max_file_bytes: 1 << 20,
};

/// What lies at a path of a large tree.
type Shape = fn(usize) -> Entry;

fn path(n: usize) -> RelPathBuf {
    let end = ".mk";
    let fill = "n".repeat(NAME_BYTES - 6 - end.len());
    format!("{n:06}{fill}{end}").parse().unwrap()
}

fn file(mode: Mode, text: &str) -> Entry {
    Entry::File {
        mode,
        size: text.len() as u64,
        digest: Digest::of(text.as_bytes()),
    }
}

/// Two findings each: that it is executable, and what such a file is for.
fn makefile(_: usize) -> Entry {
    file(Mode::Executable, NEW)
}

/// Other contents each.
fn old(n: usize) -> Entry {
    file(Mode::Plain, &old_text(n))
}

/// A change of each [`old`] that fits together with another mode.
fn edited(_: usize) -> Entry {
    file(Mode::Plain, NEW)
}

/// A finding in words of its own.
fn link(_: usize) -> Entry {
    let target: LinkTarget = "/".parse().unwrap();
    Entry::Symlink { target }
}

const NEW: &str = "one\nthree\n";

fn old_text(n: usize) -> String {
    format!("one\n{n}\n")
}

fn tree(count: usize, shape: Option<Shape>) -> Tree {
    let shape = shape.into_iter();
    let entries = shape.flat_map(|shape| (0..count).map(move |n| (path(n), shape(n))));
    entries.collect()
}

/// A session of which everything that came out lies in its directory.
struct Large {
    world: World,
    state: PathBuf,
    count: usize,
}

impl Large {
    /// Makes one of `count` entries, before and after.
    fn new(count: usize, before: Option<Shape>, after: Option<Shape>) -> Self {
        let world = World::new();
        drop(world.cycle().unwrap());
        let (baseline, collected) = (tree(count, before), tree(count, after));
        let mut session = world.lock().unwrap();
        let dir = session.dir().clone();
        let known = SyncState {
            volume: state(&collected),
            baseline,
        };
        known.write_baseline(&dir).unwrap();
        known.write_volume(&dir).unwrap();
        let quarantine = BlobStore::open(&dir.file("quarantine")).unwrap();
        quarantine.insert(&mut NEW.as_bytes(), 100).unwrap();
        session.update(|record| record.gate = LIMITS).unwrap();
        drop(session);
        // Nothing of the small session stays.
        let workspace = world.path("workspace");
        for name in fs::read_dir(&workspace).unwrap() {
            let path = name.unwrap().path();
            match path.is_dir() {
                true => fs::remove_dir_all(path).unwrap(),
                false => fs::remove_file(path).unwrap(),
            }
        }
        let state = world.path("xdg");
        fs::create_dir(&state).unwrap();
        std::os::unix::fs::symlink(world.path("state"), state.join("lazaret")).unwrap();
        Self {
            world,
            state,
            count,
        }
    }

    /// Puts files into the workspace, with their modes.
    fn here(self, file: impl Fn(usize) -> (String, u32)) -> Self {
        for n in 0..self.count {
            let at = self.world.path("workspace").join(path(n).as_str());
            let (text, mode) = file(n);
            fs::write(&at, text).unwrap();
            fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
        }
        self
    }

    fn run(&self, arguments: &[&str]) -> Peak {
        let home = self.world.root.path().display().to_string();
        let all: BTreeMap<String, String> = [
            ("HOME", home.as_str()),
            ("XDG_STATE_HOME", self.state.to_str().unwrap()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("LAZARET_ENGINE", "unix:///nowhere/engine.sock"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
        let running = duct::cmd(env!("CARGO_BIN_EXE_lazaret"), arguments)
            .full_env(all)
            .dir(self.world.root.path())
            .stdin_null()
            .stdout_null()
            .stderr_capture()
            .unchecked()
            .start()
            .unwrap();
        peak(&running)
    }

    /// Runs a verb, which has to end well, and returns its peak.
    #[track_caller]
    fn measure(&self, arguments: &[&str]) -> Measured {
        let Peak { code, most, stderr } = self.run(arguments);
        let last: String = stderr.lines().rev().take(5).collect();
        assert_eq!(code, 0, "{arguments:?}: {last}");
        Measured {
            what: format!("{arguments:?}"),
            most,
        }
    }
}

/// The most memory that a process had for something.
struct Measured {
    what: String,
    /// In KiB.
    most: u64,
}

/// Measures half of a batch and all of it. What the other half adds may be no more than its
/// share of the limit.
#[track_caller]
fn grows_within_its_share(count: usize, measure: impl Fn(usize) -> Vec<Measured>) {
    let (half, whole) = (measure(count / 2), measure(count));
    let share = MOST_KIB * (count - count / 2) as u64 / ALL as u64;
    assert_eq!(half.len(), whole.len());
    for (half, whole) in half.iter().zip(&whole) {
        let what = &whole.what;
        // Less is no program that read anything.
        assert!(half.most > 4 << 10, "{what}: {} KiB", half.most);
        let growth = whole.most.saturating_sub(half.most);
        assert!(growth < share, "{what}: {growth} KiB more, of {share}");
    }
}

const TIME: FileTime = FileTime {
    seconds: 1,
    nanos: 0,
};

fn identity(entry: &Entry) -> VolumeIdentity {
    let (size, mode) = match entry {
        Entry::File { size, mode, .. } => (*size, 0o100_000 | mode.to_unix()),
        Entry::Dir => (0, 0o040_755),
        Entry::Symlink { .. } => (1, 0o120_777),
    };
    VolumeIdentity {
        ino: 1,
        size,
        mode,
        mtime: TIME,
        ctime: TIME,
    }
}

fn state(tree: &Tree) -> VolumeState {
    let identities = tree.entries();
    let receipt = Receipt {
        arrived: Trailer {
            entries: 0,
            bytes: 0,
            stream: Checksum::of(b""),
        },
        identities: identities
            .map(|(path, entry)| (path.clone(), identity(entry)))
            .collect(),
    };
    VolumeState::received(tree, &receipt).unwrap()
}

#[test]
fn p9_what_only_reads() {
    grows_within_its_share(ALL, |count| {
        let large = Large::new(count, None, Some(makefile));
        vec![
            large.measure(&["diff", "shop", "--stat", "--json"]),
            large.measure(&["export", "shop", "--patch", "p.patch", "--html", "p.html"]),
            large.measure(&["show", "shop"]),
        ]
    });
}

#[test]
fn p9_review() {
    grows_within_its_share(ALL, |count| {
        let large = Large::new(count, None, Some(makefile));
        review(&large)
    });
}

/// Looks through all of it, and leaves one change out of what would be applied.
fn review(large: &Large) -> Vec<Measured> {
    let (all, last) = (large.count, format!("{:06}n", large.count - 1));
    let mut measured = Vec::new();
    let mut note = |terminal: &Terminal, what: &str| {
        measured.push(Measured {
            what: format!("review, {what}"),
            most: terminal.peak(),
        });
    };
    let mut terminal = Terminal::at(&large.world, &large.state);
    terminal.wait_for("000000n");
    note(&terminal, "when it opens");
    // A page further, the end, the beginning.
    for keys in ["\x1b[6~", "\x1b[6~", "G"] {
        terminal.press(keys);
    }
    terminal.wait_for(&last);
    terminal.press("g");
    terminal.wait_for("000000n");
    terminal.press("A");
    terminal.wait_for(&format!("lazaret? Apply {all} of {all}"));
    terminal.press("\x1b[6~");
    terminal.press("G");
    terminal.wait_for(&last);
    note(&terminal, "all of it to be applied");
    terminal.press("q");
    terminal.wait_for("Nothing was applied");
    terminal.press(" ");
    terminal.press("A");
    terminal.wait_for(&format!("lazaret? Apply {} of {all}", all - 1));
    terminal.press("G");
    terminal.wait_for("you left it out");
    note(&terminal, "all but one to be applied");
    terminal.press("q");
    terminal.wait_for("Nothing was applied");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(120));
    measured
}

#[test]
fn p9_a_large_baseline() {
    for after in [link, old] {
        grows_within_its_share(ALL, |count| {
            let large = Large::new(count, Some(old), Some(after));
            vec![large.measure(&["diff", "shop", "--stat", "--json"])]
        });
    }
}

#[test]
fn p9_what_writes() {
    grows_within_its_share(SOME, |count| {
        let large = Large::new(count, None, Some(makefile));
        vec![
            large.measure(&["apply", "shop", "--yes"]),
            large.measure(&["undo", "shop", "--list"]),
            large.measure(&["undo", "shop"]),
            large.measure(&["undo", "shop", "--redo"]),
        ]
    });
}

/// The user changed all of it: every other file's mode, which can be merged, and the contents
/// of the others.
#[test]
fn p9_drift_everywhere() {
    grows_within_its_share(SOME, |count| {
        let large = Large::new(count, Some(old), Some(edited)).here(|n| match n % 2 {
            0 => (old_text(n), 0o755),
            _ => ("mine\n".to_owned(), 0o644),
        });
        vec![
            large.measure(&["diff", "shop", "--stat", "--json"]),
            large.measure(&["export", "shop", "--report", "p.json"]),
            large.measure(&["apply", "shop", "--yes", "--on-conflict", "keep-both"]),
        ]
    });
}

/// Where a child finds what its porter says, and of how many entries.
const ORDER: &str = "LAZARET_TEST_LARGE";

/// `run`, from the survey to the gate and its report: each of these tests starts itself as
/// the process that is measured.
#[test]
fn p9_run_with_links() {
    run_measured("session::large::p9_run_with_links", ALL, link);
}

#[test]
fn p9_run_with_other_contents_each() {
    run_measured(
        "session::large::p9_run_with_other_contents_each",
        SOME,
        other,
    );
}

/// An executable file of its own.
fn other(n: usize) -> Entry {
    file(Mode::Executable, &old_text(n))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test is told by it that it is the child"
)]
fn ordered() -> Option<PathBuf> {
    std::env::var_os(ORDER).map(PathBuf::from)
}

#[track_caller]
fn run_measured(name: &str, count: usize, shape: Shape) {
    if let Some(said) = ordered() {
        return run(&said);
    }
    grows_within_its_share(count, |count| {
        let most = run_in_a_child(name, count, shape);
        let what = name.to_owned();
        vec![Measured { what, most }]
    });
}

#[track_caller]
fn run_in_a_child(name: &str, count: usize, shape: Shape) -> u64 {
    let said = tempfile::tempdir().unwrap();
    say(said.path(), count, shape);
    let child = duct::cmd(
        std::env::current_exe().unwrap(),
        ["--exact", name, "--nocapture"],
    );
    let child = child.env(ORDER, said.path()).stdout_null();
    // Finding names for a backtrace takes 150 MiB of its own.
    let child = child.env("RUST_BACKTRACE", "0");
    let running = child.stderr_capture().unchecked().start().unwrap();
    let Peak { code, most, stderr } = peak(&running);
    assert_eq!(code, 0, "{stderr}");
    most
}

/// Writes what a porter says of a volume that holds a large batch.
fn say(dir: &Path, count: usize, shape: Shape) {
    fs::write(dir.join("count"), count.to_string()).unwrap();
    let found = (0..count).map(|n| {
        let entry = shape(n);
        let identity = identity(&entry);
        FoundEntry {
            name: path(n).as_str().as_bytes().to_vec(),
            kind: match entry {
                Entry::File { digest, .. } => FoundKind::File {
                    identity,
                    links: 1,
                    digest: Some(digest),
                },
                Entry::Symlink { target } => FoundKind::Symlink {
                    identity,
                    target: target.as_str().as_bytes().to_vec(),
                },
                Entry::Dir => FoundKind::Dir { identity },
            },
        }
    });
    let survey = Survey {
        found: found.collect(),
        gone: Vec::new(),
    };
    let mut out = BufWriter::new(File::create(dir.join("survey")).unwrap());
    survey.write_to(&mut out).unwrap();
    out.into_inner().unwrap();
    let mut out = BufWriter::new(File::create(dir.join("sent")).unwrap());
    let mut stream = StreamWriter::new(&mut out);
    for n in 0..count {
        if let Entry::File { mode, .. } = shape(n) {
            let text = old_text(n);
            stream
                .contents(&path(n), mode, text.as_bytes(), FileTime::default())
                .unwrap();
        }
    }
    stream.finish().unwrap();
    out.into_inner().unwrap();
}

/// Runs a session whose porter says that, and reports it.
fn run(said: &Path) {
    let count: usize = fs::read_to_string(said.join("count"))
        .unwrap()
        .parse()
        .unwrap();
    let mut world = World::new();
    world.gate = LIMITS;
    fs::remove_dir_all(world.path("workspace")).unwrap();
    fs::create_dir(world.path("workspace")).unwrap();
    // What changed is said, not made.
    world.command(|_, _| 0);
    for (verb, name) in [("survey", "survey"), ("send", "sent")] {
        let file = said.join(name);
        world.on(verb, move |_, call| {
            match verb {
                "survey" => drop(SurveyRequest::read_from(&mut call.stdin).unwrap()),
                _ => drop(read_wanted(&mut call.stdin).unwrap()),
            }
            io::copy(&mut BufReader::new(File::open(&file)?), &mut call.stdout)?;
            Ok(0)
        });
    }
    let collected = world.cycle().unwrap();
    let options = GateOptions {
        released: None,
        sync: None,
        asked: Asked::Here,
        apply: ApplyMode::Auto,
        allowlist: &Allowlist::nothing(),
        app: &world.app(),
    };
    let end = gate(&world.cx(), &world.store, collected, options).unwrap();
    assert!(end.report.findings.iter().count() >= count);
    serde_json::to_writer(io::sink(), &end.report).unwrap();
}
