//! What of a home is at paths of given patterns.

use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use lazaret_protocol::{HomeEntries, HomeEntry, MAX_HOME_BYTES, MAX_HOME_ENTRIES, MAX_HOME_FILE};
use lazaret_tree::{Mode, PathPattern, Reach, RelPath, RelPathBuf, is_like};
use rustix::fs::{AtFlags, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::HomeError;
use crate::files::empty::Rights;
use crate::files::root::{self, chmod};

/// The most names of one directory that are looked at.
const MOST_NAMES: usize = 10_000;

/// The most entries below one directory.
const MOST_BELOW: usize = 1024;

/// The deepest directory below one.
const DEEPEST: usize = 12;

/// Returns what lies at paths of the patterns.
pub(super) fn find(home: &OwnedFd, patterns: &[PathPattern]) -> Result<HomeEntries, HomeError> {
    let mut finder = Finder {
        found: HomeEntries::default(),
        budget: MAX_HOME_BYTES,
    };
    for pattern in patterns {
        let steps = Steps {
            components: pattern.components(),
            reach: pattern.reach(),
        };
        finder.visit(home.as_fd(), None, steps)?;
    }
    Ok(finder.found)
}

struct Finder {
    found: HomeEntries,
    /// How many bytes may still be read.
    budget: usize,
}

/// What is left of a pattern.
#[derive(Clone, Copy)]
struct Steps<'a> {
    components: &'a [String],
    reach: Reach,
}

/// An entry that was looked at.
struct Entry<'a> {
    parent: BorrowedFd<'a>,
    name: &'a CStr,
    path: RelPathBuf,
    stat: Stat,
}

impl Entry<'_> {
    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    fn is_dir(&self) -> bool {
        self.kind() == FileType::Directory
    }

    fn open_dir(&self) -> Result<OwnedFd, HomeError> {
        let opened = Rights::Owned.open(self.parent, self.name);
        opened.map_err(HomeError::at(&self.path))
    }
}

/// The names of a directory that can be listed.
enum Names {
    These(Vec<CString>),
    /// There are too many, or one can't be told.
    Unlisted,
}

impl Finder {
    fn visit(
        &mut self,
        dir: BorrowedFd<'_>,
        at: Option<&RelPath>,
        steps: Steps<'_>,
    ) -> Result<(), HomeError> {
        let Some((component, rest)) = steps.components.split_first() else {
            return Ok(());
        };
        let names = match (component.contains('*'), at) {
            (false, _) => Names::These(CString::new(component.as_str()).into_iter().collect()),
            (true, at) => names_of(dir, at)?,
        };
        let names = match (names, at) {
            (Names::These(names), _) => names,
            (Names::Unlisted, Some(at)) => return self.add(at.to_owned(), HomeEntry::Dir),
            (Names::Unlisted, None) => return Err(HomeError::TooMany),
        };
        for name in names {
            if !name.to_str().is_ok_and(|name| is_like(component, name)) {
                continue;
            }
            let Some(entry) = look(dir, at, &name)? else {
                continue;
            };
            match (entry.is_dir(), rest) {
                (true, []) if steps.reach == Reach::Below => self.below(&entry)?,
                (true, [_, ..]) => {
                    let inside = entry.open_dir()?;
                    let steps = Steps {
                        components: rest,
                        ..steps
                    };
                    self.visit(inside.as_fd(), Some(&entry.path), steps)?;
                }
                _ => self.tell(&entry)?,
            }
        }
        Ok(())
    }

    /// Tells everything below a directory; if that is too much, the directory.
    fn below(&mut self, top: &Entry<'_>) -> Result<(), HomeError> {
        let budget = self.budget;
        let inside = top.open_dir()?;
        let mut left = MOST_BELOW;
        match self.walk(inside.as_fd(), &top.path, DEEPEST, &mut left)? {
            Walked::Whole => Ok(()),
            Walked::TooMuch => {
                self.budget = budget;
                (self.found.0).retain(|path, _| !path.starts_with(&top.path));
                self.add(top.path.clone(), HomeEntry::Dir)
            }
        }
    }

    fn walk(
        &mut self,
        dir: BorrowedFd<'_>,
        at: &RelPath,
        depth: usize,
        left: &mut usize,
    ) -> Result<Walked, HomeError> {
        let Names::These(names) = names_of(dir, Some(at))? else {
            return Ok(Walked::TooMuch);
        };
        for name in names {
            let Some(entry) = look(dir, Some(at), &name)? else {
                continue;
            };
            if *left == 0 || depth == 0 {
                return Ok(Walked::TooMuch);
            }
            *left -= 1;
            if !entry.is_dir() {
                self.tell(&entry)?;
                continue;
            }
            let inside = entry.open_dir()?;
            if let Walked::TooMuch = self.walk(inside.as_fd(), &entry.path, depth - 1, left)? {
                return Ok(Walked::TooMuch);
            }
        }
        Ok(Walked::Whole)
    }

    fn tell(&mut self, entry: &Entry<'_>) -> Result<(), HomeError> {
        if self.found.0.contains_key(&entry.path) {
            return Ok(());
        }
        let told = match entry.kind() {
            FileType::RegularFile => self.read(entry),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(entry.parent, entry.name, Vec::new());
                target.map(|target| HomeEntry::Link {
                    target: target.into_bytes(),
                })
            }
            FileType::Directory => Ok(HomeEntry::Dir),
            _ => Ok(HomeEntry::Special),
        };
        self.add(
            entry.path.clone(),
            told.map_err(HomeError::at(&entry.path))?,
        )
    }

    fn read(&mut self, entry: &Entry<'_>) -> Result<HomeEntry, Errno> {
        let bytes = u64::try_from(entry.stat.st_size).unwrap_or(u64::MAX);
        let most = MAX_HOME_FILE.min(self.budget);
        if bytes > most as u64 {
            return Ok(HomeEntry::Large { bytes });
        }
        let file = match root::open_regular(entry.parent, entry.name) {
            Err(Errno::ACCESS) => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let closed =
                    rustix::fs::openat(entry.parent, entry.name, flags, rustix::fs::Mode::empty())?;
                chmod(&closed, entry.stat.st_mode | 0o600)?;
                root::open_regular(entry.parent, entry.name)?
            }
            opened => opened?,
        };
        let mut contents = Vec::new();
        let read = file.take(most as u64 + 1).read_to_end(&mut contents);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if contents.len() > most {
            return Ok(HomeEntry::Large { bytes });
        }
        self.budget -= contents.len();
        let mode = Mode::from_unix(entry.stat.st_mode);
        Ok(HomeEntry::File { mode, contents })
    }

    fn add(&mut self, path: RelPathBuf, entry: HomeEntry) -> Result<(), HomeError> {
        if self.found.0.len() == MAX_HOME_ENTRIES {
            return Err(HomeError::TooMany);
        }
        self.found.0.insert(path, entry);
        Ok(())
    }
}

/// Whether a directory was told whole.
enum Walked {
    Whole,
    TooMuch,
}

/// Looks at an entry; `None` if there is none, or none that a path can name.
fn look<'a>(
    parent: BorrowedFd<'a>,
    at: Option<&RelPath>,
    name: &'a CStr,
) -> Result<Option<Entry<'a>>, HomeError> {
    let text = name.to_str().ok();
    let path = text.and_then(|name| match at {
        Some(at) => at.join(name).ok(),
        None => RelPath::new(name).ok().map(ToOwned::to_owned),
    });
    let Some(path) = path else {
        return Ok(None);
    };
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Entry {
            parent,
            name,
            path,
            stat,
        })),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(HomeError::at(&path)(errno)),
    }
}

fn names_of(dir: BorrowedFd<'_>, at: Option<&RelPath>) -> Result<Names, HomeError> {
    let names = root::names(dir).map_err(|errno| match at {
        Some(at) => HomeError::at(at)(errno),
        None => HomeError::Home(errno.into()),
    })?;
    let can_be_told = |name: &CString| {
        let name = name.to_str().ok();
        name.is_some_and(|name| match at {
            Some(at) => at.join(name).is_ok(),
            None => RelPath::new(name).is_ok(),
        })
    };
    match names.len() > MOST_NAMES || !names.iter().all(can_be_told) {
        true => Ok(Names::Unlisted),
        false => Ok(Names::These(names)),
    }
}
