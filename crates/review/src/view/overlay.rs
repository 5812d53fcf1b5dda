//! What is drawn instead of the panes, or over them.

use lazaret_validator::Severity;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget as _};

use super::{Palette, put, put_parts, scrollbar};
use crate::geometry::Geometry;
use crate::help::{self, HelpLine};
use crate::item::{Allowance, ItemStatus};
use crate::keys_to_actions::word;
use crate::model::Review;
use crate::plan::{Plan, PlanLine};
use crate::text::{columns, elide, fill, name_rows};

/// Draws what each key does.
pub(super) fn help(geometry: &Geometry, top: usize, palette: Palette, buffer: &mut Buffer) {
    let area = geometry.middle();
    let lines = help::lines(area.width.into());
    for (line, y) in lines.iter().skip(top).zip(area.top()..area.bottom()) {
        match line {
            HelpLine::Heading(text) => {
                put_parts(buffer, (area, y), [(*text, palette.title())]);
            }
            HelpLine::Key { key, words } => {
                let key = format!("  {key:<14} ");
                let parts = [(key.as_str(), palette.key()), (words, Style::new())];
                put_parts(buffer, (area, y), parts);
            }
        }
    }
    scrollbar(buffer, area, (top, lines.len()), palette);
}

/// Draws exactly what would be applied.
pub(super) fn apply(
    review: &Review,
    plan: &Plan,
    top: usize,
    palette: Palette,
    buffer: &mut Buffer,
) {
    let Some(geometry) = review.geometry else {
        return;
    };
    let area = geometry.middle();
    let hunks = match plan.hunks {
        0 => String::new(),
        1 => ", 1 hunk".to_owned(),
        number => format!(", {number} hunks"),
    };
    let (taken, left) = (plan.taken.len(), plan.left.len());
    let stay = if left == 1 { "stays" } else { "stay" };
    let lands = match plan.landings.len() {
        0 => String::new(),
        number => format!(", {} landed", branches(number)),
    };
    let words = format!("{taken} will be applied{hunks}{lands}; {left} {stay} in the copy.");
    let title = Rect {
        y: area.y - 1,
        ..area
    };
    put_parts(
        buffer,
        (title, title.y),
        [(words.as_str(), palette.title())],
    );
    let lines = (top..).map_while(|index| plan.line(index));
    for (line, y) in lines.zip(area.top()..area.bottom()) {
        plan_line(line, palette, (area, y), buffer);
    }
    scrollbar(buffer, area, (top, plan.len()), palette);
}

fn plan_line(line: PlanLine<'_>, palette: Palette, (area, y): (Rect, u16), buffer: &mut Buffer) {
    let room = usize::from(area.width).saturating_sub(5);
    let at = (area, y);
    match line {
        PlanLine::Blank => {}
        PlanLine::Heading(words) => {
            put_parts(buffer, at, [(words, palette.title())]);
        }
        PlanLine::Finding(said) => {
            let line = said.line.map_or(String::new(), |line| format!(":{line}"));
            let place = elide(&format!("{}{line}", said.subject), room / 3);
            let allowed = match said.allowed {
                true => "allowed by you, ",
                false => "",
            };
            let words = format!("{}: {allowed}{}", said.code, said.message);
            let words = elide(&words, room.saturating_sub(columns(&place) + 7));
            let style = palette.severity(Some(said.severity));
            let severity = format!("  {:<5} ", said.severity.as_str());
            put_parts(
                buffer,
                at,
                [
                    (severity.as_str(), style),
                    (&place, Style::new()),
                    ("  ", Style::new()),
                    (&words, style),
                ],
            );
        }
        PlanLine::Taken(taken) => {
            let note = elide(&taken.note, room / 2);
            let path = elide(&taken.path, room.saturating_sub(columns(&note) + 2));
            put_parts(
                buffer,
                at,
                [
                    ("  ", Style::new()),
                    (taken.sign.as_str(), palette.sign(taken.sign)),
                    (" ", Style::new()),
                    (&path, Style::new()),
                    ("  ", Style::new()),
                    (&note, palette.head()),
                ],
            );
        }
        PlanLine::Landing(landing) => {
            let place = elide(&landing.lands_as, room / 2);
            let name = elide(&landing.name, room.saturating_sub(columns(&place) + 4));
            put_parts(
                buffer,
                at,
                [
                    ("    ", Style::new()),
                    (&name, Style::new()),
                    (" → ", palette.dim()),
                    (&place, palette.head()),
                ],
            );
        }
        PlanLine::Left(left) => {
            let reason = elide(&left.reason.to_string(), room / 2);
            let path = elide(&left.path, room.saturating_sub(columns(&reason) + 2));
            put_parts(
                buffer,
                at,
                [
                    ("    ", Style::new()),
                    (&path, palette.dim()),
                    ("  ", Style::new()),
                    (&reason, palette.dim()),
                ],
            );
        }
    }
}

/// `1 branch`, `2 branches`: tags and stash entries become refs as branches do.
pub(super) fn branches(number: usize) -> String {
    match number {
        1 => "1 branch".to_owned(),
        number => format!("{number} branches"),
    }
}

/// The title where a rule is passed.
const ALLOW: &str = " Allow what is blocked? ";

/// Draws what would be allowed, and why it is blocked, and what has to be typed.
pub(super) fn allow(
    review: &Review,
    (item, typed, allowance): (usize, &str, Allowance),
    palette: Palette,
    buffer: &mut Buffer,
) {
    let Some(geometry) = review.geometry else {
        return;
    };
    let item = &review.items[item];
    let screen = geometry.screen;
    let width = screen.width.min(76);
    let room = usize::from(width) - 4;
    let red = palette.severity(Some(Severity::Block));
    let mut lines: Vec<(String, Style)> = Vec::new();
    let is_low = screen.height < 16;
    if is_low {
        lines.push((elide(&item.path, room), palette.title()));
    } else {
        let names = name_rows(&item.path, room, 2).into_iter();
        lines.extend(names.map(|line| (line, palette.title())));
    }
    let blocks = item
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Block);
    for finding in blocks {
        let words = format!("{}: {}", finding.code, finding.message);
        lines.extend(fill(&words, room).into_iter().map(|line| (line, red)));
    }
    if let ItemStatus::Conflict(what) = &item.status {
        let words = format!("It {what}. The session's version would be put in place of yours.");
        lines.extend(fill(&words, room).into_iter().map(|line| (line, red)));
    }
    // What is asked has to be seen; the reasons are in the pane with the diff as well.
    let most = usize::from(screen.height) - 2 - if is_low { 4 } else { 5 };
    if lines.len() > most {
        lines.truncate(most.saturating_sub(1));
        lines.push(("…".to_owned(), red));
    }
    let (title, remember) = match (&item.status, allowance) {
        (ItemStatus::Conflict(_), _) => (" Replace your version? ", "An undo brings yours back."),
        (_, Allowance::Remembered) => (ALLOW, "[x] remember it for these contents at this path"),
        (_, Allowance::None | Allowance::Once) => {
            (ALLOW, "[ ] remember it for these contents at this path")
        }
    };
    if !is_low {
        lines.push((String::new(), Style::new()));
    }
    lines.push((elide(remember, room), Style::new()));
    let height = u16::try_from(lines.len() + 3).unwrap_or(screen.height);
    let area = Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + (screen.height - 2).saturating_sub(height) / 2,
        width,
        height: height.min(screen.height - 2),
    };
    Clear.render(area, buffer);
    Block::bordered()
        .title(title)
        .border_style(red)
        .render(area, buffer);
    let inner = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width - 4,
        height: area.height - 2,
    };
    for ((line, style), y) in lines.iter().zip(inner.top()..inner.bottom()) {
        put(buffer, inner.x, y, room, line, *style);
    }
    let last = inner.bottom() - 1;
    let typed = lazaret_tree::escape(typed.as_bytes());
    let ask = format!("Type {} to apply it: ", word(&item.status));
    put_parts(
        buffer,
        (inner, last),
        [
            (ask.as_str(), palette.title()),
            (&typed, Style::new()),
            ("_", palette.cursor()),
        ],
    );
}
