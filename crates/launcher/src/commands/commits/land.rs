//! `lazaret commits land`.

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::commands::diff;
use crate::commits::land_report::{LandReport, LandedReport};
use crate::commits::landing::{LandResult, land};
use crate::commits::open::{OpenRequest, open};
use crate::commits::pick::Picked;
use crate::commits::settle::settle;
use crate::commits::signing::sign;
use crate::commits::text::listing;
use crate::commits::tips::Lost;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;
use crate::ui::OutputFormat;
use lazaret_session::store::Store;

/// Put commits made inside into your repository
///
/// Branches become `lazaret/NAME/BRANCH`, stashes `lazaret/NAME/stash-N`, a detached HEAD
/// `lazaret/NAME/HEAD`, and tags tags of such names. Your HEAD, index, working tree, configuration
/// and other refs stay as they are, and no hook runs. What a branch of such a name held before and
/// the new one does not is kept under `refs/lazaret/old/`. Commits of a submodule go into your
/// repository of it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    session: SessionId,
    /// Land only these, by the names that `lazaret commits` shows: branches, tags, HEAD, stash-0,
    /// SUBMODULE:BRANCH
    #[arg(value_name = "BRANCH")]
    branches: Vec<String>,
    /// Also commits that only a reflog holds, as after a reset, an amend or a rebase
    #[arg(long)]
    lost: bool,
    /// Land although a rule blocks this path; repeatable
    #[arg(long, value_name = "PATH")]
    allow: Vec<String>,
    /// Make the commits anew, signed with your key; their ids change, you are their committer
    #[arg(long)]
    sign: bool,
    /// Land without asking; what is blocked stays
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = named(&store, &args.session)?;
    let mut session = store.lock(&id)?;
    let request = OpenRequest {
        lost: match args.lost {
            true => Lost::Take,
            false => Lost::Leave,
        },
        allow: diff::parse_paths(&args.allow)?,
    };
    let opened = open(&store, &session, request, app)?;
    let picked = Picked::of(&opened, &args.branches, &id)?;
    if app.ui.format() == OutputFormat::Text {
        app.ui.result(&listing(&opened));
    }
    let picked = picked.some(&id)?;
    if !args.yes && !picked.is_confirmed(&opened, app) {
        let text = "nothing is landed without a yes";
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Answer at a terminal, or say --yes."));
    }
    let picked = match args.sign {
        true => sign(&session, &opened, picked, app)?,
        false => picked,
    };
    let LandResult { landed, left } = land(&mut session, &opened, picked, app)?;
    let outcome = settle(&mut session, &store, app)?;
    let commits = session.record().commits.clone();
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&LandReport {
            session: id.to_string(),
            landed: landed.iter().map(LandedReport::of).collect(),
            left,
            commits: commits.clone(),
            outcome,
        });
    }
    Ok(match commits.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::KEPT,
    })
}
