//! The cache of layers, which all engines share, and the records in it.

pub(crate) mod entry;
pub(crate) mod layer_cache;
pub(crate) mod lock;
