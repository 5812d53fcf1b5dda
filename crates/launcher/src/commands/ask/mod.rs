//! `lazaret ask`: one JSON object in, one out.

mod ended;
mod report;
mod turn;

use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lazaret_session::ask::request::{AskRequest, MAX_BYTES};
use lazaret_session::ask::turns::{IdMatch, Ticket, Turns};
use lazaret_session::mail::exchange::process;

use self::report::{Report, Reporter};
use super::mail;
use super::target::{LOOK, Target, TargetArgs, be_keeper, interrupted};
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::keeper::is_keeper;
use crate::profile::units::Span;

/// Ask a profile, a group or a session: one JSON object in, one out
///
/// The object on stdin goes to a new process of the profile's command, in a session that stays
/// ready between requests. Its answer, between two sentinel lines of what it prints, is all that
/// comes on stdout.
#[derive(Debug, clap::Args)]
#[group(id = "ask")]
pub struct Args {
    /// Profile, whose session for this workspace is started if need be; a group; or a session
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Workspace [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print what happens as JSON lines: start, output, message, answer, end
    #[arg(long)]
    pub stream: bool,
    /// Print the answer within a report: run, exit code, what was cut
    #[arg(long, conflicts_with = "stream")]
    pub envelope: bool,
    /// Time limit of the command, such as 90s, 5m, 2h [default: the profile's]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// How long to wait for one's turn [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub wait: Option<Span>,
}

impl Args {
    fn wanted(&self) -> TargetArgs<'_> {
        TargetArgs {
            verb: "ask",
            target: &self.target,
            workspace: self.workspace.as_deref(),
            name: None,
        }
    }
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    if is_keeper(app) {
        return be_keeper(args.wanted(), |profile| Some(profile.ask.idle), app);
    }
    let mut reporter = Reporter::new(Report::of(&args), app);
    let answered = answer(&args, &mut reporter, app);
    if let Err(failure) = &answered {
        // The words are on stderr too; a program reads stdout.
        reporter.failed(&failure.chain().join(": "), failure.exit_code());
    }
    answered
}

fn answer(args: &Args, reporter: &mut Reporter<'_>, app: &App) -> Result<ExitCode, Failure> {
    let request = request(app)?;
    let target = Target::find(args.wanted(), app)?;
    if target.profile().command.is_empty() {
        let name = &target.profile().name;
        let text = format!("profile {name} has no command that could answer");
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Give the profile one: command = [\"node\", \"/app/agent.js\"]."));
    }
    let turns = Turns::open(&app.env.state_dir()?, target.session())
        .or_fail(FailureKind::State, "the queue can't be used")?;
    let Span(wait) = args.wait.unwrap_or(Span(Duration::from_secs(600)));
    let until = Instant::now().checked_add(wait);
    let Some(_ticket) = wait_for_turn(&turns, until, reporter, app)? else {
        reporter.failed("other requests took longer than --wait", ExitCode::TIMEOUT);
        return Ok(ExitCode::TIMEOUT);
    };
    let broken = "what was answered can't be read or kept";
    match turns.known(&request).or_fail(FailureKind::State, broken)? {
        IdMatch::New => {}
        IdMatch::Answered(answer) => {
            reporter.answered_before(target.session(), &answer);
            return Ok(ExitCode::SUCCESS);
        }
        IdMatch::Other => {
            let text = "another request with this \"id\" was answered";
            return Err(Failure::message(FailureKind::Refused, text).hinted(
                "Give each request an \"id\" of its own; the same one only to repeat it.",
            ));
        }
    }
    let run = turns.next_run().or_fail(FailureKind::State, broken)?;
    let asked = turn::Asked {
        request: &request,
        target: &target,
        run,
        timeout: args.timeout.map(|Span(limit)| limit),
        until,
    };
    look_for_mail(&target, until, app)?;
    let ended = turn::take(asked, reporter, app)?;
    if let Err(failure) = look_for_mail(&target, until, app) {
        mail::warn(&failure, app);
    }
    if let Some(answer) = &ended.answer
        && let Err(error) = turns.keep(&request, answer)
    {
        app.ui.error(&format!("the answer can't be kept: {error}"));
    }
    Ok(reporter.ended(&ended))
}

/// Takes what a group's command has left in its mailbox. What can't be taken stays there for the
/// next look, and the user is told.
///
/// # Errors
/// The session can't be started.
fn look_for_mail(target: &Target, until: Option<Instant>, app: &App) -> Result<(), Failure> {
    if let Some(group) = target.group() {
        let (dir, connection, _) = target.exec(&process(), until, app)?;
        if let Err(failure) = mail::take(&group.name, &dir, &connection, app) {
            mail::warn(&failure, app);
        }
    }
    Ok(())
}

/// Reads the request, and refuses what can't be asked before anything is started.
fn request(app: &App) -> Result<AskRequest, Failure> {
    let mut bytes = Vec::new();
    if let Some(stdin) = app.ui.take_stdin() {
        let read = stdin.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
        read.or_fail(FailureKind::Usage, "the request on stdin can't be read")?;
    }
    AskRequest::parse(&bytes).map_err(|error| {
        Failure::new(FailureKind::Usage, error)
            .hinted("stdin is one JSON object, such as {\"prompt\":\"hi\"}.")
    })
}

/// Queues up. Returns `None` if the turn did not come in time.
fn wait_for_turn(
    turns: &Turns,
    until: Option<Instant>,
    reporter: &mut Reporter<'_>,
    app: &App,
) -> Result<Option<Ticket>, Failure> {
    let broken = "the queue can't be used";
    let mut ticket = None;
    let mut has_said = false;
    loop {
        if ticket.is_none() {
            ticket = turns.queue_up().or_fail(FailureKind::State, broken)?;
        }
        if let Some(mine) = ticket.take() {
            let before = turns.before(&mine).or_fail(FailureKind::State, broken)?;
            if before == 0 {
                return Ok(Some(mine));
            }
            if !has_said {
                reporter.message(&format!("waiting for {before} other requests"));
                has_said = true;
            }
            ticket = Some(mine);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        interrupted(app.cancel.sleep(LOOK))?;
    }
}
