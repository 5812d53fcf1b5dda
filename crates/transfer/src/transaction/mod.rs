//! Apply: a list of changes goes into a workspace as a whole or not at all.

mod blobs;

pub use blobs::Blobs;
