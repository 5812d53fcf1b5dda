//! What looks at the bytes of a tunnel while they pass.

mod answer;
mod body;
mod same_name;

pub(crate) use answer::Answer;
pub use body::Body;
pub(crate) use same_name::SameName;
