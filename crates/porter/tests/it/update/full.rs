//! A volume without room. Mounting a small one is for root, and in CI the tests are.

use std::path::PathBuf;

use lazaret_tests::privilege::is_root;
use lazaret_transfer::AgentChanges;
use lazaret_tree::diff;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::kept::{Fault, Kept};
use crate::session::fast_tempdir;

/// A mount, until it is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).expect("ours");
    }
}

#[test]
fn flt_06_a_full_volume_keeps_what_has_its_name_and_takes_the_rest_later() {
    if !is_root("mounts") {
        return;
    }
    let volume = fast_tempdir();
    let at = volume.path().to_path_buf();
    let options = Some(c"size=400k");
    mount("tmpfs", &at, "tmpfs", MountFlags::empty(), options).expect("root");
    let mounted = Mounted(at);
    let mut kept = Kept::in_volume("f b *1000\nf d *1000", volume);
    // It goes before the directory that it lies on.
    let _mounted = mounted;
    kept.host("f a/1 *30000\nf b *100000\nf c *400000\nf d *2000");
    let before = kept.baseline.clone();
    let broken = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {});
    let stderr = broken.expect_err("there is no room").stderr;
    assert_eq!(
        stderr,
        "porter: update: c: No space left on device (os error 28)\n"
    );
    assert_eq!(kept.dump(), "f a/1 *30000\nf b *100000\nf d *1000\n");
    assert_eq!(kept.baseline, before);
    assert!(kept.intent.is_some());
    kept.host("f c *3000");
    let plan = kept.update();
    let sent = plan.request.send.iter().map(|(path, _)| path.as_str());
    assert_eq!(sent.collect::<Vec<_>>(), ["c", "d"]);
    assert_eq!(
        kept.dump(),
        "f a/1 *30000\nf b *100000\nf c *3000\nf d *2000\n"
    );
    assert!(diff(&kept.baseline, &kept.known.tree()).is_empty());
}
