//! `Redactor`: what differs from run to run becomes a placeholder of a fixed width.

/// Replaces known values and recognised shapes in an output, for snapshots.
///
/// A placeholder depends on the kind alone, never on the value, so columns stay
/// where they are. Known values go first, the longest before the shorter.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Vec<(String, String)>,
}

impl Redactor {
    /// Knows only shapes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces `value`, a path or an id, by `[name-----]`.
    ///
    /// # Panics
    /// When the value is empty.
    #[must_use]
    pub fn value(mut self, value: impl AsRef<str>, name: &str) -> Self {
        let value = value.as_ref();
        assert!(!value.is_empty(), "the empty text is everywhere");
        self.known.push((value.to_owned(), placeholder(name, 16)));
        self.known
            .sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        self
    }

    /// Replaces the temporary directory of a test.
    ///
    /// # Panics
    /// When the path is empty.
    #[must_use]
    pub fn path(self, path: &std::path::Path, name: &str) -> Self {
        self.value(path.to_string_lossy(), name)
    }

    /// Redacts a text: known values, then times (`2026-01-02T03:04:05Z`, also with a
    /// fraction), UUIDs, hexadecimal digests of 64 and ids of 32, 16 or 12 digits,
    /// and durations such as `12 ms` or `1.5 s`.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, placeholder) in &self.known {
            text = text.replace(value, placeholder);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let inside_word = before.is_some_and(|char: char| char.is_ascii_alphanumeric());
            let found = if inside_word { None } else { shape(rest) };
            let length = match found {
                Some((length, name, width)) => {
                    out.push_str(&placeholder(name, width));
                    length
                }
                None => {
                    out.push(first);
                    first.len_utf8()
                }
            };
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        out
    }
}

/// Recognises a shape at the start of `text`: its length, its name and the width
/// of its placeholder.
fn shape(text: &str) -> Option<(usize, &'static str, usize)> {
    let hex = run(text, |char| matches!(char, '0'..='9' | 'a'..='f'));
    let ends =
        |length: usize| !text[length..].starts_with(|char: char| char.is_ascii_alphanumeric());
    if fits(text, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh") && ends(36) {
        return Some((36, "uuid", 36));
    }
    if ends(hex)
        && matches!(hex, 64 | 32 | 16 | 12)
        && text[..hex].bytes().any(|byte| byte.is_ascii_digit())
    {
        return Some((hex, if hex == 64 { "digest" } else { "id" }, hex));
    }
    if fits(text, "dddd-dd-ddTdd:dd:dd") {
        let fraction = match text[19..].strip_prefix('.') {
            Some(digits) => 1 + run(digits, |char| char.is_ascii_digit()),
            None => 0,
        };
        let zone = usize::from(text[19 + fraction..].starts_with('Z'));
        return Some((19 + fraction + zone, "time", 20));
    }
    let number = run(text, |char| char.is_ascii_digit() || char == '.');
    if number > 0 && text.starts_with(|char: char| char.is_ascii_digit()) {
        for unit in [" ms", "ms", " s", "s"] {
            if text[number..].starts_with(unit) && ends(number + unit.len()) {
                return Some((number + unit.len(), "took", 8));
            }
        }
    }
    None
}

fn run(text: &str, accept: fn(char) -> bool) -> usize {
    text.find(|char| !accept(char)).unwrap_or(text.len())
}

/// Whether `text` starts like the pattern: `h` a hexadecimal digit, `d` a digit.
fn fits(text: &str, pattern: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= pattern.len()
        && bytes
            .iter()
            .zip(pattern.bytes())
            .all(|(&byte, class)| match class {
                b'h' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
                b'd' => byte.is_ascii_digit(),
                class => byte == class,
            })
}

fn placeholder(name: &str, width: usize) -> String {
    let inner = width.saturating_sub(2);
    format!("[{name:-<inner$}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_keep_columns() {
        let redactor = Redactor::new()
            .value("/tmp/x", "root")
            .value("/tmp/x/workspace", "workspace");
        let digest = "0f".repeat(32);
        let text = format!(
            "/tmp/x/workspace/a | /tmp/x/b | {digest} | 2026-01-02T03:04:05.123Z | 2026-01-02T03:04:05Z\n\
             took 12 ms and 1.5s, 3 seconds, deadbeefcafe, v1.2.3, 0123456789ab"
        );
        let expected = "\
[workspace-----]/a | [root----------]/b | [digest--------------------------------------------------------] | [time--------------] | [time--------------]
took [took--] and [took--], 3 seconds, deadbeefcafe, v1.2.3, [id--------]";
        assert_eq!(redactor.redact(&text), expected);
    }
}
