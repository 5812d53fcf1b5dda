//! Rules about what entries are called.

pub(crate) mod confusables;
pub(crate) mod fold;
pub(crate) mod invisible;
pub(crate) mod paths;
