//! The YAML that pnpm and Yarn write, and no other.
//!
//! YAML is where readers differ most, and its crates are young or given up. Lockfiles are
//! written by one program each, in one style; so this takes that style alone:
//!
//! - block tables by spaces, block lists of single-line values, `? key` for long keys;
//! - plain, `'single'` and `"double"` quoted strings on one line, `{flow}` and `[flow]`
//!   on one line, `|` and `>` texts, whose contents are skipped;
//! - `#` on lines of their own, and `---` between documents.
//!
//! Anchors, aliases, merge keys, tags, directives, tabs, and values that go on over
//! lines are refused, so there is nothing to expand and nothing to guess.

use std::borrow::Cow;

use super::yaml_scalar::{Within, after_colon, scalar};
use super::{Builder, Data, Document, MOST_DEPTH, Unreadable, Value, offset};

/// The deepest nesting of `{` and `[`.
const MOST_FLOW_DEPTH: usize = 8;

type Result<T> = std::result::Result<T, Unreadable>;

/// Reads a stream of documents: the root is the list of them.
pub(crate) fn read(text: &str) -> Result<Document<'_>> {
    check_characters(text)?;
    let builder = Builder::default();
    let mut documents = Vec::new();
    let mut reader = Reader {
        text,
        next: 0,
        line: None,
        builder: &builder,
    };
    reader.advance()?;
    while let Some(line) = reader.line {
        if line.is_separator() {
            reader.advance()?;
            continue;
        }
        if line.indent != 0 {
            return Err(line.error("is indented without a reason"));
        }
        documents.push(reader.block(0)?);
        if reader.line.is_some_and(|line| !line.is_separator()) {
            return Err(reader.error("stands where nothing can"));
        }
    }
    Ok(builder.finish(Value::new(0, Data::list(documents))))
}

/// Refuses what some readers take for a line break or skip, and others don't.
fn check_characters(text: &str) -> Result<()> {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let fine = match byte {
            b'\n' | b'\t' => true,
            b'\r' => bytes.get(at + 1) == Some(&b'\n'),
            0..0x20 | 0x7f => false,
            _ => true,
        };
        if !fine {
            return Err(Unreadable::at(offset(at), "holds a control character"));
        }
    }
    let odd = |c: char| {
        matches!(
            c,
            '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
    };
    match text.is_ascii() {
        true => Ok(()),
        false => match text.find(odd) {
            Some(at) => Err(Unreadable::at(offset(at), "holds an odd line break")),
            None => Ok(()),
        },
    }
}

/// A line that says something.
#[derive(Clone, Copy)]
struct Line<'a> {
    at: u32,
    indent: usize,
    /// Without the indent and what is blank at the end.
    body: &'a str,
}

impl Line<'_> {
    fn error(&self, reason: &'static str) -> Unreadable {
        Unreadable::at(self.at, reason)
    }

    fn is_separator(&self) -> bool {
        self.indent == 0 && self.body == "---"
    }
}

struct Reader<'r, 'a> {
    text: &'a str,
    next: usize,
    line: Option<Line<'a>>,
    builder: &'r Builder,
}

impl<'a> Reader<'_, 'a> {
    fn error(&self, reason: &'static str) -> Unreadable {
        Unreadable {
            at: self.line.map(|line| line.at),
            reason,
        }
    }

    /// Takes the next raw line, without its end.
    fn raw(&mut self) -> Option<(usize, &'a str)> {
        let at = self.next;
        let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
        let line = rest.split('\n').next().unwrap_or_default();
        self.next = at + line.len() + 1;
        Some((at, line))
    }

    /// Moves to the next line that is neither blank nor a comment.
    fn advance(&mut self) -> Result<()> {
        self.line = None;
        while let Some((at, raw)) = self.raw() {
            let raw = raw.trim_end_matches(['\r', ' ']);
            let body = raw.trim_start_matches(' ');
            if body.is_empty() || body.starts_with('#') {
                continue;
            }
            let line = Line {
                at: offset(at),
                indent: raw.len() - body.len(),
                body,
            };
            if body.contains('\t') {
                return Err(line.error("holds a tab"));
            }
            self.line = Some(line);
            break;
        }
        Ok(())
    }

    /// Reads the table or list that starts on this line.
    fn block(&mut self, depth: usize) -> Result<Value<'a>> {
        let Some(line) = self.line else {
            return Err(self.error("ends too early"));
        };
        if depth > MOST_DEPTH {
            return Err(line.error("is nested too deeply"));
        }
        self.builder.count(line.at)?;
        match line.body == "-" || line.body.starts_with("- ") {
            true => self.list(line),
            false => self.table(line, depth),
        }
    }

    fn list(&mut self, first: Line<'a>) -> Result<Value<'a>> {
        let mut items = Vec::new();
        while let Some(line) = self.line.filter(|line| line.indent >= first.indent) {
            let item = line.body.strip_prefix("- ").map(|item| item.trim_start());
            match item {
                Some(item) if line.indent == first.indent && !item.is_empty() => {
                    items.push(self.inline(line, item)?);
                }
                _ => return Err(line.error("is no item of a list of plain values")),
            }
            self.advance()?;
        }
        Ok(Value::new(first.at, Data::list(items)))
    }

    fn table(&mut self, first: Line<'a>, depth: usize) -> Result<Value<'a>> {
        let mut entries = Vec::new();
        while let Some(line) = self.line.filter(|line| line.indent >= first.indent) {
            if line.indent > first.indent {
                return Err(line.error("is indented without a reason"));
            }
            if line.is_separator() {
                break;
            }
            let (key, rest) = self.key(line)?;
            if key == "<<" {
                return Err(line.error("merges another table"));
            }
            let mut value = self.value(line, rest, depth)?;
            value.at = line.at;
            entries.push((key, value));
        }
        Ok(self.builder.table(first.at, entries))
    }

    /// Returns the key of this line and what follows its colon.
    fn key(&mut self, line: Line<'a>) -> Result<(Cow<'a, str>, &'a str)> {
        if let Some(key) = line.body.strip_prefix("? ") {
            let (key, rest) = scalar(key.trim_start(), Within::LongKey).or_at(line)?;
            if !rest.is_empty() {
                return Err(line.error("has something behind a long key"));
            }
            self.advance()?;
            let value = self.line.filter(|next| next.indent == line.indent);
            let rest = value.and_then(|next| after_colon(next.body));
            return match rest {
                Some(rest) => Ok((key, rest)),
                None => Err(line.error("is a long key without a value")),
            };
        }
        let (key, rest) = scalar(line.body, Within::Key).or_at(line)?;
        match after_colon(rest) {
            Some(rest) => Ok((key, rest)),
            None => Err(line.error("is no key with a value")),
        }
    }

    /// Reads the value behind a colon, or below, and moves on.
    fn value(&mut self, key: Line<'a>, rest: &'a str, depth: usize) -> Result<Value<'a>> {
        if rest.is_empty() {
            self.advance()?;
            return match self.line {
                Some(line) if line.indent > key.indent => self.block(depth + 1),
                _ => {
                    self.builder.count(key.at)?;
                    Ok(Value::new(key.at, Data::Bare(Cow::Borrowed("null"))))
                }
            };
        }
        if rest.starts_with(['|', '>']) {
            self.builder.count(key.at)?;
            self.skip_text(key, rest)?;
            return Ok(Value::new(key.at, Data::Bare(Cow::Borrowed("|"))));
        }
        let value = self.inline(key, rest)?;
        self.advance()?;
        Ok(value)
    }

    /// Skips a text of several lines. Nothing that matters here is written like that.
    fn skip_text(&mut self, key: Line<'a>, header: &str) -> Result<()> {
        let options = header.get(1..).unwrap_or_default();
        let options = options.strip_prefix(|c: char| c.is_ascii_digit() && c != '0');
        let options = options.unwrap_or_else(|| header.get(1..).unwrap_or_default());
        if !matches!(options, "" | "-" | "+") {
            return Err(key.error("has a text in an unknown style"));
        }
        loop {
            let start = self.next;
            let Some((_, raw)) = self.raw() else { break };
            let raw = raw.trim_end_matches(['\r', ' ']);
            let indent = raw.len() - raw.trim_start_matches(' ').len();
            if !raw.is_empty() && indent <= key.indent {
                self.next = start;
                break;
            }
        }
        self.advance()
    }

    /// Reads a value that takes the rest of a line.
    fn inline(&self, line: Line<'a>, text: &'a str) -> Result<Value<'a>> {
        let (value, rest) = match text.starts_with(['{', '[']) {
            true => self.flow(line, text, 0)?,
            false => {
                let (text, rest) = scalar(text, Within::Line).or_at(line)?;
                self.builder.count(line.at)?;
                (Value::new(line.at, Data::Text(text)), rest)
            }
        };
        match rest.trim_start_matches(' ').is_empty() {
            true => Ok(value),
            false => Err(line.error("has something behind its value")),
        }
    }

    fn flow(&self, line: Line<'a>, text: &'a str, depth: usize) -> Result<(Value<'a>, &'a str)> {
        self.builder.count(line.at)?;
        if depth > MOST_FLOW_DEPTH {
            return Err(line.error("is nested too deeply"));
        }
        let (mut entries, mut items) = (Vec::new(), Vec::new());
        let table = text.starts_with('{');
        let end = if table { '}' } else { ']' };
        let mut rest = text.get(1..).unwrap_or_default().trim_start_matches(' ');
        loop {
            if let Some(after) = rest.strip_prefix(end) {
                let data = match table {
                    true => return Ok((self.builder.table(line.at, entries), after)),
                    false => Data::list(items),
                };
                return Ok((Value::new(line.at, data), after));
            }
            let mut key = None;
            if table {
                let (text, after) = scalar(rest, Within::Flow).or_at(line)?;
                let after = after.strip_prefix(": ");
                rest = after.ok_or_else(|| line.error("is no key with a value"))?;
                rest = rest.trim_start_matches(' ');
                key = Some(text);
            }
            let value;
            (value, rest) = match rest.starts_with(['{', '[']) {
                true => self.flow(line, rest, depth + 1)?,
                false => {
                    self.builder.count(line.at)?;
                    let (text, rest) = scalar(rest, Within::Flow).or_at(line)?;
                    (Value::new(line.at, Data::Text(text)), rest)
                }
            };
            match key {
                Some(key) => entries.push((key, value)),
                None => items.push(value),
            }
            rest = rest.trim_start_matches(' ');
            match rest.strip_prefix(',') {
                Some(after) => rest = after.trim_start_matches(' '),
                None if rest.starts_with(end) => {}
                None => return Err(line.error("has a list that does not end")),
            }
        }
    }
}

trait OrAt<T> {
    fn or_at(self, line: Line<'_>) -> Result<T>;
}

impl<T> OrAt<T> for std::result::Result<T, &'static str> {
    fn or_at(self, line: Line<'_>) -> Result<T> {
        self.map_err(|reason| line.error(reason))
    }
}
