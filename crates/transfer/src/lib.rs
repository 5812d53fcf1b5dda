//! Files, trees and archives of lazaret: no policy, no engine, no async, no serde.
//!
//! The words are those of the whole product: a [`Tree`] is the manifest of a
//! directory, the *baseline* is the tree that was sent in, the *collection* the
//! tree that came out. Host paths exist only behind [`WorkspaceDir`]; everything
//! else speaks [`RelPath`].

mod collection;
mod diff;
mod digest;
mod escape;
mod git_name;
mod grammar;
mod journal;
mod manifest;
mod pack;
mod path_error;
mod quarantine;
mod refusal;
mod rel_path;
mod select;
mod stream_error;
mod stream_limits;
mod trailer;
mod transaction;
mod tree;
mod unpack;
mod walk;
pub mod wire;
mod workspace;

pub use collection::{Collection, NotAsSurveyed, check_arrived};
pub use diff::{Change, ChangeKind, ChangeSet, diff};
pub use digest::{Digest, DigestParseError};
pub use escape::{escape, is_invisible, unescape};
pub use git_name::{is_git_name, is_hfs_ignored};
pub use grammar::{Body, Member, MemberKind, MemberPath, Members, Note};
pub use journal::JournalError;
pub use pack::{PackError, Packed, Progress, SendFileError, StreamWriter, pack};
pub use path_error::{AtPath, PathError};
pub use quarantine::{InsertError, Quarantine, QuarantineError};
pub use refusal::Refusal;
pub use rel_path::{
    MAX_COMPONENT_BYTES, MAX_DEPTH, MAX_PATH_BYTES, RelPath, RelPathBuf, RelPathError,
};
pub use select::{GitMode, SelectError, Selection, Selector, SkipReason, Skipped};
pub use stream_error::StreamError;
pub use stream_limits::StreamLimits;
pub use trailer::{TRAILER_BYTES, Trailer, TrailerError};
pub use transaction::{
    ApplyError, ApplyReceipt, Blobs, Conflict, ConflictKind, LeftAlone, Obstacle, ObstacleKind,
    RecoverError, Recovered, Transaction, UndoError, conflicts, recover, redo, undo,
};
pub use tree::{Entry, LinkTarget, LinkTargetError, Mode, Tree};
pub use unpack::{Ending, Unpacked, unpack};
pub use walk::{Hashing, WalkError, Walked, walk};
pub use wire::{
    FileTime, Receipt, Survey, SurveyError, SurveyRequest, VolumeIdentity, Wanted, WireError,
    read_wanted, write_wanted,
};
pub use workspace::{FileIdentity, WorkspaceDir};
