//! `lazaret undo`.

use lazaret_transfer::{escape, undo};
use serde_json::json;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::gate::apply::wait_for_turn;
use crate::session::record::Outcome;
use crate::session::store::Store;
use crate::ui::OutputFormat;
use crate::workspace;

/// Take back what a session's last apply did to the workspace
///
/// Files that you changed since are conflicts: then nothing is taken back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open(&context.env.state_dir()?)?;
    let mut session = store.lock(&args.session)?;
    let journals = session.dir().journals()?;
    let Some(journal) = journals.last() else {
        let text = format!("nothing of session {} was applied", args.session);
        return Err(Failure::message(FailureKind::Refused, text));
    };
    let workspace = workspace::open(&session.record().workspace, &context.env)?;
    let _lock = wait_for_turn(&store, &workspace, &context.ui, &context.interrupt)?;
    let receipt = undo(journal, &workspace)?;
    session.update(|record| record.outcome = Some(Outcome::Undone))?;
    let paths: Vec<String> = receipt
        .applied
        .iter()
        .map(|path| escape(path.as_str().as_bytes()))
        .collect();
    match context.ui.format() {
        OutputFormat::Json => context.ui.json(&json!({
            "session": args.session.as_str(),
            "outcome": Outcome::Undone,
            "restored": paths,
        })),
        OutputFormat::Text => {
            context.ui.status(&format!(
                "took back {} changes of {}",
                paths.len(),
                args.session
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
