//! `porter run`: becomes a command, within its limits, once its controls are checked.

mod bootstrap;
pub(crate) mod deadline;
pub(crate) mod exec;
pub(crate) mod limits;
pub(crate) mod oom;
pub(crate) mod status;
pub(crate) mod stop;
