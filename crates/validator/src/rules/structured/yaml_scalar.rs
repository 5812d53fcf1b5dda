//! The strings of the YAML that lockfiles hold: plain, and in either kind of quotes.

use std::borrow::Cow;

/// Returns what follows a colon, which a blank or the end must.
pub(super) fn after_colon(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix(':')?;
    let value = rest.trim_start_matches(' ');
    (value.is_empty() || value.len() < rest.len()).then_some(value)
}

/// Where a plain string stands decides where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Key,
    LongKey,
    Line,
    Flow,
}

/// Takes one string from the start of a text, and returns what is left.
pub(super) fn scalar(text: &str, within: Within) -> Result<(Cow<'_, str>, &str), &'static str> {
    match text.as_bytes().first() {
        None => Err("has no value"),
        Some(b'\'') => single_quoted(text),
        Some(b'"') => double_quoted(text),
        Some(b'&' | b'*') => Err("holds an anchor or an alias"),
        Some(b'!' | b'%' | b'@' | b'`' | b'|' | b'>' | b'#' | b',') => Err("holds a tag or alike"),
        Some(b'{' | b'}' | b'[' | b']') => Err("holds a bracket where none can be"),
        Some(b'-' | b'?' | b':') if matches!(text.as_bytes().get(1), None | Some(b' ')) => {
            Err("holds an indicator where none can be")
        }
        Some(_) => plain(text, within),
    }
}

fn plain(text: &str, within: Within) -> Result<(Cow<'_, str>, &str), &'static str> {
    let bytes = text.as_bytes();
    let ends = |at: usize, byte: u8| match byte {
        b':' => matches!(bytes.get(at + 1), None | Some(b' ')),
        b',' | b'[' | b']' | b'{' | b'}' => within == Within::Flow,
        b'#' => at > 0 && bytes.get(at - 1) == Some(&b' '),
        _ => false,
    };
    let found = bytes.iter().enumerate().find(|&(at, &byte)| ends(at, byte));
    let end = found.map_or(text.len(), |(at, _)| at);
    let (value, rest) = text.split_at(end);
    match (rest.as_bytes().first(), within) {
        (Some(b'#'), _) => return Err("has a comment behind a value"),
        (Some(b':'), Within::Line | Within::LongKey) => return Err("has a key inside of a value"),
        // A colon before a bracket ends a key for some readers only.
        _ if within == Within::Flow && value.ends_with(':') => {
            return Err("has a key inside of a value");
        }
        _ => {}
    }
    Ok((Cow::Borrowed(value.trim_end_matches(' ')), rest))
}

fn single_quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let body = text.get(1..).unwrap_or_default();
    let mut from = 0;
    loop {
        let rest = body.get(from..).unwrap_or_default();
        let quote = from + rest.find('\'').ok_or("has a quote that does not end")?;
        if body.as_bytes().get(quote + 1) == Some(&b'\'') {
            from = quote + 2;
            continue;
        }
        let (value, rest) = body.split_at(quote);
        let value = match from {
            0 => Cow::Borrowed(value),
            _ => Cow::Owned(value.replace("''", "'")),
        };
        return Ok((value, rest.get(1..).unwrap_or_default()));
    }
}

fn double_quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let body = text.get(1..).unwrap_or_default();
    let mut value = Cow::Borrowed("");
    let mut rest = body;
    loop {
        let at = rest
            .find(['"', '\\'])
            .ok_or("has a quote that does not end")?;
        let (piece, tail) = rest.split_at(at);
        match &mut value {
            Cow::Borrowed("") => value = Cow::Borrowed(piece),
            value => value.to_mut().push_str(piece),
        }
        if let Some(after) = tail.strip_prefix('"') {
            return Ok((value, after));
        }
        let (escaped, after) = escape(tail).ok_or("has an unknown escape")?;
        value.to_mut().push(escaped);
        rest = after;
    }
}

/// The escapes that JSON has as well.
fn escape(text: &str) -> Option<(char, &str)> {
    let (code, after) = (text.as_bytes().get(1)?, text.get(2..)?);
    let char = match code {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'n' => '\n',
        b't' => '\t',
        b'u' => {
            let digits = after.get(..4)?;
            let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| hex)?;
            return Some((char::from_u32(code)?, after.get(4..)?));
        }
        _ => return None,
    };
    Some((char, after))
}
