//! `Cargo.toml`: what replaces a dependency, what is built from elsewhere, and what runs
//! at build. Everything else of it is ordinary, and nothing is said of it.

use super::{Difference, Place, say};
use crate::Severity::Warn;
use crate::rules::remarks::Remarks;

/// Judges one difference.
pub(super) fn judge(difference: &Difference<'_, '_>, _: Place, remarks: &mut Remarks) {
    match difference.path {
        ["patch" | "replace", ..] => {
            let reason = "replaces a dependency by another";
            say(difference, Warn, "manifest.cargo_patch", reason, remarks);
        }
        ["package", "build" | "links"]
        | ["lib", "proc-macro" | "proc_macro"]
        | ["profile", .., "rustflags" | "trim-paths"] => {
            let reason = "has something run or passed on at build";
            say(difference, Warn, "manifest.cargo_build", reason, remarks);
        }
        [.., table, _, key] if is_dependencies(table) && difference.after.is_some() => {
            let absolute = |path: &str| path.starts_with(['/', '\\', '~']);
            let text = difference.after.and_then(|value| value.text());
            let reason = match *key {
                "git" | "branch" | "tag" | "rev" => "comes from a repository",
                "registry" | "registry-index" => "comes from another registry",
                "path" if text.is_some_and(|path| absolute(path)) => "comes from outside",
                "package" => "has the contents of another package",
                _ => return,
            };
            say(difference, Warn, "manifest.cargo_source", reason, remarks);
        }
        _ => {}
    }
}

fn is_dependencies(table: &str) -> bool {
    matches!(
        table.replace('_', "-").as_str(),
        "dependencies" | "dev-dependencies" | "build-dependencies"
    )
}
