//! Logins of the user's that a session is lent.

pub mod cache;
pub mod file;
pub mod tokens;
