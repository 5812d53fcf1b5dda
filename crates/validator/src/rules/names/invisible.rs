//! Characters that a reader of a text does not see, or sees elsewhere than they are
//! (CVE-2021-42574), less the ordinary uses of them: emoji, and the scripts that need
//! joiners, direction marks and variation selectors to be written at all.

use lazaret_tree::is_invisible;
use unicode_script::{Script, UnicodeScript as _};

/// How a character can deceive the reader of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum InvisibleChar {
    /// Others are shown in another order.
    Reorders,
    /// It takes no room.
    Invisible,
    /// Several of its kind in a row can spell anything, unseen.
    Hides,
}

/// Finds the first such character of a line. `starts` says that the line starts the file,
/// where a byte order mark is ordinary.
pub(in crate::rules) fn find(line: &str, starts: bool) -> Option<(char, InvisibleChar)> {
    let mut previous = None;
    let mut flag = 0;
    let mut rest = line.chars();
    let right_to_left = || line.chars().any(is_right_to_left);
    while let Some(c) = rest.next() {
        let next = rest.as_str().chars().next();
        let ordinary = match c {
            '\u{feff}' => starts && previous.is_none(),
            _ if !is_invisible(c) => true,
            '\u{200e}' | '\u{200f}' | '\u{61c}' => right_to_left(),
            '\u{200c}' | '\u{200d}' => joins(previous, c, next),
            // Between words of scripts that are written without spaces.
            '\u{200b}' => previous.is_some_and(has_no_spaces) || next.is_some_and(has_no_spaces),
            '\u{180b}'..='\u{180f}' => previous.is_some_and(|c| c.script() == Script::Mongolian),
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => selects(previous, c, next),
            // The flags of England, Scotland and Wales are spelled in tags.
            '\u{e0020}'..='\u{e007f}' => flag > 0,
            _ => false,
        };
        if !ordinary {
            return Some((c, kind(c)));
        }
        flag = match c {
            '\u{1f3f4}' => 6,
            _ => i32::max(flag - 1, 0),
        };
        previous = Some(c);
    }
    None
}

fn kind(c: char) -> InvisibleChar {
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            InvisibleChar::Reorders
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}' => InvisibleChar::Hides,
        _ => InvisibleChar::Invisible,
    }
}

fn is_right_to_left(c: char) -> bool {
    matches!(
        c.script(),
        Script::Arabic
            | Script::Hebrew
            | Script::Syriac
            | Script::Thaana
            | Script::Nko
            | Script::Samaritan
            | Script::Mandaic
            | Script::Adlam
            | Script::Hanifi_Rohingya
    )
}

fn has_no_spaces(c: char) -> bool {
    matches!(
        c.script(),
        Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::Tibetan
            | Script::Javanese
            | Script::Balinese
    )
}

/// Whether a joiner or non-joiner stands where one belongs: between letters of a script
/// whose letters join, or, for the joiner, between the parts of an emoji.
fn joins(previous: Option<char>, joiner: char, next: Option<char>) -> bool {
    let Some(previous) = previous else {
        return false;
    };
    if joiner == '\u{200d}' && is_pictorial(previous) {
        return next.is_some_and(is_pictorial);
    }
    // At the end of a word a joiner shapes the letter before it.
    let joined = |c: char| match c.script() {
        Script::Common | Script::Latin | Script::Greek | Script::Cyrillic | Script::Han => false,
        Script::Hiragana | Script::Katakana | Script::Hangul | Script::Unknown => false,
        Script::Inherited => c.script_extension().len() < 8 && !is_invisible(c),
        _ => true,
    };
    joined(previous)
}

/// Whether a variation selector stands behind something that has variants. One behind
/// another is how bytes are smuggled behind an emoji.
fn selects(previous: Option<char>, selector: char, next: Option<char>) -> bool {
    match (previous, selector) {
        // Keycaps: a digit, the selector, the cap.
        (Some('0'..='9' | '#' | '*'), '\u{fe0f}' | '\u{fe0e}') => {
            selector == '\u{fe0e}' || next == Some('\u{20e3}')
        }
        (Some(previous), '\u{e0100}'..) => previous.script() == Script::Han,
        (Some(previous), '\u{fe0e}' | '\u{fe0f}') => {
            !previous.is_ascii() && !is_invisible(previous)
        }
        // The others choose a form of a Han character, a mathematical sign, or a letter of
        // scripts that are named with them (StandardizedVariants.txt).
        (Some(previous), _) => {
            matches!(previous, '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}')
                || matches!(
                    previous.script(),
                    Script::Han | Script::Myanmar | Script::Phags_Pa | Script::Manichaean
                )
        }
        (None, _) => false,
    }
}

/// Whether an emoji can be made with this character: symbols, skin tones, and the selector
/// for the coloured form.
fn is_pictorial(c: char) -> bool {
    matches!(
        c,
        '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{20e3}'
    )
}

#[cfg(test)]
mod tests {
    use super::{InvisibleChar, find};

    #[test]
    fn aud_06_what_is_not_seen() {
        for (text, kind) in [
            ("if a\u{202e} } else", InvisibleChar::Reorders),
            ("\u{2066}x\u{2069}", InvisibleChar::Reorders),
            ("name\u{200e} = 1", InvisibleChar::Reorders),
            ("\u{5d0} \u{202b}x", InvisibleChar::Reorders),
            ("is\u{200b}Admin", InvisibleChar::Invisible),
            ("is\u{200d}Admin", InvisibleChar::Invisible),
            ("is\u{200c}Admin", InvisibleChar::Invisible),
            ("\u{200d}", InvisibleChar::Invisible),
            ("a\u{2060}b", InvisibleChar::Invisible),
            ("let \u{3164} = 1", InvisibleChar::Invisible),
            ("x \u{feff}y", InvisibleChar::Invisible),
            ("soft\u{ad}hyphen", InvisibleChar::Invisible),
            ("a\u{2028}b()", InvisibleChar::Invisible),
            ("\u{1f600}\u{fe0f}\u{fe0e}", InvisibleChar::Hides),
            ("\u{1f600}\u{e0161}\u{e0162}", InvisibleChar::Hides),
            ("a\u{fe0f}", InvisibleChar::Hides),
            ("hi\u{e0068}\u{e0069}", InvisibleChar::Hides),
            ("1\u{fe0f}x", InvisibleChar::Hides),
            // Bytes, one behind each letter or emoji.
            ("\u{e9}\u{fe01}", InvisibleChar::Hides),
            ("\u{1f600}\u{fe03}", InvisibleChar::Hides),
            (
                "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0041}",
                InvisibleChar::Hides,
            ),
        ] {
            assert_eq!(
                find(text, false).map(|found| found.1),
                Some(kind),
                "{text:?}"
            );
        }
        assert!(find("\u{feff}\u{feff}", true).is_some());
    }

    #[test]
    fn aud_06_ordinary_text_is_no_noise() {
        for text in [
            "plain \t text \u{c}",
            "\u{201c}quotes\u{201d} \u{2014} \u{e9}t\u{e9} \u{a0} \u{202f}km",
            "\u{0645}\u{06cc}\u{200c}\u{062e}\u{0648}\u{0627}\u{0647}\u{0645}",
            "\u{0915}\u{094d}\u{200d}\u{0937}",
            "\u{05e9}\u{05dc}\u{05d5}\u{05dd} (C\u{200e}) \u{200f}!",
            "\u{0645}\u{0631}\u{062d}\u{0628}\u{0627} \u{200f}C++\u{200e}",
            "\u{0e01}\u{0e02}\u{200b}\u{0e04}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308} \u{2764}\u{fe0f} \u{a9}\u{fe0f}",
            "\u{1f44d}\u{1f3fd}\u{200d}\u{2642}\u{fe0f}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{845b}\u{e0100}",
            "\u{1820}\u{180b}",
        ] {
            assert_eq!(find(text, false), None, "{text:?}");
        }
        assert_eq!(find("\u{feff}using System;", true), None);
    }
}
