//! The user's allowlist: where it lies, and what is said when it can't be kept.

use lazaret_gate::allowlist::{Allowlist, AllowlistError, Entry};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::ui::Ui;

/// Reads what the user allows for good. A user without a home has said nothing.
///
/// # Errors
/// As [`Allowlist::load`].
pub fn load(env: &Environment) -> Result<Allowlist, AllowlistError> {
    match env.config_dir() {
        Ok(dir) => Allowlist::load(&dir),
        Err(_) => Ok(Allowlist::nothing()),
    }
}

/// Adds what is wanted, and writes the file if any of it is new. That comes after an apply
/// that succeeded, so a failure is said and changes nothing else.
pub fn remember(mut allowlist: Allowlist, wanted: Vec<Entry>, ui: &Ui) {
    let context = "the changes are applied, and what was allowed is not remembered";
    if let Err(error) = allowlist.add(wanted) {
        ui.failure(&Failure::from(error).context(context));
    }
}
