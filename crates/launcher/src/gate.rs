//! Takes a collected session through the gate: judged, decided, settled.

use std::fmt;

use lazaret_gate::allowlist::Allowlist;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::Decision;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::proposal::Proposal;

use crate::app::App;
use crate::captures::before_loss;
use crate::commits::session_commits::SessionCommits;
use crate::decide::case::open_case;
use crate::decide::settle::{finish, tell, tell_volume};
use crate::decide::{AskContext, allowlist, decide, leave};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile::ApplyMode;
use crate::report::{Report, SyncReport};
use crate::ui::Ui;
use lazaret_session::audit::event::Approver;
use lazaret_session::context::SessionContext;
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::settle::{SettleContext, VolumeDisposal, settle};
use lazaret_session::store::record::{Outcome, Phase, Record};
use lazaret_session::store::{LockedSession, Store};

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    /// What `--json` prints.
    pub report: Report,
    /// What the process ends with.
    pub exit_code: ExitCode,
    /// Who was left to ask.
    pub open: Option<Asked>,
}

/// Who asks the user what becomes of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// This process.
    Here,
    /// Another one, once this one has ended: what it is asked for is left without a word.
    Elsewhere,
}

/// Hears how a run ended before what it had on the engine is removed: who waits for a prompt need
/// not wait for that.
#[derive(Clone, Copy)]
pub struct Released<'a>(pub &'a dyn Fn(&RunEnd));

impl fmt::Debug for Released<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Released").finish_non_exhaustive()
    }
}

/// What a session goes through the gate by.
#[derive(Debug, Clone)]
pub struct GateOptions<'a> {
    /// What to do with the changes.
    pub apply: ApplyMode,
    /// Who asks the user.
    pub asked: Asked,
    /// Whom a run that asks nothing more releases, if another process asks the person.
    pub released: Option<Released<'a>>,
    /// What went in, for the report.
    pub sync: Option<SyncReport>,
    /// What the user allows for good.
    pub allowlist: &'a Allowlist,
    /// The surroundings, and who says and asks.
    pub app: &'a App,
}

/// Takes a collected session through the gate.
///
/// # Errors
/// As [`RunRequest::run`](crate::resolve::run_spec::RunRequest::run).
pub fn gate(
    cx: &SessionContext<'_>,
    store: &Store,
    collected: Collected,
    options: GateOptions<'_>,
) -> Result<RunEnd, Failure> {
    let removal = VolumeDisposal::Remove(cx);
    let mut session = match collected {
        Collected::Ready(session) => session,
        Collected::Rejected(mut session) => {
            let ui = &options.app.ui;
            session
                .record()
                .end
                .iter()
                .for_each(|end| ui.status(&end.to_string()));
            let mut report = rejected(&mut session, removal, ui)?;
            report.phases = cx.timings.table();
            report.sync = options.sync;
            return Ok(RunEnd {
                exit_code: ExitCode::of_run(session.record(), Outcome::Rejected),
                report,
                open: None,
            });
        }
    };
    let case = cx.phase("judge", |_| {
        let mut case = open_case(&session, IgnoredFiles::Stay, &options.app.env)?;
        options.allowlist.tell(&mut case)?;
        Ok::<_, Failure>(case)
    })?;
    // A command that the user broke off has not finished its work: it is kept, not offered.
    let was_interrupted = session.record().end.is_some_and(|end| end.interrupted);
    let mode = if was_interrupted {
        ApplyMode::Never
    } else {
        options.apply
    };
    let choices = Choices::all();
    let proposal = case.propose(&choices)?;
    tell_end(session.record(), &proposal, &options.app.ui);
    let mut report = Report::of_case(session.record(), &case, &proposal);
    let mut commits = SessionCommits::new(&mut session, store, options.app);
    let context = AskContext {
        ui: &options.app.ui,
        cancel: cx.cancel,
        commits: &mut commits,
    };
    let is_left = mode == ApplyMode::Ask && options.asked == Asked::Elsewhere;
    let decision = match is_left {
        true => leave(&case, &choices, context)?,
        false => decide(&case, &choices, mode.into(), context)?,
    };
    let wanted = decision.remembered();
    let released = options.released.filter(|_| is_last_word(&decision));
    let context = SettleContext {
        store,
        volume: match released {
            Some(_) => VolumeDisposal::Keep,
            None => removal,
        },
        approver: match mode {
            ApplyMode::Auto => Approver::CleanBatch,
            ApplyMode::Ask | ApplyMode::Never => Approver::Person,
        },
        events: cx.events,
        cancel: cx.cancel,
    };
    before_loss(&decision, &case, &session, store, options.app)?;
    let settled = match is_left {
        true => settle(&mut session, &case, &decision, context)?,
        false => cx.phase("apply", |_| settle(&mut session, &case, &decision, context))?,
    };
    if !is_left || settled.outcome != Outcome::Kept {
        tell(&settled, &decision, session.record(), &options.app.ui);
    }
    allowlist::remember(options.allowlist.clone(), wanted, &options.app.ui);
    report.settled(&settled);
    report.phases = cx.timings.table();
    report.sync = options.sync;
    let is_open = mode == ApplyMode::Ask && settled.outcome == Outcome::Kept;
    let end = RunEnd {
        exit_code: ExitCode::of_run(session.record(), settled.outcome),
        report,
        open: is_open.then_some(options.asked),
    };
    if let Some(Released(release)) = released
        && session.record().phase == Phase::Settled
    {
        release(&end);
        let left = removal.carry_out(&session).err();
        tell_volume(session.record(), left.as_ref(), &options.app.ui);
    }
    Ok(end)
}

/// Whether a decision leaves nothing for a later one.
fn is_last_word(decision: &Decision) -> bool {
    match decision {
        Decision::NothingToApply => true,
        Decision::Apply(plan) => plan.left + plan.held == 0,
        _ => false,
    }
}

/// Says how the command ended, and whether there is something to decide.
fn tell_end(record: &Record, proposal: &Proposal, ui: &Ui) {
    let Some(end) = &record.end else { return };
    let has_nothing = proposal.open() == 0 && record.commits.is_empty();
    let and = if has_nothing {
        ", nothing to apply"
    } else {
        ""
    };
    ui.status(&format!("{end}{and}"));
}

fn rejected(
    session: &mut LockedSession,
    volume: VolumeDisposal<'_>,
    ui: &Ui,
) -> Result<Report, Failure> {
    finish(session, Outcome::Rejected, volume, ui)?;
    let record = session.record();
    if let Some((code, reason)) = &record.rejection {
        let reason = lazaret_tree::escape(reason.as_bytes());
        ui.error(&format!("the batch is rejected: {code}: {reason}"));
        ui.hint(&format!(
            "Nothing reached the workspace. The volume {} is kept: `lazaret recover {id}` collects it \
             again, `lazaret discard {id}` removes it.",
            record.volume(),
            id = record.id
        ));
    }
    Ok(Report::of(record))
}
