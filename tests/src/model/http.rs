//! As much of HTTP/1.1 as a server of a test needs: it believes what it reads.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::Value;

/// The most bytes of a body that are kept in memory.
const LARGEST_BODY: u64 = 64 << 20;

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `POST`, for instance.
    pub method: String,
    /// The target, with its query.
    pub path: String,
    /// Names in lower case and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body, without any framing.
    pub body: Vec<u8>,
}

impl Request {
    /// The first field of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.headers.iter();
        let found = fields.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Everything that came, in one text, to be searched.
    pub fn text(&self) -> String {
        let fields = self.headers.iter();
        let fields: String = fields
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        let body = String::from_utf8_lossy(&self.body);
        format!("{} {}\n{fields}\n{body}", self.method, self.path)
    }

    /// Reads one; `None` at the end of the connection.
    ///
    /// # Errors
    /// The connection broke, or what came is no request.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some(first) = line(from)? else {
            return Ok(None);
        };
        let mut words = first.split(' ').map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut headers = Vec::new();
        while let Some(field) = line(from)?.filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once(':').unwrap_or((&field, ""));
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self {
            method,
            path,
            headers,
            body: Vec::new(),
        };
        let is_chunked = request
            .header("transfer-encoding")
            .is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        if is_chunked {
            loop {
                let size = line(from)?.unwrap_or_default();
                let size = u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
                let _read = from
                    .take(size.min(LARGEST_BODY))
                    .read_to_end(&mut request.body)?;
                let _end = line(from)?;
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = request.header("content-length") {
            let length: u64 = length.parse().map_err(io::Error::other)?;
            let _read = from
                .take(length.min(LARGEST_BODY))
                .read_to_end(&mut request.body)?;
        }
        Ok(Some(request))
    }
}

fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let _read = from.take(1 << 20).read_until(b'\n', &mut line)?;
    match line.is_empty() {
        true => Ok(None),
        false => Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned())),
    }
}

/// Answers with a JSON body.
pub(super) fn json(to: &mut impl Write, value: &Value) -> io::Result<()> {
    let body = value.to_string();
    let length = body.len();
    write!(
        to,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    to.flush()
}

/// Answers as a vendor does that is careless with what it was sent.
pub(super) fn echo(to: &mut impl Write, key: &str) -> io::Result<()> {
    let body = format!("{{\"error\":\"the key {key} is of no use\"}}");
    let length = body.len();
    write!(
        to,
        "HTTP/1.1 403 Forbidden\r\nx-echo: {key}\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    to.flush()
}

/// Answers with nothing.
pub(super) fn nothing(to: &mut impl Write) -> io::Result<()> {
    write!(to, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    to.flush()
}

/// Answers with server-sent events, each sent by itself.
pub(super) fn stream(to: &mut impl Write, events: &[Value]) -> io::Result<()> {
    write!(
        to,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )?;
    for event in events {
        let name = event["type"].as_str().unwrap_or_default();
        let text = format!("event: {name}\ndata: {event}\n\n");
        write!(to, "{:x}\r\n{text}\r\n", text.len())?;
        to.flush()?;
    }
    write!(to, "0\r\n\r\n")?;
    to.flush()
}
