//! The keys, explained.

use crate::text::fill;

/// The columns before what a key does.
pub(super) const KEY_WIDTH: usize = 17;

/// A line on the screen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HelpLine {
    Heading(&'static str),
    /// The key is empty on the second line of what it does.
    Key {
        key: &'static str,
        words: String,
    },
}

/// Breaks the help to `width` columns, the last of which is the scrollbar's.
pub(super) fn lines(width: usize) -> Vec<HelpLine> {
    let room = width.saturating_sub(KEY_WIDTH + 1);
    let mut lines = Vec::new();
    for (key, words) in KEYS {
        if words.is_empty() {
            lines.push(HelpLine::Heading(key));
            continue;
        }
        let mut key = *key;
        for words in fill(words, room) {
            lines.push(HelpLine::Key { key, words });
            key = "";
        }
    }
    lines
}

/// Keys and what they do; an empty pair is a blank line, a key alone a heading.
const KEYS: &[(&str, &str)] = &[
    ("Move", ""),
    ("j k ↓ ↑", "down, up; in the diff: scroll"),
    ("PgUp PgDn g G", "a page; to the start, to the end"),
    ("Tab", "from the list to the diff and back"),
    ("l h → ←", "open, close a directory; into the diff, back"),
    ("n N", "next, previous hunk"),
    ("] [", "next, previous file with findings"),
    ("f", "show all, those with warnings, those blocked"),
    ("/", "show only paths with some text in them; Esc: all"),
    ("", ""),
    ("Choose", ""),
    (
        "space",
        "take or leave: a file, a directory, a hunk, a branch",
    ),
    ("a", "take or leave everything on show"),
    ("!", "allow what is blocked, or take that back"),
    ("", ""),
    ("Decide", ""),
    ("A", "see what will be applied and landed, say yes or no"),
    ("e", "write a patch and a report of what is chosen"),
    ("q Ctrl-C", "leave and keep everything for later"),
    ("D", "throw all of it away, after a question"),
    ("", ""),
    ("Signs", ""),
    ("[x] [ ] [~]", "applied, stays, applied in part"),
    ("[!]", "can't be applied; the diff's head says why"),
    ("~ + -", "changed, new, deleted"),
    ("B W n", "blocked, warned about, noted"),
    ("merged", "you changed the file too; both changes fit"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_help_is_cut_off() {
        for width in [38, 60, 200] {
            let lines = lines(width);
            let mut said = String::new();
            for line in &lines {
                if let HelpLine::Key { words, .. } = line {
                    assert!(
                        words.chars().count() + KEY_WIDTH <= width,
                        "{width}: {words}"
                    );
                    said.push_str(words);
                    said.push(' ');
                }
            }
            let all = KEYS.iter().map(|(_, words)| *words);
            let all = Vec::from_iter(all.filter(|words| !words.is_empty()));
            assert_eq!(said.trim_end(), all.join(" "), "{width}");
        }
    }
}
