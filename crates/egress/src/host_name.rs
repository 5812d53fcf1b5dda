//! `HostName`: a name in the one form in which it is compared, resolved and logged.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use serde::{Deserialize, Serialize};

/// A host name in its canonical form (NET-10).
///
/// Lower case, international labels as A-labels (UTS 46, nontransitional), one trailing
/// dot taken off, letters, digits and inner hyphens only (RFC 1123 section 2.1), at most
/// 63 bytes a label and 253 in all. Never an IP address in any spelling that an
/// `inet_aton` somewhere takes for one (NET-05): such a name is refused when it is read,
/// so nothing behind this type has to think of them.
///
/// ```
/// use lazaret_egress::{HostName, NameError};
///
/// let name: HostName = "API.Example.COM.".parse()?;
/// assert_eq!(name.as_str(), "api.example.com");
/// assert_eq!("0x7f.1".parse::<HostName>(), Err(NameError::Literal));
/// # Ok::<(), NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(String);

/// Why a text is no host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NameError {
    /// Nothing, or nothing but a dot.
    #[error("the name is empty")]
    Empty,
    /// NUL, another control character, or white space: what two parsers read differently.
    #[error("the name holds a control character or white space")]
    Control,
    /// An `@`: what stands before it is no part of the name, and often taken for it.
    #[error("the name holds a `@`; credentials don't belong in it")]
    Userinfo,
    /// A `%`: nothing here is unescaped.
    #[error("the name holds a `%`; nothing is unescaped")]
    Escape,
    /// An address, however it is spelled.
    #[error("the name is an address; only names can be allowed")]
    Literal,
    /// A character that no host name has, or an international name that is not valid.
    #[error("the name has a character or a label that no host name has")]
    Character,
    /// A label above 63 bytes or a name above 253, or an empty label.
    #[error("the name has an empty label, one above 63 bytes, or is above 253 bytes itself")]
    Length,
}

/// The longest text that is looked at at all, in bytes.
const LONGEST_INPUT: usize = 1024;

impl HostName {
    /// Returns the canonical form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `parent` with at least one more label before it.
    pub fn is_below(&self, parent: &Self) -> bool {
        self.0
            .strip_suffix(&parent.0)
            .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }

    /// Returns the labels, the leftmost first.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }
}

impl FromStr for HostName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.len() > LONGEST_INPUT {
            return Err(NameError::Length);
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(NameError::Control);
        }
        if text.contains('@') {
            return Err(NameError::Userinfo);
        }
        if is_v6_spelling(text) {
            return Err(NameError::Literal);
        }
        if text.contains('%') {
            return Err(NameError::Escape);
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let name = Uts46::new()
            .to_ascii(
                text.as_bytes(),
                AsciiDenyList::STD3,
                Hyphens::CheckFirstLast,
                DnsLength::Ignore,
            )
            .map_err(|_| NameError::Character)?;
        // Only after the mapping: full-width digits and ideographic full stops become
        // ASCII by it.
        if ends_in_a_number(&name) {
            return Err(NameError::Literal);
        }
        let fits =
            name.len() <= 253 && name.split('.').all(|label| (1..=63).contains(&label.len()));
        match fits {
            true => Ok(Self(name.into_owned())),
            false => Err(NameError::Length),
        }
    }
}

/// Whether the text is an IPv6 address, with or without brackets and zone.
fn is_v6_spelling(text: &str) -> bool {
    let inner = text.strip_prefix('[').unwrap_or(text);
    let inner = inner.strip_suffix(']').unwrap_or(inner);
    let inner = inner.split('%').next().unwrap_or_default();
    inner.parse::<Ipv6Addr>().is_ok()
}

/// Whether the last label is a number, in decimal, octal or hexadecimal.
///
/// The URL standard takes such a host for an IPv4 address or a failure, never for a name,
/// and no top-level domain is one (RFC 3696 section 2). That covers `2130706433`,
/// `0x7f.1`, `127.1` and `1.2.3.4`.
fn ends_in_a_number(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.is_empty() {
        return false;
    }
    match last.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<str> for HostName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HostName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<HostName> for String {
    fn from(name: HostName) -> Self {
        name.0
    }
}
