//! `lazaret profile`.

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Show and check profiles
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the built-in profiles and your own
    Ls,
    /// Show a profile with every default filled in
    Show {
        /// Profile: a name, or a path to a TOML file
        #[arg(value_name = "PROFILE")]
        profile: String,
    },
    /// Check profiles; says file, line, and what is expected
    Check {
        /// Profiles: names, or paths to TOML files
        #[arg(value_name = "PROFILE", required = true)]
        profiles: Vec<String>,
    },
    /// Print the JSON schema of profiles, for editors
    Schema,
}

pub(crate) fn run(command: Command, _context: &Context) -> Result<ExitCode, Failure> {
    drop(command);
    super::not_yet("profile")
}
