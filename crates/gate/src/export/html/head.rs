//! The start and the end of the page: what this is, and how it stands.

use std::io::{self, Write};

use lazaret_validator::{Outcome, Severity};

use super::text::{escaped, name, plain};
use crate::export::document::seconds;
use crate::export::report_input::{ReportInput, ReportItem, ReportSubject};
use crate::file_diff::LineCounts;
use crate::format::{bytes, command_lines, count, date};
use crate::report::ChangeCounts;
use crate::subject;

const STYLE: &str = include_str!("style.css");

/// Writes everything above the findings.
pub(super) fn write(
    input: &ReportInput<'_>,
    lines: LineCounts,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (class, sign, verdict) = verdict(input.outcome);
    let title = match input.subject {
        ReportSubject::Session(session) => plain(&session.name),
        ReportSubject::Check(checked) => name(&checked.candidate),
    };
    // The policy of the page itself: even markup that got in could load and run nothing.
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{} · lazaret</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <p class=\"brand\">lazaret · {}</p>\n<div class=\"title\"><h1 class=\"path\">{title}</h1>\n\
         <p class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {verdict}</p></div>\n",
        plain_title(input),
        match input.subject {
            ReportSubject::Session(_) => "what a session changed",
            ReportSubject::Check(_) => "what a candidate changes",
        },
    )?;
    writeln!(out, "<p class=\"say\">{}</p>", say(input))?;
    counts(input, lines, out)?;
    writeln!(out, "<dl>")?;
    for (term, value) in facts(input) {
        writeln!(out, "<dt>{term}</dt><dd>{value}</dd>")?;
    }
    writeln!(out, "</dl>\n</header>\n<main>")
}

/// Writes everything below the changes.
pub(super) fn write_end(input: &ReportInput<'_>, out: &mut dyn Write) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        out,
        "</main>\n<footer>\n<p>Written by lazaret {version}, {}.",
        date(seconds(input.now))
    )?;
    if let Some(digest) = input.digest {
        writeln!(
            out,
            "What may be applied has the digest <code>{}</code>.",
            digest.to_hex()
        )?;
    }
    writeln!(
        out,
        "Names and contents are shown escaped: <b class=\"esc\">\\u{{202e}}</b> is a character \
         that is not seen, <b class=\"esc\">\\xff</b> a byte that is no text. This page has no \
         script and loads nothing.</p>\n</footer>\n</body>\n</html>"
    )
}

/// The title bar of a window shows text as it is; it is escaped without frames.
fn plain_title(input: &ReportInput<'_>) -> String {
    let subject = match input.subject {
        ReportSubject::Session(session) => session.name.clone(),
        ReportSubject::Check(checked) => lazaret_tree::escape(checked.candidate.as_bytes()),
    };
    plain(&format!("{subject}: {}", input.outcome.as_str()))
}

/// A class, a sign, and words: the colour is never alone.
fn verdict(outcome: Outcome) -> (&'static str, &'static str, &'static str) {
    match outcome {
        Outcome::Clean => ("clean", "✓", "Clean"),
        Outcome::NeedsReview => ("review", "!", "Needs review"),
        Outcome::Rejected => ("rejected", "✕", "Rejected"),
    }
}

fn say(input: &ReportInput<'_>) -> String {
    let applies = input
        .items
        .iter()
        .filter(|item| input.may_apply(item))
        .count();
    let held = input.items.len() - applies;
    let part = match input.paths.is_empty() {
        true => "",
        false => " This report is cut down to some paths.",
    };
    let words = match input.outcome {
        Outcome::Rejected => "The batch as a whole can't be applied.".to_owned(),
        Outcome::Clean => "Nothing graver than a note was found.".to_owned(),
        Outcome::NeedsReview if held == 0 => "This needs a review before it is applied.".to_owned(),
        Outcome::NeedsReview => format!(
            "Needs a review: {} of {} {} withheld.",
            count(held as u64),
            changes(input.items.len()),
            if held == 1 { "is" } else { "are" },
        ),
    };
    words + part
}

fn changes(number: usize) -> String {
    match number {
        1 => "1 change".to_owned(),
        number => format!("{} changes", count(number as u64)),
    }
}

fn counts(input: &ReportInput<'_>, lines: LineCounts, out: &mut dyn Write) -> io::Result<()> {
    let changes = ChangeCounts::of(input.items.iter().map(ReportItem::change));
    let number = |number: usize| count(number as u64);
    writeln!(out, "<ul class=\"counts\">")?;
    for (amount, word) in [
        (changes.modified, "modified"),
        (changes.added, "added"),
        (changes.deleted, "deleted"),
    ] {
        writeln!(out, "<li><b>{}</b> {word}</li>", number(amount))?;
    }
    writeln!(
        out,
        "<li><b class=\"added\">+{}</b> <b class=\"removed\">−{}</b> lines</li>",
        count(lines.added),
        count(lines.removed)
    )?;
    for severity in [Severity::Block, Severity::Warn, Severity::Note] {
        let found = input.count(severity);
        if found > 0 {
            let class = severity.as_str();
            writeln!(
                out,
                "<li class=\"{class}\"><b>{}</b> {class}</li>",
                number(found)
            )?;
        }
    }
    writeln!(out, "</ul>")
}

/// What is known of it: terms, and values as HTML.
fn facts(input: &ReportInput<'_>) -> Vec<(&'static str, String)> {
    let mut facts = match input.subject {
        ReportSubject::Session(subject) => session(subject),
        ReportSubject::Check(checked) => vec![
            ("Base", path(&checked.base)),
            ("Candidate", path(&checked.candidate)),
            ("Profile", name(&checked.profile)),
        ],
    };
    let limits = input.limits;
    let shown = format!(
        "{} entries, {} in all, {} in one file",
        count(limits.entries),
        bytes(limits.total_bytes),
        bytes(limits.file_bytes)
    );
    facts.push(("Limits", plain(&shown)));
    if !input.paths.is_empty() {
        let paths = input.paths.iter().map(|at| path(at.as_str()));
        facts.push(("Paths", paths.collect::<Vec<_>>().join(", ")));
    }
    facts
}

fn path(text: &str) -> String {
    format!("<span class=\"path\">{}</span>", name(text))
}

/// A command with the line breaks that it has.
fn command(argv: &[String]) -> String {
    let lines = command_lines(argv);
    let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
    match lines.len() {
        0 | 1 => format!("<code>{}</code>", lines.concat()),
        _ => format!("<code class=\"script\">{}</code>", lines.join("\n")),
    }
}

fn session(subject: &subject::Subject) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Workspace", path(&subject.workspace.to_string_lossy())),
        ("Profile", name(&subject.profile)),
        ("Command", command(&subject.command)),
        ("Engine", name(&subject.engine)),
        ("Image", path(&subject.image)),
        ("Started", date(subject.created)),
    ];
    if let Some(end) = subject.end {
        facts.push(("Ended", plain(&end.to_string())));
    }
    facts
}
