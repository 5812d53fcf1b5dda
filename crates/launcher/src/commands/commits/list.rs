//! `lazaret commits [NAME]`.

use crate::app::App;
use crate::commits::open::{OpenRequest, TipState, open};
use crate::commits::report::CommitsReport;
use crate::commits::text::listing;
use crate::commits::tips::Lost;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::OutputFormat;
use lazaret_session::store::Store;

/// The arguments of `commits` without a verb.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    session: OneSession,
    /// Also commits that only a reflog holds, as after a reset, an amend or a rebase
    #[arg(long)]
    lost: bool,
}

pub(super) fn run(args: ListArgs, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let session = args.session.find(Unnamed::WithCommits, &store, app)?;
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
