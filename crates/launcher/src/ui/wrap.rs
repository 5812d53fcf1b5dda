//! Breaks lines at words, so that a terminal does not break them in the middle of one.

use lazaret_review::text;

/// The end of a colour (ECMA-48, 8.3.117), the only control that text of ours holds.
const SGR_END: char = 'm';
const ESCAPE: char = '\u{1b}';

/// Breaks each line of `text` at spaces to `width` columns; what follows in a line is indented by
/// `indent`. A command between backticks stays on one line where it fits on one. A word that is
/// wider than a line stays whole: a terminal breaks it, and it can be copied.
pub(super) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let lines = text.split('\n').map(|line| wrap_line(line, width, indent));
    lines.collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, width: usize, indent: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in words(line) {
        let is_begun = !current.trim().is_empty();
        if is_begun && columns(&current) + columns(word.trim_end()) > width {
            lines.push(current.trim_end().to_owned());
            current = " ".repeat(indent);
        }
        current.push_str(word);
    }
    lines.push(current);
    lines.join("\n")
}

/// Words with the spaces behind them; a command between backticks is one.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        let is_within = is_quoted;
        if c == '`' {
            is_quoted = !is_quoted && line[at + 1..].contains('`');
        }
        if before == ' ' && c != ' ' && !is_within && at > start {
            words.push(&line[start..at]);
            start = at;
        }
        before = c;
    }
    words.push(&line[start..]);
    words
}

/// The columns that text takes; colours take none.
fn columns(text: &str) -> usize {
    let mut parts = text.split(ESCAPE);
    let before = parts.next().map_or(0, text::columns);
    let behind = |part: &str| {
        part.split_once(SGR_END)
            .map_or(0, |(_, text)| text::columns(text))
    };
    before + parts.map(behind).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words() {
        for (text, wrapped) in [
            ("one two", "one two"),
            ("one two three four", "one two\n  three\n  four"),
            ("one two three\n", "one two\n  three\n"),
            ("Apply? [y]es [n]o: ", "Apply?\n  [y]es\n  [n]o: "),
            ("a `b c` d `e f g`", "a `b c` d\n  `e f g`"),
            ("see `lazaret ls x` now", "see\n  `lazaret ls x`\n  now"),
            ("/a/very/long/path it", "/a/very/long/path\n  it"),
            (
                "\u{1b}[36mhint:\u{1b}[0m a b",
                "\u{1b}[36mhint:\u{1b}[0m a b",
            ),
            (
                "\u{1b}[36mhint:\u{1b}[0m ab cd",
                "\u{1b}[36mhint:\u{1b}[0m ab\n  cd",
            ),
            ("  - a b c d e f", "  - a b c\n  d e f"),
            ("it`s a word that is", "it`s a\n  word\n  that is"),
        ] {
            assert_eq!(wrap(text, 10, 2), wrapped, "{text}");
        }
    }
}
