//! Reads an audit log whole, and says where it is damaged.

use std::fmt;

use lazaret_tree::{Digest, PathError};

use super::AuditLog;
use super::line::{Entry, FIRST, split};

/// How many hashes are tried to find the byte that was changed.
const MOST_HASHES: usize = 1_000_000;

/// The first place at which a log is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: DamageKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// One byte of it was changed.
    Byte {
        /// Which, from 1.
        column: usize,
        /// What it was.
        was: u8,
    },
    /// More than one byte of it was changed, or its hash.
    Changed,
    /// It does not follow the line before: one was removed, added or moved.
    OutOfOrder,
    /// It is the last one, and `audit.head` knows more.
    CutOff,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match self.what {
            DamageKind::Byte { column, was } => {
                let was = lazaret_tree::escape(&[was]);
                write!(f, "line {line}: byte {column} was changed; it was `{was}`")
            }
            DamageKind::Changed => write!(f, "line {line} was changed"),
            DamageKind::OutOfOrder => write!(
                f,
                "line {line} does not follow the line before: lines were removed, added or moved"
            ),
            DamageKind::CutOff => write!(f, "what came after line {line} is missing"),
        }
    }
}

/// The entries before the first damage.
#[derive(Debug)]
pub struct Verified {
    /// In order.
    pub entries: Vec<Entry>,
    /// The first damage; `None` if the log is whole.
    pub damage: Option<Damage>,
}

impl AuditLog {
    /// Reads all entries, and checks them.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn verify(&self) -> Result<Verified, PathError> {
        let (bytes, head) = self.read()?;
        let mut entries: Vec<Entry> = Vec::new();
        let mut before = FIRST;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut damage = None;
        for (index, line) in lines.iter().enumerate() {
            let number = index + 1;
            let next = lines.get(number).copied();
            let what = match line.strip_suffix(b"\n").map(Entry::parse) {
                // The part of a line that a killed process wrote is no entry, and goes.
                None if number as u64 > head.n => break,
                None | Some(None) => Some(changed(line, next)),
                Some(Some((entry, hash))) => {
                    let follows = entry.n == number as u64 && entry.prev == before;
                    let is_head = entry.n != head.n || hash == head.hash;
                    before = hash;
                    entries.push(entry);
                    match (follows, is_head) {
                        (true, true) => None,
                        (false, _) => Some(DamageKind::OutOfOrder),
                        (true, false) => Some(DamageKind::Changed),
                    }
                }
            };
            if let Some(what) = what {
                damage = Some(Damage { line: number, what });
                entries.truncate(index);
                break;
            }
        }
        let read = entries.len();
        if damage.is_none() && (read as u64) < head.n {
            let what = DamageKind::CutOff;
            damage = Some(Damage { line: read, what });
        }
        Ok(Verified { entries, damage })
    }
}

/// Says what of a line was changed, by what its hash and the next line say.
fn changed(line: &[u8], next: Option<&[u8]>) -> DamageKind {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let Some((body, digits)) = split(line) else {
        return DamageKind::Changed;
    };
    let next = next.and_then(|next| Entry::parse(next.strip_suffix(b"\n")?));
    let hash = match next {
        Some((next, _)) => next.prev,
        None => match std::str::from_utf8(digits).map(str::parse) {
            Ok(Ok(hash)) => hash,
            _ => return DamageKind::Changed,
        },
    };
    if Digest::of(body) == hash {
        return changed_digit(line.len(), digits, &hash);
    }
    changed_byte(body, &hash).unwrap_or(DamageKind::Changed)
}

/// The contents are whole: the hash beside them is not.
fn changed_digit(length: usize, digits: &[u8], hash: &Digest) -> DamageKind {
    let right = hash.to_hex();
    let mut wrong = (digits.iter().zip(right.bytes()).enumerate())
        .filter(|(_, (digit, right))| *digit != right);
    match (wrong.next(), wrong.next()) {
        (Some((at, (_, was))), None) => DamageKind::Byte {
            column: length - 2 - digits.len() + at + 1,
            was,
        },
        _ => DamageKind::Changed,
    }
}

fn changed_byte(body: &[u8], hash: &Digest) -> Option<DamageKind> {
    if body.len() * 256 > MOST_HASHES {
        return None;
    }
    let mut tried = body.to_vec();
    for at in 0..body.len() {
        for was in 0..=u8::MAX {
            tried[at] = was;
            if Digest::of(&tried) == *hash {
                return Some(DamageKind::Byte {
                    column: at + 1,
                    was,
                });
            }
        }
        tried[at] = body[at];
    }
    None
}
