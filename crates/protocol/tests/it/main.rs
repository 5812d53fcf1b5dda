//! The protocol by its public interface.

mod messages;
