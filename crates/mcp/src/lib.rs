//! The Model Context Protocol (revisions 2025-11-25 and 2026-07-28) on two streams.
//!
//! This crate reads messages, checks what tools are called with, and writes answers. What the tools
//! do is [`Tools`], which a caller implements; nothing here knows engines or sessions.
//!
//! A client is not trusted. A line has at most [`MOST_LINE`] bytes, and a message at most
//! [`MOST_DEPTH`] levels and no repeated key; anything else gets an error, and the next line is
//! read. At most [`MOST_CALLS`] requests are worked on: until one is answered, nothing more is
//! read, so that a client which floods waits, and the memory has a bound.

mod lines;
mod server;
mod stop;
mod tools;

pub use lines::{MOST_CALLS, MOST_DEPTH, MOST_LINE};
pub use server::{MOST_ANSWER, ServeError, serve};
pub use stop::Stop;
pub use tools::{
    Call, Condition, OnePage, OneProject, OneSession, ProjectCreate, SessionAsk, SessionDiff,
    SessionExec, SessionList, SessionLog, SessionStart, SessionStop, SessionWait, ToolError, Tools,
    WorkspaceCreate,
};
