//! Sessions: one copy of a workspace in a volume, from its first byte in to the last one out.
//!
//! This crate knows no terminal, no command line and no profile: what it tells is an
//! [`event::Event`], what goes wrong is an error of the step, and the caller words both.
//!
//! | folder | what is in it |
//! |---|---|
//! | [`spec`] | what a caller asks of a run |
//! | [`lifecycle`] | the steps in order; each state is a type, and a step consumes the one before |
//! | [`settle`] | what a decision does to workspace, record and volume |
//! | [`store`] | what must outlive a launcher: records, locks, what is known of a volume |
//! | [`engine`] | names, containers and volumes in an engine, and how they go again |
//! | [`porter`] | exchanges with `porter VERB` inside |
//! | [`commits`] | commits that were made inside, on their way out |
//! | [`home`] | a home that is kept: its volume, and what of it is put back |
//! | [`captures`] | what waited in a session that was discarded or removed |
//! | [`ask`] | asking a session: requests, answers, turns |
//! | [`mail`] | what the commands of groups leave for the host's program |
//! | [`keeper`] | a live session as a process of its own, and its clients |
//! | [`network`] | the gateway beside the command, and the ports that lead inside |
//! | [`services`], [`volumes`] | servers beside the command, and directories that outlive it |
//! | [`setup_steps`] | what runs once before the command, such as migrations |
//! | [`output`], [`live`], [`pool`], [`credentials`] | beside the steps |

pub mod ask;
pub mod audit;
pub mod cancel;
pub mod captures;
pub mod commits;
pub mod context;
pub mod credentials;
pub mod engine;
pub mod event;
pub mod home;
pub mod keeper;
pub mod lifecycle;
pub mod live;
pub mod mail;
pub mod network;
pub mod output;
pub mod pool;
pub mod porter;
pub mod services;
pub mod settle;
pub mod setup_steps;
pub mod spec;
pub mod store;
pub mod volumes;
