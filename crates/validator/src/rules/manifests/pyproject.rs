//! `pyproject.toml`: what builds the package, what tools run, and where packages are
//! looked for.

use super::{Difference, Manifest, chooses_index, names_address, runs_something, say};
use crate::Severity::{Block, Warn};
use crate::codes;
use crate::file_findings::FileFindings;
use crate::rules::structured::Value;

/// Judges one difference.
pub(super) fn judge(difference: &Difference<'_, '_>, _: &Manifest, remarks: &mut FileFindings) {
    match difference.path {
        ["build-system", ..] => {
            let reason = "chooses the code that builds the package";
            say(difference, Warn, codes::MANIFEST_BUILD, reason, remarks);
        }
        ["project", "scripts" | "gui-scripts" | "entry-points", ..] => {
            let reason = "becomes a program on the path, or is loaded by one";
            say(difference, Warn, codes::MANIFEST_SCRIPT, reason, remarks);
        }
        ["project", "dependencies" | "optional-dependencies", ..] | ["dependency-groups", ..]
            if adds_address(difference) =>
        {
            let reason = "has a dependency from elsewhere than the registry";
            say(
                difference,
                Warn,
                codes::MANIFEST_DEPENDENCY,
                reason,
                remarks,
            );
        }
        ["tool", tool, rest @ ..] => judge_tool(difference, tool, rest, remarks),
        _ => {}
    }
}

fn judge_tool(
    difference: &Difference<'_, '_>,
    tool: &str,
    rest: &[&str],
    remarks: &mut FileFindings,
) {
    let chooses = match (tool, rest) {
        ("uv", ["index", ..]) | ("poetry" | "pdm", ["source", ..]) => true,
        ("rye", ["sources", ..]) | ("pip", _) => true,
        ("pixi", rest) => rest
            .iter()
            .any(|key| ["channels", "pypi-options"].contains(key)),
        _ => false,
    };
    let computes = matches!(
        (tool, rest),
        ("hatch" | "pdm", ["version", ..]) | ("setuptools", ["dynamic", .., "attr"])
    );
    if computes && difference.after.is_some() {
        let reason = "imports or runs code to find the version";
        say(difference, Warn, codes::MANIFEST_BUILD, reason, remarks);
        return;
    }
    if chooses || rest.iter().any(|key| chooses_index(key)) {
        let reason = "chooses where packages come from";
        say(difference, Block, codes::MANIFEST_REGISTRY, reason, remarks);
    } else if is_source(tool, rest) {
        let reason = "has a dependency from elsewhere than the registry";
        say(
            difference,
            Warn,
            codes::MANIFEST_DEPENDENCY,
            reason,
            remarks,
        );
    } else if runs_something(tool) || rest.iter().any(|key| runs_something(key)) {
        let reason = "says what a tool runs or loads";
        say(difference, Warn, codes::MANIFEST_SCRIPT, reason, remarks);
    } else if rest.iter().any(|key| key.contains("dependencies")) && adds_address(difference) {
        let reason = "has a dependency from elsewhere than the registry";
        say(
            difference,
            Warn,
            codes::MANIFEST_DEPENDENCY,
            reason,
            remarks,
        );
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

/// Whether a requirement that was not there before names an address.
fn adds_address(difference: &Difference<'_, '_>) -> bool {
    let texts = |side: Option<&Value<'_>>| -> Vec<String> {
        let side = side.into_iter();
        let items = side.flat_map(|value| value.items().iter().chain([value]));
        items
            .filter_map(|item| Some(item.text()?.to_string()))
            .collect()
    };
    let old: std::collections::HashSet<String> = texts(difference.before).into_iter().collect();
    let new = texts(difference.after);
    new.iter()
        .any(|text| !old.contains(text) && names_address(text))
}
