//! Values that every crate names: paths, digests, trees, and what lies between two trees.
//!
//! Nothing here reads or writes a file, and nothing depends on an engine, a policy or a
//! stream. A value that exists has passed its rules: a [`RelPath`] can't leave the
//! workspace, a [`LinkTarget`] is text, and a [`ChangeSet`] is sorted.
//!
//! | value | what it is |
//! |---|---|
//! | [`RelPath`], [`RelPathBuf`] | a path below a workspace |
//! | [`PathPattern`] | which paths a row of a table is about |
//! | [`Digest`] | BLAKE3 of contents |
//! | [`Tree`], [`Entry`] | the manifest of a directory |
//! | [`ChangeSet`], [`Renames`] | the difference of two trees |
//! | [`RejectedEntry`], [`Adjustment`] | an entry that stays behind, or was made safe |
//! | [`FindingCode`], [`Severity`] | what a finding can be about, and how grave it is |
//! | [`Blobs`] | where contents come from |
//!
//! Raw names reach people through [`escape`] only.

mod blobs;
mod cache_rules;
mod diff;
mod digest;
mod dot_git;
mod escape;
pub mod finding_code;
mod hex;
mod path_error;
mod path_pattern;
mod rejected;
mod rel_path;
mod renames;
mod tree;

pub use blobs::Blobs;
pub use cache_rules::{
    CACHEDIR_SIGNATURE, CacheInside, EXTRA_DIR, INCOMING_DIR, STAGING_PREFIX, is_cache_beside,
    is_reserved,
};
pub use diff::{Change, ChangeKind, ChangeSet, Changed, Changes, diff};
pub use digest::{Digest, DigestParseError, FieldHasher};
pub use dot_git::{
    MAX_REF_TEXT, is_git, is_git_index, is_git_name, is_git_state, is_git_state_path,
    is_hfs_ignored, is_ref_text,
};
pub use escape::{escape, is_invisible, unescape};
pub use finding_code::{FindingCode, Severity};
pub use hex::{from_hex, to_hex};
pub use path_error::{AtPath, PathError};
pub use path_pattern::{PathPattern, Reach, is_like};
pub use rejected::{Adjustment, RejectedEntry};
pub use rel_path::{
    MAX_COMPONENT_BYTES, MAX_DEPTH, MAX_PATH_BYTES, PathSpan, Paths, RelPath, RelPathBuf,
    RelPathError, common_prefix,
};
pub use renames::{Fate, Pair, Renames};
pub use tree::{Ascending, Entry, LinkTarget, LinkTargetError, Mode, SizedFile, Tree};
