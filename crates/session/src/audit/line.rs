//! A line of the audit log: `{"n":…,"at":…,"prev":…,"session":…,"event":{…},"hash":…}`.
//!
//! `hash` is BLAKE3 of the bytes of the line before `,"hash":`, as they were written; `prev` is
//! the hash of the line before, zeros in the first.

use std::io;

use lazaret_tree::Digest;
use serde::{Deserialize, Serialize};

use super::event::AuditEvent;

/// What the first line has in the place of a hash before it.
pub(super) const FIRST: Digest = Digest::from_bytes([0; 32]);

/// Between the hashed bytes and the hash.
const BEFORE_HASH: &str = ",\"hash\":\"";
/// After it.
const END: &str = "\"}";

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1 on.
    pub n: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The hash of the entry before it.
    #[serde(with = "hex")]
    pub prev: Digest,
    /// The session.
    pub session: String,
    /// What happened.
    pub event: AuditEvent,
}

impl Entry {
    /// Returns its line, with a line feed, and its hash.
    pub(super) fn to_line(&self) -> io::Result<(String, Digest)> {
        let mut line = serde_json::to_string(self)?;
        line.pop();
        let hash = Digest::of(line.as_bytes());
        line.push_str(BEFORE_HASH);
        line.push_str(&hash.to_hex());
        line.push_str(END);
        line.push('\n');
        Ok((line, hash))
    }

    /// Reads a line without its line feed; `None` if it is damaged.
    pub(super) fn parse(line: &[u8]) -> Option<(Self, Digest)> {
        let (body, hash) = split(line)?;
        let hash = std::str::from_utf8(hash).ok()?.parse().ok()?;
        if Digest::of(body) != hash {
            return None;
        }
        let entry = serde_json::from_slice(&[body, b"}"].concat()).ok()?;
        Some((entry, hash))
    }
}

/// Returns the bytes that are hashed, and the digits of the hash.
pub(super) fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_suffix(END.as_bytes())?;
    let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    Some((rest.strip_suffix(BEFORE_HASH.as_bytes())?, hash))
}

/// Digests as text.
pub(super) mod hex {
    use lazaret_tree::Digest;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        digest: &Digest,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_str(&digest.to_hex())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Digest, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}
