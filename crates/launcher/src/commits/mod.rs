//! Commits that wait in a session's copy: fetched, examined, shown.

pub(crate) mod land_report;
pub(crate) mod open;
pub(crate) mod report;
pub(crate) mod text;
pub(crate) mod tips;
