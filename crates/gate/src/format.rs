//! Numbers and long names for people.

use std::error::Error;
use std::time::Duration;

use lazaret_tree::{escape, is_invisible};

/// Formats a size in bytes: `0 B`, `1.5 KiB`, `2.0 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    // 1023.95 would print as "1024.0".
    while value >= 1023.95 {
        let Some(next) = units.next() else { break };
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// Formats a count with thousands apart: `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a span of time: `0.4 s`, `12.3 s`, `3 min 5 s`, `2 h 0 min`, `3 d 4 h`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64().min(59.9)),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// Escapes what could act on a terminal, line breaks too, and leaves backslashes alone:
/// for messages, of which a part may have been escaped where it was put in. Names and
/// contents by themselves go through [`escape`], which is reversible.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            shown.push_str(&escape(c.encode_utf8(&mut [0; 4]).as_bytes()));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Shortens escaped text to at most `width` columns by taking out its middle (UI-05).
/// Every character counts as one column.
pub fn elide(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept - kept / 2;
    text.chars()
        .take(head)
        .chain(std::iter::once('…'))
        .chain(text.chars().skip(length - kept / 2))
        .collect()
}

/// Shows a command as it would be typed, escaped, on one line: of a script its first one, and how
/// many there are.
pub fn show_command(argv: &[String]) -> String {
    let mut lines = command_lines(argv);
    match lines.len() {
        0 | 1 => lines.pop().unwrap_or_default(),
        count => format!("{} … ({count} lines)", lines.swap_remove(0)),
    }
}

/// Returns a command as it would be typed, line by line, each escaped. Line feeds at the end of a
/// word say nothing, and are left out.
pub fn command_lines(argv: &[String]) -> Vec<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let typed = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.trim_end_matches('\n')),
    };
    let words: Vec<String> = argv.iter().map(typed).collect();
    let typed = words.join(" ");
    let lines = typed.split('\n').map(|line| escape(line.as_bytes()));
    lines.collect()
}

/// Returns what an error says and its causes, outermost first, not yet escaped.
///
/// A cause that its parent's text already ends with is left out: many errors of
/// libraries show their source in their own text.
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut chain = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if chain.last().is_none_or(|parent| !parent.ends_with(&text)) {
            chain.push(text);
        }
        cause = error.source();
    }
    chain
}

/// Formats seconds since 1970 as `2026-11-21 14:05 UTC` (Hinnant, "chrono-compatible low-level
/// date algorithms").
pub fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year + era * 400 + next;
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        rest / 3600,
        rest % 3600 / 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_its_first_line_and_their_number() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let script = words(&["sh", "-c", "set -e\n# edits\u{1b}[2J\necho \"$1\"\n", "x"]);
        assert_eq!(show_command(&script), "sh -c 'set -e … (3 lines)");
        assert_eq!(
            command_lines(&script),
            ["sh -c 'set -e", "# edits\\u{1b}[2J", "echo \"$1\"' x"]
        );
        let one = words(&["sh", "-c", "echo hi\n", ""]);
        assert_eq!(show_command(&one), "sh -c 'echo hi' ''");
        assert_eq!(show_command(&[]), "");
    }

    #[test]
    fn numbers_read_well() {
        let sizes = [0, 1023, 1024, 1536, 1_048_525, 1_048_576, 2 << 30, u64::MAX];
        assert_eq!(
            sizes.map(bytes).join(", "),
            "0 B, 1023 B, 1.0 KiB, 1.5 KiB, 1.0 MiB, 1.0 MiB, 2.0 GiB, 16.0 EiB"
        );
        assert_eq!(
            [0, 999, 1000, 12_345, 1_234_567].map(count).join(" "),
            "0 999 1,000 12,345 1,234,567"
        );
        let times = [0.04, 9.99, 59.99, 60.0, 3599.0, 7261.0];
        assert_eq!(
            times
                .map(|time| elapsed(Duration::from_secs_f64(time)))
                .join(", "),
            "0.0 s, 10.0 s, 59.9 s, 1 min 0 s, 59 min 59 s, 2 h 1 min"
        );
    }

    #[test]
    fn ui_05_long_names_lose_their_middle() {
        assert_eq!(elide("short", 5), "short");
        assert_eq!(elide("src/very/long/name.rs", 11), "src/v…me.rs");
        assert_eq!(elide("ääääää", 4), "ää…ä");
        assert_eq!(elide("abc", 1), "…");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, shown) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), shown);
        }
    }
}
