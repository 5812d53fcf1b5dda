//! Rules about secrets, and about what the session was handed.

pub(crate) mod handed;
pub(crate) mod scan;
pub(crate) mod table;
