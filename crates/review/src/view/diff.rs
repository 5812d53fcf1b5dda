//! The diff of the selected file.

use lazaret_gate::file_diff::LineKind;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Palette, put_parts, scrollbar};
use crate::diff_view::{DiffView, Line};
use crate::geometry::Pane;
use crate::item::Mark;
use crate::model::Review;
use crate::page::PageRow;
use crate::text::{Piece, wrap};

/// Draws the rows on show.
pub(super) fn draw(review: &Review, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let inner = Rect {
        width: area.width - 1,
        ..area
    };
    let diff_view = review.diff_view();
    let mut broken = Broken::default();
    let rows = review.page.rows.iter().skip(review.page_top);
    for (row, y) in rows.zip(area.top()..area.bottom()) {
        let at = (inner, y);
        match row {
            PageRow::Name(text) => put_parts(buffer, at, [(text.as_str(), palette.title())]),
            PageRow::Fact(text) => put_parts(buffer, at, [(text.as_str(), palette.dim())]),
            PageRow::Finding(severity, text) => put_parts(
                buffer,
                at,
                [(text.as_str(), palette.severity(Some(*severity)))],
            ),
            PageRow::Status(text) => {
                put_parts(buffer, at, [(text.as_str(), palette.mark(Mark::Stays))])
            }
            PageRow::Blank => inner.x,
            PageRow::Head(hunk) => head(review, *hunk, palette, at, buffer),
            PageRow::Line { hunk, line, part } => {
                let Some(shown) = diff_view.and_then(|diff_view| line_of(diff_view, *hunk, *line))
                else {
                    continue;
                };
                let width = review.page.room(usize::from(inner.width));
                let parts = broken.rows(shown, (*hunk, *line), width);
                let pieces = parts.get(*part).map_or(&[][..], Vec::as_slice);
                line_row(
                    shown,
                    (*part, pieces),
                    review.page.digits,
                    palette,
                    at,
                    buffer,
                )
            }
            PageRow::Unterminated => {
                let gutter = " ".repeat(review.page.gutter());
                let words = "\\ no line feed at the end of the file";
                put_parts(
                    buffer,
                    at,
                    [(gutter.as_str(), Style::new()), (words, palette.head())],
                )
            }
        };
    }
    let place = (review.page_top, review.page.rows.len());
    scrollbar(buffer, area, place, palette);
}

/// The line that was broken last: a long one fills many rows.
#[derive(Default)]
struct Broken {
    of: Option<(usize, usize)>,
    rows: Vec<Vec<Piece>>,
}

impl Broken {
    fn rows(&mut self, line: &Line, of: (usize, usize), width: usize) -> &[Vec<Piece>] {
        if self.of != Some(of) {
            self.rows = wrap(&line.pieces, width);
            self.of = Some(of);
        }
        &self.rows
    }
}

fn line_of(diff_view: &DiffView, hunk: usize, line: usize) -> Option<&Line> {
    diff_view.hunks.get(hunk)?.lines.get(line)
}

fn head(
    review: &Review,
    hunk: usize,
    palette: Palette,
    at: (Rect, u16),
    buffer: &mut Buffer,
) -> u16 {
    let number = review.page.heads.len();
    let header = review
        .diff_view()
        .and_then(|diff_view| diff_view.hunks.get(hunk))
        .map_or("", |hunk| &hunk.header);
    let item = review.selected().map(|item| &review.items[item]);
    // Hunks of a commit are no choice.
    let mark = item.map(|item| match (item.mark(), item.takes_hunk(hunk)) {
        (Mark::Stays, _) => Mark::Stays,
        (_, true) => Mark::Taken,
        (_, false) => Mark::Left,
    });
    let is_current = hunk == review.hunk && review.focus == Pane::Diff;
    let style = if is_current {
        palette.head().patch(palette.cursor())
    } else {
        palette.head()
    };
    let place = format!("{header}  hunk {} of {number}", hunk + 1);
    let mark = mark.map(|mark| [(mark.as_str(), palette.mark(mark)), (" ", style)]);
    let parts = mark.into_iter().flatten().chain([(place.as_str(), style)]);
    put_parts(buffer, at, parts)
}

fn line_row(
    line: &Line,
    (part, pieces): (usize, &[Piece]),
    digits: usize,
    palette: Palette,
    at: (Rect, u16),
    buffer: &mut Buffer,
) -> u16 {
    // Only the first row of a line has numbers: no text can pass for a line of its own.
    let number = |number: Option<usize>| match (part, number) {
        (0, Some(number)) => format!("{number:>digits$} "),
        _ => " ".repeat(digits + 1),
    };
    let (old, new) = (number(line.old), number(line.new));
    let sign = match line.kind {
        LineKind::Context => "  ",
        LineKind::Removed => "- ",
        LineKind::Added => "+ ",
    };
    let gutter = [
        (old.as_str(), palette.dim()),
        (new.as_str(), palette.dim()),
        (sign, palette.line(line.kind)),
    ];
    let text = pieces.iter().map(|piece| {
        (
            piece.text.as_str(),
            palette.text_style(line.kind, piece.text_style),
        )
    });
    put_parts(buffer, at, gutter.into_iter().chain(text))
}
