//! The ratios as a picture: a dot for the median, a line from the least to the most, a bar
//! where the target is. The scale is logarithmic; at 1 both take the same time.

use std::fmt::Write as _;

use super::engine::EngineName;
use super::report::{Measured, number};

const WIDTH: f64 = 800.0;
/// Where the scale begins and ends: left of it stand the words, right of it the figures.
const SCALE: (f64, f64) = (150.0, 690.0);
/// The ratios at both ends of the scale.
const ENDS: (f64, f64) = (0.01, 4.0);
const TICKS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
const TOP: f64 = 76.0;
const LINE: f64 = 18.0;
const GAP: f64 = 10.0;

const STYLE: &str = "
text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e }
.back { fill: #ffffff }
.title { paint-order: stroke; stroke: #ffffff; stroke-width: 5px }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.one { stroke: #818b98; stroke-width: 1.5 }
.target { fill: #1f2328 }
.docker { fill: #0969da; stroke: #0969da }
.podman { fill: #8250df; stroke: #8250df }
.podman-rootless { fill: #bc4c00; stroke: #bc4c00 }
.none { fill: #59636e; stroke: #59636e }
.missed { font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.back { fill: #0d1117 }
.title { stroke: #0d1117 }
.grid { stroke: #2f353d }
.one { stroke: #7d8590 }
.target { fill: #f0f6fc }
.docker { fill: #58a6ff; stroke: #58a6ff }
.podman { fill: #bc8cff; stroke: #bc8cff }
.podman-rootless { fill: #ffa657; stroke: #ffa657 }
.none { fill: #9198a1; stroke: #9198a1 }
}
";

/// Draws the ratios; sizes are left to the table.
pub(super) fn draw(measured: &[Measured], caption: &str) -> String {
    let ratios: Vec<&Measured> = measured
        .iter()
        .filter(|one| one.row.reference.is_some())
        .collect();
    let mut body = String::new();
    let mut top = TOP;
    let mut last = None;
    for one in ratios {
        if last.is_some_and(|last| last != one.row.name) {
            top += GAP;
        }
        if last != Some(one.row.name) {
            title(&mut body, &one.row.title, top);
            top += LINE;
        }
        last = Some(one.row.name);
        mark(&mut body, one, top);
        top += LINE;
    }
    let height = top + 56.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n\
         <title>What lazaret takes, as a part of what others take</title>\n\
         <style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n"
    );
    legend(&mut svg);
    grid(&mut svg, top);
    svg.push_str(&body);
    text(&mut svg, 16.0, height - 14.0, "small", caption);
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String) {
    let mut left = 16.0;
    for engine in EngineName::ALL {
        dot(svg, engine.as_str(), left + 5.0, 24.0);
        text(svg, left + 16.0, 28.5, "", engine.as_str());
        left += 34.0 + 7.6 * engine.as_str().len() as f64;
    }
    target(svg, left + 5.0, 24.0);
    text(svg, left + 16.0, 28.5, "", "target: at most");
    text(
        svg,
        16.0,
        52.0,
        "small",
        "ours / theirs: at 1 both take as long, at 0.1 ours takes a tenth of the time",
    );
}

fn grid(svg: &mut String, bottom: f64) {
    for tick in TICKS {
        let (at, class) = (x(tick), if tick == 1.0 { "one" } else { "grid" });
        line(svg, class, (at, TOP - 14.0), (at, bottom + 2.0));
        let shown = format!("{tick}");
        let left = at - 3.6 * shown.len() as f64;
        text(svg, left, bottom + 18.0, "small", &shown);
    }
}

fn title(svg: &mut String, what: &str, top: f64) {
    text(svg, 16.0, top + 4.5, "title", what);
}

fn mark(svg: &mut String, one: &Measured, top: f64) {
    let class = one.row.engine.map_or("none", EngineName::as_str);
    let spread = one.spread;
    text(
        svg,
        32.0,
        top + 4.5,
        "small",
        one.row.engine.map_or("no engine", EngineName::as_str),
    );
    let (from, to) = (x(spread.min), x(spread.max));
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" stroke-width=\"3\" stroke-opacity=\"0.45\" x1=\"{from:.1}\" y1=\"{top:.1}\" x2=\"{to:.1}\" y2=\"{top:.1}\"/>"
    );
    if let Some(most) = one.row.target {
        target(svg, x(most), top);
    }
    dot(svg, class, x(spread.median), top);
    let (class, shown) = match one.is_met() {
        Some(false) => ("missed", format!("{} missed", number(spread.median))),
        _ => ("", number(spread.median)),
    };
    text(svg, SCALE.1 + 12.0, top + 4.5, class, &shown);
}

/// Where a ratio lies.
fn x(ratio: f64) -> f64 {
    let (least, most) = ENDS;
    let part = (ratio.clamp(least, most) / least).ln() / (most / least).ln();
    SCALE.0 + part * (SCALE.1 - SCALE.0)
}

fn dot(svg: &mut String, class: &str, x: f64, y: f64) {
    let _ = writeln!(
        svg,
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"
    );
}

fn target(svg: &mut String, x: f64, y: f64) {
    let (left, top) = (x - 1.25, y - 8.0);
    let _ = writeln!(
        svg,
        "<rect class=\"target\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"2.5\" height=\"16\"/>"
    );
}

fn line(svg: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    let _ = writeln!(svg, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_logarithmic_and_has_ends() {
        let third = (SCALE.1 - SCALE.0) / (400_f64).log10();
        assert!((x(0.1) - x(0.01) - third).abs() < 1e-9);
        assert!((x(1.0) - x(0.1) - third).abs() < 1e-9);
        assert_eq!((x(0.0001), x(9.0)), (SCALE.0, SCALE.1));
    }

    #[test]
    fn words_are_no_markup() {
        let mut svg = String::new();
        text(&mut svg, 1.0, 2.0, "", "a<b> & c");
        assert_eq!(svg, "<text x=\"1.0\" y=\"2.0\">a&lt;b&gt; &amp; c</text>\n");
    }
}
