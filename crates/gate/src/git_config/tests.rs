//! Tests against git itself, and without git for unusual environments and files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use lazaret_tree::Tree;
use lazaret_validator::{Driver, DriverKind};

use super::parse::{parse, split};
use super::{GitEnvironment, configuration, places};

const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// Variables and a directory of their own.
pub(super) struct Surroundings {
    variables: BTreeMap<String, OsString>,
    cwd: PathBuf,
}

impl Surroundings {
    pub(super) fn new<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
        cwd: PathBuf,
    ) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.into());
        let variables = variables.into_iter().map(owned).collect();
        Self { variables, cwd }
    }

    pub(super) fn git(&self) -> GitEnvironment<'_> {
        GitEnvironment {
            variables: &self.variables,
            cwd: &self.cwd,
        }
    }
}

fn environment(home: &Path, more: &[(&str, &str)]) -> Surroundings {
    let own = [
        ("HOME", home.to_str().unwrap()),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ];
    Surroundings::new(own.iter().chain(more).copied(), home.to_owned())
}

/// The names of all filters that are found; `unknown` when some can't be told.
fn found(env: &Surroundings, workspace: &Path) -> String {
    let git = configuration(env.git(), workspace, &Tree::new());
    let find = |name: &&str| git.find(DriverKind::Filter, name.as_bytes());
    let mut found: Vec<&str> = NAMES
        .into_iter()
        .filter(|name| find(name) == Driver::Configured)
        .collect();
    if find(&"no such") == Driver::Unknown {
        found.push("unknown");
    }
    found.join(" ")
}

fn filter(name: &str) -> String {
    format!("[filter \"{name}\"]\n\tclean = cat\n")
}

/// What git lists of a file, and whether it takes all of it.
fn listed(file: &Path) -> (BTreeSet<Vec<u8>>, bool) {
    let list = ["config", "--null", "--list", "--file"];
    let argv = list.into_iter().map(OsStr::new).chain([file.as_os_str()]);
    let output = duct::cmd("git", argv)
        .full_env([("PATH", "/usr/local/bin:/usr/bin:/bin")])
        .stdout_capture()
        .stderr_null()
        .unchecked()
        .run()
        .unwrap();
    let lines = output.stdout.split(|&byte| byte == 0);
    let lines = lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec);
    (lines.collect(), output.status.success())
}

/// Holds our reading of a file against git's. What git gives up we read on: then ours is more.
#[track_caller]
fn reads_like_git(file: &Path, bytes: &[u8]) {
    fs::write(file, bytes).unwrap();
    let (theirs, whole) = listed(file);
    let parsed = parse(bytes);
    // Git's output ends a name, or a value, at a NUL.
    let cut = |bytes: Vec<u8>| bytes.split(|byte| *byte == 0).next().unwrap().to_vec();
    let ours: BTreeSet<Vec<u8>> = parsed
        .variables
        .into_iter()
        .map(|variable| match variable.value {
            None => variable.name,
            Some(value) => [variable.name, value].join(&b'\n'),
        })
        .map(cut)
        .collect();
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(parsed.mistake.is_none(), whole, "{shown:?}");
    match whole {
        true => assert_eq!(ours, theirs, "{shown:?}"),
        false => assert!(ours.is_superset(&theirs), "{shown:?}\n{ours:?}\n{theirs:?}"),
    }
}

#[test]
fn git_11_reads_what_git_reads() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    for text in [
        "[filter \"a\"] clean = x",
        "\u{feff}[FILTER \"A b.c\"]\n\tClean=x # y\n  SMUDGE = \"a # b\" ; c\n",
        "[filter.Old]\nclean = x\n[filter.a \"B\"]\nclean\n",
        "[filter \"q\\\"u\\\\o\\te\"]\r\nclean = x\r\nsmudge = y\\\r\n[filter \"no\"]\r\nrequired\r\n",
        "# [filter \"no\"] \\\nx = 1\n; \\\n[filter \"yes\"]\nclean = a \\\n  b # c \\\nsmudge = d\n",
        "[filter \"\"]\nclean = x\n[diff]\nrenames = 1\n[merge \"m\"] # \n driver = x\n[ merge ]\n",
        "[a]\nb = \"x\\n\\t\\b\\\"\\\\\"  \n c-1 =   y z   \n[include]\npath=x\\\n/y\n",
        "[filter \"a]b\"] clean=1\n[filter \"c\"]smudge=2\n[filter\t\"tab\"]process=3",
        "[diff \"é\"]\ntextconv = x\n[core]x=[filter \"no\"]\n",
        "[a]\nb =\nc = \"\"\nd = \\t \ne = x\\",
        "[a]\nb = \"x\n[a]\nc = \\q\n",
    ] {
        reads_like_git(&file, text.as_bytes());
    }
}

/// Numbers that are the same at each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }

    fn of<'a>(&mut self, all: &[&'a [u8]]) -> &'a [u8] {
        all[self.below(all.len())]
    }
}

/// Random and hostile files: each is read as git reads it, up to the same mistake.
#[test]
fn git_27_random_files_are_read_as_git_reads_them() {
    const PIECES: &[&[u8]] = &[
        b"[core]",
        b"[a.B]",
        b"[Filter \"x y\"]",
        b"[f \"",
        b"\"]",
        b"[",
        b"]",
        b"\n",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"\t",
        b"\x0b",
        b"=",
        b"= ",
        b"hooksPath",
        b"Key-1",
        b"9",
        b"_",
        b"value",
        b"\"",
        b"\\",
        b"\\\n",
        b"\\t",
        b"\\\"",
        b"\\q",
        b"#",
        b";",
        b"\0",
        b"\xef\xbb\xbf",
        b"\xff",
        b"!./x",
        b".",
        b"-",
        b"path = ~/x\n",
        b"\n[include]\n",
    ];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..500 {
        let mut text = match random.below(3) {
            0 => Vec::new(),
            _ => b"[core]\n".to_vec(),
        };
        for _ in 0..random.below(14) {
            text.extend(random.of(PIECES));
        }
        reads_like_git(&file, &text);
    }
}

#[test]
fn names_are_split_at_the_outer_dots() {
    for (name, parts) in [
        ("filter.lfs.clean", ("filter", Some("lfs"), "clean")),
        ("filter.a.b.clean", ("filter", Some("a.b"), "clean")),
        ("diff.renames", ("diff", None, "renames")),
        ("filter..clean", ("filter", Some(""), "clean")),
        ("x", ("x", None, "")),
    ] {
        let (section, subsection, key) = parts;
        let expected = (
            section.as_bytes(),
            subsection.map(str::as_bytes),
            key.as_bytes(),
        );
        assert_eq!(split(name.as_bytes()), expected, "{name}");
    }
}

#[test]
fn git_11_every_place_that_git_looks_at() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let write = |name: &str, text: &str| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let work = home.join("work");
    write("work/sub/x", "");
    assert_eq!(found(&environment(home, &[]), &work), "");
    write(".gitconfig", &filter("one"));
    write(".config/git/config", &filter("two"));
    write("xdg/git/config", &filter("three"));
    write("work/.git/config", &filter("four"));
    write("work/.git/config.worktree", &filter("five"));
    let of = |more: &[(&str, &str)], dir: &Path| found(&environment(home, more), dir);
    assert_eq!(of(&[], &work), "one two four five");
    assert_eq!(of(&[], &work.join("sub")), "one two four five");
    assert_eq!(
        of(
            &[("XDG_CONFIG_HOME", home.join("xdg").to_str().unwrap())],
            home
        ),
        "one three"
    );
    // Variables replace files, or add to them.
    let system = [
        ("GIT_CONFIG_NOSYSTEM", "0"),
        ("GIT_CONFIG_SYSTEM", "xdg/git/config"),
    ];
    assert_eq!(of(&system, home), "one two three");
    assert_eq!(
        of(&[("GIT_CONFIG_GLOBAL", "xdg/git/config")], home),
        "three"
    );
    assert_eq!(of(&[("GIT_CONFIG_GLOBAL", "/dev/null")], home), "");
    assert_eq!(of(&[("GIT_CONFIG_GLOBAL", "")], home), "");
    let counted = [
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "Filter.six.clean"),
        ("GIT_CONFIG_VALUE_0", "x"),
        ("GIT_CONFIG_KEY_1", "include.path"),
        ("GIT_CONFIG_VALUE_1", "~/xdg/git/config"),
    ];
    assert_eq!(of(&counted, home), "one two three six");
    let quoted = "'user.name=A B' 'filter.five.clean'='it'\\''s' 'filter.six.clean=x'";
    assert_eq!(
        of(&[("GIT_CONFIG_PARAMETERS", quoted)], home),
        "one two five six"
    );
    // Without a home there is what the repository has.
    let homeless = Surroundings::new([("GIT_CONFIG_NOSYSTEM", "1")], "/".into());
    assert_eq!(found(&homeless, &work), "four five");
}

#[test]
fn git_11_a_second_work_tree() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let git_dir = home.join("main/.git/worktrees/second");
    fs::create_dir_all(&git_dir).unwrap();
    fs::create_dir(home.join("second")).unwrap();
    fs::write(home.join("main/.git/config"), filter("one")).unwrap();
    fs::write(git_dir.join("config.worktree"), filter("two")).unwrap();
    fs::write(git_dir.join("commondir"), "../..\n").unwrap();
    fs::write(
        home.join("second/.git"),
        format!("gitdir: {}\n", git_dir.display()),
    )
    .unwrap();
    assert_eq!(
        found(&environment(home, &[]), &home.join("second")),
        "one two"
    );
}

#[test]
fn git_11_includes_whatever_their_condition_says() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let gitconfig = home.join(".gitconfig");
    let write = |name: &str, text: &str| fs::write(home.join(name), text).unwrap();
    write("one", &(filter("one") + "[include]\npath = two\n"));
    // In circles.
    write("two", &(filter("two") + "[include]\npath = one\n"));
    write("three", &filter("three"));
    let conditional =
        "[includeIf \"gitdir:/elsewhere/\"]\n\tpath = ~/three\n[include]\npath=absent\n";
    let text = format!("[Include]\nPATH = one\n{conditional}");
    fs::write(&gitconfig, text).unwrap();
    let found = || found(&environment(home, &[]), home);
    assert_eq!(found(), "one two three");
    // Places that can't be told from here.
    for place in ["~other/x", "%(prefix)/x"] {
        fs::write(&gitconfig, format!("[include]\npath = {place}\n")).unwrap();
        assert_eq!(found(), "unknown", "{place}");
    }
}

#[test]
fn git_11_configuration_that_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let gitconfig = home.join(".gitconfig");
    let found = || found(&environment(home, &[]), home);
    // Broken lines hide nothing behind them.
    let broken =
        "[broken\n= x\n[filter \"one\"]\nclean = \"no end\n\0\n]\n[filter \"two\" x]clean=y\n";
    fs::write(&gitconfig, broken).unwrap();
    assert_eq!(found(), "one two");
    // Larger than the limit.
    fs::write(&gitconfig, filter("one") + &"#".repeat(1 << 20)).unwrap();
    assert_eq!(found(), "unknown");
    // Many that include each other.
    for number in 0..400 {
        let text = format!("[include]\npath = c{}\n", number + 1);
        fs::write(home.join(format!("c{number}")), text).unwrap();
    }
    fs::write(&gitconfig, "[include]\npath = c0\n").unwrap();
    assert_eq!(found(), "unknown");
    // A FIFO must not block the reader, nor a device that never ends.
    fs::remove_file(&gitconfig).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &gitconfig,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert_eq!(found(), "unknown");
    fs::remove_file(&gitconfig).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &gitconfig).unwrap();
    assert_eq!(found(), "unknown");
}

#[test]
fn git_11_the_system_file_of_a_git_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("bin")).unwrap();
    fs::write(dir.path().join("bin/git"), "").unwrap();
    let path = format!("relative:{}", dir.path().join("bin").display());
    let more = [("GIT_CONFIG_NOSYSTEM", "false"), ("PATH", &path)];
    let files = places::files(environment(dir.path(), &more).git());
    assert!(files.contains(&"/etc/gitconfig".into()), "{files:?}");
    let own = dir.path().join("etc/gitconfig");
    assert!(files.contains(&own), "{files:?}");
}
