//! `mise.toml`: the tools of a directory, and what runs when a shell enters it.

use super::{Difference, Manifest, Remark, block};
use crate::codes::MANIFEST_SETTING;

/// Judges one difference: another version of a tool that was there is everyday work, and
/// every other key chooses a tool or runs something.
pub(super) fn judge(difference: &Difference<'_, '_>, _: &Manifest) -> Option<Remark> {
    let is_known = difference
        .before
        .is_some_and(|value| value.text().is_some());
    let version = difference.after.and_then(|value| value.text());
    match difference.path {
        ["tools", _] | ["tools", _, "version"]
            if is_known && version.is_some_and(|version| is_version(version)) =>
        {
            None
        }
        _ => block(
            MANIFEST_SETTING,
            "chooses a tool, or what runs when a shell enters the directory",
        ),
    }
}

/// Returns true for `1.25.3`, `lts` and `nightly-2026-01-01`: nothing that names a path
/// (`path:/x`), a revision (`ref:x`) or a template (`{{exec()}}`).
fn is_version(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}
