//! `full_listing`: all that a summary says, in a file, where a terminal shows a part of it (UI-05).
//!
//! A summary counts paths beyond the first ones and takes the middle out of long names. The
//! user needs the rest to decide, without an export. So a file in the session's directory lists
//! everything in full. It is written again whenever an incomplete summary is shown.

use std::io::{self, Write};

use lazaret_gate::atomic_file::replace;
use lazaret_gate::case::Case;
use lazaret_gate::proposal::Proposal;
use lazaret_tree::escape;

use super::summary;
use crate::failure::Failure;
use crate::ui::Ui;

/// The file's name in the session's directory.
pub const NAME: &str = "changes.txt";

/// Writes the list where a summary of the proposal leaves something out, and says where it
/// is. A case that is no session's has no place for it.
pub fn keep(case: &Case, proposal: &Proposal, ui: &Ui) {
    let Some(dir) = &case.session_dir else { return };
    if !summary::is_partial(proposal, ui) {
        return;
    }
    let path = dir.join(NAME);
    let shown = ui.whole_place(&path);
    match replace(&path, |out| write(out, case, proposal)) {
        Ok(_) => ui.status(&format!("full list: {shown}")),
        Err(error) => ui.failure(&Failure::from(error)),
    }
}

/// Writes every path, finding, cache and conflict on a line of its own, in full.
///
/// # Errors
/// The writer's.
pub fn write(out: &mut dyn Write, case: &Case, proposal: &Proposal) -> io::Result<()> {
    for item in proposal.items() {
        let path = escape(item.path().as_str().as_bytes());
        let (sign, note) = (summary::sign(item.proposed()), summary::note(item));
        writeln!(out, "{sign} {path}{note}")?;
    }
    for finding in proposal.findings() {
        writeln!(out, "{finding}")?;
    }
    for cache in &case.caches {
        let name = escape(&cache.name);
        writeln!(out, "not taken: {name} ({})", cache.reason)?;
    }
    for (path, kind) in proposal.conflicts() {
        let path = escape(path.as_str().as_bytes());
        writeln!(out, "conflict: {path}: {kind}")?;
    }
    Ok(())
}
