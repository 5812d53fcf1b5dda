//! The gate of a session: its case, what becomes of it, and what is written down. What needs
//! no session is the crate `lazaret-gate`.

pub mod apply;
pub mod live;
pub mod open;
pub mod run_report;
pub mod settle;
pub(crate) mod workspace_lock;
