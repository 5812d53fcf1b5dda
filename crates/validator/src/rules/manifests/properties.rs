//! What must hold of any manifest; for tests and fuzz targets.

use super::{FORMATS, Manifest, Owner, compare};
use crate::Severity::Note;
use crate::rules::structured::driver::Before;
use crate::rules::structured::text_of_bytes;

/// Reads two sides of a manifest, compares them, and asserts what must hold of any input.
/// Returns whether the second could be read.
pub(crate) fn exercise(name: &str, before: &[u8], after: &[u8]) -> bool {
    let Some(format) = FORMATS.iter().find(|format| format.name == name) else {
        return false;
    };
    let side = |bytes| text_of_bytes(bytes).and_then(format.read);
    let Ok(document) = side(after) else {
        return false;
    };
    let before = match side(before) {
        Ok(document) => Before::Known(document),
        Err(why) => Before::Unknown(why),
    };
    let manifest = Manifest {
        owner: Owner::Workspace,
        depth: 0,
    };
    let remarks = compare(format, &manifest, &before, &document).finish();
    assert!(remarks.len() < 400, "a flood");
    for remark in &remarks {
        assert!(remark.message.len() < 2000, "a long message");
        assert!(!remark.message.contains(char::is_control), "a raw message");
        assert!(remark.at.is_none_or(|at| at.is_within(after.len())));
    }
    let same = side(after).map(Before::Known);
    let same = same
        .iter()
        .flat_map(|same| compare(format, &manifest, same, &document).finish());
    for remark in same {
        let is_odd_before = !document.repeated.is_empty();
        assert!(remark.severity == Note || is_odd_before, "{remark:?}");
    }
    true
}

/// Returns the names that [`exercise`] knows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}
