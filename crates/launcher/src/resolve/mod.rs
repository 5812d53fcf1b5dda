//! What a run is made of, found out from the command line, the profile, the project and the
//! user's surroundings.

pub mod copy_source;
pub mod credentials;
pub mod extra;
pub mod git;
pub mod home;
pub mod network;
pub mod run_spec;
pub mod scope;
pub mod secrets;
pub mod services;
pub mod user_network;
pub mod volumes;
pub mod workspace;
