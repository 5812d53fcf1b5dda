//! Modes, owners, links, and targets that can't be changed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use super::{Faulty, Scene, obstacles_in};
use crate::transaction::ApplyError;

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
fn app_14_immutable_target() {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    // On a file system that has inode flags, and as root; else there is nothing
    // to be in the way.
    let mut scene = Scene::new("f file \"old\"", "f file \"new\"");
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("ws")).unwrap();
    fs::write(home.path().join("ws/file"), "old").unwrap();
    scene.home = home;
    let file = fs::File::open(scene.path().join("file")).unwrap();
    let Ok(flags) = ioctl_getflags(&file) else {
        return;
    };
    if ioctl_setflags(&file, flags | IFlags::IMMUTABLE).is_err() {
        return;
    }
    let result = scene.apply();
    ioctl_setflags(&file, flags).unwrap();
    assert_eq!(
        obstacles_in(result),
        "`file` is immutable or append-only (see `lsattr`)\n"
    );
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
