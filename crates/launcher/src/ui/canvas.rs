//! A screen that is drawn again and again, on stdout, by a verb that shows a state.

use super::{Output, OutputFormat, Ui, locked};
use crate::environment::StreamKind;

/// Home, and no line goes over the edge (ECMA-48 CUP; DECAWM).
const BEGIN: &str = "\u{1b}[H\u{1b}[?7l";
/// Ends a line: what was there before is erased.
const LINE: &str = "\u{1b}[K\n";
/// Erases what is below; lines go over the edge again.
const END: &str = "\u{1b}[J\u{1b}[?7h";

/// Rows where the terminal does not say.
const ROWS: u16 = 24;

impl Ui {
    /// Returns whether results can be drawn over each other: text, on a terminal that can
    /// move its cursor.
    pub fn can_redraw(&self) -> bool {
        self.0.streams.stdout == StreamKind::Terminal
            && self.0.options.format == OutputFormat::Text
            && self.0.has_screen
    }

    /// Draws lines, and below them text that is always shown. Of the lines, those that have
    /// no room are counted. Untrusted parts must be escaped.
    pub fn redraw(&self, lines: &[String], below: &str) {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        let rows = size.map_or(ROWS, |size| size.ws_row.max(4));
        let text = drawing(lines, below, usize::from(rows));
        self.write(Output::Stdout, text.as_bytes());
    }

    /// Returns true until a write to stdout has failed.
    pub fn is_heard(&self) -> bool {
        locked(&self.0.stdout).failed.is_none()
    }
}

fn drawing(lines: &[String], below: &str, rows: usize) -> String {
    let below: Vec<&str> = below.lines().collect();
    // The last row stays free: the cursor rests there.
    let room = rows.saturating_sub(1 + below.len()).max(2);
    let mut text = BEGIN.to_owned();
    let mut draw = |line: &str| {
        text.push_str(line);
        text.push_str(LINE);
    };
    match lines.len() > room {
        false => lines.iter().for_each(|line| draw(line)),
        true => {
            let shown = room - 1;
            lines.iter().take(shown).for_each(|line| draw(line));
            draw(&format!("  … and {} more", lines.len() - shown));
        }
    }
    let left = rows.saturating_sub(1 + lines.len().min(room));
    below.iter().take(left).for_each(|line| draw(line));
    text.push_str(END);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: usize, below: &str, rows: usize) -> String {
        let lines: Vec<String> = (1..=lines).map(|line| line.to_string()).collect();
        let text = drawing(&lines, below, rows);
        text.replace(LINE, "|").replace(BEGIN, "").replace(END, "")
    }

    #[test]
    fn a_drawing_never_has_more_rows_than_the_terminal() {
        assert_eq!(shown(2, "sum", 10), "1|2|sum|");
        assert_eq!(shown(9, "a\nb", 6), "1|2|  … and 7 more|a|b|");
        // The terminal is too small for all of it.
        assert_eq!(shown(9, "a\nb\nc\nd\ne", 5), "1|  … and 8 more|a|b|");
    }
}
