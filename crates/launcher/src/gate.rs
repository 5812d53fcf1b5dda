//! Takes a collected session through the gate: judged, decided, settled.

use std::thread;

use lazaret_gate::allowlist::Allowlist;
use lazaret_gate::choices::Choices;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_tree::escape;

use crate::app::App;
use crate::captures::before_loss;
use crate::commits::session_commits::SessionCommits;
use crate::decide::case::open_case;
use crate::decide::settle::{finish, tell};
use crate::decide::{AskContext, allowlist, decide, leave};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile::ApplyMode;
use crate::report::Report;
use crate::ui::Ui;
use lazaret_session::audit::event::Approver;
use lazaret_session::context::SessionContext;
use lazaret_session::engine::containers::ContainerPlan;
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::pool::{NextContainerBuilder, drop_after_discard};
use lazaret_session::settle::{SettleContext, VolumeDisposal, settle};
use lazaret_session::store::record::Outcome;
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

/// What a session goes through the gate by.
#[derive(Debug, Clone, Copy)]
pub struct GateOptions<'a> {
    /// What to do with the changes.
    pub apply: ApplyMode,
    /// Who asks the user.
    pub asked: Asked,
    /// What the user allows for good.
    pub allowlist: &'a Allowlist,
    /// The surroundings, and who says and asks.
    pub app: &'a App,
}

/// Takes a collected session through the gate, while the container of its next command is
/// made where it is to have one. What goes wrong with that is no failure of the run.
///
/// # Errors
/// As [`RunRequest::run`](crate::resolve::run_spec::RunRequest::run).
pub fn gate_and_ahead(
    cx: &SessionContext<'_>,
    store: &Store,
    collected: Collected,
    options: GateOptions<'_>,
    plan: &ContainerPlan,
) -> Result<RunEnd, Failure> {
    let ahead = match &collected {
        Collected::Ready(session) => NextContainerBuilder::of(cx, store, session, plan),
        Collected::Rejected(_) => Ok(None),
    };
    let Ok(Some(ahead)) = ahead else {
        return gate(cx, store, collected, options);
    };
    thread::scope(|scope| {
        // Nothing is said beside the review.
        let making = scope.spawn(|| ahead.make(cx));
        let end = gate(cx, store, collected, options);
        if let Ok(Err(error)) = making.join() {
            let cause = escape(error.to_string().as_bytes());
            options
                .app
                .ui
                .detail(&format!("the next container could not be made: {cause}"));
        }
        let end = end?;
        if end.report.outcome == Some(Outcome::Discarded) {
            let session = end.report.session.parse().ok();
            let session = session.and_then(|id| store.lock(&id).ok());
            session
                .iter()
                .for_each(|session| drop_after_discard(cx, session));
        }
        Ok(end)
    })
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
    let volume = VolumeDisposal::Remove(cx);
    let mut session = match collected {
        Collected::Ready(session) => session,
        Collected::Rejected(mut session) => {
            let mut report = rejected(&mut session, volume, &options.app.ui)?;
            report.phases = cx.timings.table();
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
    let mut report = Report::of_case(session.record(), &case, &case.propose(&choices)?);
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
    let context = SettleContext {
        store,
        volume,
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
    let is_open = mode == ApplyMode::Ask && settled.outcome == Outcome::Kept;
    Ok(RunEnd {
        exit_code: ExitCode::of_run(session.record(), settled.outcome),
        report,
        open: is_open.then_some(options.asked),
    })
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
