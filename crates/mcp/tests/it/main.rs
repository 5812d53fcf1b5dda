//! A client that writes lines, against tools that only say what they were asked.

mod client;
mod limits;
mod protocol;
