//! Names as a file system that folds case would compare them.

use lazaret_transfer::{is_hfs_ignored, is_invisible};
use unicode_normalization::UnicodeNormalization as _;

/// Folds case and normalisation: two names with the same result are one file on
/// macOS or Windows. Upper case first, so that `ß` meets `SS` and `ſ` meets `s`.
pub(crate) fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let upper = name.nfc().flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).nfc().collect()
}

/// As [`fold`], without what is not seen and what Windows cuts off: for matching
/// patterns, which a zero-width character must not escape (CVE-2025-59944).
pub(crate) fn skeleton(name: &str) -> String {
    let seen = |c: &char| !is_hfs_ignored(*c) && !is_invisible(*c);
    let name: String = name.chars().filter(seen).collect();
    fold(name.trim_end_matches([' ', '.']))
}
