//! Files that run, or make something run, without the user starting them (docs/design/threats.md,
//! section 4): matched case-folded, normalised, without invisible characters, at
//! any depth. Creating one counts as much as changing it (CVE-2026-25725).
//!
//! A table knows files by name. What no row of it knows is looked for among the families: the
//! places where tools look, and the kinds of files that they run (SUS-31).

use std::borrow::Cow;
use std::sync::LazyLock;

use lazaret_tree::{Change, Entry, Mode, RelPath, is_git_name};

use crate::Severity;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::lines;
use crate::rules::suspects::commands;
use crate::rules::suspects::families::{
    FAMILIES, INERT, ORDINARY_ENDINGS, ORDINARY_NAMES, UNKNOWN,
};
use crate::rules::suspects::patterns::{Patterns, folded};
use crate::rules::suspects::table::{Change as By, Place, SUSPECTS, Suspect};
use crate::rules::{Context, FilePair};

/// The case of all families.
const FAMILY: &str = "SUS-31";

/// A table, sorted for looking up.
struct Table {
    rows: &'static [Suspect],
    patterns: Patterns<Suspect>,
    except: Patterns<Suspect>,
}

impl Table {
    fn new(rows: &'static [Suspect]) -> Self {
        let patterns = |text: fn(&'static Suspect) -> &'static str| {
            Patterns::new(rows.iter().flat_map(move |row| {
                let patterns = text(row).split_ascii_whitespace();
                patterns.map(move |pattern| (pattern, row))
            }))
        };
        Self {
            rows,
            patterns: patterns(|row| row.patterns),
            except: patterns(|row| row.except),
        }
    }

    /// Returns which rows folded names are, each code once, in the order of the table.
    fn find(&self, names: &[Cow<'_, str>], entry: &Entry) -> Vec<&'static Suspect> {
        let mut found: Vec<&'static Suspect> = Vec::new();
        self.patterns.find(names, entry, |row| found.push(row));
        if found.is_empty() {
            return found;
        }
        self.except.find(names, entry, |row| {
            found.retain(|known| !std::ptr::eq(*known, row));
        });
        let rows = self.rows.iter();
        let mut ordered: Vec<&'static Suspect> = Vec::with_capacity(found.len());
        for row in rows.filter(|row| found.iter().any(|known| std::ptr::eq(*known, *row))) {
            if !ordered.iter().any(|known| known.code.id == row.code.id) {
                ordered.push(row);
            }
        }
        ordered
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(SUSPECTS));
static FAMILY_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(FAMILIES));
static INERT_PATTERNS: LazyLock<Patterns<&'static str>> = LazyLock::new(|| {
    let lines = INERT.iter();
    Patterns::new(lines.flat_map(|line| {
        let patterns = line.split_ascii_whitespace();
        patterns.map(move |pattern| (pattern, line))
    }))
});

pub(in crate::rules) fn check(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    if context.is_git(path) {
        return;
    }
    let entry = change.after.as_ref().or(change.before.as_ref());
    let Some(entry) = entry else { return };
    if *entry == Entry::Dir {
        return;
    }
    for suspect in all(path, entry) {
        let Some(Weight::Name(severity)) = Weight::of(suspect, change, context) else {
            continue;
        };
        let message = match change.after {
            Some(_) => Cow::Borrowed(suspect.code.reason),
            None => Cow::Owned(format!("was deleted: {}", suspect.code.reason)),
        };
        report.path(path, severity, &suspect.code, message);
    }
}

/// What the lines say that a change adds, where they decide.
pub(in crate::rules) fn contents(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let (path, change) = (pair.path(), pair.change());
    let Some(entry) = &change.after else { return };
    for suspect in all(path, entry) {
        if Weight::of(suspect, change, context) == Some(Weight::Lines) {
            added(context, suspect, pair, report);
        }
    }
}

/// Says which of the lines that are added start something; or, for the record, that none does.
fn added(
    context: &Context<'_>,
    suspect: &'static Suspect,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let path = pair.path();
    let Some(bytes) = pair.after().bytes() else {
        // What can't be looked into is as suspect as its name.
        return report.path(path, suspect.severity, &suspect.code, suspect.code.reason);
    };
    let change = pair.change();
    let counts = change.before.is_none() && counts_there(suspect.place, change, context);
    if suspect.change == By::Fixtures && counts && !commands::is_fixtures(bytes) {
        return report.path(path, suspect.severity, &suspect.code, suspect.code.reason);
    }
    let (mut found, mut count) = (FileFindings::default(), 0_usize);
    for (number, line) in lines(bytes) {
        let what = match suspect.change {
            By::Recipes => commands::of_recipe(line),
            By::Fixtures => commands::of_test(line),
            By::Name | By::Lines | By::Nothing | By::Record => commands::of_line(line),
        };
        if let Some(what) = what.filter(|_| pair.adds_line(line)) {
            count += 1;
            found.add_line(suspect.severity, &suspect.code, number, || {
                format!("{}, and adds {what}", suspect.code.reason)
            });
        }
    }
    found.report(path, "", report);
    // For the record.
    if count == 0 {
        report.path(path, Severity::Note, &suspect.code, suspect.code.reason);
    }
}

/// What weighs about a suspect change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Its name.
    Name(Severity),
    /// The lines that it adds.
    Lines,
}

impl Weight {
    fn of(suspect: &Suspect, change: &Change, context: &Context<'_>) -> Option<Self> {
        // A family is about what comes into being.
        if change.after.is_none() && suspect.case == FAMILY {
            return None;
        }
        let by_name = Some(Self::Name(weighed(change, suspect.severity)));
        let (Some(Entry::File { digest, .. }), before) = (&change.after, &change.before) else {
            return by_name;
        };
        match (suspect.change, before) {
            (By::Fixtures, None) => Some(Self::Lines),
            (_, None) if !counts_there(suspect.place, change, context) => {
                Some(Self::Name(Severity::Note))
            }
            (By::Name, _) | (_, None) => by_name,
            (By::Nothing, Some(Entry::File { .. })) => None,
            (By::Record, Some(Entry::File { .. })) => Some(Self::Name(Severity::Note)),
            // Only its mode is another.
            (_, Some(Entry::File { digest: old, .. })) if old == digest => None,
            (_, Some(Entry::File { .. })) => Some(Self::Lines),
            (_, Some(_)) => by_name,
        }
    }
}

/// Returns how grave a change is: less so if it deletes, but it is still said (AUD-03).
fn weighed(change: &Change, severity: Severity) -> Severity {
    match &change.after {
        None => severity.downgraded(),
        Some(_) => severity,
    }
}

/// Whether a new file counts where it lies.
fn counts_there(place: Place, change: &Change, context: &Context<'_>) -> bool {
    let Some(directory) = change.path.parent() else {
        return true;
    };
    match place {
        Place::Anywhere => true,
        Place::Top => false,
        Place::KnownDirectory => {
            let directory = context.changes.get(directory);
            directory.is_none_or(|directory| directory.before.is_some())
        }
    }
}

/// Which rows of the table folded names are, each code once.
pub(in crate::rules) fn find(names: &[Cow<'_, str>], entry: &Entry) -> Vec<&'static Suspect> {
    TABLE.find(names, entry)
}

/// Which rows a path is of, with the family that it is in.
///
/// A build file may lie in a directory that counts by itself.
fn all(path: &RelPath, entry: &Entry) -> Vec<&'static Suspect> {
    let names = folded(path);
    let mut found = find(&names, entry);
    let in_dot_directory = || {
        let directories = names.split_last().map(|(_, directories)| directories);
        let mut directories = directories.into_iter().flatten();
        // What GitHub reads there has rows of its own.
        directories.any(|name| name.starts_with('.') && name != ".github")
    };
    let by_lines = |row: &&Suspect| row.change != By::Name;
    if found.is_empty() || (found.iter().all(by_lines) && in_dot_directory()) {
        found.extend(family(path, &names, entry));
    }
    found
}

/// Returns the family that a path is in.
fn family(path: &RelPath, names: &[Cow<'_, str>], entry: &Entry) -> Option<&'static Suspect> {
    // The rules for git speak of those.
    if path.components().any(is_git_name) {
        return None;
    }
    let mut is_inert = false;
    INERT_PATTERNS.find(names, entry, |_| is_inert = true);
    if is_inert {
        return None;
    }
    let known = FAMILY_TABLE.find(names, entry).first().copied();
    known.or_else(|| is_unknown(path, names, entry).then_some(&UNKNOWN))
}

/// Whether a tool may look for a file that no table knows.
fn is_unknown(path: &RelPath, names: &[Cow<'_, str>], entry: &Entry) -> bool {
    let (Some((name, directories)), Entry::File { mode, .. }) = (names.split_last(), entry) else {
        return false;
    };
    if let Some((_, ending)) = name.rsplit_once('.') {
        let mut ordinary = ORDINARY_ENDINGS.split_ascii_whitespace();
        let is_word = ending
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        return directories.is_empty() && is_word && !ordinary.any(|known| known == ending);
    }
    let mut ordinary = ORDINARY_NAMES.split_ascii_whitespace();
    if ordinary.any(|known| known == name) {
        return false;
    }
    // `Appraisals`, `BUCK`: the files of tools are written like that.
    let is_capital = path.file_name().starts_with(|c: char| c.is_uppercase());
    let is_program = directories.last().is_some_and(|directory| {
        // `mode.executable` says it of a program.
        *mode == Mode::Plain && ["bin", "sbin", "scripts", "tools", "hooks"].contains(&&**directory)
    });
    is_program || (name.ends_with("file") && name.len() > 4) || (is_capital && name.len() > 2)
}

/// Whether a code is of a family, which speaks only where nothing else is said.
pub(crate) fn is_family(code: &str) -> bool {
    let mut families = FAMILIES.iter().chain([&UNKNOWN]);
    families.any(|family| family.code.id == code)
}

#[cfg(test)]
mod tests;
