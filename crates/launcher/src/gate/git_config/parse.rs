//! The grammar of git's configuration files (git, config.c), read on behind what git would
//! stop at.

/// One variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// As git lists it: section and key in lower case, a quoted subsection as it is written.
    pub(super) name: Vec<u8>,
    /// Empty for one without a value.
    pub(super) value: Vec<u8>,
}

/// Splits `section.subsection.key`; a subsection may hold dots.
pub(super) fn split(name: &[u8]) -> (&[u8], Option<&[u8]>, &[u8]) {
    let dot = |byte: &u8| *byte == b'.';
    let Some(first) = name.iter().position(dot) else {
        return (name, None, b"");
    };
    let last = name.iter().rposition(dot).unwrap_or(first);
    let subsection = name.get(first + 1..last);
    (&name[..first], subsection, &name[last + 1..])
}

/// Iterates over the variables of a file.
pub(super) fn variables(bytes: &[u8]) -> impl Iterator<Item = Variable> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    Reader {
        bytes,
        section: Vec::new(),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    section: Vec<u8>,
}

impl Iterator for Reader<'_> {
    type Item = Variable;

    fn next(&mut self) -> Option<Variable> {
        loop {
            match self.byte()? {
                b'#' | b';' => self.skip_line(),
                b'[' => self.header(),
                byte if byte.is_ascii_alphabetic() => return Some(self.variable(byte)),
                byte if byte.is_ascii_whitespace() || byte == 0x0b => {}
                // Here git gives the file up.
                _ => self.skip_line(),
            }
        }
    }
}

impl Reader<'_> {
    /// Takes one byte; a line may end as on Windows.
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = match self.bytes {
            [b'\r', b'\n', rest @ ..] => (b'\n', rest),
            [byte, rest @ ..] => (*byte, rest),
            [] => return None,
        };
        self.bytes = rest;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        let mut ahead = Self {
            bytes: self.bytes,
            section: Vec::new(),
        };
        ahead.byte()
    }

    fn skip_line(&mut self) {
        while self.byte().is_some_and(|byte| byte != b'\n') {}
    }

    /// Reads `[section]`, `[section.subsection]` or `[section "subsection"]`.
    fn header(&mut self) {
        self.section.clear();
        while let Some(byte) = self.byte() {
            match byte {
                b']' | b'\n' => return,
                b'"' => return self.subsection(),
                byte if byte.is_ascii_whitespace() => {}
                byte => self.section.push(byte.to_ascii_lowercase()),
            }
        }
    }

    fn subsection(&mut self) {
        self.section.push(b'.');
        while let Some(byte) = self.byte() {
            let byte = match byte {
                b'"' => break,
                b'\n' => return,
                b'\\' => self.byte().unwrap_or_default(),
                byte => byte,
            };
            self.section.push(byte);
        }
        if self.peek() == Some(b']') {
            self.byte();
        }
    }

    fn variable(&mut self, first: u8) -> Variable {
        let mut name = self.section.clone();
        if !name.is_empty() {
            name.push(b'.');
        }
        name.push(first.to_ascii_lowercase());
        while let Some(byte) = self.peek() {
            if !(byte.is_ascii_alphanumeric() || byte == b'-') {
                break;
            }
            name.push(byte.to_ascii_lowercase());
            self.byte();
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.byte();
        }
        let value = match self.byte() {
            Some(b'=') => self.value(),
            Some(b'\n') | None => Vec::new(),
            Some(_) => {
                self.skip_line();
                Vec::new()
            }
        };
        Variable { name, value }
    }

    /// Reads up to the end of the line: quotes and escapes resolved, outer blanks gone. A
    /// backslash at the end goes on in the next line, but not in a comment.
    fn value(&mut self) -> Vec<u8> {
        let mut value = Vec::new();
        // How much of it a quote has shielded from being trimmed.
        let mut kept = 0;
        let mut quoted = false;
        while let Some(byte) = self.byte() {
            match byte {
                b'\n' => break,
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                b'"' => quoted = !quoted,
                b'\\' => match self.byte() {
                    Some(b'\n') | None => {}
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(byte) => value.push(byte),
                },
                byte if byte.is_ascii_whitespace() && value.is_empty() && !quoted => {}
                byte => value.push(byte),
            }
            if quoted || byte == b'"' {
                kept = value.len();
            }
        }
        let trimmed = value.trim_ascii_end().len();
        value.truncate(trimmed.max(kept));
        value
    }
}
