//! Pictures of terminals for the documentation, as SVG.
//!
//! Units are pixels; a cell is 8.4 by 18 of them. Text is stretched to its columns, so that rows
//! fit whatever font there is.

use std::fmt::Write as _;

/// Width and height of a cell, and the border around all of them.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;
const BACK: Ink = "#16191f";
const FRONT: Ink = "#d7dae0";

/// A colour, as SVG has it.
type Ink = &'static str;

/// The colours of SGR 30 to 37 and 90 to 97, in their order (ECMA-48, and what terminals added).
const INKS: [Ink; 16] = [
    "#16191f", "#ef6b73", "#8cc570", "#e3b95f", "#5fa8e8", "#c878dd", "#56b6c2", "#d7dae0",
    "#6b7280", "#ef6b73", "#8cc570", "#e3b95f", "#5fa8e8", "#c878dd", "#56b6c2", "#ffffff",
];

/// How a cell looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The colour of its text, 0 to 15; the terminal's own where there is none.
    pub front: Option<u8>,
    /// The colour behind it.
    pub back: Option<u8>,
    /// Text and ground change places.
    pub is_reversed: bool,
    /// SGR 1.
    pub is_bold: bool,
    /// SGR 4.
    pub is_underlined: bool,
}

/// A cell of a terminal.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What stands in it; empty behind a character of two columns.
    pub text: String,
    /// How it looks.
    pub look: Look,
}

/// Draws rows of cells, with a title for those who can't see them.
pub fn svg(title: &str, rows: &[Vec<Cell>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let (width, height) = (columns as f64 * CELL.0, rows.len() as f64 * CELL.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"\
         ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACK}\"/>\n",
        width + 2.0 * MARGIN,
        height + 2.0 * MARGIN,
        escaped(title),
    );
    for (row, cells) in (0_u32..).zip(rows) {
        let top = MARGIN + f64::from(row) * CELL.1;
        let mut left = MARGIN;
        for run in cells.chunk_by(|one, next| one.look == next.look) {
            draw_run(&mut svg, run, left, top).expect("a string takes everything");
            left += run.len() as f64 * CELL.0;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws cells of one look.
fn draw_run(svg: &mut String, cells: &[Cell], left: f64, top: f64) -> std::fmt::Result {
    let look = &cells[0].look;
    let (mut front, mut back) = (ink(look.front, FRONT), ink(look.back, BACK));
    if look.is_reversed {
        std::mem::swap(&mut front, &mut back);
    }
    if back != BACK {
        let (width, height) = (cells.len() as f64 * CELL.0, CELL.1);
        writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{back}\"/>"
        )?;
    }
    let blank = |cell: &&Cell| cell.text.trim().is_empty();
    let before = cells.iter().take_while(blank).count();
    let behind = cells[before..].iter().rev().take_while(blank).count();
    let shown = &cells[before..cells.len() - behind];
    if shown.is_empty() {
        return Ok(());
    }
    let text: String = shown.iter().map(|cell| cell.text.as_str()).collect();
    let (left, base) = (left + before as f64 * CELL.0, top + CELL.1 * 0.75);
    let length = shown.len() as f64 * CELL.0;
    let bold = if look.is_bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let line = match look.is_underlined {
        true => " text-decoration=\"underline\"",
        false => "",
    };
    writeln!(
        svg,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{length:.1}\" fill=\"{front}\"{bold}{line} xml:space=\"preserve\">{}</text>",
        escaped(&text)
    )
}

fn ink(colour: Option<u8>, default: Ink) -> Ink {
    colour.map_or(default, |colour| INKS[usize::from(colour % 16)])
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str, look: &Look) -> Vec<Cell> {
        text.chars()
            .map(|character| Cell {
                text: character.to_string(),
                look: look.clone(),
            })
            .collect()
    }

    #[test]
    fn a_run_of_one_look_is_one_text() {
        let red = Look {
            front: Some(1),
            ..Look::default()
        };
        let row = [cells("  a<b ", &Look::default()), cells("c", &red)].concat();
        let drawn = svg("t & u", &[row]);
        let texts = drawn.lines().filter(|line| line.starts_with("<text"));
        assert_eq!(texts.count(), 2);
        assert!(drawn.contains("<title>t &amp; u</title>"));
        assert!(drawn.contains("x=\"28.8\" y=\"25.5\" textLength=\"25.2\" fill=\"#d7dae0\""));
        assert!(drawn.contains(">a&lt;b</text>"));
        assert!(drawn.contains("fill=\"#ef6b73\" xml:space=\"preserve\">c</text>"));
    }

    #[test]
    fn reversed_cells_have_a_ground() {
        let look = Look {
            is_reversed: true,
            ..Look::default()
        };
        let drawn = svg("", &[cells(" ", &look)]);
        assert!(drawn.contains("width=\"8.4\" height=\"18.0\" fill=\"#d7dae0\"/>"));
        assert!(!drawn.contains("<text"));
    }
}
