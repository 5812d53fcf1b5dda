//! What must hold of any lockfile; for tests and fuzz targets.

use super::{FORMATS, compare, format_named};
use crate::Severity;
use crate::rules::structured::driver::Before;
use crate::rules::structured::text_of_bytes;

/// Reads two sides of a lockfile, compares them, and asserts what must hold of any input.
/// Returns whether the second could be read.
pub(crate) fn exercise(name: &str, before: &[u8], after: &[u8]) -> bool {
    let Some(format) = format_named(name) else {
        return false;
    };
    let side = |bytes| text_of_bytes(bytes).and_then(format.read);
    let Ok(lock) = side(after) else { return false };
    let before = match side(before) {
        Ok(lock) => Before::Known(lock),
        Err(why) => Before::Unknown(why),
    };
    let remarks = compare::compare(&before, &lock).finish();
    assert!(!remarks.is_empty(), "a change without a word");
    assert!(remarks.len() < 400, "a flood");
    for remark in &remarks {
        assert!(remark.message.len() < 2000, "a long message");
        assert!(!remark.message.contains(char::is_control), "a raw message");
        assert!(remark.at.is_none_or(|at| at.is_within(after.len())));
    }
    let same = side(after).map(Before::Known);
    for remark in same
        .iter()
        .flat_map(|same| compare::compare(same, &lock).finish())
    {
        let is_odd_before = remark.code.id.starts_with("lockfile.repeated");
        assert!(
            remark.severity == Severity::Note || is_odd_before,
            "{remark:?}"
        );
    }
    true
}

/// Returns the names that [`exercise`] knows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.names).copied()
}
