//! Where layers come from: Debian packages, a registry, a component's install script, the
//! host's Rust toolchain.

mod apt_sources;
mod build_image;
pub(crate) mod debian;
mod debian_record;
pub(crate) mod host_environment;
mod host_rust;
mod mmdebstrap;
mod reach;
pub(crate) mod registry;
pub(crate) mod script;
mod source_error;
