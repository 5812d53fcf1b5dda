//! What porter and host say to each other, beside the stream of files itself.
//!
//! | list | from → to | when |
//! |---|---|---|
//! | [`Receipt`] | porter → host | `porter receive` has the whole stream |
//! | [`SurveyRequest`] | host → porter | starts `porter export` and `update`: limits and what is known |
//! | [`Survey`] | porter → host | what differs from that |
//! | [`write_wanted`] | host → porter | goes on with `porter export`: which files, by digest |
//! | [`Ground`] | host → porter | starts `porter update --ground`: what is believed to lie there |
//! | [`UpdateOrder`] | host → porter | `porter update` has told its survey, or that the ground holds; a stream follows |
//! | [`Protection`] | host → porter | starts `porter protect` and `porter sealed` |
//! | [`UpdateReceipt`] | porter → host | `porter update` has carried it out |
//!
//! All are lists of records: [`records`](crate::records) has the bytes. The stream of files,
//! in both directions, is the tar of [`stream`](crate::stream), ended by a
//! [`Trailer`](crate::Trailer). Every list and every stream marks its own end: no reader
//! waits for an end of file, which an engine's exec may never deliver.
//!
//! The porter runs alone when it surveys and sends, yet its lists are read as
//! hostile: they speak of names that an agent chose.

mod credentials;
mod manifest;
mod preconditions;
mod protection;
mod receipt;
mod survey;
mod survey_request;
mod update;
mod wanted;

pub use credentials::{
    ArrivedFile, LARGEST_LENT, LentEvent, LentFile, LentMode, MOST_LENT, read_lent,
};
pub use manifest::{Manifest, ManifestWriter, read_tree, write_tree};
pub use preconditions::{Ground, GroundAnswer, Lies};
pub use protection::{Guarded, Protection};
pub use receipt::Receipt;
pub use survey::{FoundEntry, FoundKind, OddType, Survey, SurveyError};
pub use survey_request::{Asking, Digests, SurveyRequest, Writers};
pub use update::{UpdateOrder, UpdateReceipt};
pub use wanted::{Wanted, read_wanted, write_wanted};

use std::io::{self, Read};

use crate::RecordError;

/// Reads exactly `N` bytes.
fn read_array<const N: usize>(input: &mut dyn Read) -> Result<[u8; N], RecordError> {
    let mut bytes = [0; N];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(RecordError::Truncated),
        Err(error) => Err(RecordError::Read(error)),
    }
}
