//! `Allowlist`: what the user allows for good, in `$XDG_CONFIG_HOME/lazaret/allowed.toml`.
//!
//! An entry names a finding's code, a path, and what would lie there (`fingerprint`): type,
//! mode and contents, whatever was there before and in whichever workspace. Where the finding
//! depends on the user's own git configuration, what it says counts too: another key, or
//! another file that names the path, is another finding. Nothing but the
//! user's own configuration is read; a file in a workspace can't allow anything.
//!
//! ```toml
//! [[allowed]]
//! code = "suspect.vscode"
//! path = ".vscode/tasks.json"
//! fingerprint = "5f1d…"
//! ```

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, Change, Digest, PathError, RelPath, RelPathBuf, escape};
use lazaret_validator::{Allowance, fingerprint, is_allowable};
use serde::{Deserialize, Serialize};

use super::atomic_file::write_atomically;
use super::case::Case;
use super::proposal::Proposal;
use super::propose::ProposeError;

/// The most bytes of the file: some ten thousand entries.
const MOST_BYTES: u64 = 4 << 20;
const HEADER: &str = "# Written by `lazaret apply --remember`; see `lazaret allowed`.\n";

/// What the user allows for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowlist {
    path: Option<PathBuf>,
    entries: Vec<Entry>,
}

/// One thing that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The path.
    pub path: RelPathBuf,
    /// The code of the finding.
    pub code: String,
    /// Of what would lie there.
    pub fingerprint: Digest,
}

impl Entry {
    /// What was allowed of a proposal; `None` of what it does not have.
    pub fn of(allowance: &Allowance, proposal: &Proposal) -> Option<Self> {
        let item = proposal.item(&allowance.path)?;
        Some(Self {
            path: allowance.path.clone(),
            code: allowance.code.clone(),
            fingerprint: print(item.proposed(), &allowance.code, proposal),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    allowed: Vec<RawEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    code: toml::Spanned<String>,
    path: toml::Spanned<String>,
    fingerprint: toml::Spanned<String>,
}

/// Why the user's allowlist can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AllowlistError {
    /// The file can't be read, or others can write it.
    #[error("{} can't be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of it is wrong.
    #[error(transparent)]
    Parse(#[from] AllowlistParseError),
    /// The user has no directory of configuration.
    #[error("there is no configuration directory to remember it in")]
    NoPlace,
    /// It can't be written.
    #[error(transparent)]
    Write(#[from] PathError),
}

/// What is wrong in the file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", .file.display())]
pub struct AllowlistParseError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Allowlist {
    /// Returns an empty list that is never written, for a user without a configuration directory.
    pub fn nothing() -> Self {
        Self {
            path: None,
            entries: Vec::new(),
        }
    }

    /// Reads the file in a directory of configuration; one that is not there holds nothing.
    ///
    /// # Errors
    /// Names the line that is wrong. A file that others can write is refused.
    pub fn load(config_dir: &Path) -> Result<Self, AllowlistError> {
        let path = config_dir.join("allowed.toml");
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(AllowlistError::Read { path, source }),
        };
        let entries = parse(&path, &text)?;
        Ok(Self {
            path: Some(path),
            entries,
        })
    }

    /// Everything that is allowed, by path.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Finds what of a proposal is allowed for good.
    pub fn allowances(&self, proposal: &Proposal) -> Vec<Allowance> {
        let mut found = Vec::new();
        for item in proposal.items() {
            let about = self.entries.iter();
            for entry in about.filter(|entry| *entry.path == *item.path()) {
                if print(item.proposed(), &entry.code, proposal) == entry.fingerprint {
                    found.push(Allowance::of(item.proposed(), &entry.code));
                }
            }
        }
        found
    }

    /// Has a case know of what is allowed for good.
    ///
    /// # Errors
    /// As [`Case::propose`].
    pub fn tell(&self, case: &mut Case) -> Result<(), ProposeError> {
        let allowances = match case.whole() {
            Some(whole) => self.allowances(whole),
            None => Vec::new(),
        };
        case.allow(allowances)
    }

    /// Adds what is wanted, and writes the file if any of it is new.
    ///
    /// # Errors
    /// When the file can't be written; then it is as it was.
    pub fn add(&mut self, wanted: Vec<Entry>) -> Result<(), AllowlistError> {
        let before = self.entries.len();
        for entry in wanted {
            if !self.entries.contains(&entry) {
                self.entries.push(entry);
            }
        }
        if self.entries.len() == before {
            return Ok(());
        }
        self.entries.sort();
        self.write()
    }

    /// Removes what is allowed for a path, and says how much that was.
    ///
    /// # Errors
    /// When the file can't be written; then it is as it was.
    pub fn remove(&mut self, path: &RelPath, code: Option<&str>) -> Result<usize, AllowlistError> {
        let before = self.entries.len();
        self.entries
            .retain(|entry| *entry.path != *path || code.is_some_and(|code| entry.code != code));
        let removed = before - self.entries.len();
        if removed > 0 {
            self.write()?;
        }
        Ok(removed)
    }

    fn write(&self) -> Result<(), AllowlistError> {
        let path = self.path.as_ref().ok_or(AllowlistError::NoPlace)?;
        let mut text = HEADER.to_owned();
        for entry in &self.entries {
            // Paths hold neither control characters nor anything else that TOML's basic
            // strings need an escape for, but quotes and backslashes.
            let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
            text.push_str(&format!(
                "\n[[allowed]]\ncode = {}\npath = {}\nfingerprint = \"{}\"\n",
                quoted(&entry.code),
                quoted(entry.path.as_str()),
                entry.fingerprint
            ));
        }
        // A link to a file among the user's own settings stays one.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).at(dir)?;
        }
        Ok(write_atomically(&path, text.as_bytes())?)
    }
}

/// What an entry holds of a change: what would lie at the path, and of a finding about the
/// user's git configuration what that says.
fn print(change: &Change, code: &str, proposal: &Proposal) -> Digest {
    let after = of_after(change);
    if code != "git.runs" {
        return after;
    }
    let about = proposal.about(&change.path);
    let messages = about.filter(|finding| finding.code == code);
    let mut text = after.as_bytes().to_vec();
    // Findings are in their order.
    for message in messages.map(|finding| &finding.message) {
        text.push(b'\n');
        text.extend(message.as_bytes());
    }
    Digest::of(&text)
}

/// What would lie at the path, whatever was there before.
fn of_after(change: &Change) -> Digest {
    fingerprint(&Change {
        path: change.path.clone(),
        before: None,
        after: change.after.clone(),
    })
}

fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("others can write it: `chmod go-w` it"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MOST_BYTES {
        true => Err(io::Error::other(format!(
            "it has more than {MOST_BYTES} bytes"
        ))),
        false => Ok(text),
    }
}

fn parse(file: &Path, text: &str) -> Result<Vec<Entry>, AllowlistParseError> {
    let wrong = |at: usize, message: String| AllowlistParseError {
        file: file.to_path_buf(),
        line: 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count(),
        message,
    };
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(at, escape(error.message().as_bytes()))
    })?;
    let mut entries = Vec::with_capacity(raw.allowed.len());
    for entry in raw.allowed {
        let path = entry.path.get_ref().parse().map_err(|error| {
            wrong(
                entry.path.span().start,
                format!("no path below a workspace: {error}"),
            )
        })?;
        let print = entry.fingerprint.get_ref().parse();
        let fingerprint =
            print.map_err(|error| wrong(entry.fingerprint.span().start, format!("{error}")))?;
        let code = entry.code.get_ref();
        if !is_allowable(code) {
            let shown = escape(code.as_bytes());
            let message = format!("{shown} can't be allowed");
            return Err(wrong(entry.code.span().start, message));
        }
        entries.push(Entry {
            path,
            code: code.clone(),
            fingerprint,
        });
    }
    entries.sort();
    Ok(entries)
}
