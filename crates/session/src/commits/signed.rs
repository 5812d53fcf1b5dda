//! Which commits of a session were landed with the user's signature, so that what comes later
//! goes on from them.

use std::fs;
use std::str;

use lazaret_commits::sign::Signed;
use lazaret_transfer::ObjectId;
use lazaret_tree::PathError;

use crate::store::SessionDir;
use crate::store::file::write_atomically;

/// One line for each: the id that it was made with, and that of the signed one.
const NAME: &str = "signed";

/// Reads what was signed. What can't be read is signed again.
pub fn read_signed(dir: &SessionDir) -> Signed {
    let text = fs::read(dir.file(NAME)).unwrap_or_default();
    let pair = |line: &[u8]| {
        let (made, signed) = str::from_utf8(line).ok()?.split_once(' ')?;
        let id = |text: &str| ObjectId::from_hex(text.as_bytes());
        Some((id(made)?, id(signed)?))
    };
    text.split(|&byte| byte == b'\n').filter_map(pair).collect()
}

/// Writes down what was signed and landed.
///
/// # Errors
/// The disk's.
pub fn write_signed(dir: &SessionDir, signed: &Signed) -> Result<(), PathError> {
    let lines: String = signed
        .iter()
        .map(|(made, signed)| format!("{made} {signed}\n"))
        .collect();
    write_atomically(&dir.file(NAME), lines.as_bytes())
}
