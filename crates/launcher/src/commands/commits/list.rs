//! `lazaret commits [NAME]`.

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::commits::open::{OpenRequest, TipState, open};
use crate::commits::report::CommitsReport;
use crate::commits::text::listing;
use crate::commits::tips::Lost;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::resolve::workspace;
use crate::ui::OutputFormat;
use lazaret_session::store::Store;

/// The arguments of `commits` without a verb.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Session [default: the newest one of this directory that holds commits]
    #[arg(value_name = "NAME")]
    session: Option<SessionId>,
    /// Also commits that only a reflog holds, as after a reset, an amend or a rebase
    #[arg(long)]
    lost: bool,
}

pub(super) fn run(args: ListArgs, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let session = match args.session {
        Some(session) => session,
        None => newest(&store, app)?,
    };
    let request = OpenRequest {
        lost: match args.lost {
            true => Lost::Take,
            false => Lost::Leave,
        },
        allow: Vec::new(),
    };
    let locked = store.lock(&session)?;
    let opened = open(&store, &locked, request, app)?;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&CommitsReport::of(&session, &opened)),
        OutputFormat::Text => match listing(&opened).as_str() {
            "" => app.ui.status("no commits wait"),
            text => app.ui.result(text),
        },
    }
    let mut states = opened.examined().map(|(_, state)| state);
    if states.any(|state| !matches!(state, TipState::Refused(_))) {
        app.ui.hint(&format!(
            "`lazaret commits land {session}` puts them into your repository."
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the newest session of the current directory that holds commits.
fn newest(store: &Store, app: &App) -> Result<SessionId, Failure> {
    let here = workspace::open(".".as_ref(), &app.env)?;
    let records = store
        .list()?
        .into_iter()
        .filter_map(|dir| dir.record().ok());
    let with_commits = records
        .filter(|record| record.workspace == here.path())
        .filter(|record| !record.commits.is_empty());
    let newest = with_commits.max_by_key(|record| record.created);
    newest.map(|record| record.id).ok_or_else(|| {
        let text = "no session of this directory holds commits";
        Failure::message(FailureKind::Refused, text).hinted("`lazaret ls` lists the sessions.")
    })
}
