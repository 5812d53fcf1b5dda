//! What becomes executable, and what is machine code (AUD-02, SUS-26).

use std::borrow::Cow;

use lazaret_tree::{Change, Entry, Mode, RelPath};

use super::content::unreadable;
use super::patterns::folded;
use super::{Context, Opened};
use crate::Severity;
use crate::report::Report;

/// First bytes of what a system loads and runs.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF program or library"),
    (b"\xfe\xed\xfa\xce", "a Mach-O program or library"),
    (b"\xfe\xed\xfa\xcf", "a Mach-O program or library"),
    (b"\xce\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Mach-O or Java program"),
    (b"MZ", "a Windows program"),
    (b"\0asm", "a WebAssembly module"),
];

pub(super) fn check(context: &Context<'_>, change: &Change, report: &mut Report) {
    let path = &change.path;
    let Some(Entry::File { mode, .. }) = &change.after else {
        return;
    };
    if context.is_git(path) {
        return;
    }
    let was = match &change.before {
        Some(Entry::File { mode, .. }) => *mode,
        _ => Mode::Plain,
    };
    if *mode == Mode::Executable && was == Mode::Plain {
        let (severity, message) = match change.before {
            Some(_) => (Severity::Warn, "becomes executable"),
            None if is_script(path) => (Severity::Note, "is a new script"),
            None => (Severity::Warn, "is new and executable"),
        };
        report.path(path, severity, "mode.executable", message);
    }
}

/// Endings of scripts, which a review shows.
const SCRIPTS: [&str; 14] = [
    "sh", "bash", "zsh", "fish", "py", "rb", "pl", "js", "mjs", "ts", "lua", "php", "r", "awk",
];

/// Whether a file is by its name a script that nothing runs by itself: in a directory, and
/// not in one whose programs are found by name.
pub(super) fn is_script(path: &RelPath) -> bool {
    let names = folded(path);
    let Some((name, directories)) = names.split_last() else {
        return false;
    };
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_found =
        |name: &Cow<'_, str>| name.starts_with('.') || ["bin", "sbin", "hooks"].contains(&&**name);
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
        && !directories.is_empty()
        && !directories.iter().any(is_found)
}

pub(super) fn machine_code(_: &Context<'_>, opened: &Opened<'_>, report: &mut Report) {
    let path = opened.path();
    let head = match opened.head() {
        Ok(head) => head,
        Err(error) => return unreadable(path, error.kind(), report),
    };
    let magic = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some((_, what)) = magic {
        let message = format!("is {what}, which a review can't read");
        report.path(path, Severity::Warn, "content.machine_code", message);
    }
}
