//! `Source`: where a lockfile says that a package comes from.

use std::borrow::Cow;
use std::fmt;

use crate::shown::shown;

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source<'a> {
    /// From the registry that the package manager is configured for.
    Unstated,
    /// From a registry or an archive at an address.
    Web(Address<'a>),
    /// From a repository, at a revision.
    Git(Address<'a>, Cow<'a, str>),
    /// From a path, most often inside the workspace.
    Path(Cow<'a, str>),
    /// From inside the archive of another package.
    Bundled,
}

/// Where package managers look without being told to. The names are in pieces, so that a
/// search for registries finds what the repository depends on.
const USUAL: [&str; 7] = [
    concat!("https://registry.npm", "js.org/"),
    "https://registry.yarnpkg.com/",
    concat!("registry+https://github.com/rust-lang/crates.", "io-index"),
    concat!("sparse+https://index.crates.", "io/"),
    concat!("https://py", "pi.org/"),
    "https://files.pythonhosted.org/",
    "https://rubygems.org/",
];

impl Source<'_> {
    /// Whether a package manager looks there without being told to.
    pub(super) fn is_usual(&self) -> bool {
        let Self::Web(address) = self else {
            return false;
        };
        let text = format!("{}://{}{}", address.scheme, address.host, address.rest);
        let text = text.trim_end_matches('/');
        USUAL.iter().any(|usual| {
            let rest = text.strip_prefix(usual.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// An address, taken apart just as far as comparing needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Address<'a> {
    /// In lower case, with the prefixes that package managers add (`git+https`).
    pub(crate) scheme: Cow<'a, str>,
    /// Host, port and user, in lower case. A text that is no clear URL is kept whole here:
    /// it then counts as an unknown host.
    pub(crate) host: Cow<'a, str>,
    /// All the rest.
    pub(crate) rest: Cow<'a, str>,
}

/// Schemes that protect against an attacker on the network, whatever prefix they have.
const SAFE_SCHEMES: [&str; 6] = ["https", "ssh", "github", "gitlab", "bitbucket", "gist"];

impl<'a> Address<'a> {
    /// Reads a URL, or the `user@host:path` of ssh.
    pub(crate) fn new(text: impl Into<Cow<'a, str>>) -> Self {
        match text.into() {
            Cow::Borrowed(text) => Self::parse(text),
            Cow::Owned(text) => Address::parse(&text).into_owned(),
        }
    }

    fn parse(text: &'a str) -> Self {
        // Readers differ in what these do to the host.
        let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if !text.contains(odd) {
            if let Some((scheme, rest)) = text.split_once("://") {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let (host, rest) = rest.split_at(end);
                if is_scheme(scheme) && !host.is_empty() {
                    return Self::of(scheme, host, rest);
                }
            } else if let Some((host, rest)) = text.split_once(':') {
                // `git@host:path`, and npm's `github:user/repository`.
                return match host.contains('@') {
                    true => Self::of("ssh", host, rest),
                    false => Self::of(host, "", rest),
                };
            }
        }
        Self {
            scheme: Cow::Borrowed(""),
            host: Cow::Borrowed(text),
            rest: Cow::Borrowed(""),
        }
    }

    fn of(scheme: &'a str, host: &'a str, rest: &'a str) -> Self {
        Self {
            scheme: lower(scheme),
            host: lower(host),
            rest: Cow::Borrowed(rest),
        }
    }

    fn into_owned<'b>(self) -> Address<'b> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Address {
            scheme: owned(self.scheme),
            host: owned(self.host),
            rest: owned(self.rest),
        }
    }

    /// Returns the address without what stands behind `#`, and that.
    fn split_fragment(self) -> (Self, Option<String>) {
        match self.rest.split_once('#') {
            None => (self, None),
            Some((rest, fragment)) => {
                let fragment = fragment.to_owned();
                let rest = Cow::Owned(rest.to_owned());
                (Self { rest, ..self }, Some(fragment))
            }
        }
    }

    /// Whether an attacker on the network could change what comes from there.
    pub(crate) fn is_insecure(&self) -> bool {
        let bare = self.scheme.rsplit('+').next().unwrap_or_default();
        !SAFE_SCHEMES.contains(&bare) && !self.is_file()
    }

    fn is_file(&self) -> bool {
        self.scheme.rsplit('+').next() == Some("file")
    }

    /// Whether both have the same scheme and host.
    pub(crate) fn same_host(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host == other.host
    }
}

/// Nearly every address is in lower case as it stands.
fn lower(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }
}

fn is_scheme(scheme: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    !scheme.is_empty() && scheme.bytes().all(fine)
}

impl<'a> Source<'a> {
    /// Reads the address of an archive or of a registry; `file:` is a path.
    pub(crate) fn web(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        if let Some(path) = text.strip_prefix("file:") {
            return Self::Path(Cow::Owned(path.to_owned()));
        }
        Self::Web(Address::new(text))
    }

    /// Reads the address of a repository, with the revision behind `#`.
    pub(crate) fn git(text: impl Into<Cow<'a, str>>) -> Self {
        let (address, revision) = Address::new(text).split_fragment();
        Self::Git(address, Cow::Owned(revision.unwrap_or_default()))
    }

    pub(super) fn into_owned<'b>(self) -> Source<'b> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Unstated => Source::Unstated,
            Self::Web(address) => Source::Web(address.into_owned()),
            Self::Git(address, revision) => Source::Git(address.into_owned(), owned(revision)),
            Self::Path(path) => Source::Path(owned(path)),
            Self::Bundled => Source::Bundled,
        }
    }

    /// Returns the address, if there is one.
    pub(crate) fn address(&self) -> Option<&Address<'a>> {
        match self {
            Self::Web(address) | Self::Git(address, _) => Some(address),
            Self::Unstated | Self::Path(_) | Self::Bundled => None,
        }
    }
}

/// Writes scheme and host, escaped.
impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, rest } = self;
        match (scheme.is_empty(), host.is_empty()) {
            (true, _) => f.write_str(&shown(host)),
            (false, true) => write!(f, "{}:{}", shown(scheme), shown(rest)),
            (false, false) => write!(f, "{}://{}", shown(scheme), shown(host)),
        }
    }
}

/// Writes what a person needs to tell one source from another, escaped.
impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unstated => f.write_str("the configured registry"),
            Self::Web(address) => write!(f, "{address}"),
            Self::Git(address, revision) => {
                write!(f, "the repository {address}{}", shown(&address.rest))?;
                match revision.is_empty() {
                    true => Ok(()),
                    false => write!(f, " at {}", shown(revision)),
                }
            }
            Self::Path(path) if path.is_empty() => f.write_str("the workspace"),
            Self::Path(path) => write!(f, "the path {}", shown(path)),
            Self::Bundled => f.write_str("another package's archive"),
        }
    }
}
