//! `Drift`: what the user did to the paths of a batch since they were copied in.

use std::sync::Arc;

use lazaret_transfer::{
    ConflictKind, EntryAt, HostState, InsertError, host_states, inspect, merge,
};
use lazaret_tree::{Change, Digest, Entry, PathError};

use super::contents::{Contents, MOST_TEXT_BYTES};

/// Why the workspace can't be compared with a batch.
#[derive(Debug, thiserror::Error)]
pub enum DriftError {
    /// The workspace can't be read.
    #[error(transparent)]
    Workspace(#[from] PathError),
    /// Merged contents can't be kept.
    #[error(transparent)]
    Store(#[from] InsertError),
}

/// How the workspace is at the path of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Drift {
    /// As the change expects it.
    Expected,
    /// As it would be after the change.
    Already,
    /// Neither, but both sides fit together: from what is there to what they come to.
    Merged(Arc<Change>),
    /// Neither.
    Conflict(Box<DriftConflict>),
}

/// What the user made of a path that the session changed too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DriftConflict {
    pub(super) kind: ConflictKind,
    /// What is there.
    pub(super) host: EntryAt,
}

/// Compares the workspace with each change, which are in path order, and merges what can
/// be merged. Merged contents go to the quarantine: they are judged, shown and applied like
/// all others.
///
/// # Errors
/// When the workspace can't be read, or the quarantine not be written.
pub(super) fn drifts(
    changes: &[Arc<Change>],
    contents: &mut Contents,
) -> Result<Vec<Drift>, DriftError> {
    let host_states = host_states(contents.workspace(), changes)?;
    let mut drifts = Vec::with_capacity(changes.len());
    for (change, host_state) in changes.iter().zip(host_states) {
        drifts.push(match host_state {
            HostState::Expected => Drift::Expected,
            HostState::Already => Drift::Already,
            HostState::Conflict(kind) => conflict(change, kind, contents)?,
        });
    }
    Ok(drifts)
}

fn conflict(
    change: &Change,
    kind: ConflictKind,
    contents: &mut Contents,
) -> Result<Drift, DriftError> {
    let host = inspect(contents.workspace(), &change.path)?;
    if let EntryAt::Entry(Entry::File { digest, .. }) = &host {
        contents.note(*digest, change.path.clone());
    }
    let merged = match merged(change, &host, contents)? {
        None => since_applied(change, &host, contents)?,
        merged => merged,
    };
    Ok(match (host, merged) {
        (EntryAt::Entry(host), Some(merged)) if host == merged => Drift::Already,
        (EntryAt::Entry(host), Some(merged)) => Drift::Merged(Arc::new(Change {
            path: change.path.clone(),
            before: Some(host),
            after: Some(merged),
        })),
        (host, _) => Drift::Conflict(Box::new(DriftConflict { kind, host })),
    })
}

/// A file's contents and execute bit.
#[derive(Debug, Clone, Copy)]
struct Version<'a> {
    entry: &'a Entry,
    digest: Digest,
    size: u64,
    mode: lazaret_tree::Mode,
}

fn version(entry: &Entry) -> Option<Version<'_>> {
    match entry {
        Entry::File { mode, size, digest } => Some(Version {
            entry,
            digest: *digest,
            size: *size,
            mode: *mode,
        }),
        Entry::Dir | Entry::Symlink { .. } => None,
    }
}

/// Merges one path; `None` where that can't be done. Only a file that was sent in and is a
/// file on both sides is merged: two files that were created under one name have no common
/// beginning.
fn merged(
    change: &Change,
    host: &EntryAt,
    contents: &Contents,
) -> Result<Option<Entry>, DriftError> {
    let EntryAt::Entry(host) = host else {
        return Ok(None);
    };
    let sides = [change.before.as_ref(), Some(host), change.after.as_ref()];
    let [Some(base), Some(host), Some(session)] = sides.map(|side| side.and_then(version)) else {
        return Ok(None);
    };
    let kept = if host.digest == base.digest || host.digest == session.digest {
        Some((session.digest, session.size))
    } else if session.digest == base.digest {
        stored(contents, host)?
    } else {
        text(contents, base, host, session)?
    };
    Ok(kept.map(|(digest, size)| Entry::File {
        mode: merge::modes(base.mode, host.mode, session.mode),
        size,
        digest,
    }))
}

/// Merges what the user did since some hunks of the change were applied with the rest of it:
/// both have those hunks in common (APP-29). Where an edit of the user's came before, what was
/// applied was a part of what both came to, and the rest is the rest of that.
fn since_applied(
    change: &Change,
    host: &EntryAt,
    contents: &Contents,
) -> Result<Option<Entry>, DriftError> {
    let mut rest = change.clone();
    // What this batch brought to the quarantine: others were settled, and are in the baseline.
    let is_known = |entry: &Option<Entry>| match entry {
        Some(Entry::File { digest, .. }) => contents.quarantine().has(digest),
        _ => false,
    };
    let applied = contents.applied(&change.path).iter();
    let mut applied = applied
        .filter(|applied| is_known(&applied.after))
        .peekable();
    if applied.peek().is_none() {
        return Ok(None);
    }
    for applied in applied {
        if applied.after != rest.after && applied.before != rest.before {
            let Some(before) = applied.before.clone() else {
                return Ok(None);
            };
            let Some(both) = merged(&rest, &EntryAt::Entry(before), contents)? else {
                return Ok(None);
            };
            rest.after = Some(both);
        }
        rest.before = applied.after.clone();
    }
    merged(&rest, host, contents)
}

/// Brings the workspace's own contents into the quarantine: only the execute bit changes,
/// but a transaction writes whole files.
fn stored(contents: &Contents, host: Version<'_>) -> Result<Option<(Digest, u64)>, DriftError> {
    match contents.read(&host.digest, MOST_TEXT_BYTES) {
        Ok(bytes) => Ok(Some(insert(contents, &bytes)?)),
        Err(_) => Ok(None),
    }
}

fn text(
    contents: &Contents,
    base: Version<'_>,
    host: Version<'_>,
    session: Version<'_>,
) -> Result<Option<(Digest, u64)>, DriftError> {
    let texts = [base, host, session].map(|version| contents.text(version.entry));
    let [Some(base), Some(host), Some(session)] = texts else {
        return Ok(None);
    };
    match merge::texts(&base, &host, &session) {
        Some(text) => Ok(Some(insert(contents, text.as_bytes())?)),
        None => Ok(None),
    }
}

/// Puts contents that lazaret made into the quarantine.
pub(super) fn insert(contents: &Contents, mut bytes: &[u8]) -> Result<(Digest, u64), InsertError> {
    let most = bytes.len() as u64;
    contents.quarantine().insert(&mut bytes, most)
}
