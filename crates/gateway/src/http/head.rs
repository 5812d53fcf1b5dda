//! The head of a message: its first line and its fields, read in the one way in which every
//! implementation reads them, or not at all (NET-13).

use std::fmt;

use super::fields::{Field, Fields};
use super::framing::{Framing, FramingError};

/// The request line and the fields of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method: a token, as it came.
    pub method: String,
    /// The target: visible ASCII, as it came.
    pub target: String,
    /// The version.
    pub version: Version,
    /// The fields.
    pub fields: Fields,
    framing: Framing,
}

/// The status and the fields of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status: 100 to 999.
    pub status: u16,
    /// The fields.
    pub fields: Fields,
    framing: Framing,
}

/// A version of HTTP that a head may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: older clients send `CONNECT` with it.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// Who a request is addressed to. An origin takes less than a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// A proxy: any method, every form of target, HTTP/1.0 too.
    Proxy,
    /// An origin server: a method in upper case, a path as target, HTTP/1.1, a `Host`.
    Origin,
}

/// Why a head is refused (RFC 9112 sections 2 to 6 and 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HeadError {
    /// A CR without LF, an LF without CR, a NUL or another control character.
    #[error("it holds a control character, or a line end that is not CR LF")]
    Control,
    /// The first line of a request is not `METHOD target version`.
    #[error("its first line is not a request line")]
    RequestLine,
    /// The first line of a response holds no status.
    #[error("its first line is not a status line")]
    StatusLine,
    /// A version that the recipient does not speak.
    #[error("its version of HTTP is not spoken here")]
    Version,
    /// A target that is empty, not visible ASCII, or not of the recipient's form.
    #[error("its target is not valid here")]
    Target,
    /// A line that continues the one before (obs-fold).
    #[error("one of its fields continues on the next line")]
    Folded,
    /// A field without name or colon, or with white space before the colon.
    #[error("one of its fields has no valid name")]
    Field,
    /// More fields than [`MOST_FIELDS`].
    #[error("it has more than {MOST_FIELDS} fields")]
    TooManyFields,
    /// `Host`, `Content-Length` or `Transfer-Encoding` twice.
    #[error("a field that may be there once is there twice")]
    Duplicate,
    /// No `Host`.
    #[error("it names no host")]
    NoHost,
    /// The end of the body is not certain.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// `Connection` lists a field that the request depends on, or is not text.
    #[error("its Connection field lists a field that the request depends on")]
    Connection,
}

/// The most fields of a head.
const MOST_FIELDS: usize = 200;

/// Fields of a request that are there once, and that `Connection` must not take away.
const SINGLE: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// Returns where a head ends, behind its empty line; `None` if it has not arrived as a whole.
///
/// # Errors
///
/// [`HeadError::Control`] as soon as a byte is there that no head can hold: a sender of bare
/// line feeds is refused at once and not after a timeout.
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

impl RequestHead {
    /// Parses a head, its empty line included.
    ///
    /// # Errors
    ///
    /// Everything that two implementations could read differently, and what `recipient` does
    /// not take.
    pub fn parse(bytes: &[u8], recipient: Recipient) -> Result<Self, HeadError> {
        let (first, fields) = split(bytes)?;
        let mut words = first.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(HeadError::RequestLine);
        };
        let method = parse_method(method, recipient)?;
        let version = parse_version(version, recipient)?;
        let target = parse_target(target, recipient)?;
        for name in SINGLE {
            if fields.values(name).count() > 1 {
                return Err(HeadError::Duplicate);
            }
        }
        if recipient == Recipient::Origin && fields.values("host").next().is_none() {
            return Err(HeadError::NoHost);
        }
        let framing = Framing::of_request(&fields)?;
        if version == Version::Http10 && framing == Framing::Chunked {
            return Err(FramingError::Coding.into());
        }
        check_connection(&fields)?;
        Ok(Self {
            method,
            target,
            version,
            fields,
            framing,
        })
    }

    /// Returns `Host`; a head has at most one.
    pub fn host(&self) -> Option<&[u8]> {
        self.fields.values("host").next()
    }

    /// Returns where the body ends, as the head had it when it was parsed.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns the bytes of the head, its empty line included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            format!("{} {} {}\r\n", self.method, self.target, self.version).into_bytes();
        for field in self.fields.iter() {
            field.write_to(&mut bytes);
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

impl ResponseHead {
    /// Parses the head of a response to `method`, its empty line included.
    ///
    /// # Errors
    ///
    /// Everything that two implementations could read differently.
    pub fn parse(bytes: &[u8], method: &str) -> Result<Self, HeadError> {
        let (first, fields) = split(bytes)?;
        let first = str::from_utf8(first).map_err(|_| HeadError::StatusLine)?;
        let rest = first.strip_prefix("HTTP/1.1 ").ok_or(HeadError::Version)?;
        let (status, _reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_status = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
        let status = status.parse().ok().filter(|status| *status >= 100);
        let status = status.filter(|_| is_status).ok_or(HeadError::StatusLine)?;
        Ok(Self {
            framing: Framing::of_response(&fields, method, status)?,
            status,
            fields,
        })
    }

    /// Returns where the body ends.
    pub fn framing(&self) -> Framing {
        self.framing
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

/// Splits a head into its first line and its fields.
fn split(bytes: &[u8]) -> Result<(&[u8], Fields), HeadError> {
    if end_of_head(bytes)? != Some(bytes.len()) {
        return Err(HeadError::Control);
    }
    let text = &bytes[..bytes.len() - 4];
    // Neither CR nor LF stands alone: `end_of_head` has looked at every byte.
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let mut fields = Vec::new();
    for line in lines {
        if fields.len() == MOST_FIELDS {
            return Err(HeadError::TooManyFields);
        }
        fields.push(parse_field(line)?);
    }
    Ok((first, Fields(fields)))
}

fn parse_method(method: &[u8], recipient: Recipient) -> Result<String, HeadError> {
    let fits = match recipient {
        Recipient::Proxy => is_token(method),
        Recipient::Origin => !method.is_empty() && method.iter().all(u8::is_ascii_uppercase),
    };
    let method = String::from_utf8(method.to_vec()).ok();
    method.filter(|_| fits).ok_or(HeadError::RequestLine)
}

fn parse_version(version: &[u8], recipient: Recipient) -> Result<Version, HeadError> {
    match (version, recipient) {
        (b"HTTP/1.1", _) => Ok(Version::Http11),
        (b"HTTP/1.0", Recipient::Proxy) => Ok(Version::Http10),
        _ => Err(HeadError::Version),
    }
}

fn parse_target(target: &[u8], recipient: Recipient) -> Result<String, HeadError> {
    let is_visible = !target.is_empty() && target.iter().all(u8::is_ascii_graphic);
    let fits = match recipient {
        Recipient::Proxy => is_visible,
        Recipient::Origin => is_visible && target[0] == b'/' && !target.contains(&b'#'),
    };
    let target = String::from_utf8(target.to_vec()).ok();
    target.filter(|_| fits).ok_or(HeadError::Target)
}

fn parse_field(line: &[u8]) -> Result<Field, HeadError> {
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

/// Refuses a `Connection` that would take a field away from the next server, which then reads
/// another request than the gateway did.
fn check_connection(fields: &Fields) -> Result<(), HeadError> {
    let is_text = fields
        .values("connection")
        .all(|value| str::from_utf8(value).is_ok());
    let mut listed = fields.list("connection");
    match is_text && !listed.any(|name| SINGLE.contains(&name.as_str())) {
        true => Ok(()),
        false => Err(HeadError::Connection),
    }
}

/// RFC 9110 section 5.6.2.
fn is_token(bytes: &[u8]) -> bool {
    let of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(of_token)
}
