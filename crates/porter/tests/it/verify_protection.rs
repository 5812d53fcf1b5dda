//! What is protected is refused to the agent, and without any one part of the protection it
//! is not: `protect`, `sealed` and `release` over directories, as root and as the agent.
//!
//! Making something root's takes root: without it these tests fail and say so, as nothing is
//! skipped here. `unshare --map-auto --map-root-user` gives enough of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use lazaret_protocol::{ProtectedKind, Protection};
use lazaret_tests::tree_text;

use crate::installed;

const AGENT: u32 = 1000;

const PROJECT: &str = "
    f AGENTS.md \"be kind\\n\"
    f .factory/mcp.json \"{}\"
    x .factory/hooks/run \"#!/bin/sh\\n\"
    l .factory/link -> mcp.json
    f a/b/rules \"r\\n\"
    f a/b/free \"f\\n\"
    f mine \"m\\n\"
";

struct Volume {
    dir: tempfile::TempDir,
    protection: Protection,
}

/// As an agent's copy is before anything is protected.
fn volume() -> Volume {
    assert!(
        rustix::process::geteuid().is_root(),
        "making something root's takes root: run these tests as root, or in `unshare --map-auto \
         --map-root-user`"
    );
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    tree_text::build(PROJECT, dir.path());
    each(dir.path(), &mut |path| {
        lchown(path, Some(AGENT), Some(AGENT)).expect("root")
    });
    use ProtectedKind::{Dir, File, Link, Program, Shared};
    let entries: BTreeMap<_, _> = [
        (".factory", Dir),
        (".factory/hooks", Dir),
        (".factory/hooks/run", Program),
        (".factory/link", Link),
        (".factory/mcp.json", File),
        ("AGENTS.md", File),
        ("a", Shared),
        ("a/b", Shared),
        ("a/b/rules", File),
    ]
    .into_iter()
    .map(|(path, protected)| (path.parse().expect("a path"), protected))
    .collect();
    let protection = Protection {
        root: Shared,
        entries,
    };
    Volume { dir, protection }
}

fn each(dir: &Path, visit: &mut dyn FnMut(&Path)) {
    visit(dir);
    for entry in fs::read_dir(dir).expect("readable") {
        let path = entry.expect("readable").path();
        match fs::symlink_metadata(&path).expect("there").is_dir() {
            true => each(&path, visit),
            false => visit(&path),
        }
    }
}

impl Volume {
    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn run(&self, verb: &str, list: Option<&Protection>, id: u32) -> (i32, String) {
        let mut stdin = Vec::new();
        if let Some(list) = list {
            list.write_to(&mut stdin).expect("to memory");
        }
        let output = duct::cmd(
            installed::porter(),
            [verb.as_ref(), self.dir.path().as_os_str()],
        )
        .dir(self.dir.path())
        .before_spawn(move |command| {
            command.uid(id).gid(id);
            Ok(())
        })
        .stdin_bytes(stdin)
        .stderr_to_stdout()
        .stdout_capture()
        .unchecked()
        .run()
        .expect("the porter was built");
        let code = output.status.code().expect("not killed");
        (code, String::from_utf8(output.stdout).expect("escaped"))
    }

    fn protect(&self) {
        let done = self.run("protect", Some(&self.protection), 0);
        assert_eq!(done, (0, String::new()));
    }

    fn sealed(&self) -> (i32, String) {
        self.run("sealed", Some(&self.protection), AGENT)
    }

    /// Says what the agent could do all the same.
    #[track_caller]
    fn broken(&self) -> String {
        let (code, report) = self.sealed();
        assert!(code == 0 || report.contains("porter: sealed"), "{report}");
        report
    }
}

/// Takes something of the protection away.
type Weaken = fn(&Path);
/// Makes something of a volume that can't be protected.
type Spoil = fn(&Volume);

#[test]
fn nothing_that_is_protected_can_be_changed_and_all_of_it_can_be_given_back() {
    let volume = volume();
    // Without the lines about directories' modes, of which a copy knows nothing.
    let contents = || -> Vec<String> {
        let dump = tree_text::dump(volume.dir.path());
        let lines = dump.lines().filter(|line| !line.starts_with("m "));
        lines.map(str::to_owned).collect()
    };
    let before = contents();
    volume.protect();
    assert_eq!(volume.sealed(), (0, "end 9 0\n".to_owned()));
    assert_eq!(contents(), before);
    let mode = |path: &str| {
        let stat = fs::symlink_metadata(volume.path(path)).expect("there");
        format!("{:o} {}", stat.mode() & 0o7777, stat.uid())
    };
    assert_eq!(mode(""), "1777 0");
    assert_eq!(mode("a/b"), "1777 0");
    assert_eq!(mode(".factory"), "755 0");
    assert_eq!(mode(".factory/hooks/run"), "755 0");
    assert_eq!(mode("AGENTS.md"), "644 0");
    assert_eq!(mode("mine"), "644 1000");
    // What the agent makes beside it is the agent's, and is not looked into.
    tree_text::build("f a/own/deep \"d\\n\"", volume.dir.path());
    for path in ["a/own", "a/own/deep"] {
        lchown(volume.path(path), Some(AGENT), Some(AGENT)).expect("root");
    }
    for _ in 0..2 {
        // Where the engine mounted something.
        fs::create_dir(volume.path("extra")).expect("root");
        lchown(volume.path("extra"), Some(0), Some(0)).expect("root");
        assert_eq!(volume.run("release", None, 0), (0, String::new()));
        let extra = fs::symlink_metadata(volume.path("extra")).expect("there");
        assert_eq!((extra.uid(), extra.gid()), (0, 0));
        fs::remove_dir(volume.path("extra")).expect("root");
        each(volume.dir.path(), &mut |path| {
            let stat = fs::symlink_metadata(path).expect("there");
            assert_eq!((stat.uid(), stat.gid()), (AGENT, AGENT), "{path:?}");
            if !stat.is_symlink() {
                assert_eq!(stat.mode() & 0o7022, 0, "{path:?}");
            }
        });
    }
    // Twice over, as after a run that was killed.
    volume.protect();
    volume.protect();
    assert_eq!(volume.sealed(), (0, "end 9 0\n".to_owned()));
}

#[test]
fn without_any_protection_it_is_said() {
    let volume = volume();
    assert!(volume.broken().contains("broken set-mode .\n"));
}

/// Each part that is taken away is met by an attempt, whatever else holds.
#[test]
fn without_any_one_part_of_the_protection_it_is_said() {
    let weaken: [(&str, &str, Weaken); 10] = [
        ("no sticky bit on the root", "", |path| chmod(path, 0o777)),
        ("no sticky bit further down", "a/b", |path| {
            chmod(path, 0o777)
        }),
        ("the root is the agent's", "", give),
        ("a directory above is the agent's", "a", give),
        ("the nearest one is the agent's", "a/b", give),
        ("the file is the agent's", "AGENTS.md", give),
        ("the file may be written by all", "AGENTS.md", |path| {
            chmod(path, 0o666);
        }),
        ("the directory is the agent's", ".factory", give),
        (
            "files can be made in the directory",
            ".factory/hooks",
            |path| {
                chmod(path, 0o1777);
            },
        ),
        ("the link is the agent's", ".factory/link", give),
    ];
    for (what, path, weaken) in weaken {
        let volume = volume();
        volume.protect();
        weaken(&volume.path(path));
        let (code, report) = volume.sealed();
        assert_eq!(code, 0, "{what}: {report}");
        assert!(report.starts_with("broken "), "{what}: {report}");
        assert!(!report.ends_with(" 0\n"), "{what}: {report}");
    }
}

fn give(path: &Path) {
    lchown(path, Some(AGENT), Some(AGENT)).expect("root");
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root");
}

/// Whatever is not as it was sent is refused before it becomes root's for good.
#[test]
fn what_is_not_what_was_sent_is_not_protected() {
    let spoil: [(&str, Spoil); 4] = [
        ("AGENTS.md: not what was sent", |volume| {
            fs::remove_file(volume.path("AGENTS.md")).expect("ours");
        }),
        ("AGENTS.md: not what was sent", |volume| {
            fs::remove_file(volume.path("AGENTS.md")).expect("ours");
            std::os::unix::fs::symlink("mine", volume.path("AGENTS.md")).expect("ours");
        }),
        (".factory/hooks: not what was sent", |volume| {
            fs::write(volume.path(".factory/hooks/more"), "").expect("ours");
        }),
        ("a/b: not what was sent", |volume| {
            fs::rename(volume.path("a"), volume.path("c")).expect("ours");
            std::os::unix::fs::symlink("c", volume.path("a")).expect("ours");
        }),
    ];
    for (message, spoil) in spoil {
        let volume = volume();
        spoil(&volume);
        let (code, said) = volume.run("protect", Some(&volume.protection), 0);
        assert_eq!(code, 125);
        // A link in the place of a directory on the way is met first.
        let message = message.replace("a/b:", "a:");
        assert_eq!(said, format!("porter: protect: {message}\n"));
    }
}
