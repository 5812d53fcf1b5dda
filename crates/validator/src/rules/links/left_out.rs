//! New links to what stayed out of the copy (SUS-35): inside they dangle, and in the
//! workspace `public/x -> ../.env` comes alive.

use std::collections::BTreeSet;

use lazaret_tree::{Change, ChangeSet, Changed, Entry, RelPathBuf, Tree, escape};

use crate::Severity;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::rules::links::targets::{LinkTargetCheck, follow};

pub(in crate::rules) fn check(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    if context.policy.left_out.is_empty() || context.is_git(&change.path) {
        return;
    }
    let Some(end) = end(context.collected, change) else {
        return;
    };
    if context.collected.get(&end).is_none() && context.policy.left_out.contains(&end) {
        let end = escape(end.as_str().as_bytes());
        let message = format!(
            "leads to `{end}`, which the workspace has and the copy had not: the link comes alive \
             there"
        );
        report.path(&change.path, Severity::Warn, codes::LINK_LEFT_OUT, message);
    }
}

/// Returns where in the workspace the links of a batch lead that the baseline has nothing at:
/// what of it is there on the host stayed out of the copy.
pub fn link_ends(baseline: &Tree, changes: &ChangeSet) -> BTreeSet<RelPathBuf> {
    let collected = Changed::new(baseline, changes);
    let ends = changes.iter().filter_map(|change| end(collected, change));
    ends.filter(|end| baseline.get(end).is_none()).collect()
}

/// Where a link of a batch leads, if that is in the workspace.
fn end(collected: Changed<'_>, change: &Change) -> Option<RelPathBuf> {
    let Some(Entry::Symlink { target }) = &change.after else {
        return None;
    };
    let followed = follow(|path| collected.get(path), &change.path, target, None);
    let is_inside = followed.leads == LinkTargetCheck::Inside;
    is_inside.then(|| followed.end.parse().ok()).flatten()
}
