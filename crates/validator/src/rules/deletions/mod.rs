//! Rules about what is deleted or put back.

pub(crate) mod code;
pub(crate) mod deleted;
pub(crate) mod left_out;
pub(crate) mod losses;
pub(crate) mod moves;
pub(crate) mod replaced;
pub(crate) mod test_files;
