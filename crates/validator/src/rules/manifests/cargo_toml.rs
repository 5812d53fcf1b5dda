//! `Cargo.toml`: what replaces a dependency, what is built from elsewhere, and what runs
//! at build. Everything else of it is ordinary, and nothing is said of it.

use super::{Difference, Manifest, say};
use crate::Severity::Warn;
use crate::codes;
use crate::file_findings::FileFindings;

/// Judges one difference.
pub(super) fn judge(
    difference: &Difference<'_, '_>,
    manifest: &Manifest,
    remarks: &mut FileFindings,
) {
    match difference.path {
        ["patch" | "replace", ..] => {
            let reason = "replaces a dependency by another";
            say(
                difference,
                Warn,
                codes::MANIFEST_CARGO_PATCH,
                reason,
                remarks,
            );
        }
        ["package", "build" | "links"]
        | ["lib", "proc-macro" | "proc_macro"]
        | ["profile", .., "rustflags" | "trim-paths"] => {
            let reason = "has something run or passed on at build";
            say(
                difference,
                Warn,
                codes::MANIFEST_CARGO_BUILD,
                reason,
                remarks,
            );
        }
        ["lib", "crate-type" | "crate_type"] if is_macro(difference) => {
            let reason = "makes it a macro, which the compiler runs";
            say(
                difference,
                Warn,
                codes::MANIFEST_CARGO_BUILD,
                reason,
                remarks,
            );
        }
        [.., table, _, key] if is_dependencies(table) && difference.after.is_some() => {
            let text = difference.after.and_then(|value| value.text());
            let reason = match *key {
                "git" | "branch" | "tag" | "rev" => "comes from a repository",
                "registry" | "registry-index" => "comes from another registry",
                "path" if text.is_some_and(|path| manifest.leads_out(path)) => {
                    "comes from outside the workspace"
                }
                "package" => "has the contents of another package",
                _ => return,
            };
            say(
                difference,
                Warn,
                codes::MANIFEST_CARGO_SOURCE,
                reason,
                remarks,
            );
        }
        _ => {}
    }
}

fn is_macro(difference: &Difference<'_, '_>) -> bool {
    let after = difference.after.into_iter();
    let mut kinds = after.flat_map(|value| value.items().iter().chain([value]));
    kinds.any(|kind| kind.text().is_some_and(|kind| kind == "proc-macro"))
}

fn is_dependencies(table: &str) -> bool {
    matches!(
        table.replace('_', "-").as_str(),
        "dependencies" | "dev-dependencies" | "build-dependencies"
    )
}
