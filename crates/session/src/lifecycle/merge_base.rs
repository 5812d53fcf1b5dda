//! Keeps the texts that a session started from, for merges and for diffs: while the command
//! runs, as far as the workspace still has them, and at the latest those that it changed.
//!
//! None of it is needed for a session to go on: what can't be kept is a conflict later, where
//! it could have been a merge (FLT-07).

use lazaret_transfer::{WorkspaceDir, record_merge_bases};
use lazaret_tree::{PathError, Tree};

use crate::event::{Event, EventSink};
use crate::lifecycle::latch::{BACKGROUND_DELAY, CommandEnded, Latch};
use crate::store::SessionDir;
use crate::store::record::{Record, identity};
use crate::store::sync_state::{SyncState, SyncStateError, read_baseline};

/// The most bytes of text that are kept before it is known which will be needed: more source
/// code than most projects have.
const ROOM: u64 = 256 << 20;
/// What the command has changed is kept beyond that.
const ROOM_OF_CHANGES: u64 = 2 * ROOM;
/// The least urgent of all, as in nice(1).
#[cfg(target_os = "linux")]
const NICE: i32 = 19;

/// Where the texts that a session started from are read.
#[derive(Debug, Clone, Copy)]
pub enum BaseTexts<'a> {
    /// In the directory that was sent.
    Sent(&'a WorkspaceDir),
    /// In the workspace that the record names: the directory that was sent may be gone.
    Recorded,
}

/// Keeps what was sent in, beside the command, until all of it is there or the command is
/// over. Runs on a thread of its own.
pub(crate) fn capture(
    events: &dyn EventSink,
    dir: &SessionDir,
    workspace: &WorkspaceDir,
    over: &Latch<CommandEnded>,
) {
    if over.wait_for(BACKGROUND_DELAY).is_some() {
        return;
    }
    // There it is of the thread alone (setpriority(2), "BUGS"). Where it is refused, the work
    // is as urgent as the command's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
    let go_on = &mut || over.get().is_none();
    let kept =
        read_baseline(dir).and_then(|baseline| Ok(keep(dir, workspace, &baseline, ROOM, go_on)?));
    tell(events, kept);
}

/// Keeps all that was sent in and is missing.
pub fn keep_all(events: &dyn EventSink, dir: &SessionDir, workspace: &WorkspaceDir) {
    let kept = read_baseline(dir)
        .and_then(|baseline| Ok(keep(dir, workspace, &baseline, ROOM, &mut || true)?));
    tell(events, kept);
}

/// Keeps what was sent in of all that the command has changed.
pub(crate) fn keep_changed(
    events: &dyn EventSink,
    dir: &SessionDir,
    record: &Record,
    known: &SyncState,
    texts: BaseTexts<'_>,
) {
    let changed = known.volume.replaced(&known.baseline);
    if changed.is_empty() {
        return;
    }
    let keep = |from: &WorkspaceDir| keep(dir, from, &changed, ROOM_OF_CHANGES, &mut || true);
    let kept = match texts {
        BaseTexts::Sent(sent) => keep(sent),
        BaseTexts::Recorded => {
            WorkspaceDir::open_ambient(&record.workspace).and_then(|workspace| {
                match identity(workspace.identity()) == record.workspace_identity {
                    true => keep(&workspace),
                    false => Ok(()),
                }
            })
        }
    };
    tell(events, kept.map_err(SyncStateError::from));
}

fn keep(
    dir: &SessionDir,
    workspace: &WorkspaceDir,
    tree: &Tree,
    room: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), PathError> {
    record_merge_bases(workspace, tree, &dir.file("merge-bases"), room, go_on)
}

fn tell(events: &dyn EventSink, kept: Result<(), SyncStateError>) {
    if let Err(error) = kept {
        events.event(Event::MergeBaseNotKept(&error));
    }
}
