//! Other file systems than one ordinary one: mounts inside, layers below, no room, no case.
//!
//! Mounting is for root, and in CI the tests are. vfat and exFAT are not here: the kernels
//! that the tests run on have neither; what they lack, `Able` takes away one by one.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};

use super::faulty::Able;
use super::{Direction, Fault, Faulty, Hits, Scene, conflicts_in, is_root, obstacles_in};
use crate::apply::ops::HostOps;
use crate::apply::{ApplyError, Recovered};
use crate::workspace_dir::resolve::Resolver;

/// A mount, until it is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn bind(from: &Path, to: &Path) -> Self {
        mount_bind(from, to).unwrap();
        Self(to.to_owned())
    }

    fn tmpfs(at: &Path, options: &std::ffi::CStr) -> Self {
        mount("tmpfs", at, "tmpfs", MountFlags::empty(), Some(options)).unwrap();
        Self(at.to_owned())
    }

    fn ramfs(at: &Path) -> Self {
        mount("ramfs", at, "ramfs", MountFlags::empty(), None).unwrap();
        Self(at.to_owned())
    }

    /// An overlay of what is at `at`, which stays as it is, below.
    fn overlay(at: &Path, layers: &Path) -> Self {
        let (upper, work) = (layers.join("upper"), layers.join("work"));
        fs::create_dir(&upper).unwrap();
        fs::create_dir(&work).unwrap();
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            at.display(),
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options).unwrap();
        mount(
            "overlay",
            at,
            "overlay",
            MountFlags::empty(),
            Some(&*options),
        )
        .unwrap();
        Self(at.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn app_05_mount_points_are_not_crossed() {
    if !is_root("mounts") {
        return;
    }
    let scene = Scene::new(
        "f d/x \"old\"\nd e/\nf t/x \"old\"\nf file \"old\"",
        "f d/x \"new\"\nf t/x \"new\"\nf t/y \"new\"\nf file \"new\"",
    );
    let path = |name: &str| scene.path().join(name);
    fs::write(scene.home.path().join("other"), "old").unwrap();
    let _mounted = [
        Mounted::bind(&path("d"), &path("d")),
        Mounted::bind(&path("e"), &path("e")),
        Mounted::tmpfs(&path("t"), c"size=64k"),
        Mounted::bind(&scene.home.path().join("other"), &path("file")),
    ];
    fs::write(path("t/x"), "old").unwrap();
    assert_eq!(
        conflicts_in(scene.apply()),
        "`d/x` lies on another file system\n`e` lies on another file system\n\
         `file` lies on another file system\n\
         `t/x` lies on another file system\n`t/y` lies on another file system\n"
    );
    // The walk sees another device; not that the same one is bound once more.
    let mut walk = Faulty::none();
    walk.host = HostOps {
        resolver: Resolver::Walk,
    };
    let refused = conflicts_in(scene.apply_on(Arc::new(walk)));
    assert_eq!(
        refused,
        "`t/x` lies on another file system\n`t/y` lies on another file system\n"
    );
}

/// A mount that comes between the checks and the rename.
#[test]
fn app_05_mounted_just_before_the_commit() {
    if !is_root("mounts") {
        return;
    }
    let scene = Scene::new("f a \"a\"\nf d/x \"old\"", "f a \"b\"\nf d/x \"new\"");
    let transaction = scene.prepare_on(Arc::new(Faulty::none())).unwrap();
    let dir = scene.path().join("d");
    let mounted = Mounted::bind(&dir, &dir);
    assert_eq!(
        conflicts_in(transaction.commit()),
        "`d/x` lies on another file system\n"
    );
    drop(mounted);
    assert_eq!(scene.dump(), "f a \"a\"\nf d/x \"old\"\n");
}

/// A directory that is really `.git`, bound to another name.
#[test]
fn app_05_git_directory_under_another_name() {
    if !is_root("mounts") {
        return;
    }
    let scene = Scene::new("d dot/", "f dot/hook \"h\"");
    scene.build("d .git/");
    let (from, to) = (scene.path().join(".git"), scene.path().join("dot"));
    let _mounted = Mounted::bind(&from, &to);
    let refused = conflicts_in(scene.apply());
    assert!(refused.contains("another file system"), "{refused}");
    // The walk can't see the mount, and knows the directory.
    let mut walk = Faulty::none();
    walk.host = HostOps {
        resolver: Resolver::Walk,
    };
    let refused = obstacles_in(scene.apply_on(Arc::new(walk)));
    assert!(refused.contains("`.git`"), "{refused}");
}

/// Everything that can be done, on overlayfs, where what lies in a lower layer can't all be
/// renamed.
#[test]
fn app_25_on_a_real_overlay() {
    if !is_root("mounts") {
        return;
    }
    let (before, after) = (super::crash::BEFORE, super::crash::AFTER);
    let plain = Scene::new(before, after);
    let old = plain.snapshot();
    plain.apply().unwrap();
    let new = plain.snapshot();
    let scene = Scene::new(before, after);
    let _mounted = Mounted::overlay(&scene.path(), scene.home.path());
    let count = {
        let ops = Arc::new(Faulty::none());
        scene.apply_on(Arc::clone(&ops) as _).unwrap();
        ops.count()
    };
    assert_eq!(scene.snapshot(), new);
    scene
        .turn_on(Arc::new(Faulty::none()), Direction::Undo)
        .unwrap();
    assert_eq!(scene.snapshot(), old);
    scene
        .turn_on(Arc::new(Faulty::none()), Direction::Redo)
        .unwrap();
    assert_eq!(scene.snapshot(), new);
    for at in (0..count).step_by(11) {
        let scene = Scene::new(before, after);
        let _mounted = Mounted::overlay(&scene.path(), scene.home.path());
        let _killed = scene.apply_on(Arc::new(Faulty::new(Fault::Kill, at)));
        let _recovered = scene.recover();
        let tree = scene.snapshot();
        assert!(tree == old || tree == new, "{at}");
        assert_eq!(scene.recover(), Recovered::Nothing);
    }
}

/// A file system that has no attributes: what can't be set was never there.
#[test]
fn app_28_on_a_real_file_system_without_attributes() {
    if !is_root("mounts") {
        return;
    }
    let (before, after) = (super::crash::BEFORE, super::crash::AFTER);
    let scene = Scene::new(before, after);
    let _mounted = Mounted::ramfs(&scene.path());
    scene.build(before);
    let set = rustix::fs::setxattr(
        scene.path().join("changed.txt"),
        "user.comment",
        b"mine",
        rustix::fs::XattrFlags::empty(),
    );
    assert_eq!(set, Err(rustix::io::Errno::OPNOTSUPP));
    let old = scene.snapshot();
    scene.apply().unwrap();
    let new = scene.snapshot();
    assert_ne!(old, new);
    scene
        .turn_on(Arc::new(Faulty::none()), Direction::Undo)
        .unwrap();
    assert_eq!(scene.snapshot(), old);
    scene
        .turn_on(Arc::new(Faulty::none()), Direction::Redo)
        .unwrap();
    assert_eq!(scene.snapshot(), new);
}

/// APP-13 for real: no room for what is to come, and then a read-only file system.
#[test]
fn app_13_full_and_read_only_file_systems() {
    if !is_root("mounts") {
        return;
    }
    let scene = Scene::new("", "f a \"new\"\nf big *3000000\nf z \"new\"");
    let mounted = Mounted::tmpfs(&scene.path(), c"size=1m");
    fs::write(scene.path().join("mine"), "mine").unwrap();
    let error = scene.apply().unwrap_err().to_string();
    assert!(error.contains("`big`") || error.contains("big"), "{error}");
    assert!(error.contains("No space left"), "{error}");
    assert_eq!(scene.dump(), "f mine \"mine\"\n");
    assert_eq!(scene.recover(), Recovered::Nothing);
    mount_remount(&mounted.0, MountFlags::RDONLY, c"").unwrap();
    assert_eq!(
        obstacles_in(scene.apply()),
        "`a` lies in a directory that can't be written\n"
    );
    assert_eq!(scene.dump(), "f mine \"mine\"\n");
}

/// APP-21 on a file system that folds case: one that keeps the case in which a name was
/// made, as ext4 with `casefold`, APFS, and NTFS do. The kernels that the tests run on have
/// none, so it is the operations that fold.
#[test]
fn app_21_only_the_case_changes_where_case_is_folded() {
    let before = "f readme \"r\"\nf Dir/x \"x\"\nf Dir/Sub/y \"y\"\nf same \"s\"";
    let after = "f README \"r\"\nf dir/x \"x\"\nf dir/sub/y \"changed\"\nf same \"s\"";
    let scene = Scene::new(before, after);
    let (old, old_inode) = (scene.snapshot(), inode(&scene, "same"));
    scene
        .apply_on(Arc::new(Faulty::none().able(Able::Folds)))
        .unwrap();
    insta::assert_snapshot!(scene.dump(), @r#"
    f README "r"
    f dir/sub/y "changed"
    f dir/x "x"
    f same "s"
    "#);
    assert_eq!(inode(&scene, "same"), old_inode);
    let new = scene.snapshot();
    let mut hits = Hits::default();
    for fault in [Fault::Kill, Fault::Fail(rustix::io::Errno::IO)] {
        hits.enumerate(fault, Able::Folds, |ops| {
            let scene = Scene::new(before, after);
            let result = scene.apply_on(Arc::clone(&ops) as _);
            let folds = Faulty::none().able(Able::Folds);
            let _recovered = super::recover_with(&folds, &scene.journal()).unwrap();
            let tree = scene.snapshot();
            assert!(
                tree == old || tree == new,
                "{:?} {result:?}\n{}",
                ops.failed(),
                scene.dump()
            );
        });
    }
}

/// Where names fold, a file of the user's own that differs in case is in the way.
#[test]
fn app_21_another_file_is_in_the_way_where_case_is_folded() {
    let scene = Scene::new("f a \"a\"", "f a \"a\"\nf Notes \"agent\"");
    scene.build("f NOTES \"mine\"");
    let result = scene.apply_on(Arc::new(Faulty::none().able(Able::Folds)));
    assert_eq!(
        conflicts_in(result),
        "`Notes` was created here too, with other contents\n"
    );
    assert_eq!(scene.dump(), "f NOTES \"mine\"\nf a \"a\"\n");
}

fn inode(scene: &Scene, name: &str) -> u64 {
    fs::metadata(scene.path().join(name)).unwrap().ino()
}

/// APP-25: a file system on which nothing works by which an entry could be placed.
#[test]
fn app_25_without_exchange_noreplace_and_links_it_is_refused() {
    let scene = Scene::new("f a \"old\"", "f a \"new\"");
    let error = scene
        .apply_on(Arc::new(Faulty::none().able(Able::Nothing)))
        .unwrap_err();
    assert!(matches!(error, ApplyError::Io(_)), "{error}");
    assert_eq!(scene.dump(), "f a \"old\"\n");
    assert_eq!(scene.recover(), Recovered::Nothing);
}
