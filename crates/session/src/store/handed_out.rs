//! `HandedOutFile`: by what is known again what the commands of a session were handed, so that no
//! later process has to have the values to judge (SUS-38).
//!
//! The file holds a line for each form of a value: its kind, length, rolling hash, digest and
//! the name that the profile has for it. It is appended to before the command gets the value.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use lazaret_tree::{AtPath as _, PathError};
use lazaret_validator::{HandedKind, HandedOut, Mark};

use crate::credentials::file::CredentialFile;
use crate::credentials::tokens::secret_tokens;
use crate::store::SessionDir;
use crate::store::file::ok_if_absent;

/// Its name in the session's directory.
const NAME: &str = "handed-out";

/// The file of a session.
#[derive(Debug, Clone)]
pub struct HandedOutFile(PathBuf);

impl HandedOutFile {
    /// Finds the file of a session; it need not be there.
    pub fn of(dir: &SessionDir) -> Self {
        Self(dir.file(NAME))
    }

    /// Adds the tokens of logins, and placeholders by the names of their keys.
    ///
    /// # Errors
    /// The disk's.
    pub fn add<'a>(
        &self,
        lent: &[CredentialFile],
        placeholders: impl Iterator<Item = (&'a str, String)>,
    ) -> Result<(), PathError> {
        let mut marks = Vec::new();
        for file in lent {
            marks.extend(marks_of(&file.name, &file.contents));
        }
        for (name, value) in placeholders {
            let kind = HandedKind::Placeholder;
            marks.extend(Mark::all(kind, name, value.as_bytes()));
        }
        self.append(&marks)
    }

    /// Adds the tokens of what a login has become.
    ///
    /// # Errors
    /// The disk's.
    pub fn add_renewed(&self, name: &str, contents: &[u8]) -> Result<(), PathError> {
        self.append(&marks_of(name, contents))
    }

    fn append(&self, marks: &[Mark]) -> Result<(), PathError> {
        let known = self.read()?;
        let mut lines = String::new();
        for mark in marks.iter().filter(|mark| !known.contains(mark)) {
            lines.push_str(&line(mark));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let mut file = options.open(&self.0).at(&self.0)?;
        file.write_all(lines.as_bytes()).at(&self.0)
    }

    /// Returns all of it, ready to be looked for.
    ///
    /// # Errors
    /// The disk's, and a line that is none: what it stood for would pass.
    pub fn handed_out(&self) -> Result<HandedOut, PathError> {
        Ok(self.read()?.into_iter().collect())
    }

    fn read(&self) -> Result<Vec<Mark>, PathError> {
        let text = ok_if_absent(std::fs::read_to_string(&self.0)).at(&self.0)?;
        let text = text.unwrap_or_default();
        // One that a full disk or a kill has cut was never handed out.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a line is damaged");
        let marks = whole.lines().map(|line| parse(line).ok_or_else(damaged));
        marks.collect::<io::Result<_>>().at(&self.0)
    }
}

fn marks_of(name: &str, contents: &[u8]) -> Vec<Mark> {
    let tokens = secret_tokens(contents);
    let marks = tokens.iter();
    marks
        .flat_map(|token| Mark::all(HandedKind::Login, name, token))
        .collect()
}

fn line(mark: &Mark) -> String {
    let kind = match mark.kind {
        HandedKind::Login => "login",
        HandedKind::Placeholder => "placeholder",
    };
    let Mark {
        name,
        length,
        tail,
        digest,
        ..
    } = mark;
    format!("{kind} {length} {tail:016x} {digest} {name}\n")
}

fn parse(line: &str) -> Option<Mark> {
    let mut words = line.splitn(5, ' ');
    Some(Mark {
        kind: match words.next()? {
            "login" => HandedKind::Login,
            "placeholder" => HandedKind::Placeholder,
            _ => return None,
        },
        length: words.next()?.parse().ok()?,
        tail: u64::from_str_radix(words.next()?, 16).ok()?,
        digest: words.next()?.parse().ok()?,
        name: words.next()?.to_owned(),
    })
}
