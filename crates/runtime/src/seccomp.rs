//! The system call filter: an allowlist of our own (CON-04, CON-05, CON-24).

/// The profile, JSON in the format of Docker and Podman.
pub const PROFILE: &str = include_str!("../seccomp/profile.json");
