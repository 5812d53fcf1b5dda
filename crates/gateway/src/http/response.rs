//! `Response`: what the gateway answers itself. The connection ends with it.

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lazaret_egress::Denied;

/// How long a client that does not read is waited for.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// A response of the gateway's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    status: u16,
    content_type: &'static str,
    denied: Option<Denied>,
    body: String,
}

impl Response {
    /// Returns the response to a client of the proxy that is denied, as plain text.
    pub(crate) fn denial(denied: Denied) -> Self {
        let status = match denied {
            Denied::BadRequest | Denied::BadPort | Denied::Name(_) | Denied::NotTls => 400,
            Denied::Head => 431,
            Denied::Unresolved | Denied::Unreachable => 502,
            Denied::Connections => 503,
            _ => 403,
        };
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            denied: Some(denied),
            body: format!("lazaret: {}: {denied}\n", denied.code()),
        }
    }

    /// Returns the response of the broker, in the shape in which the vendors report errors.
    /// `message` holds nothing that came from the vendor.
    pub(crate) fn broker_error(status: u16, message: impl fmt::Display) -> Self {
        let message = format!("lazaret's broker: {message}");
        let body = serde_json::json!({
            "type": "error",
            "error": { "type": "lazaret_broker", "code": status, "message": message },
        });
        Self {
            status,
            content_type: "application/json",
            denied: None,
            body: body.to_string(),
        }
    }

    /// Returns the bytes of the whole response.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let denied = self.denied.map_or(String::new(), |denied| {
            format!("X-Lazaret-Denied: {}\r\n", denied.code())
        });
        format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{denied}\
             Connection: close\r\n\r\n{}",
            self.status,
            reason(self.status),
            self.content_type,
            self.body.len(),
            self.body,
        )
        .into_bytes()
    }
}

/// Writes why a client of the proxy is denied.
///
/// # Errors
///
/// The client has gone, or does not read for [`WRITE_TIMEOUT`].
pub(crate) fn write_denial(mut stream: &UnixStream, denied: Denied) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    stream.write_all(&Response::denial(denied).to_bytes())
}

/// Returns the reason phrase of a status (RFC 9110 section 15).
fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        403 => "Forbidden",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
