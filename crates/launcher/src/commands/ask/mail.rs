//! The mail of a group, around its turn.

use std::time::Instant;

use lazaret_session::keeper::connection::Connection;
use lazaret_session::mail::exchange::{exchange, process};
use lazaret_session::mail::mailbox::Mailbox;
use lazaret_session::store::SessionDir;

use crate::app::App;
use crate::commands::target::Target;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::groups::{Group, Groups};

/// Takes what a group's command has left in its mailbox, and shows it what there is. What can't be
/// taken stays there for the next look, and the user is told.
///
/// # Errors
/// The session can't be started.
pub(super) fn look(target: &Target, until: Option<Instant>, app: &App) -> Result<(), Failure> {
    if let Some(group) = target.group() {
        let (dir, connection, _) = target.exec(&process(), until, app)?;
        if let Err(failure) = taken(group, &dir, &connection, app) {
            warn(&failure, app);
        }
    }
    Ok(())
}

/// Says why mail was not taken.
pub(super) fn warn(failure: &Failure, app: &App) {
    let text = failure.chain().join(": ");
    app.ui.warn(&format!("the mail stays where it is: {text}"));
}

fn taken(
    group: &Group,
    session: &SessionDir,
    connection: &Connection,
    app: &App,
) -> Result<(), Failure> {
    // As it is now: a turn may have taken long.
    let roster = Groups::load(&app.env)?.roster(&group.name)?;
    let broken = "the mail can't be kept";
    let mailbox = Mailbox::open(&app.env.state_dir()?).or_fail(FailureKind::State, broken)?;
    exchange(connection, &mailbox, &roster, session).or_fail(FailureKind::State, broken)
}
