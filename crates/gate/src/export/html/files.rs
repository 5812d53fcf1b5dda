//! The changes of the page, file by file, with their lines.

use std::io::{self, Write};

use lazaret_tree::{ChangeKind, Entry};
use lazaret_validator::Finding;

use super::plan::{Fold, Show};
use super::tables::{badge, digest, message, numbers, state};
use super::text::{escaped, line, name};
use super::{HtmlError, failed};
use crate::case::Case;
use crate::export::report_input::{ReportInput, ReportItem};
use crate::file_diff::{Hunk, LineKind};
use crate::file_side::{FileSide, FileSides, mode_or_type_change};
use crate::format::{bytes, count};

/// Writes every change that has a section.
pub(super) fn write(
    (input, case): (&ReportInput<'_>, &Case),
    shows: &[Show],
    out: &mut dyn Write,
) -> Result<(), HtmlError> {
    if !shows.iter().any(|show| show.has_section()) {
        return Ok(());
    }
    let head = "<section aria-labelledby=\"changes\">\n<h2 id=\"changes\">Changes</h2>";
    writeln!(out, "{head}").map_err(failed)?;
    for (number, (item, show)) in input.items.iter().zip(shows).enumerate() {
        if !show.has_section() {
            continue;
        }
        head_of((input, case), (number, item), *show, out)?;
        match show {
            Show::Row => {}
            Show::NoRoom => {
                let digest = digest(item).unwrap_or_default();
                let words = "not shown, since the page would be too large: blake3";
                writeln!(out, "<p>{words} {digest}</p>").map_err(failed)?;
            }
            Show::Section { most, .. } => body((input, case), item, *most, out)?,
        }
        writeln!(out, "</div></details>").map_err(failed)?;
    }
    writeln!(out, "</section>").map_err(failed)
}

/// Writes a section up to its lines: the name, what happened, what was found.
fn head_of(
    (input, case): (&ReportInput<'_>, &Case),
    (number, item): (usize, &ReportItem<'_>),
    show: Show,
    out: &mut dyn Write,
) -> Result<(), HtmlError> {
    let open = match show {
        Show::Section {
            fold: Fold::Closed, ..
        } => "",
        _ => " open",
    };
    let counts = item
        .counts(case)?
        .filter(|_| item.change().kind() != ChangeKind::ModeOnly);
    let counts = counts.map_or(String::new(), numbers);
    let (kind, path) = (item.change().kind().as_str(), name(item.path().as_str()));
    writeln!(
        out,
        "<details class=\"file\"{open}><summary><h3 class=\"path\">{path}</h3> \
         <span class=\"tag plain\">{kind}</span> {} <span class=\"push\">{counts}</span></summary>\n\
         <div class=\"body\" id=\"f{number}\">",
        state(item)
    )
    .map_err(failed)?;
    let whole: Vec<&Finding> = about(input, item)
        .filter(|finding| finding.line.is_none())
        .collect();
    if !whole.is_empty() {
        writeln!(out, "<ul>").map_err(failed)?;
        for finding in whole {
            writeln!(out, "<li>{} {}</li>", badge(finding), message(finding)).map_err(failed)?;
        }
        writeln!(out, "</ul>").map_err(failed)?;
    }
    Ok(())
}

fn about<'a>(
    input: &'a ReportInput<'_>,
    item: &'a ReportItem<'_>,
) -> impl Iterator<Item = &'a Finding> {
    input.about(item).iter().map(|&index| input.findings[index])
}

/// What is worth saying besides the lines.
fn facts(item: &ReportItem<'_>) -> Vec<String> {
    let change = item.change();
    let mut facts = Vec::new();
    if let (Some(before), Some(after)) = (&change.before, &change.after) {
        facts.extend(mode_or_type_change(before, after));
    }
    let size = |side: &Option<Entry>| match side {
        Some(Entry::File { size, .. }) => Some(*size),
        _ => None,
    };
    match (size(&change.before), size(&change.after)) {
        (Some(old), Some(new)) if old != new => {
            facts.push(format!("{} → {}", bytes(old), bytes(new)));
        }
        (_, Some(size)) | (Some(size), None) => facts.push(bytes(size)),
        (None, None) => {}
    }
    facts
}

/// Writes the lines of a change, or words where it has none.
fn body(
    (input, case): (&ReportInput<'_>, &Case),
    item: &ReportItem<'_>,
    most: Option<usize>,
    out: &mut dyn Write,
) -> Result<(), HtmlError> {
    let sides = FileSides::read(case, item.change())?;
    let said: Vec<String> = facts(item).into_iter().chain(words(&sides)).collect();
    if !said.is_empty() {
        writeln!(out, "<p>{}</p>", said.join(" · ")).map_err(failed)?;
    }
    let mut at_lines: Vec<&Finding> = about(input, item)
        .filter(|finding| finding.line.is_some())
        .collect();
    let mut left = most.unwrap_or(usize::MAX);
    let mut cut = 0;
    let mut rows = Rows { out, open: false };
    for hunk in sides.diff().hunks() {
        rows.hunk(&hunk, &mut left, &mut cut, &mut at_lines)
            .map_err(failed)?;
    }
    rows.end().map_err(failed)?;
    if cut > 0 {
        let digest = digest(item).map_or(String::new(), |digest| format!("; blake3 {digest}"));
        let more = count(cut as u64);
        writeln!(out, "<p>{more} more lines{digest}</p>").map_err(failed)?;
    }
    // About lines that are not among those that changed, or were cut.
    for finding in at_lines {
        let line = finding.line.unwrap_or_default();
        let words = format!("line {line}: {} {}", badge(finding), message(finding));
        writeln!(out, "<p>{words}</p>").map_err(failed)?;
    }
    Ok(())
}

/// What is said of sides that are no text.
fn words(sides: &FileSides) -> Vec<String> {
    let is_empty = |side: &FileSide| match side {
        FileSide::Absent => true,
        FileSide::Text(text) => text.is_empty(),
        FileSide::Described(_) => false,
    };
    match is_empty(&sides.old) && is_empty(&sides.new) {
        true => vec!["empty".to_owned()],
        false => sides
            .descriptions()
            .iter()
            .map(|words| escaped(words))
            .collect(),
    }
}

/// The table of a diff, opened by its first row.
struct Rows<'a> {
    out: &'a mut dyn Write,
    open: bool,
}

impl Rows<'_> {
    fn begin(&mut self) -> io::Result<()> {
        if self.open {
            return Ok(());
        }
        self.open = true;
        // For those who hear the page; the others see what the columns are.
        let caption = "Lines: number before, number after, and the line with its sign";
        writeln!(
            self.out,
            "<table class=\"diff\"><caption class=\"out\">{caption}</caption><colgroup><col class=\"n\"><col class=\"n\"><col></colgroup>\
             <tbody>"
        )
    }

    fn end(&mut self) -> io::Result<()> {
        match self.open {
            true => writeln!(self.out, "</tbody></table>"),
            false => Ok(()),
        }
    }

    /// Writes a hunk, line by line, each followed by what was found about it.
    fn hunk(
        &mut self,
        hunk: &Hunk<'_>,
        left: &mut usize,
        cut: &mut usize,
        findings: &mut Vec<&Finding>,
    ) -> io::Result<()> {
        if *left == 0 {
            *cut += hunk.lines.len();
            return Ok(());
        }
        self.begin()?;
        writeln!(
            self.out,
            "<tr class=\"h\"><td colspan=\"3\">{}</td></tr>",
            hunk.header()
        )?;
        for shown in &hunk.lines {
            let changed = shown.kind != LineKind::Context;
            if *left == 0 {
                *cut += usize::from(changed);
                continue;
            }
            *left -= usize::from(changed);
            let (class, sign) = match shown.kind {
                LineKind::Context => ("", ' '),
                LineKind::Removed => (" class=\"d\"", '-'),
                LineKind::Added => (" class=\"a\"", '+'),
            };
            let number = |number: Option<usize>| number.map_or(String::new(), |n| n.to_string());
            writeln!(
                self.out,
                "<tr{class}><td>{}</td><td>{}</td><td><i>{sign}</i>{}</td></tr>",
                number(shown.old),
                number(shown.new),
                line(shown.bytes)
            )?;
            if !shown.has_newline && changed {
                let words = "no newline at the end";
                writeln!(
                    self.out,
                    "<tr class=\"h\"><td colspan=\"3\">{words}</td></tr>"
                )?;
            }
            let at = shown.new.and_then(|line| u32::try_from(line).ok());
            let is_here = |finding: &&Finding| at.is_some() && finding.line == at;
            for finding in findings.iter().filter(|finding| is_here(finding)) {
                let (badge, message) = (badge(finding), message(finding));
                writeln!(
                    self.out,
                    "<tr class=\"f\"><td colspan=\"3\">{badge} {message}</td></tr>"
                )?;
            }
            findings.retain(|finding| !is_here(finding));
        }
        Ok(())
    }
}
