//! The case of a session: of what was collected, or as a preview while its command runs.

use std::io;
use std::sync::Arc;

use lazaret_gate::allowlist::Allowlist;
use lazaret_gate::case::Case;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::input::{GateInput, policy};
use lazaret_gate::{git_config, git_index};
use lazaret_transfer::{BlobStore, Collection, HistoryState, MergeBases, WorkspaceDir};
use lazaret_tree::Tree;
use lazaret_validator::Policy;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use lazaret_session::live::view::LiveView;
use lazaret_session::store::handed_out::HandedOutFile;
use lazaret_session::store::history::applies;
use lazaret_session::store::record::{Record, identity};
use lazaret_session::store::sync_state::read_collection;
use lazaret_session::store::{LockedSession, SessionDir};

/// Reads a collected session, compares it with the workspace, and judges it. Nothing is
/// written outside of the session. Of the surroundings only the user's git configuration
/// is looked at. New files that git ignores are offered if `ignored` or the session's record
/// says so.
///
/// # Errors
/// When the session's files are damaged, or its workspace is not where it was (APP-03).
pub fn open_case(
    session: &LockedSession,
    ignored: IgnoredFiles,
    env: &Environment,
) -> Result<Case, Failure> {
    let (dir, record) = (session.dir(), session.record());
    let workspace = workspace_of(record)?;
    let (baseline, mut collection) = read_collection(dir)?;
    leave_out_request(&mut collection, record, &baseline);
    let policy = policy_of(record, env, dir, &baseline)?;
    let mut case = Case::assemble(GateInput {
        baseline,
        collected: collection.tree,
        refusals: collection.refusals,
        notes: collection.notes,
        caches: collection.left_out,
        ignored: record.ignored.max(ignored),
        quarantine: BlobStore::open(&dir.file("quarantine"))?,
        // Without it there are fewer merges, and that is all.
        base: MergeBases::open(&dir.file("merge-bases")).ok(),
        workspace,
        policy,
        subject: Some(record.subject()),
        session_dir: Some(dir.path().to_owned()),
    })?;
    heed_applied(&mut case, dir)?;
    Ok(case)
}

/// Puts together what was seen. What is decided on it is about the bytes that were read; the
/// command goes on, and what it leaves behind is collected and judged when it has ended.
///
/// # Errors
/// As [`open_case`].
pub fn preview(
    live_view: &LiveView<'_>,
    mut seen: Collection,
    ignored: IgnoredFiles,
    allowlist: &Allowlist,
    env: &Environment,
) -> Result<Case, Failure> {
    let record = live_view.record();
    leave_out_request(&mut seen, record, live_view.baseline());
    let mut case = Case::assemble(GateInput {
        baseline: live_view.baseline().clone(),
        collected: seen.tree,
        refusals: seen.refusals,
        notes: seen.notes,
        caches: seen.left_out,
        ignored: record.ignored.max(ignored),
        quarantine: live_view.quarantine()?,
        base: live_view.base(),
        workspace: workspace_of(record)?,
        policy: policy_of(record, env, live_view.session(), live_view.baseline())?,
        subject: Some(record.subject()),
        session_dir: None,
    })?;
    heed_applied(&mut case, live_view.session())?;
    allowlist.tell(&mut case)?;
    Ok(case)
}

/// Leaves out the text of a pull request, which never comes back.
fn leave_out_request(collection: &mut Collection, record: &Record, baseline: &Tree) {
    if let Some(path) = &record.pr_file {
        collection.leave_out(baseline, path);
    }
}

/// Looks at conflicts again, knowing what was applied of the batch before.
fn heed_applied(case: &mut Case, dir: &SessionDir) -> Result<(), Failure> {
    if !case.is_in_conflict() {
        return Ok(());
    }
    let mut noted = 0;
    for apply in applies(dir)? {
        if apply.state == HistoryState::Applied {
            noted += case.note_applied(apply.changes()?);
        }
    }
    if noted > 0 {
        case.refresh()?;
    }
    Ok(())
}

/// Opens the workspace of a session.
///
/// # Errors
/// When it is not the directory any more that was copied in (APP-03).
pub(crate) fn workspace_of(record: &Record) -> Result<WorkspaceDir, Failure> {
    let lost = |what: &str| {
        let (id, place) = (&record.id, record.workspace.display());
        let text = format!("the workspace {place} {what}");
        Failure::message(FailureKind::Refused, text).hinted(format!(
            "Put the directory that was copied in back, or go on with another one, such as one that was restored from a backup: `lazaret apply {id} --workspace DIR`."
        ))
    };
    let workspace = match WorkspaceDir::open_ambient(&record.workspace) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            return Err(lost("is gone"));
        }
        other => other?,
    };
    match identity(workspace.identity()) == record.workspace_identity {
        true => Ok(workspace),
        false => Err(lost(
            "is another directory now than the one that was copied in",
        )),
    }
}

/// Returns what the batch of a session is judged by.
///
/// # Errors
/// When its record names a path that is none, or what it was handed can't be read.
pub(crate) fn policy_of(
    record: &Record,
    env: &Environment,
    dir: &SessionDir,
    baseline: &Tree,
) -> Result<Policy, Failure> {
    let handed = HandedOutFile::of(dir).handed_out().map_err(|error| {
        Failure::new(FailureKind::State, error)
            .context("cannot tell what the session was handed, so its changes can't be judged")
    })?;
    let git = git_config::configuration(env.for_git(), &record.workspace, baseline);
    Ok(Policy {
        protect: record.bounds.paths()?,
        handed,
        index: git_index::read(&record.workspace).map(Arc::new),
        ..policy(record.gate, git)
    })
}
