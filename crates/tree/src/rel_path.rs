//! `RelPath`: a path below a workspace, parsed once.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, Index};
use std::str::FromStr;
use std::sync::Arc;

use ref_cast::{RefCastCustom, ref_cast_custom};

use crate::{FindingCode, finding_code};

/// The longest path, in bytes (docs/design/threats.md, section 0, limits).
pub const MAX_PATH_BYTES: usize = 1024;
/// The longest component, in bytes (`NAME_MAX` of Linux file systems).
pub const MAX_COMPONENT_BYTES: usize = 255;
/// The deepest path, in components.
pub const MAX_DEPTH: usize = 64;

/// A borrowed path below a workspace root: UTF-8, `/`-separated.
///
/// Invariants: not empty; no component is empty, `.` or `..`; no NUL, no other
/// control character (C0, DEL, C1); at most [`MAX_PATH_BYTES`],
/// [`MAX_COMPONENT_BYTES`] and [`MAX_DEPTH`]. The order is component-wise, so a
/// directory comes immediately before what it contains.
#[derive(PartialEq, Eq, Hash, RefCastCustom)]
#[repr(transparent)]
pub struct RelPath(str);

/// An owned [`RelPath`]. Clones share the text: a path of a batch is in its tree, its changes
/// and whatever is said of it, and its bytes are there once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RelPathBuf(Arc<str>);

/// Why bytes are not a [`RelPath`].
///
/// Whether that ends a batch or quarantines one entry is decided where the bytes
/// come from: a tar stream may hold what no file system can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// The path is empty.
    #[error("the path is empty")]
    Empty,
    /// The path starts with `/`.
    #[error("the path is absolute")]
    Absolute,
    /// A component is `..`.
    #[error("the path has a `..` component")]
    DotDot,
    /// A component is empty or `.`.
    #[error("the path has an empty or `.` component")]
    Noncanonical,
    /// A NUL byte.
    #[error("the path has a NUL byte")]
    Nul,
    /// A control character other than NUL.
    #[error("the path has a control character")]
    Control,
    /// Not UTF-8.
    #[error("the path is not UTF-8")]
    Encoding,
    /// A component over [`MAX_COMPONENT_BYTES`].
    #[error("a component is longer than {MAX_COMPONENT_BYTES} bytes")]
    ComponentTooLong,
    /// Over [`MAX_PATH_BYTES`].
    #[error("the path is longer than {MAX_PATH_BYTES} bytes")]
    TooLong,
    /// Over [`MAX_DEPTH`].
    #[error("the path is deeper than {MAX_DEPTH} components")]
    TooDeep,
}

impl RelPathError {
    /// Returns the stable code of an entry with such a name. What no file system can hold has
    /// that of a control character.
    pub fn code(self) -> &'static FindingCode {
        match self {
            Self::Encoding => finding_code::NAME_ENCODING,
            Self::ComponentTooLong | Self::TooLong => finding_code::PATH_TOO_LONG,
            Self::TooDeep => finding_code::PATH_TOO_DEEP,
            Self::Control
            | Self::Empty
            | Self::Absolute
            | Self::DotDot
            | Self::Noncanonical
            | Self::Nul => finding_code::NAME_CONTROL,
        }
    }
}

impl RelPathBuf {
    /// Returns the text; it is shared, not copied.
    pub fn to_shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl RelPath {
    /// Parses raw bytes, as they come from a file system or an archive.
    ///
    /// # Errors
    /// The first rule that is broken; what only an archive can hold is
    /// reported before what a file system can hold too.
    pub fn from_bytes(bytes: &[u8]) -> Result<&Self, RelPathError> {
        if is_ordinary(bytes)
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return Ok(Self::ref_cast(text));
        }
        if bytes.is_empty() {
            return Err(RelPathError::Empty);
        }
        if bytes.contains(&0) {
            return Err(RelPathError::Nul);
        }
        if bytes[0] == b'/' {
            return Err(RelPathError::Absolute);
        }
        let mut depth = 0;
        let mut longest = 0;
        for component in bytes.split(|&byte| byte == b'/') {
            depth += 1;
            longest = longest.max(component.len());
            match component {
                b"" | b"." => return Err(RelPathError::Noncanonical),
                b".." => return Err(RelPathError::DotDot),
                _ => {}
            }
        }
        if longest > MAX_COMPONENT_BYTES {
            return Err(RelPathError::ComponentTooLong);
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(RelPathError::TooLong);
        }
        if depth > MAX_DEPTH {
            return Err(RelPathError::TooDeep);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| RelPathError::Encoding)?;
        if text.chars().any(char::is_control) {
            return Err(RelPathError::Control);
        }
        Ok(Self::ref_cast(text))
    }

    /// Parses text.
    ///
    /// # Errors
    /// As [`RelPath::from_bytes`].
    pub fn new(text: &str) -> Result<&Self, RelPathError> {
        Self::from_bytes(text.as_bytes())
    }

    // Private: only a checked text may become a path.
    #[ref_cast_custom]
    fn ref_cast(text: &str) -> &Self;

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Iterates over the components, outermost first. There is at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the path without its last component; `None` at the top.
    pub fn parent(&self) -> Option<&Self> {
        let (parent, _) = self.0.rsplit_once('/')?;
        Some(Self::ref_cast(parent))
    }

    /// Iterates over the proper ancestors, nearest first.
    pub fn ancestors(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent(), |path| path.parent())
    }

    /// Whether `self` is `other` or lies below it.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0
            .strip_prefix(&other.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Appends one component or a whole relative path.
    ///
    /// # Errors
    /// When the result breaks a rule of [`RelPath`].
    pub fn join(&self, child: &str) -> Result<RelPathBuf, RelPathError> {
        format!("{}/{child}", &self.0).parse()
    }
}

/// Paths one after the other, in one text.
#[derive(Debug, Default)]
pub struct Paths(String);

/// One of [`Paths`], until they are cleared.
#[derive(Debug, Clone, Copy)]
pub struct PathSpan {
    start: usize,
    end: usize,
}

impl Paths {
    /// Adds a path.
    pub fn push(&mut self, path: &RelPath) -> PathSpan {
        let start = self.0.len();
        self.0.push_str(&path.0);
        let end = self.0.len();
        PathSpan { start, end }
    }

    /// Forgets them, and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Index<PathSpan> for Paths {
    type Output = RelPath;

    fn index(&self, PathSpan { start, end }: PathSpan) -> &RelPath {
        RelPath::ref_cast(&self.0[start..end])
    }
}

impl ToOwned for RelPath {
    type Owned = RelPathBuf;

    fn to_owned(&self) -> RelPathBuf {
        RelPathBuf(Arc::from(&self.0))
    }
}

impl Borrow<RelPath> for RelPathBuf {
    fn borrow(&self) -> &RelPath {
        self
    }
}

impl Deref for RelPathBuf {
    type Target = RelPath;

    fn deref(&self) -> &RelPath {
        RelPath::ref_cast(&self.0)
    }
}

impl FromStr for RelPathBuf {
    type Err = RelPathError;

    fn from_str(text: &str) -> Result<Self, RelPathError> {
        RelPath::new(text).map(ToOwned::to_owned)
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // The same as comparing components one by one, and several times faster: a
        // `/` ends a component, and an end comes before every other byte.
        let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
        let (one, two) = (self.0.as_bytes(), other.0.as_bytes());
        let common = common_prefix(one, two);
        match (one.get(common), two.get(common)) {
            (Some(&one), Some(&two)) => rank(one).cmp(&rank(two)),
            _ => one.len().cmp(&two.len()),
        }
    }
}

/// Counts the bytes that both begin with, eight at a time: neighbours share most of theirs.
pub fn common_prefix(one: &[u8], two: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (twos, _) = two.as_chunks::<8>();
    for (number, (one, two)) in ones.iter().zip(twos).enumerate() {
        let differs = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*two);
        if differs != 0 {
            return number * 8 + differs.trailing_zeros() as usize / 8;
        }
    }
    let whole = ones.len().min(twos.len()) * 8;
    let rest = one.iter().zip(two).skip(whole);
    whole + rest.take_while(|(one, two)| one == two).count()
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RelPathBuf {
    fn cmp(&self, other: &Self) -> Ordering {
        RelPath::cmp(self, other)
    }
}

impl PartialOrd for RelPathBuf {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RelPathBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Whether it is a path at first sight, as nearly all are: ASCII, no control character, no
/// component that begins with a dot or is empty, and too short to break a limit. Without a
/// branch, so that many bytes are looked at at once.
fn is_ordinary(bytes: &[u8]) -> bool {
    let ([first, rest @ ..], [.., last]) = (bytes, bytes) else {
        return false;
    };
    let is_odd = |byte: u8| !(b' '..0x7f).contains(&byte);
    let begins_oddly = |byte: u8| matches!(byte, b'/' | b'.');
    let (mut odd, mut slashes) = (
        is_odd(*first) | begins_oddly(*first) | (*last == b'/'),
        0_u8,
    );
    if bytes.len() > MAX_COMPONENT_BYTES {
        return false;
    }
    for (before, byte) in bytes.iter().zip(rest) {
        let is_slash = *before == b'/';
        odd |= is_odd(*byte) | (is_slash & begins_oddly(*byte));
        slashes += u8::from(is_slash);
    }
    !odd && usize::from(slashes) < MAX_DEPTH
}

impl fmt::Debug for RelPathBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
