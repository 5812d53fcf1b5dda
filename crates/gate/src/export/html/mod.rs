//! The report as one page for people: no script, nothing from elsewhere, and not one byte of
//! the batch that is markup.
//!
//! What needs a review is open and shown whole, up to [`MOST_TEXT_BYTES`] per file. Of a larger
//! file the page shows size and digest, and says so (AUD-04). Files without findings are folded
//! in large batches, and cut.
//!
//! [`MOST_TEXT_BYTES`]: crate::contents::MOST_TEXT_BYTES

mod commits;
mod files;
mod head;
mod plan;
mod tables;
mod text;

use std::io::{self, Write};

use super::ReportInput;
use crate::case::Case;
use crate::file_side::ContentsError;

/// Why the page can't be written.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// Contents can't be read.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// The writer fails.
    #[error("the report can't be written")]
    Write(#[source] io::Error),
}

/// Writes the page.
///
/// # Errors
/// When contents can't be read, or the writer fails.
pub fn write(input: &ReportInput<'_>, case: &Case, out: &mut dyn Write) -> Result<(), HtmlError> {
    let lines = input.lines(case)?;
    head::write(input, lines, out).map_err(failed)?;
    let shows = plan::plan(input, case, lines)?;
    tables::findings(input, &shows, out).map_err(failed)?;
    tables::conflicts(input, out).map_err(failed)?;
    tables::files((input, case), &shows, out)?;
    files::write((input, case), &shows, out)?;
    commits::write(input, out).map_err(failed)?;
    tables::left_out(input, out).map_err(failed)?;
    head::write_end(input, out).map_err(failed)
}

fn failed(error: io::Error) -> HtmlError {
    HtmlError::Write(error)
}
