//! The grammar of git's configuration files (git, config.c), read on behind what git would
//! stop at.

/// One variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// As git lists it: section and key in lower case, a quoted subsection as it is written.
    pub(super) name: Vec<u8>,
    /// `None` for one without `=`, which counts as true.
    pub(super) value: Option<Vec<u8>>,
}

/// What a file holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Its variables, those behind a mistake with them.
    pub(super) variables: Vec<Variable>,
    /// The first line, from 1, at which git gives the file up.
    pub(super) mistake: Option<usize>,
}

impl Variable {
    /// The value; nothing for one without.
    pub(super) fn value(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }
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

/// Parses a file.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut reader = Reader {
        bytes: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes),
        section: Vec::new(),
        line: 1,
        parsed: Parsed::default(),
    };
    reader.file();
    reader.parsed
}

struct Reader<'a> {
    bytes: &'a [u8],
    section: Vec<u8>,
    line: usize,
    parsed: Parsed,
}

/// What git takes for a blank.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Reader<'_> {
    fn file(&mut self) {
        while let Some(byte) = self.byte() {
            match byte {
                b'#' | b';' => self.skip_line(),
                b'[' => self.header(),
                byte if byte.is_ascii_alphabetic() => self.variable(byte),
                byte if is_space(byte) => {}
                _ => {
                    self.mistake();
                    self.skip_line();
                }
            }
        }
    }

    /// Takes one byte; a line may end as on Windows.
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = match self.bytes {
            [b'\r', b'\n', rest @ ..] => (b'\n', rest),
            [byte, rest @ ..] => (*byte, rest),
            [] => return None,
        };
        self.line += usize::from(byte == b'\n');
        self.bytes = rest;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        match self.bytes {
            [b'\r', b'\n', ..] => Some(b'\n'),
            [byte, ..] => Some(*byte),
            [] => None,
        }
    }

    /// Takes a byte unless it ends the line.
    fn in_line(&mut self) -> Option<u8> {
        self.peek().filter(|byte| *byte != b'\n')?;
        self.byte()
    }

    fn skip_line(&mut self) {
        while self.byte().is_some_and(|byte| byte != b'\n') {}
    }

    /// Notes that git gives up here.
    fn mistake(&mut self) {
        self.parsed.mistake.get_or_insert(self.line);
    }

    /// Reads `[section]`, `[section.subsection]` or `[section "subsection"]`.
    fn header(&mut self) {
        self.section.clear();
        while let Some(byte) = self.in_line() {
            match byte {
                b']' => {
                    if self.section.is_empty() {
                        self.mistake();
                    }
                    return;
                }
                byte if is_space(byte) => return self.subsection(),
                byte if is_key(byte) || byte == b'.' => {
                    self.section.push(byte.to_ascii_lowercase());
                }
                b'"' => {
                    self.mistake();
                    return self.quoted();
                }
                byte => {
                    self.mistake();
                    self.section.push(byte);
                }
            }
        }
        self.mistake();
    }

    /// Reads what follows a section's name and a blank.
    fn subsection(&mut self) {
        while self
            .peek()
            .is_some_and(|byte| is_space(byte) && byte != b'\n')
        {
            self.byte();
        }
        match self.peek() {
            Some(b'"') => {
                self.byte();
                self.quoted();
            }
            Some(b']') => {
                self.mistake();
                self.byte();
            }
            _ => self.mistake(),
        }
    }

    /// Reads a subsection behind its first quote.
    fn quoted(&mut self) {
        self.section.push(b'.');
        loop {
            let byte = match self.in_line() {
                None => return self.mistake(),
                Some(b'"') => break,
                Some(b'\\') => match self.in_line() {
                    None => return self.mistake(),
                    Some(byte) => byte,
                },
                Some(byte) => byte,
            };
            self.section.push(byte);
        }
        match self.peek() {
            Some(b']') => drop(self.byte()),
            _ => self.mistake(),
        }
    }

    fn variable(&mut self, first: u8) {
        let mut name = self.section.clone();
        if !name.is_empty() {
            name.push(b'.');
        }
        name.push(first.to_ascii_lowercase());
        while let Some(byte) = self.peek().filter(|byte| is_key(*byte)) {
            name.push(byte.to_ascii_lowercase());
            self.byte();
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.byte();
        }
        let value = match self.byte() {
            Some(b'=') => Some(self.value()),
            Some(b'\n') | None => None,
            Some(_) => {
                self.mistake();
                self.skip_line();
                None
            }
        };
        self.parsed.variables.push(Variable { name, value });
    }

    /// Reads up to the end of the line: quotes and escapes resolved, outer blanks gone. A
    /// backslash at the end goes on in the next line, but not in a comment.
    fn value(&mut self) -> Vec<u8> {
        let mut value = Vec::new();
        // How long it is without the blanks at its end.
        let mut trimmed = None;
        let mut quoted = false;
        let mut line = self.line;
        while let Some(byte) = self.byte() {
            match byte {
                b'\n' => break,
                byte if is_space(byte) && !quoted => {
                    if !value.is_empty() {
                        trimmed.get_or_insert(value.len());
                        value.push(byte);
                    }
                    continue;
                }
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
                    Some(byte) => {
                        if !matches!(byte, b'\\' | b'"') {
                            self.mistake();
                        }
                        value.push(byte);
                    }
                },
                byte => value.push(byte),
            }
            trimmed = None;
            line = self.line;
        }
        if quoted {
            self.parsed.mistake.get_or_insert(line);
        }
        value.truncate(trimmed.unwrap_or(value.len()));
        value
    }
}
