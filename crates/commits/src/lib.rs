//! Commits that a command made in its copy: taken in under limits, examined, judged, landed.
//!
//! | step | file | what it makes |
//! | --- | --- | --- |
//! | take in | [`quarantine`] | a bare repository of ours, which borrows the user's objects |
//! | read | [`objects`], [`commit`], [`tree_object`] | objects, parsed strictly |
//! | follow | [`history`] | which commits of a tip are new, oldest first |
//! | compare | [`snapshot`] | the change set between two commits |
//! | judge | [`examine`] | each commit against its first parent, each tip against its base |
//! | sign | [`sign`] | the new commits again, with the user's signature |
//! | show | [`contents`] | what one commit changes, with the contents of its files |
//! | share | [`linked`] | a repository of ours with the user's objects and refs |
//! | send | [`outgoing`] | a pack of the user's new commits, for a copy |
//! | land | [`land`] | refs below `lazaret/<session>/` in the user's repository |
//!
//! A pack comes from a container and is hostile. It is indexed by the user's [`git`] under
//! limits, in a repository that has no configuration but ours. Names, modes and headers are then
//! read by our own strict parsers, never by a checkout. What is landed are exactly the objects
//! that were examined, by their ids.
//!
//! No engine, no session, no terminal.

mod adopt;
pub mod commit;
pub mod contents;
pub mod examine;
pub mod git;
pub mod history;
mod judges;
pub mod land;
pub mod land_name;
pub mod limits;
pub mod linked;
mod object_header;
pub mod objects;
pub mod outgoing;
mod preloaded;
pub mod programs;
pub mod quarantine;
pub mod refusal;
mod rules;
pub mod sign;
pub mod snapshot;
pub mod tree_object;
mod user_objects;

pub use lazaret_transfer::ObjectId;
