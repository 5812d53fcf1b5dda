//! `lazaret diff`.

use lazaret_transfer::{Change, RelPathBuf};

use super::resumed;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::gate::choices::Choices;
use crate::gate::report::Report;
use crate::gate::{patch, summary};
use crate::session::store::Store;
use crate::ui::OutputFormat;

/// Show what a session changed, judged
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
    /// Show only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Show names and how many lines changed, not the lines
    #[arg(long)]
    pub stat: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open(&context.env.state_dir()?)?;
    let paths = parse_paths(&args.paths)?;
    let (session, case) = resumed::open(&store, &args.session, context)?;
    let ui = &context.ui;
    let proposal = case.propose(&Choices::all())?;
    if ui.format() == OutputFormat::Json {
        ui.json(&Report::of_case(session.record(), &case, &proposal));
        return Ok(ExitCode::SUCCESS);
    }
    for change in case.changes.iter().filter(|change| covers(&paths, change)) {
        ui.result(&match args.stat {
            true => patch::stat(&case, change, ui)?,
            false => patch::painted(&case, change, ui)?,
        });
    }
    let summary = match args.stat {
        true => summary::without_paths(&case, &proposal, ui),
        false => summary::render(&case, &proposal, ui),
    };
    ui.result(summary.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Parses paths as a person types them: a trailing slash is fine.
pub(crate) fn parse_paths(paths: &[String]) -> Result<Vec<RelPathBuf>, Failure> {
    let parse = |path: &String| {
        let trimmed = path.strip_prefix("./").unwrap_or(path);
        trimmed.trim_end_matches('/').parse().map_err(|error| {
            let shown = lazaret_transfer::escape(path.as_bytes());
            Failure::new(crate::failure::FailureKind::Usage, error)
                .context(format!("{shown} is no path below the workspace"))
        })
    };
    paths.iter().map(parse).collect()
}

/// Whether a change is at or below one of the paths; no path means all.
pub(crate) fn covers(paths: &[RelPathBuf], change: &Change) -> bool {
    paths.is_empty() || paths.iter().any(|path| change.path.starts_with(path))
}
