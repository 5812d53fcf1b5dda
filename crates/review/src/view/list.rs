//! The list of files.

use lazaret_gate::file_diff::LineCounts;
use lazaret_validator::Severity;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Palette, commits, put, put_parts, scrollbar};
use crate::geometry::Pane;
use crate::item::{Allowance, Item, ItemStatus, Mark, Sign, Tag, letter};
use crate::model::Review;
use crate::text::{columns, elide};
use crate::tree::{Row, RowKind};

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
        match row.is_of_commits() {
            true => commits::draw_row(review, row, palette, (inner, y), buffer),
            false => draw_row(review, row, palette, (inner, y), buffer),
        }
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
    let shown = match &row.kind {
        RowKind::Dir(dir) if !dir.is_closed => own.and_then(Item::severity),
        _ => severity,
    };
    let sign = own.map_or(Sign::Mentioned, |item| item.sign);
    let fold = match &row.kind {
        RowKind::Dir(dir) if dir.is_closed => "▸ ",
        RowKind::Dir(_) => "▾ ",
        _ => "",
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
    let mut tail = tail(row, own, palette);
    let name = row.name(&review.items);
    let room = usize::from(area.right().saturating_sub(x));
    // A name comes before numbers, which are in the diff as well; what is said in words
    // comes first in the tail.
    let wide = loop {
        let parts = tail.iter().flatten();
        let wide: usize = parts.map(|(text, _)| columns(text) + 1).sum();
        if wide + columns(name).min(12) <= room || tail.pop().is_none() {
            break wide;
        }
    };
    let style = name_style(own, shown, mark, palette);
    put(buffer, x, y, room, &elide(name, room - wide), style);
    let start = area.right() - u16::try_from(wide).unwrap_or(area.width);
    let rest = Rect {
        x: start,
        width: area.right() - start,
        ..area
    };
    let parts = tail
        .iter()
        .flatten()
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

/// Parts of what stands at the end of a row, none of which makes sense without the rest of it.
type Tail = Vec<Vec<(String, Style)>>;

fn tail(row: &Row, own: Option<&Item>, palette: Palette) -> Tail {
    if let RowKind::Dir(dir) = &row.kind
        && dir.is_closed
    {
        return vec![vec![(format!("({})", dir.items.len()), palette.dim())]];
    }
    let Some(item) = own else {
        return Vec::new();
    };
    let mut tail = Vec::new();
    let passed = match (&item.status, item.allowance) {
        (_, Allowance::None) => None,
        (ItemStatus::Conflict(_), _) => Some("replaces"),
        (_, Allowance::Once | Allowance::Remembered) => Some("allowed"),
    };
    let style = match item.status {
        ItemStatus::Blocked | ItemStatus::Conflict(_) => palette.severity(Some(Severity::Block)),
        ItemStatus::Free | ItemStatus::Stays(_) => palette.head(),
    };
    if let Some(word) = passed.or(item.tag.map(Tag::as_str)) {
        tail.push(vec![(word.to_owned(), style)]);
    }
    if let Some(LineCounts { added, removed }) = item.counts {
        let count = |number: u64, sign: Sign| {
            let text = format!("{}{number}", sign.as_str());
            (number > 0).then(|| (text, palette.sign(sign)))
        };
        let counts = [count(added, Sign::Added), count(removed, Sign::Deleted)];
        tail.push(counts.into_iter().flatten().collect());
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
