//! The view: a [`Review`] drawn into a buffer. Pure, and the only way to the screen.

mod commits;
mod diff;
mod list;
mod overlay;
mod palette;
#[cfg(test)]
mod picture;
mod status;
#[cfg(test)]
pub(crate) mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::geometry::{Pane, SMALLEST};
use super::model::{Mode, Review};
use super::text;

pub use palette::Palette;

/// Draws everything.
pub fn draw(review: &Review, palette: Palette, buffer: &mut Buffer) {
    let Some(geometry) = review.geometry else {
        too_small(buffer);
        return;
    };
    status::title(review, palette, geometry.title, buffer);
    match &review.mode {
        Mode::Apply(plan, top) => overlay::apply(review, plan, *top, palette, buffer),
        Mode::Help(top) => overlay::help(&geometry, *top, palette, buffer),
        Mode::Browse
        | Mode::Filter
        | Mode::Allow { .. }
        | Mode::NotAllowed { .. }
        | Mode::Discard => {
            if geometry.shows(Pane::List, review.focus) {
                list::draw(review, palette, geometry.list, buffer);
            }
            if let Some(divider) = geometry.divider {
                for y in divider.top()..divider.bottom() {
                    put(buffer, divider.x, y, 1, "│", palette.dim());
                }
            }
            if geometry.shows(Pane::Diff, review.focus) {
                diff::draw(review, palette, geometry.diff, buffer);
            }
        }
    }
    if let Mode::Allow {
        item,
        typed,
        allowance,
    } = &review.mode
    {
        overlay::allow(review, (*item, typed, *allowance), palette, buffer);
    }
    status::draw(review, palette, geometry.status, buffer);
}

fn too_small(buffer: &mut Buffer) {
    let area = buffer.area;
    let words = format!(
        "This needs {} columns and {} rows. q: keep and leave.",
        SMALLEST.0, SMALLEST.1
    );
    let width = usize::from(area.width);
    for (y, line) in (area.top()..area.bottom()).zip(text::fill(&words, width)) {
        put(buffer, area.x, y, width, &line, Style::new());
    }
}

/// Draws text that was escaped, in at most `width` columns, and returns the column after it.
///
/// ratatui drops control characters by itself; a buffer that none can reach does not have to
/// rely on that.
fn put(buffer: &mut Buffer, x: u16, y: u16, width: usize, text: &str, style: Style) -> u16 {
    debug_assert!(!text.chars().any(char::is_control), "{text:?}");
    if !buffer.area.contains(Position { x, y }) {
        return x;
    }
    buffer.set_stringn(x, y, text, width, style).0
}

/// Draws parts one after the other, none of them beyond `area`.
fn put_parts<'a>(
    buffer: &mut Buffer,
    (area, y): (Rect, u16),
    parts: impl IntoIterator<Item = (&'a str, Style)>,
) -> u16 {
    let mut x = area.left();
    for (text, style) in parts {
        let width = usize::from(area.right().saturating_sub(x));
        x = put(buffer, x, y, width, text, style);
    }
    x
}

/// Draws where in a text the rows on show are, in the last column of `area`.
fn scrollbar(buffer: &mut Buffer, area: Rect, (top, rows): (usize, usize), palette: Palette) {
    let height = usize::from(area.height);
    if rows <= height || area.width == 0 {
        return;
    }
    let size = (height * height / rows).max(1);
    let start = (height - size) * top / (rows - height).max(1);
    for (index, y) in (area.top()..area.bottom()).enumerate() {
        let is_thumb = (start..start + size).contains(&index);
        let symbol = if is_thumb { "▐" } else { " " };
        put(buffer, area.right() - 1, y, 1, symbol, palette.dim());
    }
}
