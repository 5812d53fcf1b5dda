//! `lazaret group rm`.

use lazaret_session::mail::mailbox::Mailbox;
use toml_edit::Table;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::groups::{Groups, edit};

/// Remove a group, once its session is removed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Group
    #[arg(value_name = "GROUP")]
    name: String,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let name = &args.name;
    let change = |groups: &mut Table, before: &Groups| {
        before.get(name)?.refuse_with_session(&app.env)?;
        if !forget_mail(name, app)? {
            let text = format!("mail of group {name} waits");
            return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
                "`lazaret mail {name}` prints it, `lazaret mail ack {name} ID…` settles it."
            )));
        }
        groups.remove(name);
        Ok(())
    };
    edit(app, change, |_, _| Ok(()))?;
    app.ui.status(&format!("group {name} is removed"));
    Ok(ExitCode::SUCCESS)
}

/// Forgets the mail of a group. Returns false if some of it waits.
fn forget_mail(name: &str, app: &App) -> Result<bool, Failure> {
    let broken = "the group's mail can't be removed";
    let mailbox = Mailbox::open(&app.env.state_dir()?).or_fail(FailureKind::State, broken)?;
    mailbox.forget(name).or_fail(FailureKind::State, broken)
}
