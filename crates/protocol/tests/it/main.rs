//! The protocol by its public interface.

mod messages;
mod probe;
mod verb;
