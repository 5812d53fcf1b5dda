//! `Recipe`: what an `image.toml` declares.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use lazaret_transfer::escape;
use serde::Deserialize;
use toml::Spanned;

/// An image declaration that can't be used.
///
/// The message shows the line, what is wrong there, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RecipeError {
    /// The file, as the user knows it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, with the offending line quoted.
    pub message: String,
}

/// What an `image.toml` declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The image's name: that of its directory.
    pub name: ImageName,
    /// One line for lists.
    pub description: String,
    /// What it starts from.
    pub base: Base,
    /// Whose the session is, inside.
    pub user: User,
    /// After which age a build is repeated, so that security updates arrive.
    pub max_age: Option<MaxAge>,
    /// The declaration as written: part of the inputs' hash.
    pub source: String,
}

/// What an image starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// Nothing: the image holds the porter alone and runs as uid 0 with no
    /// capability but the one that hardening grants.
    Scratch,
    /// Debian packages, installed by `mmdebstrap` from the machine's own sources.
    Debootstrap {
        /// The release.
        suite: Suite,
        /// Packages beyond the minimal system, sorted and without repetition.
        include: Vec<PackageName>,
    },
    /// An image that the engine has or can fetch, pinned by digest.
    Registry(PinnedReference),
}

/// Whose the session is inside. The ids are always 1000: hardening and transfer rely on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The login name.
    pub name: UserName,
    /// The login shell, an absolute path.
    pub shell: ShellPath,
}

impl Default for User {
    fn default() -> Self {
        Self {
            name: UserName("agent".to_owned()),
            shell: ShellPath("/bin/sh".to_owned()),
        }
    }
}

/// A text in an `image.toml` that is not what its place asks for.
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

word_type! {
    /// The name of an image: `[a-z0-9][a-z0-9-]*`, at most 40 bytes.
    ImageName, "n image name", "lower-case letters, digits and `-`, at most 40",
    |text| is_word(text, 40, b"-")
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecipe {
    description: String,
    base: Spanned<RawBase>,
    user: Option<Spanned<RawUser>>,
    max_age: Option<MaxAge>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBase {
    scratch: Option<Nothing>,
    debootstrap: Option<RawDebootstrap>,
    registry: Option<PinnedReference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDebootstrap {
    suite: Suite,
    #[serde(default)]
    include: Vec<PackageName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUser {
    name: Option<UserName>,
    shell: Option<ShellPath>,
}

impl Recipe {
    /// Parses the declaration `source` of the image `name`.
    ///
    /// # Errors
    /// Shows the line and what is expected there.
    pub fn parse(name: &ImageName, source: &str) -> Result<Self, RecipeError> {
        let refuse = |span: Range<usize>, message: &str| refusal(name, source, span, message);
        let raw: RawRecipe = toml::from_str(source)
            .map_err(|error| refuse(error.span().unwrap_or_default(), error.message()))?;
        let base_span = raw.base.span();
        let base = match raw.base.into_inner() {
            RawBase {
                scratch: Some(Nothing {}),
                debootstrap: None,
                registry: None,
            } => Base::Scratch,
            RawBase {
                scratch: None,
                debootstrap: Some(system),
                registry: None,
            } => {
                let RawDebootstrap { suite, mut include } = system;
                include.sort();
                include.dedup();
                Base::Debootstrap { suite, include }
            }
            RawBase {
                scratch: None,
                debootstrap: None,
                registry: Some(reference),
            } => Base::Registry(reference),
            _ => {
                let expected = "expected exactly one of `scratch`, `debootstrap` and `registry`";
                return Err(refuse(base_span, expected));
            }
        };
        if base == Base::Scratch
            && let Some(user) = &raw.user
        {
            let reason =
                "`[user]` has no meaning with `scratch`: such an image has no user but root";
            return Err(refuse(user.span(), reason));
        }
        let default = User::default();
        let user = match raw.user.map(Spanned::into_inner) {
            None => default,
            Some(RawUser { name, shell }) => User {
                name: name.unwrap_or(default.name),
                shell: shell.unwrap_or(default.shell),
            },
        };
        Ok(Self {
            name: name.clone(),
            description: raw.description,
            base,
            user,
            max_age: raw.max_age,
            source: source.to_owned(),
        })
    }
}

/// Makes an error that quotes the first line of `span` and marks the place.
fn refusal(name: &ImageName, source: &str, span: Range<usize>, message: &str) -> RecipeError {
    let before = source.get(..span.start).unwrap_or(source);
    let line = 1 + before.matches('\n').count();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let text = source
        .get(line_start..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let indent = before.get(line_start..).unwrap_or_default().chars().count();
    let marked = source
        .get(span)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let marks = "^".repeat(marked.chars().count().max(1));
    RecipeError {
        file: format!("images/{name}/image.toml"),
        line,
        message: format!(
            "{message}\n{gutter} |\n{number} | {}\n{gutter} | {}{marks}",
            escape(text.as_bytes()),
            " ".repeat(indent),
        ),
    }
}
