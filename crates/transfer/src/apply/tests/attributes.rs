//! Extended attributes and access control lists (APP-28), and what a rename keeps (APP-29).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

use super::faulty::{Able, Op};
use super::{Direction, Fault, Faulty, Hits, Scene, is_root};
use crate::apply::Recovered;

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// One entry of an access control list.
struct Grant {
    tag: u16,
    bits: u16,
    id: u32,
}

fn grant(tag: u16, bits: u16) -> Grant {
    let id = match tag {
        USER => 4321,
        _ => u32::MAX,
    };
    Grant { tag, bits, id }
}

/// A list in the kernel's form: version 2, then 8 bytes for each entry (acl(5)).
fn list(grants: &[Grant]) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for Grant { tag, bits, id } in grants {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// A user may write what the group may not even read; the mask shows as the group's bits.
fn one_user() -> Vec<u8> {
    list(&[
        grant(OWNER, 6),
        grant(USER, 6),
        grant(GROUP, 0),
        grant(MASK, 6),
        grant(OTHER, 0),
    ])
}

fn set(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, name, value, XattrFlags::empty()).unwrap();
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    match getxattr(path, name, &mut value[..]) {
        Err(Errno::NODATA) => None,
        other => {
            value.truncate(other.unwrap());
            Some(value)
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn chmod(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
}

/// Gives attributes and lists to those of `paths` that a scene has.
pub(super) fn dressed(scene: Scene, paths: &[&str]) -> Scene {
    for path in paths {
        let path = scene.path().join(path);
        if !path.exists() {
            continue;
        }
        set(
            &path,
            "user.comment",
            path.as_os_str().as_encoded_bytes().split_at(1).0,
        );
        set(&path, ACCESS, &one_user());
        if path.is_dir() {
            set(&path, DEFAULT, &one_user());
            chmod(&path, 0o770);
        }
    }
    scene
}

#[test]
fn app_28_undo_and_redo_restore_attributes_and_lists() {
    let before = "f kept \"old\"\nf gone \"g\"\nf dir/x \"x\"\nf to-dir \"f\"\nd to-file/";
    let after = "f kept \"new\"\nf to-dir/leaf \"l\"\nf to-file \"file\"";
    let all = ["kept", "gone", "dir", "dir/x", "to-dir", "to-file"];
    let scene = dressed(Scene::new(before, after), &all);
    let empty = scene.path().join("kept");
    set(&empty, "user.empty", b"");
    if is_root("file capabilities") {
        // cap_net_raw+ep, in the form of version 2.
        let capability = [
            1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        set(&empty, "security.capability", &capability);
    }
    let old = scene.snapshot();
    scene.apply().unwrap();
    let new = scene.snapshot();
    for _ in 0..2 {
        scene
            .turn_on(Arc::new(Faulty::none()), Direction::Undo)
            .unwrap();
        assert_eq!(scene.snapshot(), old);
        scene
            .turn_on(Arc::new(Faulty::none()), Direction::Redo)
            .unwrap();
        assert_eq!(scene.snapshot(), new);
    }
}

#[test]
fn app_28_new_contents_keep_the_users_attributes_and_list() {
    let scene = Scene::new(
        "f file \"old\"\nx tool \"old\"",
        "f file \"new\"\nf tool \"old\"",
    );
    let (file, tool) = (scene.path().join("file"), scene.path().join("tool"));
    for path in [&file, &tool] {
        set(path, "user.comment", b"mine");
        set(path, ACCESS, &one_user());
    }
    if is_root("file capabilities") {
        let capability = [
            1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        set(&file, "security.capability", &capability);
    }
    scene.apply().unwrap();
    for path in [&file, &tool] {
        assert_eq!(get(path, "user.comment").as_deref(), Some(&b"mine"[..]));
        assert_eq!(get(path, ACCESS), Some(one_user()));
        assert_eq!(mode(path), 0o660);
    }
    // What may be done by the old contents is not what may be done by the new ones.
    assert_eq!(get(&file, "security.capability"), None);
}

/// The group may do nothing; the bits in its place are the mask. Whatever is there afterwards,
/// without its list the group still may do nothing.
#[test]
fn app_28_a_mask_never_becomes_what_the_group_may() {
    for after in ["f file \"new\"", "x file \"old\"", "f moved \"old\""] {
        let scene = Scene::new("f file \"old\"", after);
        set(&scene.path().join("file"), ACCESS, &one_user());
        scene.apply().unwrap();
        let name = after.split(' ').nth(1).unwrap();
        let path = scene.path().join(name);
        let kept = get(&path, ACCESS).unwrap();
        // Behind the version of four bytes each entry is tag, bits, id.
        let bits = kept[4..]
            .chunks(8)
            .find(|entry| entry[..2] == GROUP.to_le_bytes())
            .map(|entry| entry[2]);
        assert_eq!(bits, Some(0), "{after}");
    }
}

/// The workspace gives every new entry a list; a file that had none gets none by being
/// replaced, or by coming back.
#[test]
fn app_28_a_default_list_widens_no_file_that_had_none() {
    let scene = Scene::new("f file \"old\"\nf gone \"g\"", "f file \"new\"");
    let wide = list(&[
        grant(OWNER, 7),
        grant(USER, 7),
        grant(GROUP, 7),
        grant(MASK, 7),
        grant(OTHER, 0),
    ]);
    set(&scene.path(), DEFAULT, &wide);
    chmod(&scene.path().join("file"), 0o640);
    let old = scene.snapshot();
    scene.apply().unwrap();
    assert_eq!(get(&scene.path().join("file"), ACCESS), None);
    assert_eq!(mode(&scene.path().join("file")), 0o640);
    scene
        .turn_on(Arc::new(Faulty::none()), Direction::Undo)
        .unwrap();
    assert_eq!(scene.snapshot(), old);
}

#[test]
fn app_28_file_systems_without_attributes_go_on_working() {
    let scene = Scene::new(
        "f file \"old\"\nf gone \"g\"",
        "f file \"new\"\nf new \"n\"",
    );
    let old = scene.snapshot();
    let ops = || Arc::new(Faulty::none().able(Able::NoAttributes));
    scene.apply_on(ops()).unwrap();
    assert_eq!(scene.dump(), "f file \"new\"\nf new \"n\"\n");
    scene.turn_on(ops(), Direction::Undo).unwrap();
    assert_eq!(scene.snapshot(), old);
}

/// A list that can't be set again is a failure: without it, the mode would say too much.
#[test]
fn app_28_an_undo_that_can_not_set_a_list_does_nothing() {
    let scene = dressed(Scene::new("f file \"old\"", "f file \"new\""), &["file"]);
    scene.apply().unwrap();
    let new = scene.snapshot();
    let ops = Arc::new(Faulty::none().able(Able::NoAttributes));
    let error = scene.turn_on(ops, Direction::Undo).unwrap_err().to_string();
    assert!(error.contains("not supported"), "{error}");
    assert_eq!(scene.snapshot(), new);
}

#[test]
fn app_28_undo_refuses_attributes_that_are_damaged() {
    let scene = dressed(Scene::new("f file \"old\"", "f file \"new\""), &["file"]);
    scene.apply().unwrap();
    let new = scene.snapshot();
    for blob in fs::read_dir(scene.journal().join("kept")).unwrap() {
        let blob = blob.unwrap().path();
        if fs::read(&blob).unwrap() != b"old" {
            fs::write(&blob, b"bad").unwrap();
        }
    }
    let error = scene
        .turn_on(Arc::new(Faulty::none()), Direction::Undo)
        .unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert_eq!(scene.snapshot(), new);
}

/// Each error, and a kill, at every operation where lists are inherited and have to go.
#[test]
fn app_28_every_operation_fails_where_lists_are_inherited() {
    let scene = || {
        let scene = Scene::new("f file \"old\"\nd dir/", "f file \"new\"\nf dir \"file\"");
        set(&scene.path(), DEFAULT, &one_user());
        dressed(scene, &["file"])
    };
    let (before, after) = {
        let scene = scene();
        let before = scene.snapshot();
        scene.apply().unwrap();
        (before, scene.snapshot())
    };
    let mut hits = Hits::default();
    for fault in [Errno::NOSPC, Errno::PERM]
        .map(Fault::Fail)
        .into_iter()
        .chain([Fault::Kill])
    {
        for which in [None, Some(Direction::Undo)] {
            hits.enumerate(fault, Able::All, |ops| {
                let scene = scene();
                let failed = match which {
                    None => scene.apply_on(Arc::clone(&ops) as _).is_err(),
                    Some(direction) => {
                        scene.apply().unwrap();
                        scene.turn_on(Arc::clone(&ops) as _, direction).is_err()
                    }
                };
                let _recovered = scene.recover();
                let tree = scene.snapshot();
                let (from, to) = match which {
                    None => (&before, &after),
                    Some(_) => (&after, &before),
                };
                assert!(tree == *from || tree == *to, "{fault:?} {:?}", ops.failed());
                assert!(failed || tree == *to, "{fault:?} {:?}", ops.failed());
                assert_eq!(scene.recover(), Recovered::Nothing);
            });
        }
    }
    let hit = |op| !hits.missing().contains(&op);
    assert!(hit(Op::RemoveAttribute) && hit(Op::SetAttribute) && hit(Op::Attribute));
}

#[test]
fn app_29_a_renamed_file_keeps_its_mode() {
    for (from, to, bits, expected) in [
        ("f a \"s\"", "f b \"s\"", 0o600, 0o600),
        ("f a \"s\"", "f d/e/b \"s\"", 0o600, 0o600),
        ("f a \"s\"", "x b \"s\"", 0o600, 0o700),
        ("x a \"s\"", "f b \"s\"", 0o750, 0o640),
        ("f a \"s\"", "f b \"s\"", 0o664, 0o664),
        // No more than a file that is replaced keeps.
        ("x a \"s\"", "x b \"s\"", 0o4777, 0o775),
        // Over another file, and into a directory of its own name.
        ("f a \"s\"\nf b \"o\"", "f b \"s\"", 0o600, 0o600),
        ("f a \"s\"", "f a/b \"s\"", 0o600, 0o600),
        // A copy beside it is no more open than the file was.
        ("f a \"s\"", "f c \"s\"\nf b \"s\"", 0o600, 0o600),
    ] {
        let scene = Scene::new(from, to);
        chmod(&scene.path().join("a"), bits);
        let old = scene.snapshot();
        scene.apply().unwrap();
        for name in to.lines().map(|line| line.split(' ').nth(1).unwrap()) {
            let found = mode(&scene.path().join(name));
            assert_eq!(found, expected, "{from} → {to}: {name} {found:o}");
        }
        let new = scene.snapshot();
        scene
            .turn_on(Arc::new(Faulty::none()), Direction::Undo)
            .unwrap();
        assert_eq!(scene.snapshot(), old);
        scene
            .turn_on(Arc::new(Faulty::none()), Direction::Redo)
            .unwrap();
        assert_eq!(scene.snapshot(), new);
    }
}

#[test]
fn app_29_a_renamed_directory_keeps_modes_and_lists() {
    let before = "f private/key \"k\"\nf private/sub/other \"o\"\nf private/__init__ \"\"\n\
        m 700 private\nm 750 private/sub\nm 600 private/key\nm 600 private/__init__";
    let after = "f secret/key \"k\"\nf secret/sub/other \"o\"\nf secret/__init__ \"\"";
    let scene = dressed(Scene::new(before, after), &["private/sub"]);
    scene.apply().unwrap();
    let found = ["secret", "secret/sub", "secret/key", "secret/__init__"]
        .map(|name| mode(&scene.path().join(name)));
    assert_eq!(found, [0o700, 0o770, 0o600, 0o600]);
    assert_eq!(
        get(&scene.path().join("secret/sub"), DEFAULT),
        Some(one_user())
    );
}

#[test]
fn app_29_a_renamed_file_keeps_its_owner() {
    if !is_root("chown") {
        return;
    }
    let scene = Scene::new("f a \"s\"", "f d/b \"s\"");
    std::os::unix::fs::chown(scene.path().join("a"), Some(4321), Some(4321)).unwrap();
    scene.apply().unwrap();
    let found = fs::metadata(scene.path().join("d/b")).unwrap();
    assert_eq!((found.uid(), found.gid()), (4321, 4321));
}
