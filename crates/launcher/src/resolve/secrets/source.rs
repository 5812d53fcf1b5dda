//! What every source of a secret works with.

use std::time::Duration;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use lazaret_session::cancel::Cancel;

/// The most bytes that a source may give. Keys have tens, tokens a few thousand.
pub(super) const LARGEST_SECRET: usize = 64 * 1024;

/// How long a program may take: a password manager may ask its user first.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// What is needed to take a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct SecretContext<'a> {
    /// Variables, the home, the search path.
    pub(super) env: &'a Environment,
    /// Ends a program that is waited for.
    pub(super) cancel: &'a Cancel,
    /// How long a program may take; [`PATIENCE`].
    pub(super) patience: Duration,
}

/// Says that a secret is not there, or is none.
pub(super) fn missing(text: impl Into<String>) -> Failure {
    Failure::message(FailureKind::Secret, text)
}
