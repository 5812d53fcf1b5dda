//! Provisioning: the three engines that the tests need, on a machine that may have none.
//!
//! [`machine`] looks, [`plan`] says what would have to be done, [`provision`] does it.
//! [`service`] starts a process that outlives the command and can be ended later,
//! [`ping`] asks an engine whether it is there.

pub mod machine;
pub mod ping;
pub(crate) mod plan;
mod provision;
pub(crate) mod service;
