//! `lazaret home allow`.

use lazaret_runtime::SessionId;
use lazaret_session::home::state::PutBack;
use lazaret_session::store::Store;
use lazaret_tree::{RelPath, escape};

use super::home_of;
use crate::app::App;
use crate::commands::rm::lock;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;

/// Let a file stay in a kept home that was put back
///
/// What is allowed is this very content: it is copied into the home again at the next start, and
/// put back there if a command changes it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session, or the start of its name
    #[arg(value_name = "NAME")]
    pub session: SessionId,
    /// Path in the home, such as ~/.local/bin/tool
    #[arg(value_name = "PATH")]
    pub path: String,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = named(&store, &args.session)?;
    let home = home_of(&store, &id)?;
    let session = lock(&store, &id)?;
    let shown = escape(args.path.as_bytes());
    let text = args.path.strip_prefix("~/").unwrap_or(&args.path);
    let mut state = home.read()?;
    let put_back = RelPath::new(text).ok();
    let put_back = put_back.and_then(|path| state.last_put_back(path)).cloned();
    let Some(PutBack {
        path, what, found, ..
    }) = put_back
    else {
        let text = format!("nothing was put back at {shown} in the home of session {id}");
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted(format!("`lazaret home review {id}` lists what was.")));
    };
    let Some(found) = found else {
        let text = format!("cannot allow {shown}: it was no file that is kept ({what})");
        return Err(Failure::message(FailureKind::Refused, text));
    };
    let digest = found.digest.clone();
    state.allowed.insert(path.clone(), found);
    home.write(&state)?;
    drop(session);
    let path = escape(path.as_bytes());
    let start: String = digest.chars().take(12).collect();
    app.ui.status(&format!(
        "allowed ~/{path} ({start}): the next start copies it into the home"
    ));
    Ok(ExitCode::SUCCESS)
}
