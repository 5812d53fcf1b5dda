//! Rows of cells as SVG.

use std::fmt::Write as _;

use super::cells::{Colour, Look, Run};

/// Size of a cell, in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;
const BACK: &str = "#16191f";
const FRONT: &str = "#d7dae0";
/// Black, red, green, yellow, blue, magenta, cyan, white; then the bright ones.
const COLOURS: [&str; 16] = [
    "#1e222a", "#ef6b73", "#8cc570", "#e3b95f", "#5fa8e8", "#c878dd", "#56b6c2", "#c5cad3",
    "#6b7280", "#ff7b85", "#a1d985", "#f5cd74", "#74bbf7", "#dc8ff0", "#69cad6", "#ffffff",
];

/// Draws rows, one text per run. Each run is stretched to its columns, so that the rows
/// fit whatever font there is.
pub(super) fn draw(rows: &[Vec<Run>]) -> String {
    let columns = rows
        .iter()
        .map(|row| row.iter().map(|run| run.text.chars().count()).sum())
        .max()
        .unwrap_or(0_usize);
    let width = columns as f64 * CELL.0 + 2.0 * MARGIN;
    let height = rows.len() as f64 * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"14\">\n\
         <title>lazaret review</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACK}\"/>\n"
    );
    for (index, row) in rows.iter().enumerate() {
        let top = MARGIN + index as f64 * CELL.1;
        let mut column = 0;
        for run in row {
            let number = run.text.chars().count();
            draw_run(&mut svg, run, MARGIN + column as f64 * CELL.0, top, number);
            column += number;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_run(svg: &mut String, run: &Run, left: f64, top: f64, columns: usize) {
    let (front, back) = colours(run.look);
    let width = columns as f64 * CELL.0;
    // Writing to a `String` can't fail.
    if back != BACK {
        let height = CELL.1;
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{back}\"/>"
        );
    }
    let text = run.text.trim_end();
    if text.is_empty() {
        return;
    }
    let spaces = text.chars().take_while(|c| *c == ' ').count();
    let left = left + spaces as f64 * CELL.0;
    let text = text.trim_start_matches(' ');
    let length = text.chars().count() as f64 * CELL.0;
    let base = top + CELL.1 * 0.75;
    let mut style = String::new();
    if run.look.bold {
        style.push_str(" font-weight=\"bold\"");
    }
    if run.look.dim {
        style.push_str(" opacity=\"0.6\"");
    }
    if run.look.underlined {
        style.push_str(" text-decoration=\"underline\"");
    }
    let text = escaped(text);
    let _ = writeln!(
        svg,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{length:.1}\" fill=\"{front}\"{style} xml:space=\"preserve\">{text}</text>"
    );
}

fn colours(look: Look) -> (&'static str, &'static str) {
    let of = |colour, default| match colour {
        Colour::Default => default,
        Colour::Indexed(index) => COLOURS[usize::from(index) % COLOURS.len()],
    };
    let (front, back) = (of(look.front, FRONT), of(look.back, BACK));
    match look.reversed {
        true => (back, front),
        false => (front, back),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_stands_in_its_columns() {
        let plain = Run {
            text: "  a<b ".to_owned(),
            look: Look::default(),
        };
        let reversed = Run {
            text: "x".to_owned(),
            look: Look {
                reversed: true,
                ..Look::default()
            },
        };
        let svg = draw(&[vec![plain, reversed]]);
        let lines: Vec<&str> = svg.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "<text x=\"28.8\" y=\"25.5\" textLength=\"25.2\" fill=\"#d7dae0\" xml:space=\"preserve\">a&lt;b</text>",
                "<rect x=\"62.4\" y=\"12.0\" width=\"8.4\" height=\"18.0\" fill=\"#d7dae0\"/>",
                "<text x=\"62.4\" y=\"25.5\" textLength=\"8.4\" fill=\"#16191f\" xml:space=\"preserve\">x</text>",
                "</svg>",
            ]
        );
    }
}
