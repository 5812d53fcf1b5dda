//! `lazaret completions`.

use crate::app::App;
use crate::completion;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Print the completion script of a shell
///
/// It completes names of sessions, profiles, groups, images and rules too, by asking lazaret: both
/// must be of the same version.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    app.ui.result(completion::script(args.shell)?.trim_end());
    Ok(ExitCode::SUCCESS)
}
