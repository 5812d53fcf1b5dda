//! The journal of one transaction: what it is going to do, and how far it is.
//!
//! One text file, replaced as a whole and atomically for each phase:
//!
//! ```text
//! lazaret-journal 1
//! phase<TAB>ready
//! id<TAB>2f0c…                      names the staging directory, `.lazaret-<id>`
//! root<TAB>dev<TAB>ino<TAB>path in hexadecimal
//! placement<TAB>exchange
//! step<TAB>path<TAB>before<TAB>after<TAB>old<TAB>new      one line for each, in order
//! checksum<TAB>BLAKE3 of everything above
//! ```
//!
//! An entry is `-` (nothing), `d`, `f:SIZE:DIGEST`, `x:SIZE:DIGEST` or
//! `l:TARGET`; neither a path nor a target can hold a tab or a newline. `old` is
//! `-` or `MODE:SECONDS:NANOSECONDS`, followed by `:DIGEST` of the extended attributes if there
//! were any; `new` is `-` or `KIND:INODE:SIZE:SECONDS:NANOSECONDS`.
//!
//! What does not parse, or whose checksum is wrong, or whose version is another,
//! is refused and left alone (APP-23).

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::Arc;

use lazaret_tree::{
    Change, Digest, Entry, LinkTarget, Mode, RelPathBuf, STAGING_PREFIX, from_hex, to_hex,
};

use super::fingerprint::Fingerprint;
use super::ops::{Kind, Time};

const HEADER: &str = "lazaret-journal 1";

/// Lines above the steps.
const HEAD_LINES: usize = 5;

/// Bytes that hold the version and the phase, each with the end of its line.
pub(crate) const HEAD_BYTES: usize = 64;

/// Bytes that are written at once.
const PIECE: usize = 64 << 10;

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The workspace is as it was, but for the staging directory.
    Staging,
    /// Everything is staged and durable; steps may have happened.
    Ready,
    /// All steps have happened and are durable; the staging directory may be there.
    Committed,
    /// Nothing is left to do. Kept for the undo.
    Done,
}

/// How an entry is put where another one is, or where none may be: the best that
/// the file system can do, found out by trying (APP-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// `RENAME_EXCHANGE`: the path always has one of the two.
    Exchange,
    /// `RENAME_NOREPLACE`: for a moment the path has none.
    NoReplace,
    /// A hard link, then removing the other name.
    Link,
}

/// What a step replaces or removes, besides its contents, for an exact undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Old {
    pub(crate) mode: u32,
    pub(crate) mtime: Time,
    /// The extended attributes, which are kept like contents; `None` when there were none,
    /// which is so of most: a large batch has 200,000 of these.
    pub(crate) attributes: Option<Box<Digest>>,
}

/// One change, as a transaction carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) change: Arc<Change>,
    /// Set exactly when there was something.
    pub(crate) old: Option<Old>,
    /// What was staged; set exactly when there will be something, from `Ready` on.
    pub(crate) new: Option<Fingerprint>,
}

/// The journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) phase: Phase,
    pub(crate) id: String,
    pub(crate) root_dev: u64,
    pub(crate) root_ino: u64,
    pub(crate) root_path: PathBuf,
    pub(crate) placement: Placement,
    /// In the order in which they are carried out.
    pub(crate) steps: Vec<Step>,
}

/// Why a journal can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Another version wrote it.
    #[error("the journal was written by another version of lazaret ({header})")]
    Version {
        /// Its first line, escaped.
        header: String,
    },
    /// Truncated, or some bit is wrong.
    #[error("the journal is damaged: its checksum is wrong")]
    Checksum,
    /// The checksum is right, but a line is not what it should be.
    #[error("the journal is damaged at line {line}")]
    Line {
        /// Counted from 1.
        line: usize,
    },
}

impl Journal {
    /// Writes the whole file, in pieces: a large batch has 60 MiB of it.
    pub(crate) fn write_to(&self, out: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut hasher = blake3::Hasher::new();
        let mut put = |text: &mut String| {
            hasher.update(text.as_bytes());
            out(text.as_bytes())?;
            text.clear();
            Ok::<_, io::Error>(())
        };
        let mut text = self.head();
        for step in &self.steps {
            if text.len() >= PIECE {
                put(&mut text)?;
            }
            step.push_to(&mut text);
        }
        hasher.update(text.as_bytes());
        let checksum = Digest::from(hasher.finalize());
        let _infallible = writeln!(text, "checksum\t{checksum}");
        out(text.as_bytes())
    }

    /// Everything above the steps.
    fn head(&self) -> String {
        let mut text = String::new();
        push_line(&mut text, &[HEADER]);
        push_line(&mut text, &["phase", self.phase.as_str()]);
        push_line(&mut text, &["id", &self.id]);
        push_line(
            &mut text,
            &[
                "root",
                &self.root_dev.to_string(),
                &self.root_ino.to_string(),
                &to_hex(self.root_path.as_os_str().as_bytes()),
            ],
        );
        push_line(&mut text, &["placement", self.placement.as_str()]);
        text
    }

    /// Reads a whole file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        let text = std::str::from_utf8(bytes).map_err(|_| JournalError::Checksum)?;
        let first = text.lines().next().unwrap_or("");
        if first != HEADER && first.starts_with("lazaret-journal ") {
            return Err(JournalError::Version {
                header: lazaret_tree::escape(first.as_bytes()),
            });
        }
        let (body, checksum) = text
            .strip_suffix('\n')
            .and_then(|text| text.rsplit_once("\nchecksum\t"))
            .ok_or(JournalError::Checksum)?;
        let body = text.get(..=body.len()).unwrap_or("");
        if Digest::from_str(checksum) != Ok(Digest::of(body.as_bytes())) {
            return Err(JournalError::Checksum);
        }
        Self::parse_body(body)
    }

    /// Reads the phase out of the first bytes of a file, [`HEAD_BYTES`] of it: of a large
    /// batch the whole has 60 MiB.
    pub(crate) fn parse_phase(head: &[u8]) -> Result<Phase, JournalError> {
        let lines = head.split(|byte| *byte == b'\n').collect::<Vec<_>>();
        let [header, phase, _rest, ..] = lines.as_slice() else {
            return Err(JournalError::Checksum);
        };
        if *header != HEADER.as_bytes() {
            return Err(match header.starts_with(b"lazaret-journal ") {
                true => JournalError::Version {
                    header: lazaret_tree::escape(header),
                },
                false => JournalError::Checksum,
            });
        }
        let phase = phase.strip_prefix(b"phase\t").unwrap_or_default();
        let phase = std::str::from_utf8(phase).ok().and_then(Phase::parse);
        phase.ok_or(JournalError::Line { line: 2 })
    }

    /// Reads one line after the other. There is one way to write each: a number with a sign
    /// or a zero in front is no number of ours.
    fn parse_body(body: &str) -> Result<Self, JournalError> {
        let mut lines = body.split_terminator('\n');
        let at = |index: usize| JournalError::Line { line: index + 1 };
        let mut head = Vec::with_capacity(HEAD_LINES);
        for index in 0..HEAD_LINES {
            let line = lines.next().ok_or(at(index))?;
            head.push(line.split('\t').collect::<Vec<_>>());
        }
        let [HEADER] = *head[0] else {
            return Err(at(0));
        };
        let ["phase", phase] = *head[1] else {
            return Err(at(1));
        };
        let ["id", id] = *head[2] else {
            return Err(at(2));
        };
        if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(at(2));
        }
        let ["root", dev, ino, path] = *head[3] else {
            return Err(at(3));
        };
        let ["placement", placement] = *head[4] else {
            return Err(at(4));
        };
        let mut journal = Self {
            phase: Phase::parse(phase).ok_or(at(1))?,
            id: id.to_owned(),
            root_dev: dev.parse().map_err(|_| at(3))?,
            root_ino: ino.parse().map_err(|_| at(3))?,
            root_path: PathBuf::from(OsString::from_vec(from_hex(path).ok_or(at(3))?)),
            placement: Placement::parse(placement).ok_or(at(4))?,
            steps: Vec::with_capacity(lines.clone().count()),
        };
        let ours = journal.head();
        let theirs = body.split_terminator('\n');
        let other = ours
            .lines()
            .zip(theirs)
            .position(|(ours, theirs)| ours != theirs);
        if let Some(index) = other {
            return Err(at(index));
        }
        let mut ours = String::new();
        for (index, line) in lines.enumerate() {
            let step = Step::parse(line).ok_or(at(HEAD_LINES + index))?;
            ours.clear();
            step.push_to(&mut ours);
            if ours.strip_suffix('\n') != Some(line) {
                return Err(at(HEAD_LINES + index));
            }
            journal.steps.push(step);
        }
        Ok(journal)
    }

    /// Returns the name of the staging directory in the workspace root.
    pub(crate) fn staging_name(&self) -> String {
        format!("{STAGING_PREFIX}{}", self.id)
    }
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Staging => "staging",
            Self::Ready => "ready",
            Self::Committed => "committed",
            Self::Done => "done",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Staging, Self::Ready, Self::Committed, Self::Done]
            .into_iter()
            .find(|phase| phase.as_str() == text)
    }
}

impl Placement {
    fn as_str(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::NoReplace => "no-replace",
            Self::Link => "link",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Exchange, Self::NoReplace, Self::Link]
            .into_iter()
            .find(|placement| placement.as_str() == text)
    }
}

impl Old {
    fn to_text(&self) -> String {
        let Time { secs, nanos } = self.mtime;
        let mut text = format!("{:o}:{secs}:{nanos}", self.mode);
        if let Some(digest) = &self.attributes {
            let _infallible = write!(text, ":{digest}");
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(':');
        let old = Self {
            mode: u32::from_str_radix(fields.next()?, 8).ok()?,
            mtime: parse_time(&mut fields)?,
            attributes: match fields.next() {
                None => None,
                Some(digest) => Some(Box::new(digest.parse().ok()?)),
            },
        };
        (fields.next().is_none() && old.mode <= 0o7777).then_some(old)
    }
}

impl Step {
    /// Appends its line.
    fn push_to(&self, text: &mut String) {
        let Self { change, old, new } = self;
        push_line(
            text,
            &[
                "step",
                change.path.as_str(),
                &entry_text(change.before.as_ref()),
                &entry_text(change.after.as_ref()),
                &old.as_ref().map_or("-".to_owned(), Old::to_text),
                &new.map_or("-".to_owned(), |new| fingerprint_text(&new)),
            ],
        );
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut field = || fields.next();
        let (Some("step"), path, before) = (field(), field()?, field()?) else {
            return None;
        };
        let (after, old, new, None) = (field()?, field()?, field()?, field()) else {
            return None;
        };
        let step = Self {
            change: Arc::new(Change {
                path: RelPathBuf::from_str(path).ok()?,
                before: parse_entry(before)?,
                after: parse_entry(after)?,
            }),
            old: optional(old, Old::parse)?,
            new: optional(new, parse_fingerprint)?,
        };
        (step.old.is_some() == step.change.before.is_some()).then_some(step)
    }
}

fn push_line(text: &mut String, fields: &[&str]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            text.push('\t');
        }
        text.push_str(field);
    }
    text.push('\n');
}

/// Reads `-` as nothing.
fn optional<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match text {
        "-" => Some(None),
        text => parse(text).map(Some),
    }
}

fn entry_text(entry: Option<&Entry>) -> String {
    match entry {
        None => "-".to_owned(),
        Some(Entry::Dir) => "d".to_owned(),
        Some(Entry::File { mode, size, digest }) => {
            let kind = match mode {
                Mode::Plain => 'f',
                Mode::Executable => 'x',
            };
            format!("{kind}:{size}:{digest}")
        }
        Some(Entry::Symlink { target }) => format!("l:{}", target.as_str()),
    }
}

fn parse_entry(text: &str) -> Option<Option<Entry>> {
    let file = |mode, rest: &str| {
        let (size, digest) = rest.split_once(':')?;
        Some(Entry::File {
            mode,
            size: size.parse().ok()?,
            digest: digest.parse().ok()?,
        })
    };
    optional(text, |text| match (text, text.split_at_checked(2)?) {
        (_, ("f:", rest)) => file(Mode::Plain, rest),
        (_, ("x:", rest)) => file(Mode::Executable, rest),
        (_, ("l:", target)) => Some(Entry::Symlink {
            target: LinkTarget::from_str(target).ok()?,
        }),
        _ => None,
    })
    .or_else(|| (text == "d").then_some(Some(Entry::Dir)))
}

fn fingerprint_text(fingerprint: &Fingerprint) -> String {
    let kind = match fingerprint.kind {
        Kind::File => 'f',
        Kind::Dir => 'd',
        Kind::Symlink => 'l',
        Kind::Other => 'o',
    };
    let Time { secs, nanos } = fingerprint.mtime;
    format!(
        "{kind}:{}:{}:{secs}:{nanos}",
        fingerprint.ino, fingerprint.size
    )
}

fn parse_fingerprint(text: &str) -> Option<Fingerprint> {
    let mut fields = text.split(':');
    let fingerprint = Fingerprint {
        kind: match fields.next()? {
            "f" => Kind::File,
            "d" => Kind::Dir,
            "l" => Kind::Symlink,
            "o" => Kind::Other,
            _ => return None,
        },
        ino: fields.next()?.parse().ok()?,
        size: fields.next()?.parse().ok()?,
        mtime: parse_time(&mut fields)?,
    };
    fields.next().is_none().then_some(fingerprint)
}

fn parse_time<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Time> {
    Some(Time {
        secs: fields.next()?.parse().ok()?,
        nanos: fields.next()?.parse().ok()?,
    })
}
