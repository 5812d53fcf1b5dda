//! Asks before anything on the machine changes.

use std::fmt::Display;
use std::io::IsTerminal as _;

use anyhow::{Result, bail};

/// Whether the caller agreed beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// `--yes`.
    Given,
    /// Ask on the terminal; without one the answer is no.
    Ask,
}

impl Consent {
    /// Returns once the caller agreed to what [`show`] printed.
    pub(super) fn obtain(self) -> Result<()> {
        if self == Self::Given {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() {
            bail!("not done: this needs consent. Run it on a terminal, or with --yes");
        }
        eprint!("Proceed? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => bail!("not done: no consent"),
        }
    }
}

/// Lists what `command` will do.
pub(super) fn show(command: &str, steps: &[impl Display]) {
    eprintln!("`{command}` will:");
    for step in steps {
        eprintln!("  - {step}");
    }
}
