//! The rows of branches and commits in the list.

use lazaret_validator::Severity;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Palette, put, put_parts};
use crate::item::{Mark, letter};
use crate::model::Review;
use crate::text::{columns, elide};
use crate::tree::{Row, RowKind};

/// What a row shows.
struct Shown<'a> {
    /// `None` for a commit, which is no choice.
    mark: Option<Mark>,
    severity: Option<Severity>,
    fold: &'static str,
    name: &'a str,
    tail: String,
    style: Style,
}

/// Draws a row of the commits.
pub(super) fn draw_row(
    review: &Review,
    row: &Row,
    palette: Palette,
    (area, y): (Rect, u16),
    buffer: &mut Buffer,
) {
    let Some(shown) = shown(review, row, palette) else {
        return;
    };
    let (mark, style) = match shown.mark {
        Some(mark) => (mark.as_str(), palette.mark(mark)),
        None => ("   ", Style::new()),
    };
    let indent = " ".repeat(row.depth * 2);
    let x = put_parts(
        buffer,
        (area, y),
        [
            (" ", Style::new()),
            (mark, style),
            ("  ", Style::new()),
            (letter(shown.severity), palette.severity(shown.severity)),
            (" ", Style::new()),
            (&indent, Style::new()),
            (shown.fold, palette.dim()),
        ],
    );
    let room = usize::from(area.right().saturating_sub(x));
    let wide = match shown.tail.as_str() {
        "" => 0,
        tail => columns(tail) + 1,
    };
    let wide = if wide + 12 <= room { wide } else { 0 };
    let name = match row.kind {
        RowKind::Commit(_) => cut(shown.name, room),
        _ => elide(shown.name, room - wide),
    };
    put(buffer, x, y, room, &name, shown.style);
    if wide > 0 {
        let start = area.right() - u16::try_from(wide).unwrap_or(area.width);
        put(buffer, start + 1, y, wide, &shown.tail, palette.dim());
    }
}

fn shown<'a>(review: &'a Review, row: &Row, palette: Palette) -> Option<Shown<'a>> {
    let commits = &review.commits;
    Some(match &row.kind {
        RowKind::Branch(row) => {
            let branch = commits.branches.get(row.branch)?;
            let mark = branch.mark();
            Shown {
                mark: Some(mark),
                // Of a closed branch the whole has to show.
                severity: match row.is_closed {
                    true => branch.severity(),
                    false => branch.findings.severity(),
                },
                fold: match row.is_closed {
                    true => "▸ ",
                    false => "▾ ",
                },
                name: &branch.name,
                tail: match branch.commits.len() {
                    0 => String::new(),
                    number => format!("({number})"),
                },
                style: match mark {
                    Mark::Left => palette.dim(),
                    _ => palette.title(),
                },
            }
        }
        RowKind::Commit(at) => {
            let commit = commits.at(*at)?;
            let severity = commit.findings.severity();
            Shown {
                mark: None,
                severity,
                fold: "",
                name: &commit.subject,
                tail: String::new(),
                style: match severity >= Some(Severity::Warn) {
                    true => palette.severity(severity),
                    false => Style::new(),
                },
            }
        }
        RowKind::Commits => Shown {
            mark: (!commits.branches.is_empty()).then(|| commits.mark()),
            severity: None,
            fold: "",
            name: match commits.branches.is_empty() {
                true => "commits: not shown",
                false => "commits",
            },
            tail: String::new(),
            style: palette.title(),
        },
        RowKind::Dir(_) | RowKind::File(_) => return None,
    })
}

/// Cuts the end off a subject that is too long: it begins with what matters, unlike a path.
fn cut(subject: &str, width: usize) -> String {
    if columns(subject) <= width {
        return subject.to_owned();
    }
    let mut start = String::new();
    for c in subject.chars() {
        let longer = format!("{start}{c}");
        if columns(&longer) >= width {
            break;
        }
        start = longer;
    }
    start.push('…');
    start
}
