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
//! | copy in | [`pack`] streams what a [`Selector`] takes in | `porter receive` answers with a [`Receipt`] |
//! | look | [`SurveyRequest`] asks what differs from the receipt | `porter export` answers with a [`Survey`] |
//! | collect | [`VolumeState::surveyed`] takes it in; [`write_wanted`] asks for contents | and streams them |
//! | keep | [`keep_texts`] keeps small texts of the workspace in a [`BaseStore`], for merges | |
//! | keep | [`unpack`] stores them in a [`Quarantine`]; [`check_arrived`] compares | |
//! | compare | [`diff`] gives the [`ChangeSet`] that is judged and shown | |
//! | compare | [`new_refs`] lists the commits of the copy's repositories, which are never applied | |
//! | apply | a [`Transaction`] writes what was approved | |
//!
//! # Streams
//!
//! Contents travel as tar, in both directions in the same form. [`StreamWriter`] is
//! its only writer, [`Members`] its only reader, and the reader takes far less than
//! tar: the exact grammar stands in `grammar/mod.rs`. What our writer sends is less
//! again:
//!
//! ```text
//! stream  = member* zero zero trailer        no byte before, no byte behind
//! member  = [pax] header body?               in path order, parents first, each once
//! header  = ustar: type 0, 2 or 5; uid and gid 1000, no names; 0644, 0755, links 0777;
//!           whole seconds, not before 1980-01-01
//! pax     = type x with path, linkpath or size, where ustar has no room for it
//! trailer = one block: entries, bytes, checksum of everything before it
//! ```
//!
//! So a tree becomes the same bytes each time, and a stream that was cut anywhere is
//! known to be cut: tar itself cannot tell (TAR-35). Reader and writer know the end
//! by themselves; nobody waits for an end of file.
//!
//! What is no file content travels as checked lists: [`wire`].
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
//! [`RelPath`]: lazaret_tree::RelPath
//! [`Tree`]: lazaret_tree::Tree
//! [`diff`]: lazaret_tree::diff()
//! [`escape`]: lazaret_tree::escape()

mod base_store;
mod checksum;
mod collection;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod grammar;
mod intent;
mod journal;
mod manifest;
pub mod merge;
mod pack;
mod quarantine;
mod reconcile;
mod refs;
mod repository;
mod select;
mod stat_cache;
mod stream_error;
mod stream_limits;
mod trailer;
mod transaction;
mod unpack;
mod volume_state;
mod walk;
pub mod wire;
mod workspace;

pub use base_store::{BaseStore, BaseStoreError, BaseWriter, keep_texts};
pub use checksum::{Checksum, ChecksumParseError};
pub use collection::{Collection, NotAsSurveyed, check_arrived};
pub use grammar::{Body, Member, MemberKind, MemberPath, Members};
pub use intent::Intent;
pub use journal::JournalError;
pub use manifest::{Manifest, read_tree, write_tree};
pub use pack::{
    PackError, Packed, Progress, SendFileError, StreamWriter, pack, pack_and_record, pack_order,
};
pub use quarantine::{Blob, InsertError, Quarantine, QuarantineError};
pub use reconcile::{Clash, ClashKind, Plan, Stance, reconcile};
pub use refs::{Count, NewRef, NewRefKind, NewRefs, ObjectId, Texts, Tips, new_refs};
pub use repository::{GitProblem, Module, RefStorage, Repository};
pub use select::{GitMode, Only, SelectError, Selection, Selector, SkipReason, Skipped};
pub use stat_cache::{Recorded, StatCache, StatRecorder};
pub use stream_error::StreamError;
pub use stream_limits::StreamLimits;
pub use trailer::{TRAILER_BYTES, Trailer, TrailerError};
#[cfg(feature = "crash")]
pub use transaction::crash;
pub use transaction::{
    ApplyError, ApplyReceipt, Attempt, Conflict, ConflictKind, Found, History, HistoryState,
    LeftAlone, Obstacle, ObstacleKind, RecoverError, Recovered, Standing, Transaction, UndoError,
    history, history_state, look, recover, redo, standings, undo,
};
pub use unpack::{Ending, Unpacked, unpack};
pub use volume_state::{Surveyed, VolumeState};
pub use walk::{
    Hashing, Scale, ScanError, Scanned, WalkError, Walked, Weight, larger_than, scan, walk,
    walk_cached,
};
pub use wire::{
    Digests, FileTime, Ground, GroundAnswer, Guarded, Lies, Protection, Receipt, Survey,
    SurveyError, SurveyRequest, UpdateOrder, UpdateReceipt, VolumeIdentity, Wanted, WireError,
    Writers, read_wanted, write_wanted,
};
pub use workspace::{FileIdentity, WorkspaceDir};
