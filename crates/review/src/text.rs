//! Text as it may be drawn: escaped, measured in columns, broken into rows.

use lazaret_tree::{Digest, escape};
use unicode_width::UnicodeWidthChar as _;

/// Columns from one tab stop to the next.
const TAB_STOP: usize = 4;

/// How a piece of a line is to be set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStyle {
    /// As the line is.
    Plain,
    /// What differs from the other version of the line.
    Changed,
    /// A character that can't be shown, escaped.
    Escaped,
    /// A tab.
    Tab,
}

/// A part of a line that looks the same throughout. Holds no control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What is drawn.
    pub text: String,
    /// How.
    pub text_style: TextStyle,
}

/// Builds the pieces of one line of text.
///
/// A backslash of the text stays one, unlike in [`escape`]: what is escaped is set off, so
/// the two can't be taken for each other, and source code is full of backslashes.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: Vec<Piece>,
    column: usize,
}

impl Pieces {
    /// Appends text; `text_style` is for what needs no escape.
    pub fn push(&mut self, text: &str, text_style: TextStyle) {
        for c in text.chars() {
            match c {
                '\t' => {
                    let width = TAB_STOP - self.column % TAB_STOP;
                    let tab = format!("{:<width$}", "→");
                    self.append(&tab, TextStyle::Tab);
                    self.column += width;
                }
                '\\' => self.append_char('\\', text_style),
                c => {
                    let escaped = escape(c.encode_utf8(&mut [0; 4]).as_bytes());
                    if escaped.chars().eq([c]) {
                        self.append_char(c, text_style);
                    } else {
                        self.column += escaped.len();
                        self.append(&escaped, TextStyle::Escaped);
                    }
                }
            }
        }
    }

    /// Returns the pieces.
    pub fn finish(self) -> Vec<Piece> {
        self.pieces
    }

    fn append_char(&mut self, c: char, text_style: TextStyle) {
        self.column += columns_of(c);
        self.append(c.encode_utf8(&mut [0; 4]), text_style);
    }

    fn append(&mut self, text: &str, text_style: TextStyle) {
        match self.pieces.last_mut() {
            Some(last) if last.text_style == text_style && text_style != TextStyle::Tab => {
                last.text.push_str(text)
            }
            _ => self.pieces.push(Piece {
                text: text.to_owned(),
                text_style,
            }),
        }
    }
}

/// Returns the columns of a character; a control character, which is never drawn, has none.
fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Returns the columns that escaped text takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Breaks a line into rows of at most `width` columns. Nothing is cut off: what could be
/// hidden to the right of the screen would not be reviewed. An empty line is one row.
pub fn wrap(pieces: &[Piece], width: usize) -> Vec<Vec<Piece>> {
    let width = width.max(2);
    let mut rows = Vec::new();
    let mut row: Vec<Piece> = Vec::new();
    let mut used = 0;
    for piece in pieces {
        let mut text = String::new();
        for c in piece.text.chars() {
            let columns = columns_of(c);
            if used + columns > width {
                push_piece(&mut row, &mut text, piece.text_style);
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            text.push(c);
            used += columns;
        }
        push_piece(&mut row, &mut text, piece.text_style);
    }
    if !row.is_empty() || rows.is_empty() {
        rows.push(row);
    }
    rows
}

fn push_piece(row: &mut Vec<Piece>, text: &mut String, text_style: TextStyle) {
    if !text.is_empty() {
        row.push(Piece {
            text: std::mem::take(text),
            text_style,
        });
    }
}

/// Counts the rows that [`wrap`] makes.
pub fn rows(pieces: &[Piece], width: usize) -> usize {
    let width = width.max(2);
    let (mut rows, mut used) = (1, 0);
    for c in pieces.iter().flat_map(|piece| piece.text.chars()) {
        let columns = columns_of(c);
        if used + columns > width {
            rows += 1;
            used = 0;
        }
        used += columns;
    }
    rows
}

/// Breaks words of ours and escaped names at spaces, else anywhere.
pub fn fill(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let wide = columns(word.trim_end());
        if used > 0 && used + wide > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for c in word.chars() {
            let columns = columns_of(c);
            if used + columns > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
                if c == ' ' {
                    continue;
                }
            }
            line.push(c);
            used += columns;
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Shortens escaped text to `width` columns by taking out its middle (UI-05).
pub fn elide(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let Some(kept) = width.checked_sub(1) else {
        return String::new();
    };
    let (head_width, tail_width) = (kept - kept / 2, kept / 2);
    let mut used = 0;
    let head: String = text
        .chars()
        .take_while(|&c| {
            used += columns_of(c);
            used <= head_width
        })
        .collect();
    used = 0;
    let mut tail: Vec<char> = text
        .chars()
        .rev()
        .take_while(|&c| {
            used += columns_of(c);
            used <= tail_width
        })
        .collect();
    // A combining mark would land on the ellipsis.
    while tail.last().is_some_and(|&c| columns_of(c) == 0) {
        tail.pop();
    }
    tail.reverse();
    format!("{head}…{}", String::from_iter(tail))
}

/// A name of any length in at most `most` rows: what does not fit loses its middle, and is
/// then told from others by its length and the digest of all of it (UI-05).
pub fn name_rows(name: &str, width: usize, most: usize) -> Vec<String> {
    let width = width.max(2);
    if columns(name) <= width * most {
        return fill(name, width);
    }
    let digest = Digest::of(name.as_bytes()).to_hex();
    let told = format!("({} bytes, blake3 {})", name.len(), &digest[..16]);
    // One column is lost in each row where a wide character does not fit.
    let room = width.saturating_sub(1) * most.saturating_sub(1).max(1);
    let mut rows = fill(&elide(name, room), width);
    rows.extend(fill(&told, width));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let mut pieces = Pieces::default();
        pieces.push(text, TextStyle::Plain);
        let shown = pieces
            .finish()
            .into_iter()
            .map(|piece| match piece.text_style {
                TextStyle::Plain => piece.text,
                TextStyle::Changed => format!("*{}*", piece.text),
                TextStyle::Escaped => format!("<{}>", piece.text),
                TextStyle::Tab => format!("[{}]", piece.text),
            });
        shown.collect()
    }

    #[test]
    fn ui_01_to_04_what_could_act_is_escaped_and_set_off() {
        insta::assert_snapshot!(show("\u{1b}]52;c;eQ==\u{7}"), @r"<\u{1b}>]52;c;eQ==<\u{7}>");
        insta::assert_snapshot!(show("a\rb\u{8}\u{1b}[2A"), @r"a<\u{d}>b<\u{8}\u{1b}>[2A");
        insta::assert_snapshot!(show("\u{9b}31m\u{90}\u{9f}"), @r"<\u{9b}>31m<\u{90}\u{9f}>");
        insta::assert_snapshot!(show("x\u{202e}y\u{200b}"), @r"x<\u{202e}>y<\u{200b}>");
        // The text of an escape is not one.
        insta::assert_snapshot!(show(r"C:\new \u{1b}"), @r"C:\new \u{1b}");
    }

    #[test]
    fn tabs_are_seen_and_go_to_the_next_stop() {
        insta::assert_snapshot!(show("\ta\tb漢\tc"), @"[→   ]a[→  ]b漢[→]c");
    }

    #[test]
    fn nothing_is_cut_off_when_a_line_is_broken() {
        let mut pieces = Pieces::default();
        pieces.push("ab漢", TextStyle::Plain);
        pieces.push("字cd\u{301}e", TextStyle::Changed);
        let pieces = pieces.finish();
        let broken = wrap(&pieces, 3);
        let rows_text: Vec<String> = broken
            .iter()
            .map(|row| row.iter().map(|piece| piece.text.as_str()).collect())
            .collect();
        assert_eq!(rows_text, ["ab", "漢", "字c", "d\u{301}e"]);
        assert_eq!(rows(&pieces, 3), broken.len());
        assert_eq!(wrap(&[], 3), [Vec::new()]);
        assert_eq!(rows(&[], 3), 1);
    }

    #[test]
    fn words_are_kept_together_where_they_can_be() {
        assert_eq!(fill("one two three", 8), ["one two", "three"]);
        assert_eq!(fill("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(fill("", 8), [""]);
    }

    #[test]
    fn ui_05_names_lose_their_middle_by_columns() {
        assert_eq!(elide("short", 5), "short");
        assert_eq!(elide("漢字漢字漢字", 7), "漢…字");
        assert_eq!(elide("abcdef", 1), "…");
        assert_eq!(elide("abcdef", 0), "");
        assert_eq!(elide("aaaae\u{301}", 3), "a…e\u{301}");
        assert_eq!(elide("aaaaaae\u{301}b", 4), "aa…b");
        let name = "n".repeat(10 << 10);
        let rows = name_rows(&name, 40, 3);
        assert!(rows.len() <= 5 && rows.iter().all(|row| columns(row) <= 40));
        let digest = &Digest::of(name.as_bytes()).to_hex()[..16];
        let all = rows.join("");
        assert!(all.contains('…') && all.contains("10240 bytes"), "{all}");
        assert!(all.contains(digest), "{all}");
    }
}
