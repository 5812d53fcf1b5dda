//! The user's allowlist: where it lies, and what is said when it can't be kept.

use lazaret_gate::allowlist::{AllowlistError, Entry, Remembered};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::ui::Ui;

/// Reads what the user allows for good. A user without a home has said nothing.
///
/// # Errors
/// As [`Remembered::load`].
pub fn load(env: &Environment) -> Result<Remembered, AllowlistError> {
    match env.config_dir() {
        Ok(dir) => Remembered::load(&dir),
        Err(_) => Ok(Remembered::nothing()),
    }
}

/// Adds what is wanted, and writes the file if any of it is new. That comes after an apply
/// that succeeded, so a failure is said and changes nothing else.
pub fn remember(mut remembered: Remembered, wanted: Vec<Entry>, ui: &Ui) {
    let context = "the changes are applied, and what was allowed is not remembered";
    if let Err(error) = remembered.add(wanted) {
        ui.failure(&Failure::from(error).context(context));
    }
}
