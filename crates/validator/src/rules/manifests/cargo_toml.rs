//! `Cargo.toml`: what replaces a dependency, what is built from elsewhere, and what runs
//! at build. Everything else of it is ordinary, and nothing is said of it.

use super::{Difference, Manifest, Remark, warn};
use crate::codes::{MANIFEST_CARGO_BUILD, MANIFEST_CARGO_PATCH, MANIFEST_CARGO_SOURCE};

/// Judges one difference.
pub(super) fn judge(difference: &Difference<'_, '_>, manifest: &Manifest) -> Option<Remark> {
    match difference.path {
        ["patch" | "replace", ..] => warn(MANIFEST_CARGO_PATCH, "replaces a dependency by another"),
        ["package", "build" | "links"]
        | ["lib", "proc-macro" | "proc_macro"]
        | ["profile", .., "rustflags" | "trim-paths"] => warn(
            MANIFEST_CARGO_BUILD,
            "has something run or passed on at build",
        ),
        ["lib", "crate-type" | "crate_type"] if is_macro(difference) => warn(
            MANIFEST_CARGO_BUILD,
            "makes it a macro, which the compiler runs",
        ),
        [.., table, _, key] if is_dependencies(table) => {
            let text = difference.after?.text();
            let reason = match *key {
                "git" | "branch" | "tag" | "rev" => "comes from a repository",
                "registry" | "registry-index" => "comes from another registry",
                "path" if text.is_some_and(|path| manifest.leads_out(path)) => {
                    "comes from outside the workspace"
                }
                "package" => "has the contents of another package",
                _ => return None,
            };
            warn(MANIFEST_CARGO_SOURCE, reason)
        }
        _ => None,
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
