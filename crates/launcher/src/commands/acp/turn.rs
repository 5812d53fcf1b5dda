//! The end of a turn: what the agent changed, and what becomes of it.

use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{ApprovalMode, Decision, KeepReason, Person, Unasked, decide_unasked};
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::proposal::{ItemState, Proposal};
use lazaret_runtime::SessionId;
use lazaret_session::audit::event::Approver;
use lazaret_session::live::view::LiveSnapshot;
use lazaret_session::porter::export::BatchRejection;
use lazaret_session::settle::live::{LiveContext, apply_live};
use lazaret_session::store::Store;
use lazaret_tree::{Change, escape};

use crate::app::App;
use crate::decide::case::preview;
use crate::decide::{allowlist, summary};
use crate::failure::{Failure, FailureKind};
use crate::profile::ApplyMode;
use crate::session_access::running::Running;

/// The most lines of a list.
const MOST_LISTED: usize = 30;

/// Looks at what a session has changed up to now, and applies it where it is clean and that is
/// agreed to. Returns what the user has to know; nothing if nothing waits.
///
/// # Errors
/// The session can't be looked at, or what is agreed to not be applied: the workspace is as it was
/// then.
pub(super) fn look(id: &SessionId, apply: ApplyMode, app: &App) -> Result<String, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let ended = || {
        let text = format!("the session {id} is not running");
        Failure::message(FailureKind::WrongState, text)
    };
    let running = Running::find(&store, id)?.ok_or_else(ended)?;
    let allowlist = allowlist::load(&app.env)?;
    let cx = running.cx(&store, app)?;
    let mut live_view = running.view(&cx)?;
    let LiveSnapshot::Taken(seen) = live_view.snapshot()? else {
        return Err(ended());
    };
    let collection = match seen.found {
        Ok(collection) => collection,
        Err(BatchRejection { code, reason }) => {
            let reason = escape(reason.as_bytes());
            return Ok(format!(
                "Nothing of what the agent changed could be applied as it is: {code}: {reason}"
            ));
        }
    };
    let case = preview(
        &live_view,
        collection,
        IgnoredFiles::Stay,
        &allowlist,
        &app.env,
    )?;
    let proposal = case.propose(&Choices::all())?;
    let open: Vec<&Change> = (proposal.items().iter())
        .filter(|item| item.state != ItemState::AlreadyApplied)
        .map(|item| &*item.made)
        .collect();
    if open.is_empty() {
        return Ok(String::new());
    }
    let line = |change: &&Change| {
        let path = escape(change.path.as_str().as_bytes());
        format!("{} {path}", summary::sign(change))
    };
    let changes = listed(&open.iter().map(line).collect::<Vec<_>>());
    let counts = summary::counts(open.iter().copied());
    let findings = findings(&proposal);
    let review = format!("To decide, type `lazaret review {id}` in a terminal.");
    let mode = match apply {
        ApplyMode::Auto => ApprovalMode::IfClean,
        ApplyMode::Ask | ApplyMode::Never => ApprovalMode::Withheld,
    };
    Ok(match decide_unasked(proposal, mode, Person::Absent)? {
        Unasked::Decided(Decision::Apply(plan)) => {
            let context = LiveContext {
                store: &store,
                approver: Approver::CleanBatch,
                events: &app.events,
                cancel: &app.cancel,
            };
            apply_live(live_view.session(), &case, &plan, context)?;
            format!(
                "Applied to your workspace ({counts}):\n\n{changes}\n`lazaret undo {id}` takes it \
                 back once the session has ended."
            )
        }
        Unasked::Decided(Decision::Reject) => {
            format!("Nothing of this can be applied as it is ({counts}):\n\n{changes}{findings}")
        }
        Unasked::Decided(Decision::Keep(reason)) if reason != KeepReason::Chosen => {
            format!("Not applied, since {reason} ({counts}):\n\n{changes}{findings}\n{review}")
        }
        Unasked::Decided(_) | Unasked::Ask(_) => {
            format!("Changed, and not applied ({counts}):\n\n{changes}{findings}\n{review}")
        }
    })
}

/// The findings, one a line; nothing if there are none.
fn findings(proposal: &Proposal) -> String {
    let findings = proposal.findings().iter();
    let lines: Vec<String> = findings.map(ToString::to_string).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nFindings:\n\n{}", listed(&lines)),
    }
}

/// Lines that came out of the container, for an editor that shows Markdown: in a block that none of
/// them can end.
pub(super) fn listed(lines: &[String]) -> String {
    let mut text = "```text\n".to_owned();
    for line in lines.iter().take(MOST_LISTED) {
        text.push_str("  ");
        text.push_str(&line.replace('`', "\u{2bb}"));
        text.push('\n');
    }
    if let Some(more) = lines
        .len()
        .checked_sub(MOST_LISTED)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!("  and {more} more\n"));
    }
    text.push_str("```\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_block_that_it_is_listed_in() {
        let lines = vec!["+ ``````".to_owned(); MOST_LISTED + 2];
        let text = listed(&lines);
        assert_eq!(text.matches("```").count(), 2, "{text}");
        assert!(text.ends_with("  and 2 more\n```\n"), "{text}");
    }
}
