//! `InstalledImages`: which images this installation brought into which engine's store.
//!
//! An image's id is made of its contents alone, so no label in it could say whose it is, and
//! one engine serves several installations: what `prune` may take is what is written here.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::cache::entry::{CacheError, at};
use crate::cache::lock::hex_of;

/// An image that was brought into an engine's store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// Its id, hexadecimal digits alone.
    id: String,
    tag: String,
    /// The engine's address.
    engine: String,
}

impl Entry {
    pub(crate) fn new(id: &str, tag: &str, engine: &str) -> Self {
        Self {
            id: hex_of(id).to_owned(),
            tag: tag.to_owned(),
            engine: engine.to_owned(),
        }
    }

    /// Whether it is that image in that engine, under that tag where one is given.
    pub(crate) fn is(&self, id: &str, tag: Option<&str>, engine: &str) -> bool {
        self.engine == engine && self.id == hex_of(id) && tag.is_none_or(|tag| self.tag == tag)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        Some(Self::new(words.next()?, words.next()?, words.next()?))
    }

    fn line(&self) -> String {
        format!("{} {} {}\n", self.id, self.tag, self.engine)
    }
}

/// The record of one installation: a line for each image, in the file that is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstalledImages<'a> {
    pub(crate) file: &'a Path,
}

impl InstalledImages<'_> {
    /// Writes down that an image is brought in, before it is: what a killed build leaves
    /// is found by this.
    pub(crate) fn note(&self, made: &Entry) -> Result<(), CacheError> {
        let _lock = self.lock()?;
        if self.read()?.contains(made) {
            return Ok(());
        }
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(self.file)
            .map_err(at(self.file))?;
        file.write_all(made.line().as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(at(self.file))
    }

    /// Takes those out of the record that are gone from the engine `engine`.
    pub(crate) fn forget(
        &self,
        engine: &str,
        is_there: impl Fn(&Entry) -> bool,
    ) -> Result<(), CacheError> {
        let _lock = self.lock()?;
        let made = self.read()?;
        let kept: String = made
            .iter()
            .filter(|one| one.engine != engine || is_there(one))
            .map(Entry::line)
            .collect();
        let draft = self.beside(".new");
        fs::write(&draft, kept).map_err(at(&draft))?;
        fs::rename(&draft, self.file).map_err(at(self.file))
    }

    /// Returns what is recorded; nothing when there is no record yet. A line that is none
    /// (cut off by a full disk) says nothing.
    pub(crate) fn read(&self) -> Result<BTreeSet<Entry>, CacheError> {
        match fs::read_to_string(self.file) {
            Ok(text) => Ok(text.lines().filter_map(Entry::parse).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(at(self.file)(error)),
        }
    }

    fn lock(&self) -> Result<File, CacheError> {
        if let Some(dir) = self.file.parent() {
            crate::private_dir(dir).map_err(at(dir))?;
        }
        let path = self.beside(".guard");
        let file = File::create(&path).map_err(at(&path))?;
        file.lock().map_err(at(&path))?;
        Ok(file)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.file.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_and_what_is_gone_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state/made");
        let installed = InstalledImages { file: &file };
        assert!(installed.read().unwrap().is_empty());
        let one = Entry::new("sha256:aa", "localhost/lazaret/x:1", "unix:///run/a b.sock");
        let other = Entry::new("bb", "localhost/lazaret/x:2", "unix:///run/other.sock");
        for made in [&one, &other, &one] {
            installed.note(made).unwrap();
        }
        let all = BTreeSet::from([one.clone(), other.clone()]);
        assert_eq!(installed.read().unwrap(), all);
        installed.forget(&other.engine, |_| true).unwrap();
        assert_eq!(installed.read().unwrap(), all);
        installed.forget(&one.engine, |_| false).unwrap();
        assert_eq!(installed.read().unwrap(), BTreeSet::from([other]));
        fs::write(&file, "half a li").unwrap();
        assert!(installed.read().unwrap().len() <= 1);
    }
}
