//! `next_line`: one line of a stream, with a bound.

use std::io::{self, BufRead, Read as _};

/// A line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// White space at most.
    Blank,
    /// Its bytes.
    Whole(Vec<u8>),
    /// It has more bytes than were wanted. They were read, and are gone.
    TooLong,
}

/// Reads one line of at most `most` bytes; `None` at the end of the stream. The last line needs no
/// end.
///
/// # Errors
/// The stream's.
pub fn next_line(input: &mut impl BufRead, most: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > most {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(match line.trim_ascii().is_empty() {
        true => Line::Blank,
        false => Line::Whole(line),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut text: &[u8] = b"ab\n\nabcd\nabcde\n \t\r\nxy";
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut text, 4).unwrap() {
            lines.push(line);
        }
        let whole = |text: &str| Line::Whole(text.into());
        let expected = [
            whole("ab"),
            Line::Blank,
            whole("abcd"),
            Line::TooLong,
            Line::Blank,
            whole("xy"),
        ];
        assert_eq!(lines, expected);
    }
}
