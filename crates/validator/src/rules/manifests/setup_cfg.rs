//! `setup.cfg`: what setuptools and the tools beside it run, and where they look.

use super::{
    CHOOSES_BACKEND, CHOOSES_INDEX, DEPENDS_ELSEWHERE, Difference, Manifest, RUNS_OR_LOADS, Remark,
    adds_address, chooses_index, runs_something, warn,
};
use crate::codes::MANIFEST_BUILD;

/// Judges one difference: a section and a key.
pub(super) fn judge(difference: &Difference<'_, '_>, _: &Manifest) -> Option<Remark> {
    let [section, rest @ ..] = difference.path else {
        return None;
    };
    let key = rest.first().copied().unwrap_or_default();
    let text = difference.after.and_then(|value| value.text());
    if text.is_some_and(|text| text.trim_start().starts_with("attr:")) {
        warn(MANIFEST_BUILD, "imports code to find what it says")
    } else if chooses_index(key) {
        CHOOSES_INDEX
    } else if key == "setup_requires" {
        CHOOSES_BACKEND
    } else if runs_something(section) || runs_something(key) {
        RUNS_OR_LOADS
    } else if is_requirement(section, key) && adds_address(difference) {
        DEPENDS_ELSEWHERE
    } else {
        None
    }
}

fn is_requirement(section: &str, key: &str) -> bool {
    section == "options.extras_require" || key.ends_with("_require") || key.ends_with("_requires")
}
