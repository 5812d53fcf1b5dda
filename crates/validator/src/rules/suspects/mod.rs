//! Files that tools read or run by themselves: the tables, and the rules that go by them.

pub(crate) mod check;
pub(crate) mod commands;
pub(crate) mod families;
pub(crate) mod patterns;
pub(crate) mod table;
