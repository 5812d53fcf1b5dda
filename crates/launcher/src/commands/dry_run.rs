//! `lazaret run --dry-run`: what would go in, and what would stay out and why.

use lazaret_transfer::{Entry, Hashing, Selector, WorkspaceDir, escape, walk};
use serde_json::json;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::git;
use crate::ui::{OutputFormat, Tone, bytes, count};

/// How many of the largest files are listed on a terminal; `--json` has them all.
const MOST_FILES: usize = 20;

pub(crate) fn run(
    workspace: &WorkspaceDir,
    selector: &Selector,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let made = git::make(workspace, selector, &context.env, &context.interrupt)?;
    let walked = walk(workspace, &made.selector, Hashing::SizesOnly)?;
    let mut files: Vec<(String, u64)> = walked
        .tree
        .iter()
        .filter_map(|(path, entry)| match entry {
            Entry::File { size, .. } => Some((path.to_string(), *size)),
            Entry::Dir | Entry::Symlink { .. } => None,
        })
        .collect();
    files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let ui = &context.ui;
    if ui.format() == OutputFormat::Json {
        let file = |(path, size): &(String, u64)| json!({ "path": path, "bytes": size });
        let skipped = |skip: &lazaret_transfer::Skipped| {
            json!({
                "path": escape(&skip.name),
                "code": skip.reason.code(),
                "reason": skip.reason.to_string(),
                "bytes": skip.bytes,
            })
        };
        ui.json(&json!({
            "workspace": workspace.path().to_string_lossy(),
            "entries": walked.tree.len(),
            "bytes": walked.tree.total_bytes(),
            "files": files.iter().map(file).collect::<Vec<_>>(),
            "left_out": walked.skipped.iter().map(skipped).collect::<Vec<_>>(),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let total = bytes(walked.tree.total_bytes());
    ui.result(&ui.paint_result(
        Tone::Strong,
        &format!(
            "goes in: {} files, {} entries, {total}",
            count(files.len() as u64),
            walked.tree.len()
        ),
    ));
    for (path, size) in files.iter().take(MOST_FILES) {
        ui.result(&format!(
            "  {:>10}  {}",
            bytes(*size),
            escape(path.as_bytes())
        ));
    }
    if files.len() > MOST_FILES {
        ui.result(&format!(
            "  … and {} smaller files",
            count((files.len() - MOST_FILES) as u64)
        ));
    }
    if !walked.skipped.is_empty() {
        let heading = format!("stays out: {}", count(walked.skipped.len() as u64));
        ui.result(&ui.paint_result(Tone::Strong, &heading));
    }
    for skip in &walked.skipped {
        let size = skip.bytes.map(bytes).unwrap_or_default();
        ui.result(&format!(
            "  {size:>10}  {}  ({})",
            escape(&skip.name),
            skip.reason
        ));
    }
    Ok(ExitCode::SUCCESS)
}
