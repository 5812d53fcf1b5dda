//! The words of declarations: each is parsed once, and is then what it says.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// A text in a declaration that is not what its place asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a{what}: expected {expected}")]
pub struct WordError {
    what: &'static str,
    expected: &'static str,
    text: String,
}

macro_rules! word_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns it as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = WordError;

            fn from_str(text: &str) -> Result<Self, WordError> {
                Self::try_from(text.to_owned())
            }
        }

        impl TryFrom<String> for $name {
            type Error = WordError;

            fn try_from(text: String) -> Result<Self, WordError> {
                let accepts: fn(&str) -> bool = $accepts;
                if accepts(&text) {
                    Ok(Self(text))
                } else {
                    Err(WordError { what: $what, expected: $expected, text })
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

fn lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether `text` starts with a lower-case letter or digit and goes on with those and `more`.
fn is_word(text: &str, longest: usize, more: &[u8]) -> bool {
    text.len() <= longest
        && text.bytes().next().is_some_and(lower_or_digit)
        && text
            .bytes()
            .all(|byte| lower_or_digit(byte) || more.contains(&byte))
}

/// The name of an image: `[a-z0-9][a-z0-9-]*`, at most 40 bytes; or several of them, joined by
/// `+`, for the image that combines them.
///
/// A combined image has one name, whatever the order in which its parts are written: they are
/// sorted and occur once, so `rust+claude` is read as `claude+rust`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ImageName(String);

impl ImageName {
    /// The most bytes: a tag is at most 128, and holds a hash and a process beside the name.
    const LONGEST: usize = 100;

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the names of the images that it combines; its own, for one that combines none.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('+')
    }

    /// Whether it is the name of a combined image.
    pub fn is_combined(&self) -> bool {
        self.0.contains('+')
    }

    /// Returns the name that it has in an engine's store, where `+` is not allowed.
    pub(crate) fn in_store(&self) -> String {
        self.0.replace('+', ".")
    }
}

impl FromStr for ImageName {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let mut parts: Vec<_> = text.split('+').collect();
        parts.sort_unstable();
        parts.dedup();
        let name = parts.join("+");
        match name.len() <= Self::LONGEST && parts.iter().all(|part| is_word(part, 40, b"-")) {
            true => Ok(Self(name)),
            false => Err(WordError {
                what: "n image name",
                expected: "lower-case letters, digits and `-`, at most 40, or several such names \
                           with `+` between them",
                text: text.to_owned(),
            }),
        }
    }
}

impl TryFrom<String> for ImageName {
    type Error = WordError;

    fn try_from(text: String) -> Result<Self, WordError> {
        text.parse()
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

word_type! {
    /// The name of a component, or of one of its sources: as an image's.
    ComponentName, " component name", "lower-case letters, digits and `-`, at most 40",
    |text| is_word(text, 40, b"-")
}

word_type! {
    /// A version that is wanted, or the first numbers of one: `22` stands for every 22.x.
    Version, " version", "numbers with points between, such as `22` or `3.11`",
    |text| text.len() <= 40 && text.split('.').all(|part| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    })
}

word_type! {
    /// The code name of a Debian release: `[a-z0-9][a-z0-9-]*`.
    Suite, " Debian release", "a code name such as `bookworm`",
    |text| is_word(text, 40, b"-")
}

word_type! {
    /// A Debian package: `[a-z0-9][a-z0-9+.-]+` (Debian policy, section 5.6.1). No
    /// version, architecture or `?pattern`, which apt would take as an expression.
    PackageName, " Debian package", "its name alone, such as `git`",
    |text| text.len() >= 2 && is_word(text, 128, b"+.-")
}

word_type! {
    /// A login name: `[a-z][a-z0-9-]*`, at most 32 bytes, and not `root`.
    UserName, " user name", "a lower-case letter, then those, digits and `-`, at most 32; not `root`",
    |text| is_word(text, 32, b"-") && !text.starts_with(|first: char| first.is_ascii_digit()) && text != "root"
}

word_type! {
    /// The absolute path of a shell: no character that has a meaning in `/etc/passwd`.
    ShellPath, " shell", "an absolute path such as `/bin/sh`",
    |text| text.len() <= 128 && text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_.-".contains(&byte))
}

word_type! {
    /// An image in a registry, pinned: `name@sha256:<64 hexadecimal digits>`. A tag
    /// alone may mean another image tomorrow (CON-25).
    PinnedReference, " pinned image", "`name@sha256:` and 64 lower-case hexadecimal digits",
    |text| text.split_once("@sha256:").is_some_and(|(name, hex)| {
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.len() <= 180
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/:".contains(&byte))
            && hex.len() == 64
            && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

impl UserName {
    /// The name that the user has unless a declaration says otherwise.
    pub(crate) fn agent() -> Self {
        Self("agent".to_owned())
    }
}

impl ShellPath {
    /// The shell that every system has.
    pub(crate) fn sh() -> Self {
        Self("/bin/sh".to_owned())
    }
}

impl Version {
    /// Whether `found` begins with these numbers.
    pub fn admits(&self, found: &str) -> bool {
        found
            .strip_prefix(self.as_str())
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    }
}

/// After which age a build is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct MaxAge(pub Duration);

impl TryFrom<String> for MaxAge {
    type Error = WordError;

    fn try_from(text: String) -> Result<Self, WordError> {
        let seconds = text
            .char_indices()
            .next_back()
            .and_then(|(split, unit)| {
                let factor = match unit {
                    'h' => 3_600,
                    'd' => 86_400,
                    'w' => 7 * 86_400,
                    _ => return None,
                };
                let (number, _) = text.split_at(split);
                number.parse::<u64>().ok()?.checked_mul(factor)
            })
            .filter(|seconds| *seconds > 0);
        match seconds {
            Some(seconds) => Ok(Self(Duration::from_secs(seconds))),
            None => Err(WordError {
                what: "n age",
                expected: "a number and `h`, `d` or `w`, such as `30d`",
                text,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combined_image_has_one_name_in_every_order() {
        let name = |text: &str| text.parse::<ImageName>().map(|name| name.to_string());
        for text in ["claude+rust", "rust+claude", "rust+claude+rust"] {
            assert_eq!(name(text).as_deref(), Ok("claude+rust"), "{text}");
        }
        assert_eq!(name("rust+rust").as_deref(), Ok("rust"));
        let long = ["a".repeat(40), "b".repeat(40), "c".repeat(40)].join("+");
        for wrong in [
            "", "+", "rust+", "+rust", "a++b", "a+B", "a.b", "a_b", &long,
        ] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_version_admits_what_it_begins() {
        let admits = |wanted: &str, found| wanted.parse::<Version>().unwrap().admits(found);
        assert!(admits("22", "22.1.0") && admits("22.1", "22.1") && admits("3.11", "3.11.2"));
        assert!(!admits("22", "220.1") && !admits("3.1", "3.11.2") && !admits("22", "18.20"));
        for wrong in ["", "latest", "1.", ".1", "1 ", "v1", "1.2;rm"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }
}
