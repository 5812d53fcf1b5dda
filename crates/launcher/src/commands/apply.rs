//! `lazaret apply`.

use std::path::PathBuf;

use lazaret_gate::allowlist::Entry;
use lazaret_gate::case::Case;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::decision::{ApprovalMode, Decision, KeepReason, NoAnswer};
use lazaret_gate::proposal::{ItemState, can_replace};
use lazaret_tree::{RelPath, RelPathBuf, escape};
use lazaret_validator::Allowance;

use super::diff;
use crate::app::App;
use crate::commits::session_commits::SessionCommits;
use crate::decide::waiting_commits::{NoCommits, WaitingCommits};
use crate::decide::{AskContext, OnConflict, choice, decide};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::report::Report;
use crate::session_access::live_gate::decide_live;
use crate::session_access::named::{OneSession, Unnamed};
use crate::session_access::running::Running;
use crate::session_access::waiting::{self, AgreedDecision};
use crate::session_access::with_ignored::WithIgnored;
use crate::ui::{Answer, Choice, Question};
use lazaret_session::audit::event::Approver;
use lazaret_session::store::Store;

/// Apply a session's changes to its workspace
///
/// If you changed a file too, your edit and the session's are merged; if they overlap, yours stays.
/// A file that the session moved stays where it is if its new place is not applied; name it as a
/// PATH to remove it anyway. In a session that stays for an editor, what has changed so far is applied.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    #[command(flatten)]
    pub ignored: WithIgnored,
    /// Apply only these paths (all below a directory)
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Use this directory as the session's workspace, if the original was moved or restored from a
    /// backup
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Apply without asking; blocked changes stay blocked
    #[arg(long)]
    pub yes: bool,
    /// Apply this path although a rule blocks it; repeatable
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<String>,
    /// Allow the same contents at the same path from now on
    #[arg(long, requires = "allow")]
    pub remember: bool,
    /// Take the session's version of this path instead of your own edit; repeatable
    #[arg(long, value_name = "PATH")]
    pub theirs: Vec<String>,
    /// With --yes, what a conflict does to the rest
    #[arg(long, value_name = "WHAT", default_value = "refuse", requires = "yes")]
    pub on_conflict: OnConflict,
}

const ALLOW: [Choice; 2] = [
    choice("allow", "allow", "apply it although a rule blocks it"),
    choice("n", "no", "leave it out"),
];

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Waiting, &store, app)?;
    let typed = Typed {
        paths: diff::parse_paths(&args.paths)?,
        allow: diff::parse_paths(&args.allow)?,
        theirs: diff::parse_paths(&args.theirs)?,
        args: &args,
    };
    if let Some(dir) = &args.workspace {
        waiting::adopt(&store, &id, dir, app)?;
    }
    if let Some(running) = Running::idle(&store, &id) {
        return decide_live(running, args.ignored.files(), &store, app, |case| {
            let choices = typed.choices(case, app)?;
            typed.decide(case, &choices, &mut NoCommits, app)
        });
    }
    let (mut session, case) = waiting::open(&store, &id, args.ignored.files(), app)?;
    let choices = typed.choices(&case, app)?;
    let report = Report::of_case(session.record(), &case, &case.propose(&choices)?);
    let mut commits = SessionCommits::new(&mut session, &store, app);
    let decision = typed.decide(&case, &choices, &mut commits, app)?;
    let settled = waiting::settle(app, &store, &mut session, &case, decision, report)?;
    Ok(waiting::exit_code(&settled))
}

/// What was typed.
struct Typed<'a> {
    paths: Vec<RelPathBuf>,
    allow: Vec<RelPathBuf>,
    theirs: Vec<RelPathBuf>,
    args: &'a Args,
}

impl Typed<'_> {
    fn choices(&self, case: &Case, app: &App) -> Result<Choices, Failure> {
        let mut choices = picked(case, &self.paths)?;
        for path in &self.theirs {
            replace(case, path, &mut choices)?;
        }
        for path in &self.allow {
            permit(case, path, self.args, &mut choices, app)?;
        }
        Ok(choices)
    }

    /// Decides what becomes of a case. To keep all of it is a failure here.
    fn decide(
        &self,
        case: &Case,
        choices: &Choices,
        commits: &mut dyn WaitingCommits,
        app: &App,
    ) -> Result<AgreedDecision, Failure> {
        let (approval, approver) = match self.args.yes {
            true => {
                let on_conflict = self.args.on_conflict.into();
                (ApprovalMode::Preapproved(on_conflict), Approver::Beforehand)
            }
            false => (ApprovalMode::Ask, Approver::Person),
        };
        let context = AskContext {
            ui: &app.ui,
            cancel: &app.cancel,
            commits,
        };
        let mut decision = decide(case, choices, approval, context)?;
        if let (true, Decision::Apply(plan)) = (self.args.remember, &mut decision) {
            let proposal = case.propose(choices)?;
            let allowed = choices.allowed().iter();
            let entries = allowed.filter_map(|allowed| Entry::of(allowed, &proposal));
            plan.remember.extend(entries);
        }
        match decision {
            Decision::Keep(reason) => {
                let name = case.subject.as_ref().map_or("", |subject| &subject.name);
                Err(kept(reason, name))
            }
            decision => Ok(AgreedDecision { decision, approver }),
        }
    }
}

/// Takes what is at or below the paths; everything when there are none.
fn picked(case: &Case, paths: &[RelPathBuf]) -> Result<Choices, Failure> {
    if paths.is_empty() {
        return Ok(Choices::all());
    }
    let mut choices = Choices::none();
    for path in paths {
        let mut changes = case
            .changes()
            .filter(|c| c.path.starts_with(path))
            .peekable();
        if changes.peek().is_none() {
            return Err(unchanged(path, case));
        }
        for change in changes {
            // What is named is wanted by itself; what lies below it goes with its new place.
            let pick = match change.path == *path {
                true => Pick::Alone,
                false => Pick::Take,
            };
            choices.pick(&change.path, pick);
        }
        with_parents(case, path, &mut choices);
    }
    Ok(choices)
}

/// Takes the directories along that the session made for a path.
fn with_parents(case: &Case, path: &RelPath, choices: &mut Choices) {
    for above in path.ancestors() {
        let change = case.change(above);
        if change.is_some_and(|change| change.before.is_none()) {
            choices.pick(above, Pick::Take);
        }
    }
}

fn unchanged(path: &RelPathBuf, case: &Case) -> Failure {
    let shown = escape(path.as_str().as_bytes());
    let name = case.subject.as_ref().map_or("", |subject| &subject.name);
    if case.ignored.holds(path) {
        let text = format!("git ignores {shown}, so it stays in the copy");
        return Failure::message(FailureKind::Refused, text)
            .hinted("Add --with-ignored to take it.");
    }
    let text = format!("session {name} changed nothing at {shown}");
    Failure::message(FailureKind::Refused, text)
}

/// Chooses the session's version of a path that is in conflict.
fn replace(case: &Case, path: &RelPathBuf, choices: &mut Choices) -> Result<(), Failure> {
    let whole = case.propose(&Choices::all())?;
    match whole.item(path).map(|item| &item.state) {
        Some(ItemState::Conflict(kind)) if can_replace(kind) => {
            choices.pick(path, Pick::SessionVersion);
            Ok(())
        }
        Some(ItemState::Conflict(kind)) => {
            let shown = escape(path.as_str().as_bytes());
            let text = format!("{shown} {kind}; that can't be replaced");
            Err(Failure::message(FailureKind::Refused, text))
        }
        _ => {
            let shown = escape(path.as_str().as_bytes());
            let text = format!("{shown} is in no conflict");
            Err(Failure::message(FailureKind::Refused, text))
        }
    }
}

/// Allows everything that blocks one path, after the reasons were shown.
fn permit(
    case: &Case,
    path: &RelPathBuf,
    args: &Args,
    choices: &mut Choices,
    app: &App,
) -> Result<(), Failure> {
    let ui = &app.ui;
    if *choices.of(path) == Pick::Leave {
        choices.pick(path, Pick::Take);
        with_parents(case, path, choices);
    }
    let proposal = case.propose(choices)?;
    let shown = escape(path.as_str().as_bytes());
    let item = proposal.item(path).ok_or_else(|| unchanged(path, case))?;
    let ItemState::Blocked(codes) = &item.state else {
        let text = format!("nothing blocks {shown}");
        return Err(Failure::message(FailureKind::Refused, text));
    };
    for finding in proposal.blocks(path) {
        ui.warn(&finding.to_string());
    }
    if !item.is_allowable() {
        let text = format!("{shown} can't be allowed");
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("There is nothing to apply, or it would reach into `.git`, or over a limit."));
    }
    if !args.yes {
        let question = Question {
            text: "Type the word to apply it all the same:",
            choices: &ALLOW,
        };
        if ui.prompt(&question, &app.cancel) != Answer::Chosen("allow") {
            let text = format!("{shown} is not allowed without a word for it");
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted("Type it at a terminal, or say --yes."));
        }
    }
    for code in codes.iter() {
        choices.allow(Allowance::of(item.proposed(), code));
    }
    Ok(())
}

fn kept(reason: KeepReason, id: &str) -> Failure {
    let failure = Failure::message(FailureKind::Refused, reason.to_string())
        .context(format!("nothing of session {id} was applied"));
    match reason {
        KeepReason::Conflicts => failure.hinted(format!(
            "Look with `lazaret diff {id} PATH`; take the rest with `--yes --on-conflict keep-both`, or the session's version with `--theirs PATH`."
        )),
        KeepReason::NoAnswer(NoAnswer::NoTerminal) => failure.hinted(format!(
            "Look with `lazaret diff {id}`; answer at a terminal, or say --yes."
        )),
        _ => failure.hinted(format!("Look with `lazaret diff {id}`.")),
    }
}
