//! Modes, owners, links, and targets that can't be changed.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use super::{Faulty, Scene, is_root, lines, obstacles_in};
use crate::apply::ApplyError;
use crate::apply::conflict::survey;
use crate::apply::preflight::{Identity, targets};

fn mode(scene: &Scene, name: &str) -> String {
    let metadata = fs::symlink_metadata(scene.path().join(name)).unwrap();
    format!("{:o}", metadata.mode() & 0o7777)
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// New entries by the umask of this process, which tests leave alone.
#[test]
fn app_20_new_entries_are_0644_and_0755_less_the_umask() {
    let scene = Scene::new("", "f plain \"p\"\nx run \"r\"\nd dir/");
    let probe = scene.home.path().join("probe");
    fs::create_dir(&probe).unwrap();
    let umask = !fs::metadata(&probe).unwrap().mode() & 0o777;
    scene.apply().unwrap();
    assert_eq!(mode(&scene, "plain"), format!("{:o}", 0o644 & !umask));
    assert_eq!(mode(&scene, "run"), format!("{:o}", 0o755 & !umask));
    assert_eq!(mode(&scene, "dir"), format!("{:o}", 0o755 & !umask));
}

#[test]
fn app_20_replaced_files_keep_their_bits_but_the_dangerous() {
    let scene = Scene::new(
        "f private \"a\"\nf group \"a\"\nf world \"a\"\nf becomes \"a\"\nx ceases \"a\"\nx suid \"a\"",
        "f private \"b\"\nf group \"b\"\nf world \"b\"\nx becomes \"a\"\nf ceases \"a\"\nx suid \"b\"",
    );
    for (name, bits) in [
        ("private", 0o600),
        ("group", 0o664),
        ("world", 0o666),
        ("becomes", 0o640),
        ("ceases", 0o750),
        ("suid", 0o4755),
    ] {
        chmod(&scene.path().join(name), bits);
    }
    scene.apply().unwrap();
    let modes: Vec<_> = ["private", "group", "world", "becomes", "ceases", "suid"]
        .iter()
        .map(|name| mode(&scene, name))
        .collect();
    assert_eq!(modes, ["600", "664", "664", "750", "640", "755"]);
}

#[test]
fn app_20_setgid_directory_gives_its_group() {
    let scene = Scene::new("d shared/", "f shared/file \"f\"\nd shared/dir/");
    let shared = scene.path().join("shared");
    let group = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&shared, None, Some(12345)).unwrap();
        12345
    } else {
        fs::metadata(&shared).unwrap().gid()
    };
    chmod(&shared, 0o2775);
    scene.apply().unwrap();
    for name in ["file", "dir"] {
        assert_eq!(fs::metadata(shared.join(name)).unwrap().gid(), group);
    }
    assert!(mode(&scene, "shared/dir").starts_with("27"));
}

#[test]
fn app_22_hard_link_elsewhere_keeps_its_contents() {
    let scene = Scene::new("f file \"old\"", "f file \"new\"");
    let other = scene.home.path().join("other");
    fs::hard_link(scene.path().join("file"), &other).unwrap();
    scene.apply().unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "old");
    assert_eq!(scene.dump(), "f file \"new\"\n");
}

#[test]
fn app_14_read_only_targets_are_found_before_anything_happens() {
    let before = "f ro \"old\"\nf dir/x \"old\"\nf other \"old\"";
    let after = "f ro \"new\"\nf dir/x \"new\"\nf other \"new\"";
    let scene = Scene::new(before, after);
    chmod(&scene.path().join("ro"), 0o444);
    chmod(&scene.path().join("dir"), 0o555);
    let tree = scene.snapshot();
    assert_eq!(
        obstacles_in(scene.apply()),
        "`dir/x` lies in a directory that can't be written\n\
         `ro` is read-only; `chmod u+w` it if it may change\n"
    );
    assert_eq!(scene.snapshot(), tree);
    chmod(&scene.path().join("dir"), 0o755);
}

#[test]
fn app_14_immutable_and_append_only_targets() {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    if !is_root("chattr") {
        return;
    }
    let mut scene = Scene::new(
        "f file \"old\"\nf dir/x \"old\"",
        "f file \"new\"\nf dir/x \"new\"\nf dir/y \"new\"",
    );
    // On a disk: not every kernel has these flags in memory.
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("ws/dir")).unwrap();
    for name in ["ws/file", "ws/dir/x"] {
        fs::write(home.path().join(name), "old").unwrap();
    }
    scene.home = home;
    let pinned: Vec<_> = [("file", IFlags::IMMUTABLE), ("dir", IFlags::APPEND)]
        .into_iter()
        .map(|(name, flag)| {
            let file = fs::File::open(scene.path().join(name)).unwrap();
            let flags = ioctl_getflags(&file).unwrap();
            ioctl_setflags(&file, flags | flag).unwrap();
            (file, flags)
        })
        .collect();
    let tree = scene.snapshot();
    let result = scene.apply();
    let same = scene.snapshot() == tree;
    for (file, flags) in pinned {
        ioctl_setflags(&file, flags).unwrap();
    }
    assert_eq!(
        obstacles_in(result),
        "`dir/x` is immutable or append-only (see `lsattr`)\n\
         `file` is immutable or append-only (see `lsattr`)\n"
    );
    assert!(same);
}

/// A user who is not root may not replace another user's entries, even in a directory that the
/// user may write; root may.
#[test]
fn app_14_foreign_owner() {
    let scene = Scene::new(
        "f file \"old\"\nf gone \"x\"",
        "f file \"new\"\nf added \"a\"",
    );
    let workspace = scene.workspace();
    let ops = Faulty::none();
    let states = survey(&ops, workspace.as_fd(), &scene.changes).unwrap();
    let pairs: Vec<_> = scene.changes.iter().zip(&states).collect();
    let me = Identity::current();
    for (uid, expected) in [
        (me.uid, ""),
        (0, ""),
        (
            me.uid + 4321,
            "`file` belongs to another user\n`gone` belongs to another user\n",
        ),
    ] {
        let identity = Identity { uid };
        let obstacles = targets(&ops, workspace.as_fd(), identity, &pairs).unwrap();
        assert_eq!(lines(&obstacles), expected, "{uid}");
    }
}

#[test]
fn app_20_new_entries_by_every_umask() {
    for umask in [0o000, 0o002, 0o022, 0o027, 0o077] {
        let scene = Scene::new("", "f plain \"p\"\nx run \"r\"\nd dir/");
        scene
            .apply_on(Arc::new(Faulty::none().umask(umask)))
            .unwrap();
        for (name, bits) in [("plain", 0o644), ("run", 0o755), ("dir", 0o755)] {
            assert_eq!(mode(&scene, name), format!("{:o}", bits & !umask), "{name}");
        }
    }
}

/// A default ACL that gives everything to everybody, and one that names a user.
#[test]
fn app_20_default_acl_makes_nothing_world_writable() {
    use rustix::fs::{XattrFlags, setxattr};
    let entry = |tag: u16, bits: u16, id: u32| {
        [
            &tag.to_le_bytes()[..],
            &bits.to_le_bytes(),
            &id.to_le_bytes(),
        ]
        .concat()
    };
    const UNDEFINED_ID: u32 = u32::MAX;
    let (owner, user, group, mask, other) = (0x01, 0x02, 0x04, 0x10, 0x20);
    let acl = [
        2_u32.to_le_bytes().to_vec(),
        entry(owner, 7, UNDEFINED_ID),
        entry(user, 7, 4321),
        entry(group, 7, UNDEFINED_ID),
        entry(mask, 7, UNDEFINED_ID),
        entry(other, 7, UNDEFINED_ID),
    ]
    .concat();
    let scene = Scene::new(
        "d sub/",
        "f plain \"p\"\nx run \"r\"\nf sub/f \"f\"\nd sub/dir/",
    );
    for dir in [scene.path(), scene.path().join("sub")] {
        let name = "system.posix_acl_default";
        setxattr(&dir, name, &acl, XattrFlags::empty()).unwrap();
    }
    scene.apply_on(Arc::new(Faulty::none().umask(0))).unwrap();
    let modes = ["plain", "run", "sub/f", "sub/dir"].map(|name| mode(&scene, name));
    assert_eq!(modes, ["644", "755", "644", "755"]);
}

/// The undo of a removal restores the owner that root had set, and the setuid bit.
#[test]
fn app_18_owner_and_setuid_bit_come_back() {
    if !is_root("chown") {
        return;
    }
    let scene = Scene::new("x tool \"t\"", "");
    let tool = scene.path().join("tool");
    std::os::unix::fs::chown(scene.path(), Some(4321), Some(4321)).unwrap();
    std::os::unix::fs::chown(&tool, Some(4321), Some(4321)).unwrap();
    chmod(&tool, 0o4755);
    scene.apply().unwrap();
    assert!(!tool.exists());
    crate::undo(&scene.journal(), &scene.workspace()).unwrap();
    assert_eq!(mode(&scene, "tool"), "4755");
    assert_eq!(fs::metadata(&tool).unwrap().uid(), 4321);
}

#[test]
fn missing_and_wrong_contents_leave_nothing_behind() {
    for wrong in [None, Some(b"wro".to_vec()), Some(b"longer".to_vec())] {
        let mut scene = Scene::new("f a \"old\"", "f a \"new\"\nf b \"new\"");
        match wrong {
            Some(wrong) => {
                let blobs = scene.blobs.0.values_mut();
                blobs.for_each(|blob| blob.clone_from(&wrong));
            }
            None => scene.blobs.0.clear(),
        }
        let error = scene.apply().unwrap_err();
        assert!(matches!(error, ApplyError::Blob { .. }), "{error}");
        assert_eq!(scene.dump(), "f a \"old\"\n");
    }
}

#[test]
fn dropped_and_aborted_transactions_leave_nothing_behind() {
    let scene = Scene::new("f a \"old\"", "f a \"new\"\nf d/b \"new\"");
    let tree = scene.snapshot();
    let none = || Arc::new(Faulty::none());
    drop(scene.prepare_on(none()).unwrap());
    assert_eq!(scene.snapshot(), tree);
    scene.prepare_on(none()).unwrap().abort().unwrap();
    assert_eq!(scene.snapshot(), tree);
    scene.apply().unwrap();
}

#[test]
fn journal_directory_holds_one_transaction() {
    let scene = Scene::new("f a \"old\"", "f a \"new\"");
    scene.apply().unwrap();
    scene.build("f a \"old\"");
    let error = scene.apply().unwrap_err();
    assert!(matches!(error, ApplyError::JournalInUse { .. }), "{error}");
}

#[test]
fn nothing_to_do_is_a_transaction_too() {
    let scene = Scene::new("f a \"a\"", "f a \"a\"");
    let receipt = scene.apply().unwrap();
    assert_eq!((receipt.applied.len(), receipt.already), (0, 0));
}
