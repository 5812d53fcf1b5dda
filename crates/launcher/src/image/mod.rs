//! Images: made sure of before a container is made from one.

mod build_context;
mod ensure;

pub(crate) use build_context::ImageBuildContext;
pub(crate) use ensure::{ensure, with_builder};
