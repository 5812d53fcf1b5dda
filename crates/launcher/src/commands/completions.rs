//! `lazaret completions`.

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args, mut cli: clap::Command, app: &App) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "lazaret", &mut script);
    app.ui.result(String::from_utf8_lossy(&script).trim_end());
    Ok(ExitCode::SUCCESS)
}
