//! Exports: what a batch is, in a form that outlives the session.
//!
//! | form | for | made by |
//! |---|---|---|
//! | patch | `git apply` in any clone of the workspace | [`git_patch`] |
//! | JSON | scripts | [`document`] |
//! | HTML | people, attached to a pull request | [`html`] |
//! | SARIF | the code scanning of a forge | [`sarif`] |
//!
//! All describe one [`ReportInput`]. None reads anything that the gate did not judge. New
//! contents come from the quarantine by digest, old ones from the base store or the workspace.
//! Both are hashed again on the way.

mod base85;
mod blob;
pub mod document;
pub mod file;
pub mod git_patch;
pub mod html;
mod quote;
pub mod report_input;
pub mod sarif;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use file::IfExists;
pub use report_input::{Checked, ReportInput, ReportSubject, propose};

use self::file::FileError;
use self::git_patch::PatchError;
use self::html::HtmlError;
use crate::case::Case;
use crate::file_side::ContentsError;
use crate::propose::ProposeError;

/// Why a report can't be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// What is told of can't be derived.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// Contents can't be read.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// The patch can't be written.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The page can't be written.
    #[error(transparent)]
    Html(#[from] HtmlError),
    /// The file can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The writer fails.
    #[error("the report can't be written")]
    Write(#[source] io::Error),
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A patch for git.
    Patch,
    /// The complete report, for machines.
    Json,
    /// The complete report, for people.
    Html,
    /// The findings, for the code scanning of a forge.
    Sarif,
}

impl Form {
    /// Every form that [`write_all`] writes.
    pub const ALL: [Self; 3] = [Self::Patch, Self::Json, Self::Html];

    fn extension(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Json => "json",
            Self::Html => "html",
            Self::Sarif => "sarif",
        }
    }
}

/// Writes one form.
///
/// # Errors
/// When contents can't be read, or the writer fails.
pub fn write(
    form: Form,
    input: &ReportInput<'_>,
    case: &Case,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let failed = ExportError::Write;
    match form {
        Form::Patch => Ok(git_patch::write(input, case, out)?),
        Form::Json => {
            let document = document::Document::new(input, case)?;
            serde_json::to_writer_pretty(&mut *out, &document)
                .map_err(|error| failed(error.into()))?;
            writeln!(out).map_err(failed)
        }
        Form::Html => Ok(html::write(input, case, out)?),
        Form::Sarif => {
            let log = sarif::SarifLog::new(input);
            serde_json::to_writer_pretty(&mut *out, &log).map_err(|error| failed(error.into()))?;
            writeln!(out).map_err(failed)
        }
    }
}

/// Writes all forms into `dir`, as `lazaret-NAME.patch`, `.json` and `.html`, in place of earlier
/// ones, and returns the files. This is what the prompt's `export` does.
///
/// # Errors
/// As [`write()`].
pub fn write_all(
    input: &ReportInput<'_>,
    case: &Case,
    dir: &Path,
) -> Result<Vec<PathBuf>, ExportError> {
    let name = input.subject.name();
    let path = |form: Form| dir.join(format!("lazaret-{name}.{}", form.extension()));
    let mut written = Vec::new();
    for form in Form::ALL {
        let path = path(form);
        file::write(&path, IfExists::Replace, |out| {
            write(form, input, case, out)
        })?;
        written.push(path);
    }
    Ok(written)
}
