//! The tables of the page: findings, conflicts, files, what was left out.

use std::io::{self, Write};

use lazaret_tree::{ChangeKind, Entry, escape};
use lazaret_validator::{Finding, Severity};

use super::plan::Show;
use super::text::{escaped, name, plain};
use super::{HtmlError, failed};
use crate::case::Case;
use crate::export::report_input::{ReportInput, ReportItem, words};
use crate::file_diff::LineCounts;
use crate::file_side::kind_without_lines;
use crate::format::{bytes, count};
use crate::proposal::{ItemState, Origin};

/// Writes every finding, the gravest first.
pub(super) fn findings(
    input: &ReportInput<'_>,
    shows: &[Show],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings</h2>"
    )?;
    if input.findings.is_empty() {
        return writeln!(out, "<p>None.</p>\n</section>");
    }
    writeln!(
        out,
        "<table class=\"list\"><thead><tr><th scope=\"col\" class=\"thin\">Severity</th>\
         <th scope=\"col\">Where</th><th scope=\"col\">What</th></tr></thead>\n<tbody>"
    )?;
    let mut sections = vec![None; input.findings.len()];
    for (number, (item, show)) in input.items.iter().zip(shows).enumerate() {
        for &finding in input.about(item) {
            sections[finding] = show.has_section().then_some(number);
        }
    }
    for (finding, section) in input.findings.iter().zip(sections) {
        let subject = escaped(&finding.subject.to_string());
        let place = match section {
            Some(number) => format!("<a class=\"path\" href=\"#f{number}\">{subject}</a>"),
            None => format!("<span class=\"path\">{subject}</span>"),
        };
        let line = finding
            .line
            .map_or(String::new(), |line| format!(", line {line}"));
        writeln!(
            out,
            "<tr><td>{}</td><td>{place}{line}</td><td class=\"wide\">{}</td></tr>",
            badge(finding),
            message(finding)
        )?;
    }
    writeln!(out, "</tbody></table>\n</section>")
}

/// The severity of a finding: a word in a colour.
pub(super) fn badge(finding: &Finding) -> String {
    let class = finding.severity.as_str();
    let allowed = match finding.allowed {
        true => " <span class=\"tag plain\">allowed by name</span>",
        false => "",
    };
    format!("<span class=\"tag {class}\">{class}</span>{allowed}")
}

/// What a finding says, its code, and what to do.
pub(super) fn message(finding: &Finding) -> String {
    let mut html = format!(
        "{} <span class=\"code\">{}</span>",
        escaped(&finding.message),
        plain(finding.code)
    );
    if let Some(hint) = &finding.hint {
        html.push_str(&format!(
            "<br><span class=\"hint\">{}</span>",
            escaped(hint)
        ));
    }
    html
}

/// Writes where the workspace is in the way.
pub(super) fn conflicts(input: &ReportInput<'_>, out: &mut dyn Write) -> io::Result<()> {
    if input.conflicts.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section aria-labelledby=\"conflicts\">\n<h2 id=\"conflicts\">Conflicts</h2>\n\
         <p>The workspace was changed there too, and the two can't be merged.</p>\n\
         <table class=\"list\"><thead><tr><th scope=\"col\">Where</th>\
         <th scope=\"col\">What</th></tr></thead>\n<tbody>"
    )?;
    for (path, kind) in &input.conflicts {
        writeln!(
            out,
            "<tr><td class=\"path\">{}</td><td class=\"wide\">{}</td></tr>",
            name(path.as_str()),
            plain(&kind.to_string())
        )?;
    }
    writeln!(out, "</tbody></table>\n</section>")
}

/// Writes one line per change.
pub(super) fn files(
    (input, case): (&ReportInput<'_>, &Case),
    shows: &[Show],
    out: &mut dyn Write,
) -> Result<(), HtmlError> {
    if input.items.is_empty() {
        return Ok(());
    }
    let head = "<section aria-labelledby=\"files\">\n<h2 id=\"files\">Files</h2>\n\
        <table class=\"list\"><thead><tr><th scope=\"col\" class=\"thin\">Change</th><th scope=\"col\">Path</th>\
        <th scope=\"col\">State</th><th scope=\"col\" class=\"num\">Lines</th></tr></thead>\n<tbody>";
    writeln!(out, "{head}").map_err(failed)?;
    for (number, (item, show)) in input.items.iter().zip(shows).enumerate() {
        let path = name(item.path().as_str());
        let path = match (show, digest(item)) {
            (Show::Row, None) => format!("<span class=\"path\">{path}</span>"),
            (Show::Row, Some(digest)) => format!(
                "<span class=\"path\">{path}</span><br><code class=\"code path\">blake3 {digest}</code>"
            ),
            _ => format!("<a class=\"path\" href=\"#f{number}\">{path}</a>"),
        };
        let lines = match item.counts(case)? {
            Some(_) if item.change().kind() == ChangeKind::ModeOnly => "same contents".to_owned(),
            Some(counts) => numbers(counts) + &bar(counts),
            None => plain(kind_without_lines(item.change())),
        };
        let kind = item.change().kind().as_str();
        writeln!(
            out,
            "<tr><td>{kind}</td><td>{path}</td><td>{}</td><td class=\"num\">{lines}</td></tr>",
            state(item)
        )
        .map_err(failed)?;
    }
    writeln!(out, "</tbody></table>\n</section>").map_err(failed)
}

/// The digest of what a file is now.
pub(super) fn digest(item: &ReportItem<'_>) -> Option<String> {
    match &item.change().after {
        Some(Entry::File { digest, .. }) => Some(digest.to_hex()),
        _ => None,
    }
}

/// The gravest finding, and what becomes of the change when that is not the usual.
pub(super) fn state(item: &ReportItem<'_>) -> String {
    let mut tags = Vec::new();
    if let Some(severity @ (Severity::Block | Severity::Warn)) = item.gravest {
        let class = severity.as_str();
        tags.push(format!("<span class=\"tag {class}\">{class}</span>"));
    }
    let held = match item.state() {
        ItemState::Applies | ItemState::Blocked(_) => None,
        other => Some(words(other)),
    };
    if let Some((_, words, because_of)) = held {
        let path = because_of.map_or(String::new(), |path| format!(" {}", escaped(&escape(path))));
        tags.push(format!("<span class=\"tag plain\">{words}</span>{path}"));
    }
    match item.proposed.origin {
        Origin::Session => {}
        Origin::Merged => {
            tags.push("<span class=\"tag plain\">merged with your edit</span>".into())
        }
        Origin::Hunks => tags.push("<span class=\"tag plain\">in part</span>".into()),
        Origin::SessionVersion => tags.push("<span class=\"tag warn\">conflict</span>".into()),
    }
    tags.join(" ")
}

/// `+3 −1`.
pub(super) fn numbers(counts: LineCounts) -> String {
    format!(
        "<span class=\"added\">+{}</span> <span class=\"removed\">−{}</span>",
        count(counts.added),
        count(counts.removed)
    )
}

/// Five squares: how much of it came, how much went. The numbers beside it say the same.
fn bar(counts: LineCounts) -> String {
    const SQUARES: u64 = 5;
    let all = counts.added + counts.removed;
    let filled = match all {
        0 => 0,
        all => all.min(SQUARES),
    };
    let share = |part: u64| match all {
        0 => 0,
        all => (part * filled + all / 2) / all,
    };
    let plus = share(counts.added).min(filled);
    let minus = filled - plus;
    let squares = |class: &str, number: u64| class.repeat(usize::try_from(number).unwrap_or(0));
    format!(
        "<span class=\"bar\" aria-hidden=\"true\">{}{}{}</span>",
        squares("<i class=\"p\"></i>", plus),
        squares("<i class=\"m\"></i>", minus),
        squares("<i></i>", SQUARES - filled)
    )
}

/// Writes what was not compared, or stays in the copy.
pub(super) fn left_out(input: &ReportInput<'_>, out: &mut dyn Write) -> io::Result<()> {
    if input.left_out.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section aria-labelledby=\"left-out\">\n<h2 id=\"left-out\">Not compared</h2>\n\
         <table class=\"list\"><thead><tr><th scope=\"col\">Where</th><th scope=\"col\">Why</th>\
         <th scope=\"col\" class=\"num\">Size</th></tr></thead>\n<tbody>"
    )?;
    for skipped in input.left_out {
        writeln!(
            out,
            "<tr><td class=\"path\">{}</td><td>{}</td><td class=\"num\">{}</td></tr>",
            escaped(&escape(&skipped.name)),
            plain(&skipped.reason.to_string()),
            plain(&skipped.bytes.map(bytes).unwrap_or_default())
        )?;
    }
    writeln!(out, "</tbody></table>\n</section>")
}
