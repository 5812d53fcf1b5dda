//! `.gitattributes`: lines that choose a program or another form of the contents (GIT-11,
//! CVE-2022-23521). Which programs the names stand for is in the user's configuration.

use super::found_lines::FoundLines;
use super::git_names::GitFile;
use super::opened::lines;
use super::remarks::shown;
use super::{Context, Opened};
use crate::Severity;
use crate::report::Report;

/// Attributes with a value, or without, that make git do more than compare bytes.
pub(crate) const ATTRIBUTES: &[(&str, &str)] = &[
    ("filter", "runs a program on checkout and on commit"),
    ("diff", "runs a program to show differences"),
    ("merge", "runs a program to merge"),
    (
        "working-tree-encoding",
        "writes other bytes than those that were committed",
    ),
    (
        "export-subst",
        "fills in text when the tree is exported, so that an archive differs from it",
    ),
];

pub(super) fn check(_: &Context<'_>, opened: &Opened<'_>, report: &mut Report) {
    let path = opened.path();
    if !GitFile::Attributes.is(path.file_name()) {
        return;
    }
    let bytes = opened.after().bytes().unwrap_or_default();
    let mut found = FoundLines::new(Severity::Warn, "git.attributes");
    for (number, line) in lines(bytes) {
        let mut chosen = chosen(line).peekable();
        if chosen.peek().is_none() || !opened.adds_line(line) {
            continue;
        }
        for (attribute, why) in chosen {
            let attribute = String::from_utf8_lossy(attribute);
            found.add(number, || format!("`{}` {why}", shown(&attribute)));
        }
    }
    found.put(path, report);
}

/// Returns what a line sets, as it is written, and what that does.
fn chosen(line: &[u8]) -> impl Iterator<Item = (&[u8], &'static str)> {
    let words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let is_comment = words.peek().is_some_and(|word| word.starts_with(b"#"));
    // The first word is the pattern. One that is quoted and holds blanks is more words;
    // what matters is not in them but by design.
    words
        .skip(if is_comment { usize::MAX } else { 1 })
        .filter_map(|word| {
            let (name, value) = match word.iter().position(|&byte| byte == b'=') {
                Some(at) => (word.get(..at)?, word.get(at + 1..)?),
                None => (word, &b""[..]),
            };
            let mut all = ATTRIBUTES.iter();
            let (_, why) = all.find(|(attribute, _)| attribute.as_bytes() == name)?;
            // `filter` alone is set, which names no driver.
            let does = !value.is_empty() || name == b"export-subst";
            does.then_some((word, *why))
        })
}
