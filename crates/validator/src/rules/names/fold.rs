//! Names as a file system that folds case would compare them.

use std::borrow::Cow;

use lazaret_tree::{is_hfs_ignored, is_invisible};
use unicode_normalization::UnicodeNormalization as _;

/// Folds case and normalisation: two names with the same result are one file on
/// macOS or Windows. Upper case first, so that `ß` meets `SS` and `ſ` meets `s`.
pub(crate) fn fold(name: &str) -> Cow<'_, str> {
    if !name.is_ascii() {
        let upper = name.nfc().flat_map(char::to_uppercase);
        return upper.flat_map(char::to_lowercase).nfc().collect();
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    Cow::Borrowed(name)
}

/// As [`fold`], without what is not seen and what Windows cuts off: for matching
/// patterns, which a zero-width character must not escape (CVE-2025-59944).
pub(crate) fn skeleton(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return fold(name.trim_end_matches([' ', '.']));
    }
    let seen = |c: &char| !is_hfs_ignored(*c) && !is_invisible(*c);
    let name: String = name.chars().filter(seen).collect();
    Cow::Owned(fold(name.trim_end_matches([' ', '.'])).into_owned())
}
