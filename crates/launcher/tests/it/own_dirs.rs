//! FLT-30: state, configuration and cache that can't be trusted, or are where a workspace is.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use lazaret_tests::privilege::is_root;

use crate::support::{Outcome, TestEnvironment};

const STATE: &str = "home/.local/state/lazaret";
const CONFIG: &str = "home/.config/lazaret";
const CACHE: &str = "home/.cache/lazaret";

/// Verbs that look into the state directory, or would make a session.
const VERBS: [&str; 6] = [
    "ls",
    "show a",
    "recover",
    "prune",
    "run base -- true",
    "run base --name a --dry-run",
];

fn world() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("work/file", "x");
    for dir in [STATE, CONFIG, CACHE] {
        fs::create_dir_all(env.path(dir)).unwrap();
        set(&env.path(dir), 0o700);
    }
    env
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[track_caller]
fn refused(said: &Outcome, reason: &str, hint: &str) {
    assert_eq!(said.code, 125, "{said}");
    assert!(said.stderr.contains(reason), "{reason}: {said}");
    assert!(said.stderr.contains(hint), "{hint}: {said}");
}

#[test]
fn flt_30_directories_that_others_can_write_to_are_refused() {
    for (dir, word, modes) in [
        (STATE, "state", &[0o777, 0o1777, 0o770, 0o720, 0o702][..]),
        (CACHE, "cache", &[0o777, 0o775]),
        (CONFIG, "config", &[0o777, 0o702]),
    ] {
        let env = world();
        for &mode in modes {
            set(&env.path(dir), mode);
            for verb in VERBS {
                let reason = format!(
                    "cannot use the {word} directory $ROOT/{dir}: other users can write to it \
                     (mode {mode:04o})"
                );
                refused(&env.run(verb), &reason, "-w $ROOT/");
            }
        }
        // What the hint says helps; and what a umask of 002 or 022 makes is fine.
        set(&env.path(dir), modes[0] & !0o022);
        assert_eq!(env.run("ls").code, 0, "{dir}");
    }
    let env = world();
    set(&env.path(CONFIG), 0o775);
    assert_eq!(env.run("ls").code, 0);
}

#[test]
fn flt_30_directories_of_another_user_are_refused() {
    if !is_root("chown") {
        return;
    }
    let own = |env: &TestEnvironment, dir: &str, uid| {
        std::os::unix::fs::chown(env.path(dir), Some(uid), None).unwrap();
    };
    for (dir, word) in [(STATE, "state"), (CONFIG, "config"), (CACHE, "cache")] {
        let env = world();
        own(&env, dir, 12_345);
        let reason = format!(
            "cannot use the {word} directory $ROOT/{dir}: it belongs to uid 12345, and lazaret \
             runs as uid 0"
        );
        for verb in VERBS {
            refused(&env.run(verb), &reason, "`export XDG_");
        }
    }
}

#[test]
fn flt_30_what_is_no_file_blocks_no_verb() {
    for (path, word) in [
        ("store-id", "state"),
        ("sessions/a/session.json", "state"),
        ("sessions/a/lock", "state"),
        ("sessions/a/baseline", "state"),
        ("sessions/a/apply/1/journal", "state"),
        ("locks/workspace-1-2", "state"),
        ("network.toml", "config"),
        ("profiles/mine.toml", "config"),
        ("images/mine.toml", "config"),
        ("engines/x", "cache"),
    ] {
        let env = world();
        let dir = match word {
            "state" => STATE,
            "config" => CONFIG,
            _ => CACHE,
        };
        fifo(&env.path(dir).join(path));
        let reason = format!(
            "cannot use the {word} directory $ROOT/{dir}: {path} in it is a FIFO, not a file"
        );
        let hint = format!("Remove it: `rm $ROOT/{dir}/{path}`");
        for verb in VERBS {
            refused(&env.run(verb), &reason, &hint);
        }
        // It says so, or has nothing to do with it; a hang would be this one.
        let _doctor = env.run("doctor");
    }
}

#[test]
fn flt_30_sockets_files_and_links_in_place_of_a_directory_or_a_file() {
    let env = world();
    let lock = env.path(STATE).join("sessions/a/lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let _listens = UnixListener::bind(&lock).unwrap();
    refused(
        &env.run("ls"),
        "sessions/a/lock in it is a socket",
        "rm $ROOT/",
    );

    let env = world();
    fs::remove_dir(env.path(STATE)).unwrap();
    fifo(&env.path(STATE));
    refused(&env.run("ls"), "it is not a directory", "XDG_STATE_HOME");

    // A link is followed: where it leads is what counts.
    let env = world();
    fs::remove_dir(env.path(STATE)).unwrap();
    fs::create_dir(env.path("elsewhere")).unwrap();
    set(&env.path("elsewhere"), 0o777);
    std::os::unix::fs::symlink(env.path("elsewhere"), env.path(STATE)).unwrap();
    refused(&env.run("ls"), "other users can write to it", "chmod go-w");
    set(&env.path("elsewhere"), 0o700);
    assert_eq!(env.run("ls").code, 0);
}

#[test]
fn flt_30_a_workspace_around_or_in_a_directory_of_lazaret_is_refused() {
    let env = world();
    fs::create_dir_all(env.path(STATE).join("sessions/a")).unwrap();
    fs::create_dir_all(env.path(CONFIG).join("profiles")).unwrap();
    fs::create_dir_all(env.path(CACHE).join("x")).unwrap();
    for (dir, how) in [
        ("home/.local", "contains lazaret's state directory"),
        (STATE, "contains lazaret's state directory"),
        (
            "home/.local/state/lazaret/sessions/a",
            "lies in lazaret's state directory",
        ),
        ("home/.config", "contains lazaret's config directory"),
        (
            "home/.config/lazaret/profiles",
            "lies in lazaret's config directory",
        ),
        (CACHE, "contains lazaret's cache directory"),
        ("home/.cache/lazaret/x", "lies in lazaret's cache directory"),
    ] {
        let place = env.path(dir).display().to_string();
        for more in ["--dry-run", "-- true"] {
            let said = env.run(&format!("run base -w {place} {more}"));
            refused(
                &said,
                how,
                "--workspace DIR, or move the directory: `export XDG_",
            );
        }
    }
    // Also before it is there, and through a link.
    let env = TestEnvironment::new();
    let inside = env.path("work/.state").display().to_string();
    let env = env.variable("XDG_STATE_HOME", &inside);
    let said = env.run("run base --dry-run");
    refused(
        &said,
        "contains lazaret's state directory",
        "XDG_STATE_HOME",
    );
    std::os::unix::fs::symlink(env.path("work"), env.path("alias")).unwrap();
    let alias = env.path("alias/.state").display().to_string();
    let env = env.variable("XDG_STATE_HOME", &alias);
    let said = env.run("run base --dry-run");
    refused(
        &said,
        "contains lazaret's state directory",
        "XDG_STATE_HOME",
    );
}
