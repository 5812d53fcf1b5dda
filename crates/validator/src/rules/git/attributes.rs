//! `.gitattributes`: lines that choose a program or another form of the contents (GIT-11,
//! CVE-2022-23521). Which programs the names stand for is in the user's configuration, which
//! the policy knows: a name that is there is one that runs.

mod macros;

use crate::codes;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::lines;
use crate::rules::git::names::GitFile;
use crate::rules::{Context, FilePair};
use crate::shown::shown;
use crate::{Driver, DriverKind, GitConfig, Severity};
use macros::Macros;

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

pub(in crate::rules) fn check(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let path = pair.path();
    if !GitFile::Attributes.is(path.file_name()) {
        return;
    }
    let bytes = pair.after().bytes().unwrap_or_default();
    let root = macros::at_the_root(context, pair);
    let macros = Macros::of(root.bytes().unwrap_or_default());
    let git = &context.policy.git;
    let mut found = FileFindings::default();
    let code = codes::GIT_ATTRIBUTES;
    for (number, line) in lines(bytes) {
        let mut choices = words(line)
            .filter_map(|word| Choice::of(word, &macros))
            .peekable();
        if choices.peek().is_none() || !pair.adds_line(line) {
            continue;
        }
        for choice in choices {
            match choice.driver(git) {
                Driver::Absent => found.add_line(Severity::Warn, code, number, || choice.message()),
                Driver::Configured => found.add_line(Severity::Block, code, number, || {
                    format!("{}, and your git configuration has it", choice.message())
                }),
                Driver::Unknown => found.add_line(Severity::Block, code, number, || {
                    format!(
                        "{}, and your git configuration could not be read to the end",
                        choice.message()
                    )
                }),
            }
        }
    }
    found.report(path, "", report);
}

/// What one word of a line sets, and what that does.
#[derive(Debug, Clone, Copy)]
struct Choice<'a> {
    /// As it stands in the line.
    word: &'a [u8],
    /// What that comes to: itself, or what a macro stands for.
    chosen: &'a [u8],
    why: &'static str,
}

impl<'a> Choice<'a> {
    fn of(word: &'a [u8], macros: &Macros<'a>) -> Option<Self> {
        let chosen = macros.get(word).unwrap_or(word);
        let why = chosen_by(chosen)?;
        Some(Self { word, chosen, why })
    }

    fn message(&self) -> String {
        let text = |bytes| shown(&String::from_utf8_lossy(bytes));
        let (word, why) = (text(self.word), self.why);
        match self.word == self.chosen {
            true => format!("`{word}` {why}"),
            false => format!("`{word}` stands for `{}`, which {why}", text(self.chosen)),
        }
    }

    /// What is not a driver is none that is configured.
    fn driver(&self, git: &GitConfig) -> Driver {
        let (name, value) = halves(self.chosen);
        let mut kinds = DriverKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.as_str().as_bytes() == name);
        kind.map_or(Driver::Absent, |kind| git.find(kind, value))
    }
}

/// Says what a word does that sets an attribute.
fn chosen_by(word: &[u8]) -> Option<&'static str> {
    let (name, value) = halves(word);
    let mut all = ATTRIBUTES.iter();
    let (_, why) = all.find(|(attribute, _)| attribute.as_bytes() == name)?;
    // `filter` alone is set, which names no driver.
    let does = !value.is_empty() || name == b"export-subst";
    does.then_some(*why)
}

/// Splits `name=value`.
fn halves(word: &[u8]) -> (&[u8], &[u8]) {
    let mut halves = word.splitn(2, |&byte| byte == b'=');
    let name = halves.next().unwrap_or_default();
    (name, halves.next().unwrap_or_default())
}

/// Iterates over what a line sets. The first word is the pattern, or a macro's name. A
/// pattern that is quoted and holds blanks is more words; what matters is not in them but
/// by design.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let is_comment = words.peek().is_some_and(|word| word.starts_with(b"#"));
    words.skip(if is_comment { usize::MAX } else { 1 })
}
