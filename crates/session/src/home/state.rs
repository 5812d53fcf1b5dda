//! `HomeState`: what is known of a kept home outside of it.
//!
//! `home/state.json` in the session's directory is replaced by a rename. Contents are in
//! `home/contents/`, each by its digest: what the command made and was put back, what the user
//! allowed, and what of the user's it differed from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use lazaret_tree::{AtPath as _, Digest, Mode, PathError, RelPath, RelPathBuf};
use lazaret_validator::home::HomeFile;
use serde::{Deserialize, Serialize};

use super::DIR;
use crate::store::SessionDir;
use crate::store::file::{ok_if_absent, private_dir, remove_dir, write_atomically};

/// The version of the file.
const VERSION: u32 = 1;

/// The most entries that were put back of which is known; the oldest goes first.
const MOST_PUT_BACK: usize = 1000;

/// What is known of a kept home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeState {
    version: u32,
    /// Files that were lent to the last command and may still lie in the home.
    #[serde(default)]
    pub lent: BTreeSet<String>,
    /// What lazaret put there, by path: a fingerprint.
    #[serde(default)]
    pub placed: BTreeMap<String, String>,
    /// What the user allowed, by path.
    #[serde(default)]
    pub allowed: BTreeMap<String, StoredFile>,
    /// What was put back, oldest first.
    #[serde(default)]
    pub put_back: Vec<PutBack>,
}

/// A file whose contents are kept by their digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// The digest.
    pub digest: String,
    /// Whether its owner may execute it.
    pub executable: bool,
}

/// Something of a home that was put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutBack {
    /// Where it lay, below the home.
    pub path: String,
    /// The rule.
    pub rule: String,
    /// What it was: `added`, `changed`, `removed`, `link`, …
    pub what: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// The file that the command left; `None` if it left none that is kept outside.
    pub found: Option<StoredFile>,
    /// The file that was put there; `None` if nothing was.
    pub placed: Option<StoredFile>,
    /// Where a link led, raw.
    pub target: Option<Vec<u8>>,
    /// Its name among what is set aside in the home.
    pub set_aside: Option<String>,
}

/// The state of a home in its session's directory.
#[derive(Debug, Clone)]
pub struct HomeStore {
    folder: PathBuf,
}

impl HomeStore {
    /// Finds that of a session; it need not be there.
    pub fn of(dir: &SessionDir) -> Self {
        Self {
            folder: dir.file(DIR),
        }
    }

    /// Whether the session keeps its home.
    pub fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// Reads the state; an empty one if there is none.
    ///
    /// # Errors
    /// The disk's, or it is damaged or of another version.
    pub fn read(&self) -> Result<HomeState, PathError> {
        let path = self.file();
        let Some(bytes) = ok_if_absent(fs::read(&path)).at(&path)? else {
            return Ok(HomeState::default());
        };
        let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        let state: HomeState = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(error.to_string()))
            .at(&path)?;
        match state.version {
            VERSION => Ok(state),
            version => Err(wrong(format!("unknown version {version}"))).at(&path),
        }
    }

    /// Writes the state.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, state: &HomeState) -> Result<(), PathError> {
        let mut state = state.clone();
        state.version = VERSION;
        let oldest = state.put_back.len().saturating_sub(MOST_PUT_BACK);
        state.put_back.drain(..oldest);
        let path = self.file();
        private_dir(&self.folder)?;
        let bytes = serde_json::to_vec_pretty(&state).map_err(io::Error::other);
        write_atomically(&path, &bytes.at(&path)?)
    }

    /// Keeps a file's contents.
    ///
    /// # Errors
    /// The disk's.
    pub fn store(&self, file: &HomeFile) -> Result<StoredFile, PathError> {
        let stored = StoredFile {
            digest: Digest::of(&file.contents).to_hex(),
            executable: file.mode == Mode::Executable,
        };
        let path = self.contents(&stored.digest);
        if !path.exists() {
            private_dir(&self.folder.join("contents"))?;
            write_atomically(&path, &file.contents)?;
        }
        Ok(stored)
    }

    /// Reads a file's contents.
    ///
    /// # Errors
    /// The disk's, or they are not what was stored.
    pub fn load(&self, stored: &StoredFile) -> Result<HomeFile, PathError> {
        let path = self.contents(&stored.digest);
        let contents = fs::read(&path).at(&path)?;
        if Digest::of(&contents).to_hex() != stored.digest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged")).at(&path);
        }
        let mode = match stored.executable {
            true => Mode::Executable,
            false => Mode::Plain,
        };
        Ok(HomeFile { mode, contents })
    }

    /// Forgets everything, and that the volume was given to the agent's user.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove(&self) -> Result<(), PathError> {
        remove_dir(&self.folder)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    fn contents(&self, digest: &str) -> PathBuf {
        // Only hexadecimal digits, whatever the file says.
        let digest = digest.chars().filter(char::is_ascii_hexdigit);
        self.folder
            .join("contents")
            .join(digest.collect::<String>())
    }
}

impl HomeState {
    /// Returns what was put back last at a path.
    pub fn last_put_back(&self, path: &RelPath) -> Option<&PutBack> {
        let mut all = self.put_back.iter().rev();
        all.find(|one| one.path == path.as_str())
    }

    /// Returns what was put back and is not allowed, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &PutBack> {
        self.put_back.iter().filter(|one| {
            let allowed = self.allowed.get(&one.path);
            allowed.is_none() || allowed != one.found.as_ref()
        })
    }

    /// Returns the paths of lent files.
    pub(super) fn lent_paths(&self) -> Vec<RelPathBuf> {
        let paths = self.lent.iter();
        paths.filter_map(|path| path.parse().ok()).collect()
    }
}
