//! `lazaret mail`.

use std::collections::BTreeSet;
use std::time::Duration;

use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::message::Request;
use lazaret_session::mail::exchange::{exchange, process};
use lazaret_session::mail::index::Accepted;
use lazaret_session::mail::mailbox::Mailbox;
use lazaret_session::store::Store;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::groups::Groups;

/// How soon to look for new mail.
const AGAIN: Duration = Duration::from_millis(200);

/// What is said if the mail can't be had.
const BROKEN: &str = "the mail can't be read";

/// Print what a group's command wants sent or scheduled, as JSON lines
///
/// Each line is a message or a change of a task that the group may send. It waits until `mail ack`
/// settles it. What was refused the command reads in its mailbox.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Group
    #[arg(value_name = "GROUP", required = true)]
    group: Option<String>,
    /// Go on with what comes
    #[arg(short, long)]
    follow: bool,
}

/// What to do with it.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Settle what was sent or scheduled: it is not printed again
    Ack {
        /// Group
        #[arg(value_name = "GROUP")]
        group: String,
        /// The `id` of a line
        #[arg(value_name = "ID", required = true)]
        ids: Vec<u64>,
    },
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let mailbox = Mailbox::open(&app.env.state_dir()?).or_fail(FailureKind::State, BROKEN)?;
    match (args.command, args.group) {
        (Some(Command::Ack { group, ids }), _) => ack(&mailbox, &group, ids, app),
        (None, Some(group)) => show(&mailbox, &group, args.follow, app),
        (None, None) => Err(Failure::message(FailureKind::Usage, "no group is named")),
    }
}

fn ack(mailbox: &Mailbox, group: &str, ids: Vec<u64>, app: &App) -> Result<ExitCode, Failure> {
    Groups::load(&app.env)?.get(group)?;
    let ids: BTreeSet<u64> = ids.into_iter().collect();
    let unknown = mailbox.settle(group, &ids);
    let unknown = unknown.or_fail(FailureKind::State, "the mail can't be settled")?;
    match unknown.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(id) => {
            let text = format!("{id} was no mail of group {group}; nothing was settled");
            Err(Failure::message(FailureKind::Refused, text)
                .hinted(format!("`lazaret mail {group}` prints what waits.")))
        }
    }
}

fn show(mailbox: &Mailbox, group: &str, follow: bool, app: &App) -> Result<ExitCode, Failure> {
    if let Err(failure) = look(mailbox, group, app)? {
        app.ui.warn(&failure.chain().join(": "));
    }
    let mut last = 0;
    loop {
        let waiting = mailbox.waiting_of(group);
        let waiting = waiting.or_fail(FailureKind::State, BROKEN)?;
        for one in waiting.iter().filter(|one| one.id > last) {
            app.ui.result(&line(one));
        }
        last = waiting.last().map_or(last, |one| one.id.max(last));
        if !follow {
            return Ok(ExitCode::SUCCESS);
        }
        if app.cancel.sleep(AGAIN).is_err() {
            app.cancel.acknowledge();
            return Ok(ExitCode::INTERRUPTED);
        }
    }
}

/// Takes what lies in the mailbox of a session that runs; one that does not is read by its next
/// turn.
fn look(mailbox: &Mailbox, name: &str, app: &App) -> Result<Result<(), Failure>, Failure> {
    let groups = Groups::load(&app.env)?;
    let session = groups.get(name)?.session()?;
    let roster = groups.roster(name)?;
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let dir = store.and_then(|store| store.find(&session).ok());
    let Some(dir) = dir else {
        return Ok(Ok(()));
    };
    Ok(match Connection::ask(&dir, &Request::Exec(process())) {
        Ok(Some((connection, _))) => {
            exchange(&connection, mailbox, &roster, &dir).or_fail(FailureKind::State, BROKEN)
        }
        // It ends, or is busy with its start.
        Ok(None) | Err(_) => Ok(()),
    })
}

/// Returns mail as a line without control characters, DEL and C1 among them.
fn line(one: &Accepted) -> String {
    crate::ui::inert_json(&serde_json::to_string(one).unwrap_or_default())
}
