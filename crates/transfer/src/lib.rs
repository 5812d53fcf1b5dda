//! Files, trees and archives of lazaret: no policy, no engine, no async, no serde.
//!
//! The *baseline* is the [`Tree`] that was sent in, the [`Collection`] the tree that
//! came out. Host paths exist only behind [`WorkspaceDir`]; everything else speaks
//! [`RelPath`].
//!
//! # The way of the data
//!
//! | step | here | on the other side |
//! |---|---|---|
//! | copy in | [`pack`] streams what a [`FileSelector`] takes in | `porter receive` answers with a [`Receipt`] |
//! | look | [`SurveyRequest`] asks what differs from the receipt | `porter export` answers with a [`Survey`] |
//! | collect | [`VolumeState::surveyed`] takes it in; [`write_wanted`] asks for contents | and streams them |
//! | keep | [`record_merge_bases`] keeps small texts of the workspace in [`MergeBases`] | |
//! | keep | [`unpack`] stores them in a [`BlobStore`]; [`verify_received`] compares | |
//! | compare | [`diff`] gives the [`ChangeSet`] that is judged and shown | |
//! | compare | [`new_refs`] lists the commits of the copy's repositories, which are never applied | |
//! | apply | a [`Transaction`] writes what was approved | |
//!
//! The bytes of both directions are those of `lazaret_protocol`: the stream of files and the
//! lists around it.
//!
//! # Trust zones
//!
//! 1. **The workspace** is the user's. Its names and links may be hostile all the same,
//!    and it may change under the walk: opened relative to descriptors, never through
//!    a link, and a file that changes while it is read ends the copy.
//! 2. **The volume** is the agent's. Nothing in it is believed: neither names nor times
//!    nor types; ctime and inode only say what need not be read again.
//! 3. **The porter** is ours, but what it says speaks of names that the agent chose:
//!    its streams and lists are parsed strictly, bounded before they are kept, and
//!    every digest is computed again on this side.
//! 4. **The quarantine** holds bytes under the names of their digests, and nothing else
//!    of what the other side chose.
//!
//! Raw names leave this crate through [`escape`] only.
//!
//! [`ChangeSet`]: lazaret_tree::ChangeSet
//! [`Receipt`]: lazaret_protocol::Receipt
//! [`Survey`]: lazaret_protocol::Survey
//! [`SurveyRequest`]: lazaret_protocol::SurveyRequest
//! [`RelPath`]: lazaret_tree::RelPath
//! [`Tree`]: lazaret_tree::Tree
//! [`diff`]: lazaret_tree::diff()
//! [`escape`]: lazaret_tree::escape()
//! [`write_wanted`]: lazaret_protocol::write_wanted()

mod apply;
mod collection;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod pack;
mod pending_update;
mod reconcile;
mod refs;
mod repository;
mod select;
mod stat_cache;
mod store;
mod unpack;
mod volume_state;
mod walk;
mod workspace_dir;

#[cfg(feature = "crash")]
pub use apply::crash;
pub use apply::{
    ApplyError, ApplyReceipt, Attempt, Conflict, ConflictKind, EntryAt, History, HistoryState,
    HostState, JournalError, NotRestored, Obstacle, ObstacleKind, RecoverError, Recovered,
    Transaction, UndoError, history, history_state, host_states, inspect, merge, recover, redo,
    undo,
};
pub use collection::{Collection, SurveyMismatch, verify_received};
pub use pack::{Overlay, PackError, Packed, Progress, pack, pack_and_record, pack_subset};
pub use pending_update::PendingUpdate;
pub use reconcile::{
    AgentChanges, HostRefs, PlannedRefs, RefsObstacle, RefsSides, RepositoryPlan, SyncConflict,
    SyncConflictKind, SyncPlan, check_copy, follow, has_own_objects, lost_objects, reconcile,
};
pub use refs::{
    Count, IndexEntry, IndexKind, NewRef, NewRefKind, NewRefs, ObjectId, OwnWork, Texts, Tips,
    new_refs, own_work, read_index, ref_kind,
};
pub use repository::{GitProblem, Module, RefStorage, Repository};
pub use select::{FileSelector, GitMode, Scope, SelectError, SelectionSpec, SkipReason, Skipped};
pub use stat_cache::{StatCache, StatCacheOutcome, StatCacheWriter};
pub use store::{Blob, BlobStore, BlobStoreError, InsertError, MergeBases, record_merge_bases};
pub use unpack::{StreamEnd, UnpackError, Unpacked, unpack};
pub use volume_state::{PendingSurvey, VolumeState};
pub use walk::{
    Hashing, SizeEstimate, SizeEstimator, UntrustedTree, WalkError, Walked, larger_than, walk,
    walk_cached, walk_untrusted,
};
pub use workspace_dir::{FileIdentity, WorkspaceDir};
