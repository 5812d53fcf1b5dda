//! `docs/review.svg`: what the review draws of a test's changes, so it can't be out of date.

use std::path::Path;

use lazaret_tests::picture::{self, Look};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::Palette;
use super::tests::buffer;
use crate::keys::Key;
use crate::tests::{press, sample};

const SIZE: (u16, u16) = (108, 30);

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
    let rows = buffer.content().chunks(usize::from(buffer.area.width));
    let rows = Vec::from_iter(rows.map(|row| row.iter().map(cell).collect()));
    picture::svg("lazaret review", &rows)
}

fn cell(drawn: &Cell) -> picture::Cell {
    picture::Cell {
        text: drawn.symbol().to_owned(),
        look: Look {
            front: number(drawn.fg),
            back: number(drawn.bg),
            is_reversed: drawn.modifier.contains(Modifier::REVERSED),
            is_bold: drawn.modifier.contains(Modifier::BOLD),
            is_underlined: drawn.modifier.contains(Modifier::UNDERLINED),
        },
    }
}

fn number(colour: Color) -> Option<u8> {
    match colour {
        Color::Red => Some(1),
        Color::Green => Some(2),
        Color::Yellow => Some(3),
        Color::Blue => Some(4),
        Color::Magenta => Some(5),
        Color::Cyan => Some(6),
        Color::DarkGray => Some(8),
        _ => None,
    }
}
