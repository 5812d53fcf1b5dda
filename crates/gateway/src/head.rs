//! `Head`: the first part of an HTTP/1.1 request, read in the one way in which every
//! implementation reads it, or not at all (NET-13).

use std::fmt;

/// The request line and the fields of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The method: a token, as it came.
    pub method: String,
    /// The target: visible ASCII, as it came.
    pub target: String,
    /// The version.
    pub version: Version,
    /// The fields in their order.
    pub fields: Vec<Field>,
}

/// A version of HTTP that a head may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0, of which `CONNECT` of older clients is the common case.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name: a token, in lower case.
    pub name: String,
    /// The value without surrounding white space. No CR, LF, NUL or other control but tab.
    pub value: Vec<u8>,
}

/// Why a head is not read (RFC 9112 sections 2, 3, 5 and 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HeadError {
    /// A CR without LF, an LF without CR, a NUL or another control character.
    #[error("a control character, or a line end that is not CR LF")]
    Control,
    /// The first line is not `METHOD target HTTP/1.1`.
    #[error("the request line")]
    RequestLine,
    /// A version other than 1.0 and 1.1.
    #[error("the version of HTTP")]
    Version,
    /// A line that continues the one before (obs-fold).
    #[error("a folded field")]
    Folded,
    /// A field without name or colon, or with white space before the colon.
    #[error("the syntax of a field")]
    Field,
    /// `Host`, `Content-Length` or `Transfer-Encoding` twice.
    #[error("a field that may be there once is there twice")]
    Duplicate,
    /// Both a length and a transfer coding, or one of them that is not plain.
    #[error("the framing of the body")]
    Framing,
    /// `Connection` names a field that the request depends on.
    #[error("the Connection field names a field that the request depends on")]
    Connection,
    /// More fields than [`MOST_FIELDS`].
    #[error("too many fields")]
    TooMany,
}

/// How much body follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes; 0 when nothing is said.
    Length(u64),
    /// Chunks (RFC 9112 section 7.1).
    Chunked,
}

/// The most fields of a head.
pub const MOST_FIELDS: usize = 200;

/// Fields that are there once, and that `Connection` must not take away.
const SINGLE: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// Fields of one hop (RFC 9110 section 7.6.1). `Transfer-Encoding` is one as well, but the
/// body goes on as it came.
const HOP_BY_HOP: [&str; 5] = ["connection", "keep-alive", "te", "trailer", "upgrade"];

/// Returns where a head ends, behind its empty line; `None` when it is not all there.
///
/// # Errors
///
/// As soon as a byte is there that no head can hold: a sender of bare line feeds is
/// refused at once and not after a time-out.
pub fn end_of_head(bytes: &[u8]) -> Result<Option<usize>, HeadError> {
    for (at, &byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let fits = match byte {
            b'\n' => before == Some(b'\r'),
            _ if before == Some(b'\r') => false,
            b'\r' | b'\t' => true,
            byte => byte >= b' ' && byte != 0x7f,
        };
        if !fits {
            return Err(HeadError::Control);
        }
        if byte == b'\n' && bytes[..at - 1].ends_with(b"\r\n") {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}

impl Head {
    /// Reads a head, its empty line included.
    ///
    /// # Errors
    ///
    /// Whatever two implementations could read differently.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeadError> {
        if end_of_head(bytes)? != Some(bytes.len()) {
            return Err(HeadError::Control);
        }
        let text = &bytes[..bytes.len() - 4];
        let mut lines = split_lines(text);
        let (method, target, version) = request_line(lines.next().unwrap_or_default())?;
        let mut head = Self {
            method,
            target,
            version,
            fields: Vec::new(),
        };
        for line in lines {
            if head.fields.len() == MOST_FIELDS {
                return Err(HeadError::TooMany);
            }
            head.fields.push(field(line)?);
        }
        for name in SINGLE {
            if head.values(name).count() > 1 {
                return Err(HeadError::Duplicate);
            }
        }
        head.framing()?;
        head.named_by_connection()?;
        Ok(head)
    }

    /// Returns the values of a field, by its name in lower case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.fields.iter().filter(move |field| field.name == name);
        fields.map(|field| field.value.as_slice())
    }

    /// Returns `Host`; a head has at most one.
    pub fn host(&self) -> Option<&[u8]> {
        self.values("host").next()
    }

    /// Returns how much body follows.
    ///
    /// # Errors
    ///
    /// A length that is no plain number, a coding other than `chunked`, both, or a coding
    /// in HTTP/1.0: each is a way of request smuggling.
    pub fn framing(&self) -> Result<Framing, HeadError> {
        let length = self.values("content-length").next();
        let coding = self.values("transfer-encoding").next();
        match (length, coding) {
            (None, None) => Ok(Framing::Length(0)),
            (Some(length), None) => plain_number(length).map(Framing::Length),
            (None, Some(coding))
                if coding.eq_ignore_ascii_case(b"chunked") && self.version == Version::Http11 =>
            {
                Ok(Framing::Chunked)
            }
            _ => Err(HeadError::Framing),
        }
    }

    /// Takes away the fields that are for this hop, and all of `Proxy-…`.
    pub fn strip_hop_by_hop(&mut self) {
        let named = self.named_by_connection().unwrap_or_default();
        self.fields.retain(|field| {
            let name = field.name.as_str();
            !HOP_BY_HOP.contains(&name)
                && !name.starts_with("proxy-")
                && !named.iter().any(|named| named == name)
        });
    }

    /// Returns the names that `Connection` lists.
    fn named_by_connection(&self) -> Result<Vec<String>, HeadError> {
        let mut names = Vec::new();
        for value in self.values("connection") {
            for name in value.split(|byte| *byte == b',') {
                let name = name.trim_ascii().to_ascii_lowercase();
                let name = String::from_utf8(name).map_err(|_| HeadError::Connection)?;
                if SINGLE.contains(&name.as_str()) {
                    return Err(HeadError::Connection);
                }
                names.push(name);
            }
        }
        Ok(names)
    }
}

/// Writes the head as it is sent on, its empty line included.
impl Head {
    /// Returns the bytes of the head, its empty line included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            format!("{} {} {}\r\n", self.method, self.target, self.version).into_bytes();
        for Field { name, value } in &self.fields {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        })
    }
}

/// Splits at CR LF; the caller has made sure that neither stands alone.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn request_line(line: &[u8]) -> Result<(String, String, Version), HeadError> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadError::RequestLine);
    };
    let visible = |byte: &u8| (b'!'..=b'~').contains(byte);
    if !is_token(method) || target.is_empty() || !target.iter().all(visible) {
        return Err(HeadError::RequestLine);
    }
    let version = match version {
        b"HTTP/1.1" => Version::Http11,
        b"HTTP/1.0" => Version::Http10,
        _ => return Err(HeadError::Version),
    };
    let ascii = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
    match (ascii(method), ascii(target)) {
        (Ok(method), Ok(target)) => Ok((method, target, version)),
        _ => Err(HeadError::RequestLine),
    }
}

fn field(line: &[u8]) -> Result<Field, HeadError> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(HeadError::Folded);
    }
    let colon = line.iter().position(|byte| *byte == b':');
    let (name, value) = line.split_at(colon.ok_or(HeadError::Field)?);
    if !is_token(name) {
        return Err(HeadError::Field);
    }
    let name = String::from_utf8(name.to_ascii_lowercase()).map_err(|_| HeadError::Field)?;
    let value = value[1..].trim_ascii().to_vec();
    Ok(Field { name, value })
}

/// RFC 9110 section 5.6.2.
fn is_token(bytes: &[u8]) -> bool {
    let of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(of_token)
}

/// Digits alone, as `1*DIGIT`: no sign, list or white space.
fn plain_number(value: &[u8]) -> Result<u64, HeadError> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(HeadError::Framing);
    }
    let text = str::from_utf8(value).map_err(|_| HeadError::Framing)?;
    text.parse().map_err(|_| HeadError::Framing)
}
