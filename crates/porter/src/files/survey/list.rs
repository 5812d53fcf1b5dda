//! `Listing`: the entries below a directory, in path order, whichever thread has read them.
//!
//! A directory is one task; its subdirectories are others. Threads take tasks from the end of a
//! list on which the next one in path order is the last. So they read first what is needed first,
//! and only the directories on the way there are open. If no thread has begun a directory that
//! `take_in` needs, the caller's thread reads it; without other threads, this is a walk.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use lazaret_protocol::VolumeIdentity;
use lazaret_tree::{
    CACHEDIR_SIGNATURE, CacheInside, INCOMING_DIR, RelPath, RelPathBuf, is_cache_beside,
};
use rustix::fs::{AtFlags, FileType};

use super::SurveyFailure;
use crate::files::lifts::Lifts;
use crate::files::root;

/// More threads gain nothing from one file system.
const MOST_THREADS: usize = 4;
/// Entries that may wait to be taken in, some tens of MiB: a whole project, in most cases.
const MOST_WAITING: usize = 1 << 17;

/// One entry, as it was found.
#[derive(Debug)]
pub(super) struct Listed {
    /// Raw where lazaret does not carry the name; nothing is looked at below it then.
    pub(super) path: Result<RelPathBuf, Vec<u8>>,
    pub(super) kind: FileType,
    pub(super) identity: VolumeIdentity,
    pub(super) links: u32,
    /// A directory that is a cache by the rules that keep one out of the copy. What lies in
    /// it is not listed.
    pub(super) is_cache: bool,
}

/// What takes a listing; an error ends it.
pub(super) trait Sink {
    fn listed(&mut self, listed: Listed) -> Result<(), SurveyFailure>;
}

/// A listing that is being made.
#[derive(Debug)]
pub(crate) struct Listing {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What lies in a directory, itself first where it has a name.
type Items = Vec<Item>;

#[derive(Debug)]
enum Item {
    Entry(Listed),
    /// A directory, by the number of its task.
    Below(usize),
}

/// A directory that is to be looked at.
#[derive(Debug)]
struct Task {
    number: usize,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// It is open; its raw path is empty for the root.
    Top(OwnedFd, Vec<u8>),
    Below {
        parent: Arc<OwnedFd>,
        siblings: Arc<Vec<CString>>,
        name: CString,
        listed: Listed,
    },
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something was begun, done or taken.
    moved: Condvar,
    next: AtomicUsize,
    lifts: Arc<Lifts>,
}

#[derive(Debug, Default)]
struct State {
    /// The next one in path order is the last.
    todo: Vec<Task>,
    done: HashMap<usize, Result<Items, SurveyFailure>>,
    /// How many tasks a thread has begun and not finished.
    begun: usize,
    /// Entries in what is done.
    waiting: usize,
    is_closed: bool,
}

impl Listing {
    /// Begins now, on a few threads: as many as there are cores, and as can be had.
    pub(crate) fn begin(top: OwnedFd, lifts: Arc<Lifts>) -> Self {
        let mut listing = Self::of(top, Vec::new(), lifts);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.min(MOST_THREADS) {
            let shared = Arc::clone(&listing.shared);
            let thread = std::thread::Builder::new().spawn(move || shared.work());
            listing.threads.extend(thread);
        }
        listing
    }

    /// Looks at nothing before it is taken in. `path` is the raw one of the directory.
    pub(super) fn of(top: OwnedFd, path: Vec<u8>, lifts: Arc<Lifts>) -> Self {
        let shared = Shared {
            lifts,
            ..Shared::default()
        };
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        shared.lock().todo.push(Task {
            number,
            place: Place::Top(top, path),
        });
        Self {
            shared: Arc::new(shared),
            threads: Vec::new(),
        }
    }

    /// Hands everything to `sink`, in path order.
    ///
    /// # Errors
    /// The sink's, or the first directory in path order that can't be read.
    pub(super) fn take_in(self, sink: &mut dyn Sink) -> Result<(), SurveyFailure> {
        let mut open = vec![self.shared.take(0)?.into_iter()];
        while let Some(items) = open.last_mut() {
            match items.next() {
                None => drop(open.pop()),
                Some(Item::Entry(listed)) => sink.listed(listed)?,
                Some(Item::Below(number)) => open.push(self.shared.take(number)?.into_iter()),
            }
        }
        Ok(())
    }
}

impl Drop for Listing {
    /// Ends the threads, after the directory that each is at.
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.moved.notify_all();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.moved
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Does tasks until there will be no more.
    fn work(&self) {
        let mut state = self.lock();
        while !state.is_closed && (state.begun > 0 || !state.todo.is_empty()) {
            let has_room = state.waiting < MOST_WAITING;
            let Some(task) = has_room.then(|| state.todo.pop()).flatten() else {
                state = self.wait(state);
                continue;
            };
            let number = task.number;
            let (items, after) = self.run(state, task);
            state = after;
            state.waiting += items.as_ref().map_or(0, Vec::len);
            state.done.insert(number, items);
        }
    }

    /// Returns the result of a task. Does the task if no thread has begun it.
    fn take(&self, number: usize) -> Result<Items, SurveyFailure> {
        let mut state = self.lock();
        loop {
            if let Some(done) = state.done.remove(&number) {
                state.waiting -= done.as_ref().map_or(0, Vec::len);
                self.moved.notify_all();
                return done;
            }
            let found = state.todo.iter().rposition(|task| task.number == number);
            match found.map(|at| state.todo.remove(at)) {
                Some(task) => return self.run(state, task).0,
                None => state = self.wait(state),
            }
        }
    }

    /// Does a task; others do theirs meanwhile.
    fn run<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        task: Task,
    ) -> (Result<Items, SurveyFailure>, MutexGuard<'a, State>) {
        state.begun += 1;
        drop(state);
        let mut below = Vec::new();
        let items = self.look(task.place, &mut below);
        let mut state = self.lock();
        state.begun -= 1;
        below.reverse();
        state.todo.append(&mut below);
        self.moved.notify_all();
        (items, state)
    }

    /// Looks at a directory, and adds those in it to `below`.
    fn look(&self, place: Place, below: &mut Vec<Task>) -> Result<Items, SurveyFailure> {
        let (dir, path, names, listed) = match place {
            Place::Top(dir, path) => {
                let names = root::names(&dir).map_err(|errno| SurveyFailure::read(&path, errno))?;
                (dir, path, names, None)
            }
            Place::Below {
                parent,
                siblings,
                name,
                mut listed,
            } => {
                let path = listed.raw().to_vec();
                let failed = |errno| SurveyFailure::read(&path, errno);
                let mode = listed.identity.mode;
                let dir = self.lifts.open_dir(&parent, &name, &path, mode);
                let dir = dir.map_err(failed)?;
                let names = root::names(&dir).map_err(failed)?;
                listed.is_cache = is_cache(&name, &siblings, &dir, &names);
                if listed.is_cache {
                    return Ok(vec![Item::Entry(listed)]);
                }
                (dir, path, names, Some(listed))
            }
        };
        let (dir, names) = (Arc::new(dir), Arc::new(names));
        let mut items = Vec::with_capacity(names.len() + 1);
        items.extend(listed.map(Item::Entry));
        for name in &*names {
            let Some(listed) = entry(&dir, &path, name)? else {
                continue;
            };
            if listed.kind != FileType::Directory || listed.path.is_err() {
                items.push(Item::Entry(listed));
                continue;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            items.push(Item::Below(number));
            let place = Place::Below {
                parent: Arc::clone(&dir),
                siblings: Arc::clone(&names),
                name: name.clone(),
                listed,
            };
            below.push(Task { number, place });
        }
        Ok(items)
    }
}

impl Listed {
    fn raw(&self) -> &[u8] {
        match &self.path {
            Ok(path) => path.as_str().as_bytes(),
            Err(raw) => raw,
        }
    }
}

/// Reads one entry's metadata; `None` for an entry that no survey reports.
fn entry(dir: &OwnedFd, below: &[u8], name: &CStr) -> Result<Option<Listed>, SurveyFailure> {
    let mut path = Vec::with_capacity(below.len() + 1 + name.count_bytes());
    if !below.is_empty() {
        path.extend_from_slice(below);
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
    // What an update left half-done, or what the agent put there, which the next update
    // removes.
    if path == INCOMING_DIR.to_bytes() {
        return Ok(None);
    }
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| SurveyFailure::read(&path, errno))?;
    if below.is_empty() && root::is_foreign(dir, name, &stat) {
        return Ok(None);
    }
    Ok(Some(Listed {
        path: match RelPath::from_bytes(&path) {
            Ok(path) => Ok(path.to_owned()),
            Err(_) => Err(path),
        },
        kind: FileType::from_raw_mode(stat.st_mode),
        identity: VolumeIdentity::from(&stat),
        links: u32::try_from(stat.st_nlink as u64).unwrap_or(u32::MAX),
        is_cache: false,
    }))
}

/// Whether a directory is a cache, by the rules that keep such a one out of the copy.
fn is_cache(name: &CStr, siblings: &[CString], dir: &OwnedFd, inside: &[CString]) -> bool {
    let among = |names: &[CString], name: &CStr| {
        let found = names.binary_search_by(|other| (**other).cmp(name));
        found.is_ok()
    };
    if is_cache_beside(name, |other| among(siblings, other)) {
        return true;
    }
    match CacheInside::of(|other| among(inside, other)) {
        CacheInside::No => false,
        CacheInside::Yes => true,
        CacheInside::Tag => {
            let mut start = [0; CACHEDIR_SIGNATURE.len()];
            let tag = root::open_regular(dir, c"CACHEDIR.TAG");
            // A tag that cannot be read is none: then everything is looked at.
            tag.is_ok_and(|mut tag| tag.read_exact(&mut start).is_ok())
                && start == *CACHEDIR_SIGNATURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::path::Path;

    use super::*;
    use crate::files::root::Root;

    #[derive(Default)]
    struct Paths(Vec<String>);

    impl Sink for Paths {
        fn listed(&mut self, listed: Listed) -> Result<(), SurveyFailure> {
            let mark = if listed.is_cache { " cache" } else { "" };
            let name = String::from_utf8_lossy(listed.raw()).into_owned();
            self.0.push(format!("{name}{mark}"));
            Ok(())
        }
    }

    fn open(path: &Path) -> OwnedFd {
        let root = Root::open(path).unwrap();
        root.as_fd().try_clone_to_owned().unwrap()
    }

    fn taken(listing: Listing) -> Vec<String> {
        let mut paths = Paths::default();
        listing.take_in(&mut paths).unwrap();
        paths.0
    }

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for one in ["a", "a-b", "b/node_modules", "z"] {
            for two in 0..40 {
                let below = dir.path().join(one).join(two.to_string());
                fs::create_dir_all(&below).unwrap();
                fs::write(below.join("file"), "").unwrap();
            }
        }
        fs::write(dir.path().join("b/package.json"), "{}").unwrap();
        dir
    }

    #[test]
    fn threads_change_nothing_of_the_order() {
        let tree = tree();
        let alone = taken(Listing::of(open(tree.path()), Vec::new(), Arc::default()));
        let expected = ["a", "a/0", "a/0/file", "a/1", "a/1/file", "a/10"];
        assert_eq!(alone[..6], expected);
        assert!(alone.contains(&"b/node_modules cache".to_owned()));
        let paths: Vec<&RelPath> = alone
            .iter()
            .map(|path| RelPath::new(path.trim_end_matches(" cache")).unwrap())
            .collect();
        assert!(paths.is_sorted());
        for _ in 0..20 {
            assert_eq!(
                taken(Listing::begin(open(tree.path()), Arc::default())),
                alone
            );
        }
    }

    #[test]
    fn a_directory_of_its_own_is_listed_under_its_path() {
        let tree = tree();
        let below = tree.path().join("b/node_modules");
        let listed = taken(Listing::of(
            open(&below),
            b"b/node_modules".to_vec(),
            Arc::default(),
        ));
        assert_eq!(listed[..2], ["b/node_modules/0", "b/node_modules/0/file"]);
    }

    #[test]
    fn a_sink_that_fails_leaves_no_thread_behind() {
        struct Refusing;
        impl Sink for Refusing {
            fn listed(&mut self, listed: Listed) -> Result<(), SurveyFailure> {
                let name = listed.raw().to_vec();
                Err(SurveyFailure::Changed { name })
            }
        }
        let tree = tree();
        let listing = Listing::begin(open(tree.path()), Arc::default());
        let shared = Arc::clone(&listing.shared);
        listing.take_in(&mut Refusing).unwrap_err();
        assert_eq!(Arc::strong_count(&shared), 1);
        drop(Listing::begin(open(tree.path()), Arc::default()));
    }

    /// The number of waiting entries is bounded, even if the caller takes none for a while.
    #[test]
    fn a_listing_that_is_full_waits() {
        let tree = tree();
        let listing = Listing::of(open(tree.path()), Vec::new(), Arc::default());
        listing.shared.lock().waiting = MOST_WAITING;
        let mut listing = listing;
        let shared = Arc::clone(&listing.shared);
        listing
            .threads
            .push(std::thread::spawn(move || shared.work()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        {
            let state = listing.shared.lock();
            assert_eq!((state.todo.len(), state.begun, state.done.len()), (1, 0, 0));
        }
        // The caller needs no other thread.
        let paths = taken(listing);
        assert_eq!(paths.len(), 4 + 1 + 1 + 3 * 80);
    }
}
