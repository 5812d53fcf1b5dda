//! `lazaret diff`.

use lazaret_gate::case::Case;
use lazaret_gate::choices::Choices;
use lazaret_tree::{Change, RelPathBuf};

use crate::app::App;
use crate::decide::case::preview;
use crate::decide::{allowlist, patch, summary};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::report::{Live, Report};
use crate::session_access::named::{OneSession, Unnamed};
use crate::session_access::running::{Running, live};
use crate::session_access::waiting;
use crate::session_access::with_ignored::WithIgnored;
use crate::ui::{OutputFormat, Ui, written};
use lazaret_session::live::view::LiveSnapshot;
use lazaret_session::porter::export::BatchRejection;
use lazaret_session::store::Store;
use lazaret_session::store::record::Record;

/// Show what a session changed, with the findings
///
/// If the command still runs, it is paused while its files are read, and the findings are a
/// preview.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    #[command(flatten)]
    pub ignored: WithIgnored,
    /// Show only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Show names and how many lines changed, not the lines
    #[arg(long)]
    pub stat: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::WaitingOrRunning, &store, app)?;
    let paths = parse_paths(&args.paths)?;
    match Running::find(&store, &id)? {
        Some(running) => look(running, &store, &args, &paths, app),
        None => {
            let (session, case) = waiting::open(&store, &id, args.ignored.files(), app)?;
            show(session.record(), &case, None, &args, &paths, &app.ui)
        }
    }
}

/// Shows what a command that runs has changed up to now.
fn look(
    running: Running,
    store: &Store,
    args: &Args,
    paths: &[RelPathBuf],
    app: &App,
) -> Result<ExitCode, Failure> {
    let id = running.record.id.clone();
    let allowlist = allowlist::load(&app.env)?;
    let cx = running.cx(store, app)?;
    let mut live_view = running.view(&cx)?;
    let seen = match live_view.snapshot()? {
        LiveSnapshot::Taken(seen) => seen,
        LiveSnapshot::Same | LiveSnapshot::Ended => {
            let text = format!("the command of session {id} has just ended");
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted("Look again when its changes are collected."));
        }
    };
    let collection = seen.found.map_err(|BatchRejection { code, reason }| {
        let text = format!("as it is, the batch would be rejected: {code}: {reason}");
        Failure::message(FailureKind::Refused, text)
            .hinted("The command still runs; it may yet clean up.")
    })?;
    let case = preview(
        &live_view,
        collection,
        args.ignored.files(),
        &allowlist,
        &app.env,
    )?;
    let paused = live(seen.paused);
    app.ui.status(&format!(
        "live view, paused {} ms: the command runs, and nothing is judged for good yet",
        paused.paused_ms
    ));
    show(
        live_view.record(),
        &case,
        Some(paused),
        args,
        paths,
        &app.ui,
    )
}

fn show(
    record: &Record,
    case: &Case,
    live: Option<Live>,
    args: &Args,
    paths: &[RelPathBuf],
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let proposal = case.propose(&Choices::all())?;
    if ui.format() == OutputFormat::Json {
        ui.json(&Report {
            live,
            ..Report::of_case(record, case, &proposal)
        });
        return Ok(ExitCode::SUCCESS);
    }
    ui.page(case.contents.workspace().path(), |out| {
        for change in case.changes().filter(|change| covers(paths, change)) {
            let shown = match args.stat {
                true => patch::stat(case, change, ui)?,
                false => patch::painted(case, change, ui)?,
            };
            written(writeln!(out, "{shown}"))?;
        }
        if !paths.is_empty() {
            return written(summary::write_part(out, &proposal, paths, ui));
        }
        written(match args.stat {
            true => summary::write_without_paths(out, case, &proposal, ui),
            false => summary::write(out, case, &proposal, ui),
        })
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Parses paths as a person types them: a trailing slash is fine.
pub(crate) fn parse_paths(paths: &[String]) -> Result<Vec<RelPathBuf>, Failure> {
    let parse = |path: &String| {
        let trimmed = path.strip_prefix("./").unwrap_or(path);
        trimmed.trim_end_matches('/').parse().map_err(|error| {
            let shown = lazaret_tree::escape(path.as_bytes());
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
