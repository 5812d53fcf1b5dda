//! Files, trees and archives of lazaret: no policy, no engine, no async, no serde.
//!
//! The words are those of the whole product: a [`Tree`] is the manifest of a
//! directory, the *baseline* is the tree that was sent in, the *collection* the
//! tree that came out. Host paths exist only behind [`WorkspaceDir`]; everything
//! else speaks [`RelPath`].

mod digest;
mod path_error;
mod rel_path;
mod tree;

pub use digest::{Digest, DigestParseError};
pub use path_error::{AtPath, PathError};
pub use rel_path::{
    MAX_COMPONENT_BYTES, MAX_DEPTH, MAX_PATH_BYTES, RelPath, RelPathBuf, RelPathError,
};
pub use tree::{Entry, LinkTarget, LinkTargetError, Mode, Tree};
