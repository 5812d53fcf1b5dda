//! Records, and the checked frame around a list of them.

mod codec;
mod identity;

pub use codec::{FrameReader, FrameWriter, Magic, WireError};
pub use identity::VolumeIdentity;
