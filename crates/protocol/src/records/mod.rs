//! Records, and the checked frame around a list of them.

mod codec;
mod identity;
mod list;

pub use codec::{FrameReader, FrameWriter, Magic, RecordError};
pub use identity::VolumeIdentity;
pub use list::{Bare, List, Record, read_list, write_list};
