//! `lazaret apply`.

use super::{diff, resumed};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::gate::choices::{Choices, Pick};
use crate::gate::decide::{Consent, Decision, OnConflict, decide};
use crate::gate::report::Report;
use crate::session::store::Store;

/// Apply a session's changes to its workspace
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    pub session: lazaret_runtime::SessionId,
    /// Apply only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Apply without asking; block findings are never passed
    #[arg(long)]
    pub yes: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open(&context.env.state_dir()?)?;
    let paths = diff::parse_paths(&args.paths)?;
    let (mut session, case) = resumed::open(&store, &args.session)?;
    let mut choices = match paths.is_empty() {
        true => Choices::all(),
        false => Choices::none(),
    };
    if !paths.is_empty() {
        let unknown = paths
            .iter()
            .find(|path| !case.changes.iter().any(|c| c.path.starts_with(path)));
        if let Some(path) = unknown {
            let shown = lazaret_transfer::escape(path.as_str().as_bytes());
            let text = format!("session {} changed nothing at {shown}", args.session);
            return Err(Failure::message(FailureKind::Refused, text));
        }
        for change in &case.changes {
            if paths.iter().any(|wanted| change.path.starts_with(wanted)) {
                choices.pick(&change.path, Pick::Take);
            }
        }
    }
    let report = Report::of_case(session.record(), &case, &case.propose(&choices)?);
    let consent = if args.yes {
        Consent::Given(OnConflict::Refuse)
    } else {
        Consent::Ask
    };
    let decision = decide(&case, &choices, consent, &context.ui, &context.interrupt)?;
    if let Decision::Keep(reason) = &decision {
        let failure = Failure::message(FailureKind::Refused, reason.to_string())
            .context(format!("nothing of session {} was applied", args.session));
        return Err(failure.hinted(format!("Look with `lazaret diff {}`.", args.session)));
    }
    resumed::settle(context, &store, (&mut session, &case), decision, report)
}
