//! The list of files.

use lazaret_validator::Severity;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Palette, put, put_parts, scrollbar};
use crate::gate::review::geometry::Pane;
use crate::gate::review::item::{Allowance, Item, Mark, Sign, Tally, letter};
use crate::gate::review::model::Review;
use crate::gate::review::text::{columns, elide};
use crate::gate::review::tree::{Row, RowKind};

/// Draws the rows on show.
pub(super) fn draw(review: &Review, palette: Palette, area: Rect, buffer: &mut Buffer) {
    if review.rows.is_empty() {
        let words = if review.items.is_empty() {
            "Nothing changed."
        } else {
            "Nothing matches the filter."
        };
        put_parts(buffer, (area, area.y), [(words, palette.dim())]);
        return;
    }
    let inner = Rect {
        width: area.width - 1,
        ..area
    };
    let rows = review.rows.iter().enumerate().skip(review.list_top);
    for ((index, row), y) in rows.zip(area.top()..area.bottom()) {
        draw_row(review, row, palette, (inner, y), buffer);
        if index == review.cursor {
            let line = Rect {
                y,
                height: 1,
                ..inner
            };
            match review.focus {
                Pane::List => buffer.set_style(line, palette.cursor()),
                Pane::Diff => {
                    put(buffer, inner.x, y, 1, ">", palette.title());
                }
            }
        }
    }
    let place = (review.list_top, review.rows.len());
    scrollbar(buffer, area, place, palette);
}

fn draw_row(
    review: &Review,
    row: &Row,
    palette: Palette,
    (area, y): (Rect, u16),
    buffer: &mut Buffer,
) {
    let items = &review.items[row.items()];
    let own = row.item().map(|item| &review.items[item]);
    let mark = mark_of(items);
    let severity = items.iter().filter_map(Item::severity).max();
    // Of a closed directory the whole has to show; of an open one each row shows its own.
    let shown = match row.kind {
        RowKind::Dir {
            is_closed: false, ..
        } => own.and_then(Item::severity),
        _ => severity,
    };
    let sign = own.map_or(Sign::Mentioned, |item| item.sign);
    let fold = match row.kind {
        RowKind::Dir {
            is_closed: true, ..
        } => "▸ ",
        RowKind::Dir {
            is_closed: false, ..
        } => "▾ ",
        RowKind::File(_) => "",
    };
    // Deep trees must not push every name off the row.
    let indent = (row.depth * 2).min(usize::from(area.width) / 3);
    let indent = " ".repeat(indent);
    let x = put_parts(
        buffer,
        (area, y),
        [
            (" ", Style::new()),
            (mark.as_str(), palette.mark(mark)),
            (" ", Style::new()),
            (sign.as_str(), palette.sign(sign)),
            (letter(shown), palette.severity(shown)),
            (" ", Style::new()),
            (&indent, Style::new()),
            (fold, palette.dim()),
        ],
    );
    let tail = tail(row, own, palette);
    let wide: usize = tail.iter().map(|(text, _)| columns(text) + 1).sum();
    let room = usize::from(area.right().saturating_sub(x));
    // A name comes before numbers: these are in the diff as well.
    let name = &row.name;
    let wide = if room < wide + columns(name).min(12) {
        0
    } else {
        wide
    };
    let style = name_style(own, shown, mark, palette);
    put(buffer, x, y, room, &elide(name, room - wide), style);
    if wide == 0 {
        return;
    }
    let start = area.right() - u16::try_from(wide).unwrap_or(area.width);
    let rest = Rect {
        x: start,
        width: area.right() - start,
        ..area
    };
    let parts = tail
        .iter()
        .flat_map(|(text, style)| [(" ", Style::new()), (text.as_str(), *style)]);
    put_parts(buffer, (rest, y), parts);
}

fn name_style(
    own: Option<&Item>,
    severity: Option<Severity>,
    mark: Mark,
    palette: Palette,
) -> Style {
    match (own, mark) {
        (_, Mark::Left) => palette.dim(),
        (None, _) => palette.title(),
        (Some(_), _) if severity >= Some(Severity::Warn) => palette.severity(severity),
        (Some(_), _) => Style::new(),
    }
}

/// What stands at the end of a row.
fn tail(row: &Row, own: Option<&Item>, palette: Palette) -> Vec<(String, Style)> {
    let mut tail = Vec::new();
    if let RowKind::Dir {
        is_closed: true,
        items,
        ..
    } = &row.kind
    {
        let number = items.len();
        tail.push((format!("({number})"), palette.dim()));
        return tail;
    }
    let Some(item) = own else {
        return tail;
    };
    if item.allowance != Allowance::None {
        tail.push((
            "allowed".to_owned(),
            palette.severity(Some(Severity::Block)),
        ));
    }
    if let Some(tag) = item.tag {
        tail.push((tag.to_owned(), palette.head()));
    }
    if let Tally::Lines { added, removed } = item.tally {
        if added > 0 {
            tail.push((format!("+{added}"), palette.sign(Sign::Added)));
        }
        if removed > 0 {
            tail.push((format!("-{removed}"), palette.sign(Sign::Deleted)));
        }
    }
    tail
}

/// The mark of several items: of those that can be chosen, if there are any.
fn mark_of(items: &[Item]) -> Mark {
    let mut marks = items
        .iter()
        .map(Item::mark)
        .filter(|mark| *mark != Mark::Stays);
    let Some(first) = marks.next() else {
        return Mark::Stays;
    };
    if marks.all(|mark| mark == first) {
        first
    } else {
        Mark::Partly
    }
}
