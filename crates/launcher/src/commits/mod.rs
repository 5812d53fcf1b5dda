//! Commits that wait in a session's copy: fetched, examined, shown, landed.

pub(crate) mod land_report;
pub(crate) mod landing;
pub(crate) mod open;
pub(crate) mod pick;
pub(crate) mod report;
pub(crate) mod repository;
pub(crate) mod review;
pub(crate) mod session_commits;
pub(crate) mod settle;
pub(crate) mod signing;
pub(crate) mod text;
pub(crate) mod tips;
