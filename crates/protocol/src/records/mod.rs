//! Records, and the checked frame around a list of them.

mod codec;
mod contents;
mod identity;
mod list;
mod reader;
mod record_error;
mod writer;

pub use codec::FormatTag;
#[cfg(test)]
pub(crate) use contents::PIECE;
pub use identity::VolumeIdentity;
pub use list::{Bare, List, Record, read_list, write_list};
pub use reader::RecordReader;
pub use record_error::RecordError;
pub use writer::RecordWriter;
