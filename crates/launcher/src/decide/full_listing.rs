//! `full_listing`: all that a summary says, in a file, where a terminal shows a part of it (UI-05).
//!
//! A summary counts paths beyond the first ones and takes the middle out of long names. The
//! user needs the rest to decide, without an export. So a file in the session's directory lists
//! everything in full. It is written again whenever an incomplete summary is shown.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use lazaret_gate::case::Case;
use lazaret_gate::proposal::Proposal;
use lazaret_tree::{AtPath as _, escape};

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
        Ok(()) => ui.status(&format!("full list: {shown}")),
        Err(failure) => ui.failure(&failure),
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

/// Replaces the file as a whole, piece by piece: a large batch has 100 MiB of it.
fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let staged = tempfile::NamedTempFile::new_in(dir).at(path)?;
    let mut out = BufWriter::new(staged);
    write(&mut out).at(path)?;
    let staged = out.into_inner().map_err(|error| error.into_error());
    let kept = staged.and_then(|staged| staged.persist(path).map_err(|error| error.error));
    kept.at(path)?;
    Ok(())
}
