//! Directories that the agent made read-only, updated by a process without any privilege.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use lazaret_transfer::AgentChanges;

use super::kept::{Fault, Kept};
use crate::installed;

const UNPRIVILEGED: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_unprivileged(root: &Path, flag: &str) -> duct::Expression {
    as_user(duct::cmd(
        installed::porter(),
        ["update".as_ref(), root.as_os_str(), flag.as_ref()],
    ))
}

fn as_user(update: duct::Expression) -> duct::Expression {
    match is_root() {
        true => update.before_spawn(|command| {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
            Ok(())
        }),
        false => update,
    }
}

fn give_away(dir: &Path) {
    if is_root() {
        let give =
            |path: &Path| std::os::unix::fs::lchown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED));
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
fn flt_28_closed_directories_are_written_to_and_are_closed_again() {
    for mode in ["555", "500", "444", "0"] {
        let mut kept = Kept::new(PROJECT);
        kept.start = as_unprivileged;
        give_away(kept.volume.path());
        kept.host("f a/b/file 2\nf a/b/new/x 2\n- a/b/old\nl c/link -> x\nf top 2");
        let volume = kept.volume.path().to_path_buf();
        let lock = |mode: &str| {
            for dir in ["a/b", "a", "c", ""] {
                let mode = u32::from_str_radix(mode, 8).expect("octal");
                let mode = fs::Permissions::from_mode(mode);
                fs::set_permissions(volume.join(dir), mode).expect("ours");
            }
        };
        lock(mode);
        let done = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {});
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
    kept.start = as_unprivileged;
    give_away(kept.volume.path());
    kept.host("f a/b/file 2\nf c/file 2");
    let volume = kept.volume.path().to_path_buf();
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(volume.join("a/b"), mode(0o555)).expect("ours");
    let broken = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {
        fs::remove_file(volume.join("c/file")).expect("ours");
        fs::create_dir(volume.join("c/file")).expect("ours");
    });
    broken.expect_err("a directory is in the way");
    assert_eq!(fs::read(volume.join("a/b/file")).expect("there"), b"2");
    let now = fs::metadata(volume.join("a/b")).expect("there");
    assert_eq!(now.permissions().mode() & 0o7777, 0o555);
    fs::set_permissions(volume.join("a/b"), mode(0o755)).expect("ours");
}

/// As it would be if the agent had closed nothing: each change is found, on both sides.
#[test]
fn flt_28_what_the_agent_closed_is_surveyed() {
    let mut kept = Kept::new(PROJECT);
    kept.start = as_unprivileged;
    kept.survey();
    kept.agent("f a/b/file theirs\nf a/b/more/deep 1\nf c/pair 1\nh c/twin -> c/pair\nf c/seen 1");
    give_away(kept.volume.path());
    let volume = kept.volume.path().to_path_buf();
    let set = |path: &str, mode: u32| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(volume.join(path), mode).expect("ours");
    };
    let closed = [
        "a/b/file",
        "c/pair",
        "a/b/more/deep",
        "a/b/more",
        "a/b",
        "a",
        "c",
    ];
    for path in closed {
        set(path, 0);
    }
    kept.host("f a/b/old 2\nf c/file 2\n- top");
    let plan = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {});
    let plan = plan.unwrap_or_else(|broken| panic!("{}", broken.stderr));
    assert_eq!(plan.request.send.len(), 2);
    if is_root() {
        for path in closed {
            let now = fs::symlink_metadata(volume.join(path)).expect("root sees everything");
            assert_eq!(now.permissions().mode() & 0o7777, 0, "{path}");
        }
    }
    for path in closed.iter().rev() {
        set(path, 0o755);
    }
    assert_eq!(
        kept.known.tree().len(),
        super::kept::read_all(&volume).len()
    );
    let read = |path: &str| fs::read_to_string(volume.join(path)).expect("there");
    assert_eq!(read("a/b/file"), "theirs");
    assert_eq!(
        (read("a/b/old"), read("c/file")),
        ("2".to_owned(), "2".to_owned())
    );
    assert!(!volume.join("top").exists());
}

/// Closed directories use up no descriptors, and one that goes takes its mode along.
#[test]
fn flt_28_any_number_of_directories_may_be_closed() {
    let mut kept = Kept::new("f d/0/f 1\nf e/f 1");
    kept.start = |root, flag| {
        let limited = "ulimit -n 64; exec \"$0\" update \"$1\" \"$2\"";
        let words = [
            "-c".as_ref(),
            limited.as_ref(),
            installed::porter().as_os_str(),
            root.as_os_str(),
            flag.as_ref(),
        ];
        as_user(duct::cmd("sh", words))
    };
    for n in 1..200 {
        kept.agent(&format!("f d/{n}/f 1"));
    }
    give_away(kept.volume.path());
    let volume = kept.volume.path().to_path_buf();
    let set = |path: &str, mode: u32| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(volume.join(path), mode).expect("ours");
    };
    let dirs: Vec<String> = (0..200).map(|n| format!("d/{n}")).collect();
    for dir in &dirs {
        set(dir, 0);
    }
    for dir in ["d", "e"] {
        set(dir, 0);
    }
    // It is removed, and another one gets its name.
    kept.host("f d/0/f 2\n- e\nf e/g 1");
    let done = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {});
    done.unwrap_or_else(|broken| panic!("{}", broken.stderr));
    for dir in ["d", "e"] {
        set(dir, 0o755);
    }
    for dir in &dirs {
        set(dir, 0o755);
    }
    assert_eq!(fs::read(volume.join("d/0/f")).expect("there"), b"2");
    assert_eq!(fs::read(volume.join("e/g")).expect("there"), b"1");
    assert_eq!(kept.known.tree(), super::kept::read_all(&volume));
}
