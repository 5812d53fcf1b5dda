//! What becomes executable, and what is machine code (AUD-02, SUS-26).

use std::borrow::Cow;

use lazaret_tree::{Change, Entry, Mode, RelPath};

use super::unreadable;
use crate::Severity;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::{FileSide, read};
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
    let path = &change.path;
    if *mode == Mode::Executable && was == Mode::Plain && !context.is_git(path) {
        let after = || read(change.after.as_ref(), context.contents);
        let was_file = matches!(before, Entry::File { .. });
        let severity = match was_file && runs_by_name(context, path, &after()) {
            true => Severity::Note,
            false => Severity::Warn,
        };
        report.path(path, severity, codes::MODE_EXECUTABLE, "becomes executable");
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
    let (severity, message) = match runs_by_name(context, path, pair.after()) {
        true => (Severity::Note, "is a new script"),
        false => (Severity::Warn, "is new and executable"),
    };
    report.path(path, severity, codes::MODE_EXECUTABLE, message);
}

/// Returns true if a program is a text that a person, or a file that is judged itself, has to
/// name before it runs: by its ending, or because it lies below the top. Where people look for
/// programs, it has to lie among others.
pub(in crate::rules) fn runs_by_name(
    context: &Context<'_>,
    path: &RelPath,
    after: &FileSide,
) -> bool {
    /// Fewer programs may be there by chance.
    const FEWEST: usize = 2;
    if after.text().is_none() || is_searched(path) {
        return false;
    }
    if is_script(path) {
        return true;
    }
    let Some(directory) = path.parent() else {
        return false;
    };
    if !["scripts", "tools"].contains(&&*skeleton(directory.file_name())) {
        return true;
    }
    let is_program = |entry: &Entry| {
        let mode = Mode::Executable;
        matches!(entry, Entry::File { mode: found, .. } if *found == mode)
    };
    let below = context.baseline.below(directory);
    let beside =
        below.filter(|(other, entry)| other.parent() == Some(directory) && is_program(entry));
    beside.take(FEWEST).count() == FEWEST
}

/// Endings of scripts, which a review shows.
const SCRIPTS: [&str; 14] = [
    "sh", "bash", "zsh", "fish", "py", "rb", "pl", "js", "mjs", "ts", "lua", "php", "r", "awk",
];

/// Returns true if a file is a script by its name.
fn is_script(path: &RelPath) -> bool {
    let name = skeleton(path.file_name());
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
}

/// Returns true if programs or hooks are found by name in a directory of the path, or tools
/// look into it.
fn is_searched(path: &RelPath) -> bool {
    let is_hook = is_hook(path);
    let is_searched = |name: Cow<'_, str>| match &*name {
        "bin" | "sbin" => true,
        "hooks" => is_hook,
        name => name.starts_with('.'),
    };
    path.ancestors()
        .any(|above| is_searched(skeleton(above.file_name())))
}

/// Returns true if a tool may take a file among hooks for one: git's have no ending, and other
/// tools name theirs after a moment (`post_gen_project.sh`). Other scripts there are named by
/// a file of settings.
fn is_hook(path: &RelPath) -> bool {
    let name = skeleton(path.file_name());
    !is_script(path) || name.starts_with("pre") || name.starts_with("post")
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
