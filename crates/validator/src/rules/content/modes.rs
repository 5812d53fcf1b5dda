//! What becomes executable, and what is machine code (AUD-02, SUS-26).

use std::borrow::Cow;

use lazaret_tree::{Change, Entry, Mode, RelPath};

use super::unreadable;
use crate::Severity;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::names::fold::skeleton;
use crate::rules::{Context, FilePair};

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

/// Says that a file becomes executable.
pub(in crate::rules) fn check(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let (Some(before), Some(Entry::File { mode, .. })) = (&change.before, &change.after) else {
        return;
    };
    let was = match before {
        Entry::File { mode, .. } => *mode,
        Entry::Dir | Entry::Symlink { .. } => Mode::Plain,
    };
    if *mode == Mode::Executable && was == Mode::Plain && !context.is_git(&change.path) {
        let message = "becomes executable";
        report.path(
            &change.path,
            Severity::Warn,
            codes::MODE_EXECUTABLE,
            message,
        );
    }
}

/// Says that a new file is executable.
pub(in crate::rules) fn new_programs(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let (path, change) = (pair.path(), pair.change());
    let (
        None,
        Some(Entry::File {
            mode: Mode::Executable,
            ..
        }),
    ) = (&change.before, &change.after)
    else {
        return;
    };
    let (severity, message) = match runs_by_name(context, pair) {
        true => (Severity::Note, "is a new script"),
        false => (Severity::Warn, "is new and executable"),
    };
    report.path(path, severity, codes::MODE_EXECUTABLE, message);
}

/// Returns true if a new file is a script that a person, or a file that is judged itself, has
/// to name before it runs: by its ending, or because it is a text among other programs.
pub(in crate::rules) fn runs_by_name(context: &Context<'_>, pair: &FilePair<'_>) -> bool {
    /// Fewer programs may be there by chance.
    const FEWEST: usize = 2;
    let path = pair.path();
    if is_script(path) {
        return true;
    }
    let Some(directory) = path.parent().filter(|_| !is_searched(path)) else {
        return false;
    };
    let is_program = |entry: &Entry| {
        let mode = Mode::Executable;
        matches!(entry, Entry::File { mode: found, .. } if *found == mode)
    };
    let below = context.baseline.below(directory);
    let beside =
        below.filter(|(other, entry)| other.parent() == Some(directory) && is_program(entry));
    pair.after().text().is_some() && beside.take(FEWEST).count() == FEWEST
}

/// Endings of scripts, which a review shows.
const SCRIPTS: [&str; 14] = [
    "sh", "bash", "zsh", "fish", "py", "rb", "pl", "js", "mjs", "ts", "lua", "php", "r", "awk",
];

/// Returns true if a file is by its name a script that nothing runs by itself.
fn is_script(path: &RelPath) -> bool {
    let name = skeleton(path.file_name());
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| SCRIPTS.contains(&ending)) && !is_searched(path)
}

/// Returns true if programs or hooks are found by name in a directory of the path, or tools
/// look into it.
fn is_searched(path: &RelPath) -> bool {
    let is_searched =
        |name: &Cow<'_, str>| name.starts_with('.') || ["bin", "sbin", "hooks"].contains(&&**name);
    path.ancestors()
        .any(|above| is_searched(&skeleton(above.file_name())))
}

pub(in crate::rules) fn machine_code(
    _: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let path = pair.path();
    let head = match pair.head() {
        Ok(head) => head,
        Err(error) => return unreadable(path, error.kind(), report),
    };
    let magic = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some((_, what)) = magic {
        let message = format!("is {what}, which a review can't read");
        report.path(path, Severity::Warn, codes::CONTENT_MACHINE_CODE, message);
    }
}
