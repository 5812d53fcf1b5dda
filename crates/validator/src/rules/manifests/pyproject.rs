//! `pyproject.toml`: what builds the package, what tools run, and where packages are
//! looked for.

use super::{
    CHOOSES_BACKEND, CHOOSES_INDEX, DEPENDS_ELSEWHERE, Difference, Manifest, RUNS_OR_LOADS, Remark,
    adds_address, chooses_index, runs_something, warn,
};
use crate::codes::{MANIFEST_BUILD, MANIFEST_SCRIPT};

/// Judges one difference.
pub(super) fn judge(difference: &Difference<'_, '_>, _: &Manifest) -> Option<Remark> {
    match difference.path {
        ["build-system", ..] => CHOOSES_BACKEND,
        ["project", "scripts" | "gui-scripts" | "entry-points", ..] => warn(
            MANIFEST_SCRIPT,
            "becomes a program on the path, or is loaded by one",
        ),
        ["project", "dependencies" | "optional-dependencies", ..] | ["dependency-groups", ..]
            if adds_address(difference) =>
        {
            DEPENDS_ELSEWHERE
        }
        ["tool", tool, rest @ ..] => judge_tool(difference, tool, rest),
        _ => None,
    }
}

fn judge_tool(difference: &Difference<'_, '_>, tool: &str, rest: &[&str]) -> Option<Remark> {
    let any = |is_one: &dyn Fn(&str) -> bool| rest.iter().any(|key| is_one(key));
    let chooses = match (tool, rest) {
        ("uv", ["index", ..]) | ("poetry" | "pdm", ["source", ..]) => true,
        ("rye", ["sources", ..]) | ("pip", _) => true,
        ("pixi", _) => any(&|key| ["channels", "pypi-options"].contains(&key)),
        _ => false,
    };
    let computes = matches!(
        (tool, rest),
        ("hatch" | "pdm", ["version", ..]) | ("setuptools", ["dynamic", .., "attr"])
    );
    if computes && difference.after.is_some() {
        warn(MANIFEST_BUILD, "imports or runs code to find the version")
    } else if chooses || any(&chooses_index) {
        CHOOSES_INDEX
    } else if is_source(tool, rest) {
        DEPENDS_ELSEWHERE
    } else if runs_something(tool) || any(&runs_something) {
        RUNS_OR_LOADS
    } else if any(&|key| key.contains("dependencies")) && adds_address(difference) {
        DEPENDS_ELSEWHERE
    } else {
        None
    }
}

/// `tool.uv.sources.NAME`, and `{ git = … }` in Poetry's tables of dependencies.
fn is_source(tool: &str, rest: &[&str]) -> bool {
    match rest {
        ["sources", ..] => tool == "uv",
        [
            ..,
            table,
            _,
            "git" | "url" | "path" | "file" | "source" | "branch" | "rev" | "tag",
        ] => table.contains("dependencies"),
        _ => false,
    }
}
