//! The lines at the top and at the bottom.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::overlay::branches;
use super::{Palette, put, put_parts};
use crate::geometry::Pane;
use crate::item::ItemStatus;
use crate::model::{Mode, Review, Show};
use crate::text::{columns, elide};

/// Starts the line of a question, as in the prompt of `run`; no name can: names are never at
/// the start of the last line (UI-06).
const PREFIX: &str = "lazaret? ";

/// Keys and what they do, the most needed first.
const LIST_KEYS: [(&str, &str); 10] = [
    ("space", "take/leave"),
    ("A", "apply"),
    ("q", "keep"),
    ("?", "help"),
    ("Tab", "diff"),
    ("n", "hunk"),
    ("]", "finding"),
    ("!", "allow"),
    ("f /", "filter"),
    ("D", "discard"),
];
const DIFF_KEYS: [(&str, &str); 10] = [
    ("space", "take/leave hunk"),
    ("A", "apply"),
    ("q", "keep"),
    ("?", "help"),
    ("Tab", "list"),
    ("n", "hunk"),
    ("]", "finding"),
    ("!", "allow"),
    ("f /", "filter"),
    ("D", "discard"),
];

/// Draws what is reviewed.
pub(super) fn title(review: &Review, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let mut name = " lazaret review ".to_owned();
    if !review.title.session.is_empty() {
        name.push_str(&format!("{} ", review.title.session));
    }
    let room = usize::from(area.width);
    let name = elide(&name, room);
    let x = put(buffer, area.x, area.y, room, &name, palette.question());
    let room = usize::from(area.right().saturating_sub(x + 1));
    let place = elide(&review.title.workspace, room);
    put(buffer, x + 1, area.y, room, &place, palette.dim());
}

/// Draws what will be applied, and the keys or a question.
pub(super) fn draw(review: &Review, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let (first, last) = (area.y, area.y + 1);
    let width = usize::from(area.width);
    let line = |buffer: &mut Buffer, y, text: &str, style| {
        put(buffer, area.x, y, width, &elide(text, width), style);
    };
    match &review.mode {
        Mode::Browse | Mode::Help(_) | Mode::NotAllowed { .. } => {
            counts(review, palette, (area, first), buffer);
            match &review.notice {
                Some(notice) => line(buffer, last, notice, palette.title()),
                None => keys(review, palette, (area, last), buffer),
            }
        }
        Mode::Filter => {
            counts(review, palette, (area, first), buffer);
            let typed = lazaret_tree::escape(review.search.as_bytes());
            let room = width.saturating_sub(2);
            let typed = elide(&typed, room);
            put_parts(
                buffer,
                (area, last),
                [
                    ("/", palette.key()),
                    (&typed, Style::new()),
                    ("_", palette.cursor()),
                ],
            );
        }
        Mode::Allow { item, .. } => {
            let words = match review.items[*item].status {
                ItemStatus::Conflict(_) => "Enter: replace  Esc: back",
                _ => "Enter: allow  Tab: remember or not  Esc: back",
            };
            line(buffer, last, words, palette.dim());
        }
        Mode::Apply(plan, _) if plan.can_apply() => {
            let (number, all, lands) = (plan.taken.len(), plan.changes, plan.landings.len());
            let branches = branches(lands);
            let text = match (number, lands, width) {
                (number, 0, 0..60) => format!("Apply {number} of {all}?"),
                (number, 0, _) => format!("Apply {number} of {all} to the workspace?"),
                (0, _, _) => format!("Land {branches}?"),
                (number, _, _) => format!("Apply {number} of {all}, land {branches}?"),
            };
            let text = text + " [y=yes, n=no]";
            line(buffer, first, "j, k: look through it", palette.dim());
            question(&text, palette, (area, last), buffer);
        }
        Mode::Apply(plan, _) => {
            let words = plan.hindrance.as_deref();
            let words = words.unwrap_or("Nothing is chosen, so there is nothing to apply.");
            line(buffer, first, words, palette.title());
            line(buffer, last, "Any key: back", palette.dim());
        }
        Mode::Discard => {
            let words = match &review.title.commits {
                None => "This can't be undone: the changes and the copy are removed.",
                Some(commits) => &format!("This can't be undone, and removes {commits}."),
            };
            line(buffer, first, words, palette.title());
            let text = match width {
                0..60 => "Discard all? [y=yes, n=no]",
                _ => "Throw all changes away? [y=yes, n=no]",
            };
            question(text, palette, (area, last), buffer);
        }
    }
}

fn question(text: &str, palette: Palette, (area, y): (Rect, u16), buffer: &mut Buffer) {
    put_parts(
        buffer,
        (area, y),
        [(PREFIX, palette.question()), (text, palette.title())],
    );
}

fn counts(review: &Review, palette: Palette, (area, y): (Rect, u16), buffer: &mut Buffer) {
    let counts = review.counts();
    let mut words = format!("{} of {} will be applied", counts.taken, counts.all);
    if counts.partly > 0 {
        words.push_str(&format!(", {} in part", counts.partly));
    }
    if counts.stays > 0 {
        words.push_str(&format!(", {} can't be", counts.stays));
    }
    let lands = review.commits.picked().count();
    if !review.commits.branches.is_empty() {
        words.push_str(&format!(
            "; {lands} of {} landed",
            branches(review.commits.branches.len())
        ));
    }
    let mut filter = String::new();
    match review.show {
        Show::All => {}
        Show::Warned => filter.push_str("only warn+"),
        Show::Blocked => filter.push_str("only block"),
    }
    if !review.search.is_empty() && review.mode != Mode::Filter {
        let search = elide(&lazaret_tree::escape(review.search.as_bytes()), 20);
        filter.push_str(&format!(" /{search}"));
    }
    let width = usize::from(area.width);
    let room = width.saturating_sub(columns(&filter) + 1);
    put(
        buffer,
        area.x,
        y,
        room,
        &elide(&words, room),
        palette.title(),
    );
    let wide = u16::try_from(columns(&filter)).unwrap_or(area.width);
    let start = area.right().saturating_sub(wide);
    put(buffer, start, y, columns(&filter), &filter, palette.key());
}

/// As many keys as there is room for.
fn keys(review: &Review, palette: Palette, (area, y): (Rect, u16), buffer: &mut Buffer) {
    let keys = match review.focus {
        Pane::List => LIST_KEYS,
        Pane::Diff => DIFF_KEYS,
    };
    let mut x = area.x;
    for (key, words) in keys {
        let wide = columns(key) + 1 + columns(words);
        let room = usize::from(area.right().saturating_sub(x));
        if room < wide {
            return;
        }
        x = put(buffer, x, y, room, key, palette.key());
        x = put(buffer, x, y, room, &format!(" {words}  "), palette.dim());
    }
}
