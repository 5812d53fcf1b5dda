//! Records, and the checked frame around a list of them.

mod codec;
mod contents;
mod identity;
mod list;

pub use codec::{FormatTag, RecordError, RecordReader, RecordWriter};
#[cfg(test)]
pub(crate) use contents::PIECE;
pub use identity::VolumeIdentity;
pub use list::{Bare, List, Record, read_list, write_list};
