//! `docs/review.svg`: what the review draws of a test's changes, so it can't be out of date.

use std::fmt::Write as _;
use std::path::Path;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::Palette;
use super::tests::buffer;
use crate::keys::Key;
use crate::tests::{press, sample};

const SIZE: (u16, u16) = (108, 30);

/// Width and height of a cell, and the border around all of them, in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;
const BACK: &str = "#16191f";
const FRONT: &str = "#d7dae0";

/// The fourth file of the sample, before and after.
const OLD: &str = "//! Ships and their cargo.\n\nuse std::str::FromStr;\n\n\
    pub fn parse(line: &str) -> Ship {\n    let (name, tons) = line.split_once(',').unwrap();\n    \
    Ship {\n        name: name.to_owned(),\n        tons: tons.parse().unwrap(),\n    }\n}\n\n\
    pub fn total(ships: &[Ship]) -> u64 {\n    let mut sum = 0;\n    for ship in ships {\n        \
    sum += ship.tons;\n    }\n    sum\n}\n\n\
    pub fn print(ships: &[Ship]) {\n    println!(\"total: {}\", total(ships));\n}\n";
const NEW: &str = "//! Ships and their cargo.\n\nuse std::str::FromStr;\n\n\
    pub fn parse(line: &str) -> Option<Ship> {\n    let (name, tons) = line.split_once(',')?;\n    \
    Some(Ship {\n        name: name.to_owned(),\n        tons: tons.parse().ok()?,\n    })\n}\n\n\
    pub fn total(ships: &[Ship]) -> u64 {\n    let mut sum = 0;\n    for ship in ships {\n        \
    sum += ship.tons;\n    }\n    sum\n}\n\n\
    pub fn print(ships: &[Ship]) {\n    println!(\"total: {} t\", total(ships));\n}\n";

#[test]
fn the_picture_of_the_documentation_shows_what_is_drawn() {
    let (mut review, mut changes) = sample();
    changes.versions[3] = (OLD.to_owned(), NEW.to_owned());
    review.resize(SIZE.0, SIZE.1);
    let keys = "jjjjj".chars().map(Key::Char);
    let keys = Vec::from_iter(keys.chain([Key::Tab, Key::Char('n'), Key::Char(' ')]));
    press(&mut review, &mut changes, &keys);
    let drawn = svg(&buffer(&review, Palette::Coloured, SIZE));

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/review.svg");
    if std::fs::read_to_string(&file).is_ok_and(|picture| picture == drawn) {
        return;
    }
    let new = file.with_extension("new.svg");
    std::fs::write(&new, drawn).unwrap();
    panic!("the review looks otherwise now: move {new:?} to {file:?}");
}

fn svg(buffer: &Buffer) -> String {
    let (columns, rows) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let (width, height) = (columns * CELL.0, rows * CELL.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"\
         ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\">\n<title>lazaret review</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACK}\"/>\n",
        width + 2.0 * MARGIN,
        height + 2.0 * MARGIN
    );
    let cells = buffer.content().chunks(usize::from(buffer.area.width));
    for (row, cells) in (0_u32..).zip(cells) {
        let top = MARGIN + f64::from(row) * CELL.1;
        let mut left = MARGIN;
        for run in cells.chunk_by(|one, next| one.style() == next.style()) {
            draw_run(&mut svg, run, left, top).unwrap();
            left += run.len() as f64 * CELL.0;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws cells of one style. The text is stretched to its columns, so that the rows fit
/// whatever font there is.
fn draw_run(svg: &mut String, cells: &[Cell], left: f64, top: f64) -> std::fmt::Result {
    let look = &cells[0];
    let (mut front, mut back) = (hex(look.fg, FRONT), hex(look.bg, BACK));
    if look.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut front, &mut back);
    }
    if back != BACK {
        let (width, height) = (cells.len() as f64 * CELL.0, CELL.1);
        writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{back}\"/>"
        )?;
    }
    let text: String = cells.iter().map(Cell::symbol).collect();
    let indent = text.chars().take_while(|c| *c == ' ').count() as f64 * CELL.0;
    let text = text.trim();
    if text.is_empty() {
        return Ok(());
    }
    let (left, base) = (left + indent, top + CELL.1 * 0.75);
    let length = text.chars().count() as f64 * CELL.0;
    let attributes = [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ];
    let style: String = (attributes.iter())
        .filter(|(modifier, _)| look.modifier.contains(*modifier))
        .map(|(_, attribute)| *attribute)
        .collect();
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(
        svg,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{length:.1}\" fill=\"{front}\"{style} xml:space=\"preserve\">{text}</text>"
    )
}

fn hex(colour: Color, default: &'static str) -> &'static str {
    match colour {
        Color::Red => "#ef6b73",
        Color::Green => "#8cc570",
        Color::Yellow => "#e3b95f",
        Color::Blue => "#5fa8e8",
        Color::Magenta => "#c878dd",
        Color::Cyan => "#56b6c2",
        Color::DarkGray => "#6b7280",
        _ => default,
    }
}
