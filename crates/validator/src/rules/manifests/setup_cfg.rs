//! `setup.cfg`: what setuptools and the tools beside it run, and where they look.

use super::{Difference, Manifest, chooses_index, names_address, runs_something, say};
use crate::Severity::{Block, Warn};
use crate::codes;
use crate::file_findings::FileFindings;

/// Judges one difference: a section and a key.
pub(super) fn judge(difference: &Difference<'_, '_>, _: &Manifest, remarks: &mut FileFindings) {
    let [section, rest @ ..] = difference.path else {
        return;
    };
    let key = rest.first().copied().unwrap_or_default();
    let text = difference.after.and_then(|value| value.text());
    if text.is_some_and(|text| text.trim_start().starts_with("attr:")) {
        let reason = "imports code to find what it says";
        say(difference, Warn, codes::MANIFEST_BUILD, reason, remarks);
    } else if chooses_index(key) {
        let reason = "chooses where packages come from";
        say(difference, Block, codes::MANIFEST_REGISTRY, reason, remarks);
    } else if key == "setup_requires" {
        let reason = "chooses the code that builds the package";
        say(difference, Warn, codes::MANIFEST_BUILD, reason, remarks);
    } else if runs_something(section) || runs_something(key) {
        let reason = "says what a tool runs or loads";
        say(difference, Warn, codes::MANIFEST_SCRIPT, reason, remarks);
    } else if is_requirement(section, key) && adds_address(difference) {
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

fn is_requirement(section: &str, key: &str) -> bool {
    section == "options.extras_require" || key.ends_with("_require") || key.ends_with("_requires")
}

fn adds_address(difference: &Difference<'_, '_>) -> bool {
    let old = difference.before.and_then(|value| value.text());
    let old: std::collections::HashSet<&str> =
        old.into_iter().flat_map(|text| text.lines()).collect();
    let new = difference.after.and_then(|value| value.text());
    let mut lines = new.into_iter().flat_map(|text| text.lines());
    lines.any(|line| !old.contains(line) && names_address(line))
}
