//! A landed branch that becomes a pull request: its text, its remote, and the user's own tools.

pub(crate) mod branch_name;
pub(crate) mod edit;
pub(crate) mod forge;
pub(crate) mod landed;
pub(crate) mod remote;
pub(crate) mod remote_url;
pub(crate) mod request;
pub(crate) mod text;
