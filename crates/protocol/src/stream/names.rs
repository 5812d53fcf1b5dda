//! The rules for names: what is a lie, what is odd, what is good.

use lazaret_tree::{LinkTarget, LinkTargetError, RejectedEntry, RelPath, RelPathError};

use super::member::MemberPath;
use crate::StreamError;

/// What a name names: only a directory's may end in `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameOf {
    /// A directory.
    Dir,
    /// Anything else.
    Other,
}

/// Reads a member's name; `None` is the root itself, `./`.
///
/// One leading `./` is stripped, because Docker's archives have it everywhere;
/// nothing else is ever made canonical here (TAR-46).
pub(super) fn member(raw: &[u8], of: NameOf) -> Result<Option<MemberPath>, StreamError> {
    let mut name = raw.strip_prefix(b"./").unwrap_or(raw);
    if of == NameOf::Dir {
        if raw == b"./" {
            return Ok(None);
        }
        name = name.strip_suffix(b"/").unwrap_or(name);
    }
    let lie = |lie: fn(Vec<u8>) -> StreamError| Err(lie(raw.to_vec()));
    match RelPath::from_bytes(name) {
        Ok(path) => Ok(Some(MemberPath::Good(path.to_owned()))),
        Err(error) => match error {
            RelPathError::Absolute => lie(|name| StreamError::PathAbsolute { name }),
            RelPathError::DotDot => lie(|name| StreamError::PathDotDot { name }),
            RelPathError::Nul => lie(|name| StreamError::NameNul { name }),
            RelPathError::Empty | RelPathError::Noncanonical => {
                lie(|name| StreamError::PathNoncanonical { name })
            }
            RelPathError::Control
            | RelPathError::Encoding
            | RelPathError::ComponentTooLong
            | RelPathError::TooLong
            | RelPathError::TooDeep => {
                let odd = RejectedEntry::new(name, error.code(), error.to_string());
                Ok(Some(MemberPath::Odd(odd)))
            }
        },
    }
}

/// Reads the target of the hard link `name`.
pub(super) fn hard_target(raw: &[u8], name: &[u8]) -> Result<MemberPath, StreamError> {
    let name = || name.to_vec();
    match member(raw, NameOf::Other) {
        Ok(Some(path)) => Ok(path),
        Ok(None) => Err(StreamError::HardNonfile { name: name() }),
        Err(StreamError::PathAbsolute { .. } | StreamError::PathDotDot { .. }) => {
            Err(StreamError::HardOutside { name: name() })
        }
        Err(error) => Err(error),
    }
}

/// Reads the target of the symbolic link `name`, without resolving it.
pub(super) fn link_target(
    raw: &[u8],
    name: &[u8],
) -> Result<Result<LinkTarget, RejectedEntry>, StreamError> {
    let error = match LinkTarget::from_bytes(raw) {
        Ok(target) => return Ok(Ok(target)),
        Err(error) => error,
    };
    match error {
        LinkTargetError::Empty => Err(StreamError::LinkEmpty {
            name: name.to_vec(),
        }),
        LinkTargetError::Nul => Err(StreamError::NameNul { name: raw.to_vec() }),
        LinkTargetError::Encoding | LinkTargetError::Control | LinkTargetError::TooLong => Ok(Err(
            RejectedEntry::new(name, error.code(), error.to_string()),
        )),
    }
}
