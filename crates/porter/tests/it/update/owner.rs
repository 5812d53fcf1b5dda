//! Directories that the agent made read-only, updated by a process without any privilege.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lazaret_transfer::Stance;

use super::kept::{Fault, Kept};

const NOBODY: u32 = 65534;

/// The porter, where everybody may start it.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory").keep();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("ours");
        let program = dir.join("porter");
        // By another process: what is open for writing here, a fork of another test has too, and
        // nobody can start it then (ETXTBSY, `man 2 execve`).
        let copy = duct::cmd!("cp", env!("CARGO_BIN_EXE_lazaret-porter"), &program);
        copy.run().expect("it was built");
        program
    })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_nobody(root: &Path, flag: &str) -> duct::Expression {
    let update = duct::cmd(
        program(),
        ["update".as_ref(), root.as_os_str(), flag.as_ref()],
    );
    match is_root() {
        true => update.before_spawn(|command| {
            command.uid(NOBODY).gid(NOBODY);
            Ok(())
        }),
        false => update,
    }
}

fn give_away(dir: &Path) {
    if is_root() {
        let give = |path: &Path| std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY));
        give(dir).expect("root");
        for entry in fs::read_dir(dir).expect("readable") {
            let path = entry.expect("readable").path();
            give(&path).expect("root");
            if fs::symlink_metadata(&path).expect("there").is_dir() {
                give_away(&path);
            }
        }
    }
}

const PROJECT: &str = "f a/b/file 1\nf a/b/old 1\nf c/file 1\nf top 1";

#[test]
fn read_only_directories_are_written_to_and_are_read_only_again() {
    for mode in ["555", "500", "444", "0"] {
        let mut kept = Kept::new(PROJECT);
        kept.start = as_nobody;
        give_away(kept.volume.path());
        // A survey of root's own sees through every mode; the porter has to read it here.
        let readable = mode.starts_with('5');
        kept.host("f a/b/file 2\nf a/b/new/x 2\n- a/b/old\nl c/link -> x\nf top 2");
        let volume = kept.volume.path().to_path_buf();
        let lock = |mode: &str| {
            for dir in ["a/b", "a", "c", ""] {
                let mode = u32::from_str_radix(mode, 8).expect("octal");
                let mode = fs::Permissions::from_mode(mode);
                fs::set_permissions(volume.join(dir), mode).expect("ours");
            }
        };
        if readable {
            lock(mode);
        }
        let done = kept.try_update(Stance::Keep, Fault::None, &mut |_| {
            if !readable {
                lock(mode);
            }
        });
        done.unwrap_or_else(|broken| panic!("{mode}: {}", broken.stderr));
        for dir in ["a/b", "a", "c", ""] {
            let now = fs::metadata(kept.path(dir)).map(|metadata| metadata.permissions().mode());
            if is_root() {
                let now = now.expect("root sees everything") & 0o7777;
                assert_eq!(format!("{now:o}"), mode, "{dir}");
            }
        }
        lock("755");
        let here = kept.look().tree;
        assert_eq!(super::kept::read_all(kept.volume.path()), here, "{mode}");
    }
}

#[test]
fn the_modes_come_back_when_the_update_fails() {
    let mut kept = Kept::new(PROJECT);
    kept.start = as_nobody;
    give_away(kept.volume.path());
    kept.host("f a/b/file 2\nf c/file 2");
    let volume = kept.volume.path().to_path_buf();
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(volume.join("a/b"), mode(0o555)).expect("ours");
    let broken = kept.try_update(Stance::Keep, Fault::None, &mut |_| {
        fs::remove_file(volume.join("c/file")).expect("ours");
        fs::create_dir(volume.join("c/file")).expect("ours");
    });
    broken.expect_err("a directory is in the way");
    assert_eq!(fs::read(volume.join("a/b/file")).expect("there"), b"2");
    let now = fs::metadata(volume.join("a/b")).expect("there");
    assert_eq!(now.permissions().mode() & 0o7777, 0o555);
    fs::set_permissions(volume.join("a/b"), mode(0o755)).expect("ours");
}
