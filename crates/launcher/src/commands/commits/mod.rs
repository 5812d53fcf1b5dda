//! `lazaret commits`.

mod land;
mod list;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// Show and land commits made inside
///
/// Without a verb, fetches the commits that wait in a session's copy, judges each of them, and
/// lists them. Nothing is written to your repository.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::ListArgs,
}

/// The verbs of `commits`.
#[derive(Debug, clap::Subcommand)]
// A doc comment on a variant would hide that of its `Args`, which is the help.
enum Verb {
    Land(land::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    match args.verb {
        Some(Verb::Land(args)) => land::run(args, app),
        None => list::run(args.list, app),
    }
}
