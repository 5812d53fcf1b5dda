//! What was read once need not be read again, unless it may have changed.

use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use lazaret_tests::clock::wait_past_tick;
use lazaret_tests::privilege::is_root;
use lazaret_tests::{Random, random_tree, tree_text};
use lazaret_transfer::{
    FileSelector, GitMode, Hashing, SelectionSpec, SkipReason, StatCache, StatCacheOutcome,
    StatCacheWriter, WorkspaceDir, pack_and_record, walk, walk_cached,
};
use lazaret_tree::Tree;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, mount_bind, unmount};

fn selector() -> FileSelector {
    let (git, exclude) = (GitMode::Full, Vec::new());
    SelectionSpec { git, exclude }
        .compile()
        .expect("no pattern")
}

/// Walks with a cache, and makes the next one.
fn look(dir: &Path, cache: &StatCache) -> (Tree, StatCache) {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let mut stored = Vec::new();
    let mut recorder = StatCacheWriter::new(&workspace, &mut stored);
    let walked = walk_cached(&workspace, &selector(), cache, &mut recorder).expect("readable");
    let next = match recorder.finish().expect("to memory") {
        StatCacheOutcome::Written => StatCache::read_from(&mut &stored[..]).expect("our own"),
        StatCacheOutcome::Kept => cache.clone(),
    };
    (walked.tree, next)
}

/// Reads everything.
fn read(dir: &Path) -> Tree {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    walk(&workspace, &selector(), Hashing::parallel())
        .expect("readable")
        .tree
}

/// A directory of 50 files and the cache of it.
fn aged() -> (tempfile::TempDir, StatCache) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for number in 0..50 {
        fs::create_dir_all(dir.path().join(format!("d{}", number % 7))).expect("new");
        let path = format!("d{}/f{number}", number % 7);
        fs::write(dir.path().join(path), format!("file {number:02}")).expect("new");
    }
    wait_past_tick();
    let (tree, cache) = look(dir.path(), &StatCache::default());
    assert_eq!((tree, cache.len()), (read(dir.path()), 50));
    (dir, cache)
}

#[track_caller]
fn assert_seen(dir: &Path, cache: &StatCache) {
    assert_eq!(look(dir, cache).0, read(dir));
}

#[test]
fn an_edit_in_the_tick_of_the_scan_is_seen() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("file");
    let (mut same, mut missed) = (0, 0);
    for round in 0..300 {
        fs::write(&path, format!("{round:04} old")).expect("ours");
        let (_, cache) = look(dir.path(), &StatCache::default());
        let before = fs::metadata(&path).expect("there");
        fs::write(&path, format!("{round:04} new")).expect("ours");
        let after = fs::metadata(&path).expect("there");
        let times = |metadata: &fs::Metadata| (metadata.ctime(), metadata.ctime_nsec());
        same += usize::from(times(&before) == times(&after));
        missed += usize::from(look(dir.path(), &cache).0 != read(dir.path()));
    }
    assert_eq!(missed, 0, "of {same} edits that left ctime as it was");
}

#[test]
fn an_edit_of_the_same_size_with_the_old_time_is_seen() {
    let (dir, cache) = aged();
    let path = dir.path().join("d3/f3");
    let modified = fs::metadata(&path)
        .expect("there")
        .modified()
        .expect("Unix");
    fs::write(&path, "FILE 03").expect("ours");
    let file = File::options().write(true).open(&path).expect("ours");
    file.set_modified(modified).expect("ours");
    assert_seen(dir.path(), &cache);
}

#[test]
fn files_that_change_places_are_seen() {
    let (dir, cache) = aged();
    let path = |name: &str| dir.path().join(name);
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for name in ["d1/f1", "d1/f8"] {
        let file = File::options().write(true).open(path(name)).expect("ours");
        file.set_modified(modified).expect("ours");
    }
    wait_past_tick();
    let (_, cache) = look(dir.path(), &cache);
    fs::rename(path("d1/f1"), path("d1/aside")).expect("ours");
    fs::rename(path("d1/f8"), path("d1/f1")).expect("ours");
    fs::rename(path("d1/aside"), path("d1/f8")).expect("ours");
    assert_seen(dir.path(), &cache);
    // A whole directory in place of another one.
    fs::rename(path("d2"), path("aside")).expect("ours");
    fs::rename(path("d4"), path("d2")).expect("ours");
    fs::rename(path("aside"), path("d4")).expect("ours");
    assert_seen(dir.path(), &cache);
}

#[test]
fn a_file_that_was_replaced_is_read() {
    let (dir, cache) = aged();
    let path = dir.path().join("d3/f3");
    fs::remove_file(&path).expect("ours");
    fs::write(&path, "FILE 03").expect("ours");
    assert_seen(dir.path(), &cache);
    fs::remove_file(&path).expect("ours");
    std::os::unix::fs::symlink("f10", &path).expect("ours");
    assert_seen(dir.path(), &cache);
    fs::remove_file(&path).expect("ours");
    fs::create_dir(&path).expect("ours");
    assert_seen(dir.path(), &cache);
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).expect("ours");
    }
}

#[test]
fn a_file_that_was_mounted_over_stays_out() {
    if !is_root("mounts") {
        return;
    }
    let (dir, cache) = aged();
    let path = dir.path().join("d3/f3");
    mount_bind(dir.path().join("d1/f1"), &path).expect("root");
    let _mounted = Mounted(path);
    assert_seen(dir.path(), &cache);
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let mut recorder = Vec::new();
    let mut recorder = StatCacheWriter::new(&workspace, &mut recorder);
    let walked = walk_cached(&workspace, &selector(), &cache, &mut recorder).expect("readable");
    let skipped: Vec<_> = (walked.skipped.iter())
        .map(|skipped| (&*skipped.name, skipped.reason, skipped.bytes))
        .collect();
    assert_eq!(skipped, [(&b"d3/f3"[..], SkipReason::Mount, Some(7))]);
}

/// Listed on one thread, looked at on another, and gone between the two: the walk says which.
#[test]
fn flt_04_a_file_that_goes_beside_the_walk_is_named() {
    let (dir, cache) = aged();
    let is_over = AtomicBool::new(false);
    let mut errors = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let path = dir.path().join("d3/f3");
            while !is_over.load(Ordering::Relaxed) {
                fs::remove_file(&path).expect("ours");
                fs::write(&path, "another").expect("ours");
            }
        });
        for _ in 0..500 {
            let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
            let mut recorder = Vec::new();
            let mut recorder = StatCacheWriter::new(&workspace, &mut recorder);
            let walked = walk_cached(&workspace, &selector(), &cache, &mut recorder);
            errors.extend(walked.err().map(|error| error.to_string()));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    for error in errors {
        assert!(error.starts_with("d3/f3: "), "{error}");
    }
    assert_seen(dir.path(), &cache);
}

#[test]
fn a_mode_is_seen_and_costs_one_read() {
    let (dir, cache) = aged();
    let path = dir.path().join("d3/f3");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    assert_seen(dir.path(), &cache);
}

#[test]
fn times_of_the_future_are_never_believed() {
    let (dir, _) = aged();
    let path = dir.path().join("d3/f3");
    let file = File::options().write(true).open(&path).expect("ours");
    file.set_modified(SystemTime::now() + Duration::from_secs(3600))
        .expect("ours");
    wait_past_tick();
    assert_eq!(look(dir.path(), &StatCache::default()).1.len(), 49);
}

/// Counts the files of [`aged`] that are opened while `run` runs (inotify(7)).
fn count_opened(dir: &Path, run: impl FnOnce()) -> usize {
    let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
    let events = inotify::init(flags).expect("Linux");
    for number in 0..7 {
        let path = dir.join(format!("d{number}"));
        inotify::add_watch(&events, path, WatchFlags::OPEN).expect("there");
    }
    run();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&events, &mut buffer);
    let mut opened = 0;
    loop {
        match events.next() {
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => panic!("overflow"),
            Ok(event) => opened += usize::from(!event.events().contains(ReadFlags::ISDIR)),
            Err(Errno::AGAIN) => return opened,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_is_known_is_not_opened() {
    let (dir, cache) = aged();
    let walk = |cache: &StatCache| count_opened(dir.path(), || drop(look(dir.path(), cache)));
    assert_eq!(walk(&StatCache::default()), 50);
    assert_eq!(walk(&cache), 0);
    fs::write(dir.path().join("d3/f3"), "changed").expect("ours");
    assert_eq!(walk(&cache), 1);
}

#[test]
fn rules_that_look_into_files_look_each_time() {
    let dir = tree_text::temp(
        r#"
        f .gitignore "x"
        f .npmrc "registry=https://example.org"
        f cache/CACHEDIR.TAG "no signature"
        f cache/a "a"
        f x "x"
        f y "y"
    "#,
    );
    wait_past_tick();
    let (tree, cache) = look(dir.path(), &StatCache::default());
    assert_eq!(tree.len(), 6);
    tree_text::build(
        r#"
        f .gitignore "y"
        f .npmrc "//example.org/:_authToken=abcdefghijklmnopqrstuvwxyz0123456789"
        f cache/CACHEDIR.TAG "Signature: 8a477f597d28d172789f06886806bc55\n"
    "#,
        dir.path(),
    );
    let (tree, _) = look(dir.path(), &cache);
    let paths: Vec<_> = tree.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "x"]);
}

#[test]
fn a_pack_makes_the_same_cache() {
    let (dir, cache) = aged();
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let mut stored = Vec::new();
    let mut recorder = StatCacheWriter::new(&workspace, &mut stored);
    let mut sent = Vec::new();
    let packed = pack_and_record(
        &workspace,
        &selector(),
        &mut sent,
        &mut |_| {},
        &mut recorder,
    );
    packed.expect("readable");
    let recorded = recorder.finish().expect("to memory");
    assert_eq!(recorded, StatCacheOutcome::Written);
    assert_eq!(
        StatCache::read_from(&mut &stored[..]).expect("our own"),
        cache
    );
}

/// A cache is written again once that costs less than reading what it lacks; until then the
/// old one is as good, and what it lacks is read each time.
#[test]
fn a_cache_that_lacks_little_is_kept() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |number: usize, text: &str| {
        fs::write(dir.path().join(format!("f{number:03}")), text).expect("ours");
    };
    (0..200).for_each(|number| write(number, "first"));
    wait_past_tick();
    let (_, first) = look(dir.path(), &StatCache::default());
    // Two files at 4 KiB each are less than 200 entries at 128 bytes each.
    write(7, "second");
    fs::remove_file(dir.path().join("f100")).expect("ours");
    write(900, "new");
    wait_past_tick();
    for _ in 0..2 {
        let (tree, kept) = look(dir.path(), &first);
        assert_eq!((tree, &kept), (read(dir.path()), &first));
    }
    (0..20).for_each(|number| write(number, "third"));
    wait_past_tick();
    let (tree, next) = look(dir.path(), &first);
    assert_eq!((tree, next.len()), (read(dir.path()), 200));
    // One large file is reason enough.
    write(50, &"x".repeat(40_000));
    wait_past_tick();
    let (tree, last) = look(dir.path(), &next);
    assert_ne!(last, next);
    assert_eq!((tree, last.len()), (read(dir.path()), 200));
}

#[test]
fn damage_is_noticed() {
    let (dir, _) = aged();
    let workspace = WorkspaceDir::open_ambient(dir.path()).expect("a directory");
    let mut stored = Vec::new();
    let mut recorder = StatCacheWriter::new(&workspace, &mut stored);
    let empty = StatCache::default();
    walk_cached(&workspace, &selector(), &empty, &mut recorder).expect("readable");
    let recorded = recorder.finish().expect("to memory");
    assert_eq!(recorded, StatCacheOutcome::Written);
    for length in (0..stored.len()).step_by(7) {
        StatCache::read_from(&mut &stored[..length]).expect_err("cut");
    }
    for at in (0..stored.len()).step_by(7) {
        let mut changed = stored.clone();
        changed[at] ^= 1;
        StatCache::read_from(&mut &changed[..]).expect_err("changed");
    }
}

/// Edits in a row with as little time between them as it takes, and what is found each time.
#[test]
fn random_edits_are_all_seen() {
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut cache = StatCache::default();
        for _ in 0..12 {
            random_tree::grow(random, dir.path(), 5);
            if random.below(3) == 0 {
                random_tree::prune(random, dir.path());
            }
            if random.below(4) == 0 {
                std::thread::sleep(Duration::from_millis(random.below(12) as u64));
            }
            let (tree, next) = look(dir.path(), &cache);
            assert_eq!(tree, read(dir.path()), "seed {seed}");
            cache = next;
        }
    }
}
