//! `lazaret mail`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::message::Request;
use lazaret_session::mail::exchange::{exchange, process};
use lazaret_session::mail::index::Accepted;
use lazaret_session::mail::mailbox::Mailbox;
use lazaret_session::store::{SessionDir, Store};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::groups::Groups;

/// How soon to read what other processes took in.
const AGAIN: Duration = Duration::from_millis(200);

/// How soon to look into the mailbox.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

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
    Groups::load(&app.env)?.get(group)?;
    let (mut last, mut looked, mut warned) = (0, None::<Instant>, None);
    loop {
        if looked.is_none_or(|looked| looked.elapsed() >= LOOK_AGAIN) {
            looked = Some(Instant::now());
            let failed = look(group, app).err();
            if let Some(failure) = failed.filter(|failed| warned != Some(failed.chain())) {
                warn(&failure, app);
                warned = Some(failure.chain());
            }
        }
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
fn look(group: &str, app: &App) -> Result<(), Failure> {
    let session = Groups::load(&app.env)?.get(group)?.session()?;
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let Some(dir) = store.and_then(|store| store.find(&session).ok()) else {
        return Ok(());
    };
    match Connection::ask(&dir, &Request::Exec(process())) {
        Ok(Some((connection, _))) => take(group, &dir, &connection, app),
        // It ends, or is busy with its start.
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Takes what lies in a group's mailbox, by a [`process`] in its session, and shows its command
/// what there is. What can't be taken stays there for the next look.
///
/// # Errors
/// The mail can't be kept.
pub(crate) fn take(
    group: &str,
    session: &SessionDir,
    connection: &Connection,
    app: &App,
) -> Result<(), Failure> {
    // As it is now: a turn may have taken long.
    let roster = Groups::load(&app.env)?.roster(group)?;
    let broken = "the mail can't be kept";
    let mailbox = Mailbox::open(&app.env.state_dir()?).or_fail(FailureKind::State, broken)?;
    exchange(connection, &mailbox, &roster, session).or_fail(FailureKind::State, broken)
}

/// Says why mail was not taken.
pub(crate) fn warn(failure: &Failure, app: &App) {
    let text = failure.chain().join(": ");
    app.ui.warn(&format!("the mail stays where it is: {text}"));
}

/// Returns mail as a line without control characters, DEL and C1 among them.
fn line(one: &Accepted) -> String {
    crate::ui::inert_json(&serde_json::to_string(one).unwrap_or_default())
}
