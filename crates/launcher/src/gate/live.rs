//! What the command of a live session has changed up to now, judged as a preview.

use lazaret_gate::allowlist::Remembered;
use lazaret_gate::case::Case;
use lazaret_gate::input::GateInput;
use lazaret_transfer::Collection;

use super::open::{policy_of, workspace_of};
use crate::environment::Environment;
use crate::failure::Failure;
use lazaret_session::live::view::Viewer;

/// Puts together what was seen. Nothing can be decided on it: the command goes on, and what
/// it leaves behind is collected and judged when it has ended.
///
/// # Errors
/// As [`super::open::open_case`].
pub fn preview(
    viewer: &Viewer<'_>,
    seen: Collection,
    remembered: &Remembered,
    env: &Environment,
) -> Result<Case, Failure> {
    let record = viewer.record();
    let mut case = Case::assemble(GateInput {
        baseline: viewer.baseline().clone(),
        collected: seen.tree,
        refusals: seen.refusals,
        notes: seen.notes,
        caches: seen.left_out,
        quarantine: viewer.quarantine()?,
        base: viewer.base(),
        workspace: workspace_of(record)?,
        policy: policy_of(record, env, viewer.session(), viewer.baseline())?,
        subject: Some(record.subject()),
        listing: None,
    })?;
    remembered.tell(&mut case)?;
    Ok(case)
}
