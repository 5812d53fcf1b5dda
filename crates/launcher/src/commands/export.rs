//! `lazaret export`.

use std::time::SystemTime;

use lazaret_gate::export::document::Document;
use lazaret_gate::export::{self, Form, IfExists, ReportInput, ReportSubject};
use lazaret_runtime::SessionId;
use lazaret_tree::RelPathBuf;

use super::diff;
use crate::app::App;
use crate::commits::session_commits::report_of;
use crate::decide::output_target::{self, OutputTarget};
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::{OneSession, Unnamed};
use crate::session_access::waiting;
use crate::session_access::with_ignored::WithIgnored;
use crate::ui::OutputFormat;
use lazaret_session::store::Store;

/// Write a session's changes as a patch, a JSON report or an HTML page
///
/// Nothing is applied, and the session stays as it is. FILE may be `-` for stdout. Without
/// any of the options, the patch goes to stdout; with --json, the report does. If commits wait in
/// the copy, the report and the page have them with their findings; without an engine, they have
/// the list of `lazaret show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    #[command(flatten)]
    pub ignored: WithIgnored,
    /// Export only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Patch for `git apply`, of what no finding blocks
    #[arg(long, value_name = "FILE")]
    pub patch: Option<OutputTarget>,
    /// Complete report as JSON, as --json prints it
    #[arg(long, value_name = "FILE")]
    pub report: Option<OutputTarget>,
    /// Complete report as one page for a browser, without script
    #[arg(long, value_name = "FILE")]
    pub html: Option<OutputTarget>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Waiting, &store, app)?;
    let paths = diff::parse_paths(&args.paths)?;
    let if_exists = match args.force {
        true => IfExists::Replace,
        false => IfExists::Keep,
    };
    let places = places(&args, &id, app)?;
    for (_, place) in &places {
        place.check(if_exists)?;
    }
    let (session, case) = waiting::open(&store, &id, args.ignored.files(), app)?;
    let proposal = export::propose(&case)?;
    let about = session.record().subject();
    let subject = ReportSubject::Session(&about);
    let mut input = ReportInput::new(subject, &case, &proposal, SystemTime::now(), paths)?;
    let tells_of_commits = app.ui.format() == OutputFormat::Json
        || places.iter().any(|(form, _)| *form != Form::Patch);
    if tells_of_commits && input.paths.is_empty() {
        input.commits = report_of(&store, &session, app);
        app.cancel.check()?;
    }
    if let Some(path) = untouched(&input) {
        let shown = lazaret_tree::escape(path.as_str().as_bytes());
        let text = format!("session {id} changed nothing at {shown}");
        return Err(Failure::message(FailureKind::Refused, text));
    }
    if input.is_empty() {
        let text = format!("session {id} changed nothing");
        return Err(Failure::message(FailureKind::Refused, text));
    }
    if !input.applies() && places.iter().any(|(form, _)| *form == Form::Patch) {
        let text = format!("nothing that session {id} changed may be applied");
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "`lazaret diff {id}` says why; --report holds all of it."
        )));
    }
    for (form, place) in places {
        place.write(if_exists, &app.ui, |out| {
            export::write(form, &input, &case, out)
        })?;
        if place != OutputTarget::Stdout {
            app.ui.status(&format!("wrote {}", place.describe()));
        }
    }
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&Document::new(&input, &case)?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what goes where; nothing asked for is a patch on stdout.
fn places(args: &Args, id: &SessionId, app: &App) -> Result<Vec<(Form, OutputTarget)>, Failure> {
    let asked = [
        (Form::Patch, &args.patch),
        (Form::Json, &args.report),
        (Form::Html, &args.html),
    ];
    let format = app.ui.format();
    let mut places = output_target::choose(asked, &app.env.cwd, format)?;
    if places.is_empty() && format == OutputFormat::Text {
        places.push((Form::Patch, OutputTarget::Stdout));
    }
    // The bytes of a patch are the command's own; a terminal would obey them (UI-01).
    let patch_shown = places.contains(&(Form::Patch, OutputTarget::Stdout));
    if patch_shown && app.env.streams.stdout == StreamKind::Terminal {
        let text = "a patch holds the bytes as they are, which a terminal must not get";
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "Write it to a file with --patch FILE, or look with `lazaret diff {id}`."
        )));
    }
    Ok(places)
}

/// Returns a path that was asked for and at which nothing was changed or found.
fn untouched<'a>(input: &'a ReportInput<'_>) -> Option<&'a RelPathBuf> {
    input.paths.iter().find(|path| {
        let changed = input.items.iter().any(|item| item.path().starts_with(path));
        let found = input.findings.iter().any(|finding| {
            finding
                .subject
                .path()
                .is_some_and(|subject| subject.starts_with(path))
        });
        !changed && !found
    })
}
