//! The ratios as a picture: a dot for the median, a line from the least to the most, a bar
//! for the target. The scale is logarithmic; at 1 both take the same time.

use crate::engine::EngineName;
use crate::report::{Measured, number};

/// Where the scale begins and ends: left of it stand the words, right of it the figures.
const LEFT: f64 = 150.0;
const RIGHT: f64 = 690.0;
/// The ratios at both ends of the scale.
const LEAST: f64 = 0.01;
const MOST: f64 = 4.0;
const TICKS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
const TOP: f64 = 48.0;
const LINE: f64 = 18.0;

const STYLE: &str = "
svg { color-scheme: light dark; background: light-dark(#fff, #0d1117) }
text { font: 13px system-ui, sans-serif; fill: light-dark(#1f2328, #f0f6fc) }
.small { font-size: 12px; fill: light-dark(#59636e, #9198a1) }
.grid { stroke: light-dark(#d1d9e0, #2f353d) }
.target { fill: light-dark(#1f2328, #f0f6fc) }
.ours { fill: light-dark(#0969da, #58a6ff); stroke: light-dark(#0969da, #58a6ff) }
";

/// Draws the ratios; sizes are left to the table.
pub(super) fn draw(measured: &[Measured], caption: &str) -> String {
    let mut rows = String::new();
    let mut y = TOP;
    let mut title = "";
    for one in measured.iter().filter(|one| one.row.reference.is_some()) {
        if title != one.row.title {
            title = &one.row.title;
            y += LINE / 2.0;
            rows += &text(16.0, y, "", title);
            y += LINE;
        }
        rows += &mark(one, y);
        y += LINE;
    }
    for tick in TICKS {
        let x = x(tick);
        rows += &format!(
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{y:.1}\"/>\n"
        );
        rows += &text(x - 8.0, y + LINE, "small", &tick.to_string());
    }
    let height = y + 3.0 * LINE;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {height:.0}\" role=\"img\">\n\
         <title>What lazaret takes, as a part of what others take</title>\n<style>{STYLE}</style>\n\
         {}{rows}{}</svg>\n",
        text(
            16.0,
            24.0,
            "small",
            "lazaret / others: at 0.1 lazaret takes a tenth of the time; the bar is the target"
        ),
        text(16.0, y + 2.0 * LINE, "small", caption)
    )
}

fn mark(one: &Measured, y: f64) -> String {
    let spread = one.spread;
    let [min, median, max] = [spread.min, spread.median, spread.max].map(x);
    let engine = one.row.engine.map_or("no engine", EngineName::as_str);
    let target = one.row.target.map_or_else(String::new, |target| {
        let (x, y) = (x(target) - 1.25, y - 12.0);
        format!("<rect class=\"target\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"2.5\" height=\"16\"/>\n")
    });
    let missed = if one.is_met() == Some(false) {
        " missed"
    } else {
        ""
    };
    let figure = number(spread.median) + missed;
    let middle = y - 4.0;
    text(32.0, y, "small", engine)
        + &target
        + &format!(
            "<line class=\"ours\" stroke-width=\"3\" stroke-opacity=\"0.45\" x1=\"{min:.1}\" y1=\"{middle:.1}\" x2=\"{max:.1}\" y2=\"{middle:.1}\"/>\n\
             <circle class=\"ours\" cx=\"{median:.1}\" cy=\"{middle:.1}\" r=\"4.5\"/>\n"
        )
        + &text(RIGHT + 12.0, y, "", &figure)
}

/// Where a ratio lies.
fn x(ratio: f64) -> f64 {
    let part = (ratio.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + part * (RIGHT - LEFT)
}

fn text(x: f64, y: f64, class: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_logarithmic_and_has_ends() {
        let third = (RIGHT - LEFT) / 400_f64.log10();
        assert!((x(0.1) - x(0.01) - third).abs() < 1e-9);
        assert!((x(1.0) - x(0.1) - third).abs() < 1e-9);
        assert_eq!((x(0.0001), x(9.0)), (LEFT, RIGHT));
    }

    #[test]
    fn words_are_no_markup() {
        assert_eq!(
            text(1.0, 2.0, "small", "a<b> & c"),
            "<text class=\"small\" x=\"1.0\" y=\"2.0\">a&lt;b> &amp; c</text>\n"
        );
    }
}
