//! Limits: entries, bytes, paths (TAR-40, TAR-48, TAR-49).
//!
//! The stream's own limits end a transfer early; these judge what arrived, and
//! may be tighter.

use lazaret_tree::{Change, Entry, finding_code};

use crate::Subject;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;

const HINT: &str = "raise the limit in the profile's [gate] table if this much is expected";

pub(super) fn check(context: &Context<'_>, report: &mut FindingBuffer) {
    let limits = &context.policy.limits;
    let (mut entries, mut total) = (0_u64, 0_u64);
    for change in context.changes {
        if context.is_git(&change.path) {
            continue;
        }
        entries += 1;
        let size = new_bytes(change);
        total = total.saturating_add(size);
        if size > limits.file_bytes {
            let message = format!("{size} bytes, and {} are allowed", limits.file_bytes);
            let subject = Subject::Path(change.path.clone());
            report.reject(subject, finding_code::LIMIT_FILE_BYTES, message, HINT);
        }
    }
    if entries > limits.entries {
        let message = format!("{entries} changes, and {} are allowed", limits.entries);
        report.reject(Subject::Batch, finding_code::LIMIT_ENTRIES, message, HINT);
    }
    if total > limits.total_bytes {
        let message = format!("{total} bytes, and {} are allowed", limits.total_bytes);
        report.reject(
            Subject::Batch,
            finding_code::LIMIT_TOTAL_BYTES,
            message,
            HINT,
        );
    }
}

/// The bytes that a change brings; another mode brings none.
fn new_bytes(change: &Change) -> u64 {
    let digest = |entry: &Option<Entry>| match entry {
        Some(Entry::File { digest, .. }) => Some(*digest),
        _ => None,
    };
    match &change.after {
        Some(Entry::File { size, .. }) if digest(&change.before) != digest(&change.after) => *size,
        _ => 0,
    }
}

pub(super) fn path(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let (limits, path) = (&context.policy.limits, &change.path);
    if context.is_git(path) || change.after.is_none() {
        return;
    }
    let (bytes, depth) = (path.as_str().len(), path.components().count());
    if bytes > limits.path_bytes {
        let allowed = limits.path_bytes;
        let message = format!("the path has {bytes} bytes, and {allowed} are allowed");
        report.block(path, finding_code::PATH_TOO_LONG, message);
    }
    if depth > limits.depth {
        let allowed = limits.depth;
        let message = format!("the path has {depth} components, and {allowed} are allowed");
        report.block(path, finding_code::PATH_TOO_DEEP, message);
    }
}
