//! What is declared: images, components, and the names in them.

pub(crate) mod catalog;
pub(crate) mod combine_error;
pub(crate) mod combined;
pub(crate) mod component;
mod devcontainer;
pub(crate) mod diagnostics;
pub(crate) mod embedded;
pub(crate) mod image;
pub(crate) mod names;
pub(crate) mod service;
