//! Rules about links, and the other names that links give to files.

pub(crate) mod left_out;
pub(crate) mod names;
pub(crate) mod targets;
