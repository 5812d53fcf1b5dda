//! What the user's own git configuration has git run or read in the workspace (GIT-27). An
//! agent that changes it chooses what runs at the next `git status`.

use std::borrow::Cow;

use lazaret_tree::{Change, Entry, escape};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::{Finding, Severity, Subject};

/// How many uses are named for one path.
const MOST_NAMED: usize = 4;
/// How many problems of the configuration are named.
const MOST_PROBLEMS: usize = 3;

pub(in crate::rules) fn check(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let (path, git) = (&change.path, &context.policy.git);
    if git.uses_nothing() || context.is_git(path) {
        return;
    }
    // A directory that is there for what is to come runs nothing yet; what it replaces did.
    let is_made = change.before.is_none() && change.after == Some(Entry::Dir);
    let mut uses = git.uses_of(path.as_str());
    if is_made {
        uses.clear();
    }
    uses.sort();
    uses.dedup_by_key(|used| &used.reason);
    for used in uses.iter().take(MOST_NAMED) {
        report.path(path, used.severity, codes::GIT_RUNS, used.reason.clone());
    }
    // A link above such a place puts something else there.
    if matches!(change.after, Some(Entry::Symlink { .. })) {
        for used in git.uses_below(path.as_str()).take(MOST_NAMED) {
            let place = used.place.as_ref().map(|place| place.as_str());
            let place = escape(place.unwrap_or_default().as_bytes());
            let message = format!("puts something else at `{place}`: {}", used.reason);
            report.path(path, used.severity, codes::GIT_RUNS, message);
        }
    }
}

/// Says that the configuration could not be read, or that git could not: then what git runs
/// is not known, or will be another thing once the mistake is corrected.
pub(in crate::rules) fn unknown(context: &Context<'_>, report: &mut FindingBuffer) {
    let problems = context.policy.git.problems();
    let mut changes = context.changes.iter();
    if problems.is_empty() || changes.all(|change| context.is_git(&change.path)) {
        return;
    }
    let (named, more) = problems.split_at(problems.len().min(MOST_PROBLEMS));
    let more = match more.len() {
        0 => String::new(),
        count => format!("; and {count} more"),
    };
    let message = format!(
        "what git runs here is not known: {}{more}",
        named.join("; ")
    );
    report.push(Finding {
        code: codes::GIT_CONFIG_UNKNOWN.id,
        severity: Severity::Warn,
        subject: Subject::Batch,
        line: None,
        message: Cow::Owned(message),
        hint: Some("correct your git configuration: `git config --list --show-origin`"),
        allowed: false,
    });
}
