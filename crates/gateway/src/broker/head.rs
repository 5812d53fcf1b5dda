//! `Head`: the first line and the fields of a message, read as strictly as RFC 9112 allows.
//!
//! What two readers could read differently is refused: bare CR or LF, NUL and other
//! controls, folded fields (5.2), blanks before a colon (5.1), anything but one way to say
//! where a body ends (6.3). Then what is sent on is written anew and never copied.

use super::framing::{BadFraming, Framing};

/// More fields than this are refused.
const MOST_FIELDS: usize = 200;

/// A request line and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: String,
    /// In origin form: a path, and a query after it.
    pub(super) target: String,
    pub(super) fields: Fields,
    pub(super) framing: Framing,
}

/// A status line and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) fields: Fields,
    pub(super) framing: Framing,
}

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadHead {
    #[error("it holds a control character, or a line end that is not CR LF")]
    Control,
    #[error("its first line is none")]
    FirstLine,
    #[error("only HTTP/1.1 is spoken here")]
    Version,
    #[error("the target is no path")]
    Target,
    #[error("a field's name is none")]
    Name,
    #[error("a field goes on in the next line")]
    Fold,
    #[error("it has too many fields")]
    Count,
    #[error("it names no host, or more than one")]
    Host,
    #[error(transparent)]
    Framing(#[from] BadFraming),
}

impl RequestHead {
    /// Reads a head, its empty line included.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BadHead> {
        let (first, fields) = parts(bytes)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(BadHead::FirstLine);
        };
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(BadHead::FirstLine);
        }
        if version != "HTTP/1.1" {
            return Err(BadHead::Version);
        }
        let is_path = target.starts_with('/')
            && target
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !is_path {
            return Err(BadHead::Target);
        }
        if fields.all("host").count() != 1 {
            return Err(BadHead::Host);
        }
        Ok(Self {
            framing: Framing::of_request(&fields)?,
            method: method.to_owned(),
            target: target.to_owned(),
            fields,
        })
    }
}

impl ResponseHead {
    /// Reads the head of an answer to `method`, its empty line included.
    pub(super) fn parse(bytes: &[u8], method: &str) -> Result<Self, BadHead> {
        let (first, fields) = parts(bytes)?;
        let rest = first.strip_prefix("HTTP/1.1 ").ok_or(BadHead::Version)?;
        let (status, _reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_status = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
        let status = status.parse().ok().filter(|status| *status >= 100);
        let status = status.filter(|_| is_status).ok_or(BadHead::FirstLine)?;
        Ok(Self {
            framing: Framing::of_response(&fields, method, status)?,
            status,
            fields,
        })
    }
}

fn parts(bytes: &[u8]) -> Result<(String, Fields), BadHead> {
    let text = bytes.strip_suffix(b"\r\n\r\n").ok_or(BadHead::Control)?;
    let mut lines = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n");
        let (line, behind) = match end {
            Some(end) => (&rest[..end], Some(&rest[end + 2..])),
            None => (rest, None),
        };
        if line.iter().any(|&byte| is_control(byte)) {
            return Err(BadHead::Control);
        }
        lines.push(line);
        match behind {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    let (first, fields) = lines.split_first().ok_or(BadHead::FirstLine)?;
    if fields.len() > MOST_FIELDS {
        return Err(BadHead::Count);
    }
    let first = std::str::from_utf8(first).map_err(|_not_utf8| BadHead::FirstLine)?;
    let fields = fields.iter().map(|line| field(line));
    Ok((first.to_owned(), Fields(fields.collect::<Result<_, _>>()?)))
}

fn is_control(byte: u8) -> bool {
    byte != b'\t' && (byte < b' ' || byte == 0x7f)
}

fn field(line: &[u8]) -> Result<Field, BadHead> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Err(BadHead::Fold);
    }
    let colon = line.iter().position(|&byte| byte == b':');
    let (name, value) = line.split_at(colon.ok_or(BadHead::Name)?);
    let is_token = |&byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.iter().all(is_token) {
        return Err(BadHead::Name);
    }
    let value = value[1..].trim_ascii();
    Ok(Field {
        name: String::from_utf8_lossy(name).to_ascii_lowercase(),
        value: value.to_vec(),
    })
}

/// A field: a token in lower case, and a value without controls but tabs, trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: Vec<u8>,
}

/// The fields of a head, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields(Vec<Field>);

impl Fields {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    /// The values of one name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.0.iter().filter(move |field| field.name == name);
        named.map(|field| &field.value[..])
    }

    /// The words of all values of a name whose value is a list, in lower case.
    pub(super) fn words<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let words = self
            .all(name)
            .flat_map(|value| value.split(|&byte| byte == b','));
        words
            .map(|word| String::from_utf8_lossy(word.trim_ascii()).to_ascii_lowercase())
            .filter(|word| !word.is_empty())
    }
}
