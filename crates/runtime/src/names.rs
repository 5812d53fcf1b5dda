//! The names that cross into an engine: parsed once, never built from raw text.

use std::fmt;
use std::str::FromStr;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {what}: expected {expected}")]
pub struct NameError {
    /// What was asked for, such as `volume name`.
    pub what: &'static str,
    /// The grammar, in words.
    pub expected: &'static str,
    /// The offending text.
    pub text: String,
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let accepts: fn(&str) -> bool = $accepts;
                if accepts(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(NameError { what: $what, expected: $expected, text: text.to_owned() })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// `[a-zA-Z0-9][a-zA-Z0-9_.-]*`, at most `max` bytes: what Docker, Podman and Apple
/// `container` all accept.
fn is_engine_name(text: &str, max: usize) -> bool {
    text.len() <= max
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

name_type! {
    /// The name of a volume: `[a-zA-Z0-9][a-zA-Z0-9_.-]*`, at most 255 bytes.
    ///
    /// ```compile_fail
    /// let volume: lazaret_runtime::VolumeName = "v".parse().unwrap();
    /// let container: lazaret_runtime::ContainerName = volume;
    /// ```
    VolumeName, "volume name", "a letter or digit, then letters, digits, `_`, `.` or `-`",
    |text| is_engine_name(text, 255)
}

name_type! {
    /// The name of a container: `[a-zA-Z0-9][a-zA-Z0-9_.-]*`, at most 63 bytes
    /// (the limit of Apple `container`).
    ContainerName, "container name",
    "a letter or digit, then letters, digits, `_`, `.` or `-`, at most 63 in all",
    |text| is_engine_name(text, 63)
}

name_type! {
    /// The name of a session: `[a-z0-9][a-z0-9-]*`, at most 36 bytes, so that every
    /// name derived from it fits every engine.
    SessionId, "session name", "a lower-case letter or digit, then those and `-`, at most 36 in all",
    |text| is_engine_name(text, SessionId::MOST)
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

impl SessionId {
    /// The most bytes of a name.
    pub const MOST: usize = 36;

    /// Makes a name of at most `most` bytes that resembles a text; `None` where nothing of it can
    /// be in a name.
    pub fn resembling(text: &str, most: usize) -> Option<Self> {
        let lower = text.to_lowercase();
        let letters = lower.chars().map(|c| match c.is_ascii_alphanumeric() {
            true => c,
            false => '-',
        });
        let name: String = letters.collect();
        let name = name.trim_matches('-');
        let name = name.get(..name.len().min(most))?.trim_end_matches('-');
        name.parse().ok()
    }
}

name_type! {
    /// The name of a service: `[a-z][a-z0-9]*`, at most 9 bytes, so that every name derived from
    /// it and from a session's fits every engine.
    ServiceName, "service name", "a lower-case letter, then those and digits, at most 9 in all",
    |text| text.len() <= 9
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

name_type! {
    /// The name of a volume in a profile: `[a-z][a-z0-9]*`, at most 9 bytes, so that every name
    /// derived from it and from a session's fits every engine.
    VolumeId, "name of a profile's volume",
    "a lower-case letter, then those and digits, at most 9 in all",
    |text| text.len() <= 9
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

name_type! {
    /// A reference to an image: `[registry/]name[:tag][@digest]`, ASCII, no space,
    /// at most 255 bytes.
    ImageRef, "image reference", "`name`, `name:tag` or `name@sha256:…`",
    |text| text.len() <= 255
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/:@".contains(&byte))
}

name_type! {
    /// The name of an environment variable: `[A-Za-z_][A-Za-z0-9_]*`, at most 255 bytes.
    EnvName, "environment variable name", "a letter or `_`, then letters, digits or `_`",
    |text| text.len() <= 255
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

name_type! {
    /// A host name for a line of `/etc/hosts`: labels of `[a-z0-9_-]` between single dots, at
    /// most 253 bytes (RFC 1123). Nothing in it could begin another field, another line or a
    /// comment.
    AliasName, "host name", "labels of lower-case letters, digits, `-` and `_` between dots",
    |text| text.len() <= 253
        && text.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
        })
}

/// A label on everything that lazaret creates.
///
/// Selection is by label, never by name alone (docs/design/threats.md FLT-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// The session it belongs to.
    Session,
    /// What it is for: `agent`, `exporter`, `workspace`.
    Role,
    /// The workspace on the host, as a digest of its path: a label is readable by
    /// everyone who may talk to the engine.
    Workspace,
    /// The version of lazaret that created it.
    Version,
    /// The state directory whose leases decide whether it is alive. A launcher
    /// never sweeps what another state directory owns.
    Store,
}

impl Label {
    /// Returns the label's key.
    pub fn key(self) -> &'static str {
        match self {
            Self::Session => "io.lazaret.session",
            Self::Role => "io.lazaret.role",
            Self::Workspace => "io.lazaret.workspace",
            Self::Version => "io.lazaret.version",
            Self::Store => "io.lazaret.store",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_name_resembles_a_text() {
        for (text, name) in [
            ("shop", Some("shop")),
            ("My Session", Some("my-session")),
            ("--a_b--", Some("a-b")),
            ("Gr\u{fc}n 12345678", Some("gr-n-12345")),
            ("123456789 0", Some("123456789")),
            ("...", None),
            ("", None),
        ] {
            let found = SessionId::resembling(text, 10);
            assert_eq!(found.as_ref().map(SessionId::as_str), name, "{text}");
        }
    }
}
