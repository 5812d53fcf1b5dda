//! Links, mounts, races and names that lead elsewhere.

use std::fmt::Write as _;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lazaret_tree::{Change, Entry};
use rustix::fs::{CWD, OFlags, RenameFlags};

use super::{Fault, Faulty, Scene, conflicts_in, obstacles_in, snapshot};
use crate::apply::ops::{HostOps, Ops as _};
use crate::apply::{ApplyError, Recovered};
use crate::workspace_dir::resolve::Resolver;

/// Makes `outside` beside the workspace, with something in it.
fn outside(scene: &Scene) -> std::path::PathBuf {
    let outside = scene.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "outside").unwrap();
    outside
}

fn with_resolver(resolver: Resolver) -> Arc<Faulty> {
    let mut ops = Faulty::none();
    ops.host = HostOps { resolver };
    Arc::new(ops)
}

#[test]
fn app_04_write_and_delete_through_a_link() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let scene = Scene::new("f d/x \"old\"", "f d/x \"new\"\nf d/y \"new\"");
        let outside = outside(&scene);
        fs::write(outside.join("x"), "old").unwrap();
        fs::remove_dir_all(scene.path().join("d")).unwrap();
        symlink(&outside, scene.path().join("d")).unwrap();
        let before = snapshot(&outside);
        assert_eq!(
            conflicts_in(scene.apply_on(with_resolver(resolver))),
            "`d/x` lies below what is a symbolic link here\n\
             `d/y` lies below what is a symbolic link here\n"
        );
        assert_eq!(snapshot(&outside), before);
    }
}

#[test]
fn app_01_parent_becomes_a_link_before_the_commit() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let scene = Scene::new(
            "f a \"a\"\nf d/x \"old\"",
            "f a \"changed\"\nf d/x \"new\"\nf d/y \"new\"",
        );
        let outside = outside(&scene);
        fs::write(outside.join("x"), "old").unwrap();
        let before = snapshot(&outside);
        let transaction = scene.prepare_on(with_resolver(resolver)).unwrap();
        fs::rename(scene.path().join("d"), scene.home.path().join("away")).unwrap();
        symlink(&outside, scene.path().join("d")).unwrap();
        assert_eq!(
            conflicts_in(transaction.commit()),
            "`d/x` lies below what is a symbolic link here\n"
        );
        assert_eq!(snapshot(&outside), before);
        assert_eq!(fs::read_to_string(scene.path().join("a")).unwrap(), "a");
        assert!(!scene.dump().contains(".lazaret-"), "{}", scene.dump());
    }
}

/// APP-02: another thread swaps a directory and a link to the outside all the time. Whatever
/// happens to the apply, nothing changes outside.
#[test]
fn app_02_swap_race_of_200_000_writes() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        swap_race(resolver, 100_000, 150);
    }
}

/// So many rounds in which something was written into the directory that was reached, and
/// so many whole applies.
fn swap_race(resolver: Resolver, writes: usize, applies: usize) {
    let scene = Scene::new("f d/x \"old\"", "f d/x \"new\"\nf d/y \"new\"");
    let outside = outside(&scene);
    fs::write(outside.join("x"), "old").unwrap();
    let before = snapshot(&outside);
    let inode = fs::metadata(&outside).unwrap().ino();
    // Relative, so that it leads out over no mount point, which would stop it too.
    symlink("../outside", scene.home.path().join("link")).unwrap();
    let (dir, link) = (scene.path().join("d"), scene.home.path().join("link"));
    let (stop, pause) = (AtomicBool::new(false), Mutex::new(()));
    let ops = HostOps { resolver };
    let (mut written, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _paused = pause.lock().unwrap();
                swap(&dir, &link);
            }
        });
        // Ends the other thread, too, when an assertion fails here.
        let _stop = Stop(&stop);
        let workspace = scene.workspace();
        let path: lazaret_tree::RelPathBuf = "d/z".parse().unwrap();
        while written < writes || refused == 0 {
            let Ok(dir) = ops.open_beneath(workspace.as_fd(), path.parent().unwrap()) else {
                refused += 1;
                continue;
            };
            let dir = dir.as_fd();
            match written % 4 {
                0 => drop(ops.create(dir, "z").unwrap()),
                1 => ops.mkdir(dir, "z", 0o755).unwrap(),
                2 => ops.symlink("x", dir, "z").unwrap(),
                _ => ops.link((dir, "x"), (dir, "z")).unwrap(),
            }
            // Where it went, before it is gone again.
            assert_ne!(ops.stat(dir).unwrap().ino, inode, "{resolver:?} {written}");
            match written % 4 {
                1 => ops.rmdir(dir, "z").unwrap(),
                _ => ops.unlink(dir, "z").unwrap(),
            }
            written += 1;
        }
        for round in 0..applies {
            let result = scene.apply_on(with_resolver(resolver));
            let _recovered = scene.recover();
            assert_eq!(
                snapshot(&outside),
                before,
                "{resolver:?} {round} {result:?}"
            );
            if result.is_ok() {
                // Back to the start, while the other thread is paused.
                let _paused = pause.lock().unwrap();
                if dir.is_symlink() {
                    swap(&dir, &link);
                }
                fs::remove_dir_all(scene.journal()).unwrap();
                fs::write(dir.join("x"), "old").unwrap();
                fs::remove_file(dir.join("y")).unwrap();
            }
        }
    });
    assert_eq!(snapshot(&outside), before);
}

/// Says "stop" when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn swap(a: &Path, b: &Path) {
    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn app_03_root_is_replaced() {
    let scene = Scene::new("f a \"a\"", "f a \"b\"");
    let transaction = scene.prepare_on(Arc::new(Faulty::none())).unwrap();
    let away = scene.home.path().join("away");
    fs::rename(scene.path(), &away).unwrap();
    fs::create_dir(scene.path()).unwrap();
    fs::write(scene.path().join("a"), "a").unwrap();
    let before = scene.snapshot();
    let error = transaction.commit().unwrap_err();
    assert!(
        matches!(error, ApplyError::WorkspaceMoved { .. }),
        "{error}"
    );
    assert_eq!(scene.snapshot(), before);
    // The staging directory went from where the root went to.
    let names = snapshot(&away);
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn app_03_recovery_looks_for_the_same_root() {
    let scene = Scene::new("f a \"a\"", "f a \"b\"");
    let killed = scene.apply_on(Arc::new(Faulty::new(Fault::Kill, 70)));
    assert!(killed.is_err());
    let away = scene.home.path().join("away");
    fs::rename(scene.path(), &away).unwrap();
    fs::create_dir(scene.path()).unwrap();
    let error = crate::recover(&scene.journal()).unwrap_err().to_string();
    assert!(error.contains("move it back"), "{error}");
    fs::remove_dir(scene.path()).unwrap();
    fs::rename(&away, scene.path()).unwrap();
    assert!(matches!(scene.recover(), Recovered::RolledBack { .. }));
    assert_eq!(scene.dump(), "f a a\n".replace(" a\n", " \"a\"\n"));
}

#[test]
fn git_names_and_our_own_are_refused() {
    for name in [
        ".git/hooks/pre-commit",
        "sub/.GIT/config",
        "git~1/x",
        ".lazaret-1/0",
    ] {
        let mut scene = Scene::new("", "");
        scene.changes = vec![Arc::new(Change {
            path: name.parse().unwrap(),
            before: None,
            after: Some(Entry::Dir),
        })];
        let refused = obstacles_in(scene.apply());
        assert!(
            refused.contains("`.git`") || refused.contains("reserved"),
            "{refused}"
        );
        assert_eq!(scene.dump(), "");
    }
}

/// Every way to a directory, by both resolvers: the kernel's, and the walk that replaces it
/// where there is no openat2. They differ in nothing but what a walk can't see.
#[test]
fn app_01_both_resolvers_on_one_table() {
    let scene = Scene::new(
        "d dir/sub/deep/\nf file \"f\"\nl link -> dir\nl out -> /\nl up -> ..\nl self -> self\n\
         l dir/up -> ../..\nl dangling -> nowhere\nf dir/sub/file \"f\"\nl dir/flink -> sub/file",
        "",
    );
    scene.build("p fifo\np dir/fifo");
    let workspace = scene.workspace();
    let say = |result: std::io::Result<()>| match result {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    let mut table = String::new();
    for text in [
        "dir",
        "dir/sub",
        "dir/sub/deep",
        "dir/missing",
        "missing",
        "missing/below",
        "file",
        "file/below",
        "link",
        "link/sub",
        "out",
        "out/etc",
        "up",
        "up/ws",
        "self",
        "self/x",
        "dir/up",
        "dir/up/ws",
        "dangling",
        "dangling/x",
        "fifo",
        "fifo/x",
        "dir/sub/file",
    ] {
        let path = lazaret_tree::RelPath::new(text).unwrap();
        let [kernel, walk] = [Resolver::Kernel, Resolver::Walk]
            .map(|resolver| say(resolver.open_dir(workspace.as_fd(), path).map(drop)));
        assert_eq!(kernel, walk, "{text}");
        writeln!(table, "{text}: {kernel}").unwrap();
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for name in [
        "dir", "file", "link", "out", "self", "dangling", "fifo", "missing",
    ] {
        let [kernel, walk] = [Resolver::Kernel, Resolver::Walk].map(|resolver| {
            let opened = say(resolver.open_at(workspace.as_fd(), name, flags).map(drop));
            let stat = say(resolver.stat_at(workspace.as_fd(), name).map(drop));
            format!("open {opened}, stat {stat}")
        });
        assert_eq!(kernel, walk, "{name}");
        writeln!(table, "{name}: {kernel}").unwrap();
    }
    insta::assert_snapshot!(table, @"
    dir: ok
    dir/sub: ok
    dir/sub/deep: ok
    dir/missing: NotFound
    missing: NotFound
    missing/below: NotFound
    file: NotADirectory
    file/below: NotADirectory
    link: FilesystemLoop
    link/sub: FilesystemLoop
    out: FilesystemLoop
    out/etc: FilesystemLoop
    up: FilesystemLoop
    up/ws: FilesystemLoop
    self: FilesystemLoop
    self/x: FilesystemLoop
    dir/up: FilesystemLoop
    dir/up/ws: FilesystemLoop
    dangling: FilesystemLoop
    dangling/x: FilesystemLoop
    fifo: NotADirectory
    fifo/x: NotADirectory
    dir/sub/file: NotADirectory
    dir: open ok, stat ok
    file: open ok, stat ok
    link: open FilesystemLoop, stat ok
    out: open FilesystemLoop, stat ok
    self: open FilesystemLoop, stat ok
    dangling: open FilesystemLoop, stat ok
    fifo: open ok, stat ok
    missing: open NotFound, stat NotFound
    ");
}
