//! What becomes executable, and what is machine code (AUD-02, SUS-26).

use lazaret_transfer::{Change, Entry, Mode};

use super::content::unreadable;
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
        let message = match change.before {
            Some(_) => "becomes executable",
            None => "is new and executable",
        };
        report.path(path, Severity::Warn, "mode.executable", message);
    }
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
