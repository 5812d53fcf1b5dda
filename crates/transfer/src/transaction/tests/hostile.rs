//! Links, mounts, races and names that lead elsewhere.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};

use super::{Fault, Faulty, Scene, conflicts_in, obstacles_in, snapshot};
use crate::transaction::ops::HostOps;
use crate::transaction::resolve::Resolver;
use crate::transaction::{ApplyError, Recovered};
use crate::{Change, Entry};

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

/// APP-02, a moderate count: somebody swaps a directory and a link to the
/// outside all the time. Whatever happens to the apply, nothing happens there.
#[test]
fn app_02_swap_race() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        swap_race(resolver, 20_000, Duration::from_secs(4));
    }
}

fn swap_race(resolver: Resolver, rounds: usize, at_most: Duration) {
    let scene = Scene::new("f d/x \"old\"", "f d/x \"new\"\nf d/y \"new\"");
    let outside = outside(&scene);
    fs::write(outside.join("x"), "old").unwrap();
    let before = snapshot(&outside);
    symlink(&outside, scene.home.path().join("link")).unwrap();
    let (dir, link) = (scene.path().join("d"), scene.home.path().join("link"));
    let stop = AtomicBool::new(false);
    let ops = HostOps { resolver };
    let started = Instant::now();
    let (mut reached, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap(&dir, &link);
            }
        });
        let workspace = scene.workspace();
        let path: crate::RelPathBuf = "d/z".parse().unwrap();
        for _ in 0..rounds {
            if started.elapsed() > at_most {
                break;
            }
            use crate::transaction::ops::Ops as _;
            let parent = path.parent().unwrap();
            match ops.open_beneath(workspace.as_fd(), parent) {
                Ok(dir) => {
                    reached += 1;
                    drop(ops.create(dir.as_fd(), "z").unwrap());
                    ops.unlink(dir.as_fd(), "z").unwrap();
                }
                Err(_) => refused += 1,
            }
        }
        for round in 0..50 {
            if started.elapsed() > at_most * 2 {
                break;
            }
            let result = scene.apply_on(with_resolver(resolver));
            let _recovered = scene.recover();
            assert!(!outside.join("y").exists(), "{round} {result:?}");
            if result.is_ok() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(snapshot(&outside), before);
    assert!(reached > 0 && refused > 0, "{reached} {refused}");
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
fn app_05_mount_points_are_not_crossed() {
    let scene = Scene::new("f d/x \"old\"\nd e/", "f d/x \"new\"");
    let mounted: Vec<_> = ["d", "e"]
        .into_iter()
        .filter_map(|name| Mounted::bind(&scene.path().join(name)))
        .collect();
    if mounted.len() < 2 {
        // Only who has CAP_SYS_ADMIN may mount.
        return;
    }
    assert_eq!(
        conflicts_in(scene.apply()),
        "`d/x` lies on another file system\n`e` lies on another file system\n"
    );
}

/// A directory bound over itself, until it is dropped.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn bind(path: &Path) -> Option<Self> {
        rustix::mount::mount_bind(path, path).ok()?;
        Some(Self(path.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH).unwrap();
    }
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
        scene.changes = vec![Change {
            path: name.parse().unwrap(),
            before: None,
            after: Some(Entry::Dir),
        }];
        let refused = obstacles_in(scene.apply());
        assert!(
            refused.contains("`.git`") || refused.contains("reserved"),
            "{refused}"
        );
        assert_eq!(scene.dump(), "");
    }
}

/// A directory that is really `.git`, bound to another name.
#[test]
fn git_directory_under_another_name() {
    let Some(scene) = bound_git() else {
        // As above.
        return;
    };
    let refused = match scene.1.apply() {
        Err(error) => error.to_string(),
        Ok(receipt) => panic!("{receipt:?}"),
    };
    assert!(refused.contains("another file system"), "{refused}");
}

/// The mount comes first, so that it goes first.
fn bound_git() -> Option<(Mounted, Scene)> {
    let scene = Scene::new("d dot/", "f dot/hook \"h\"");
    scene.build("d .git/");
    let (from, to) = (scene.path().join(".git"), scene.path().join("dot"));
    rustix::mount::mount_bind(from, &to).ok()?;
    Some((Mounted(to), scene))
}
