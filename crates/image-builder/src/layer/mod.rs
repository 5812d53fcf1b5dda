//! Layers: writing one, normalizing what an installation left, and the stack of an image.

pub(crate) mod normalize;
pub(crate) mod stack;
pub(crate) mod writer;
