//! Rules about what files hold, and how they are read.

pub(crate) mod disguised;
pub(crate) mod file_pair;
pub(crate) mod modes;
pub(crate) mod text;
