//! What names are, where addresses lie, and what a policy says of both.

mod addresses;
mod messages;
mod names;
mod policy;
mod rules;
