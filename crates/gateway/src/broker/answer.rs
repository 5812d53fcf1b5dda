//! `Answer`: what the broker says itself, in the shape in which the vendors say it.

use std::fmt;

/// An answer of the broker's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    message: String,
}

impl Answer {
    /// With a sentence for people. It never holds anything that came from the vendor.
    pub(super) fn new(status: u16, message: impl fmt::Display) -> Self {
        Self {
            status,
            message: format!("lazaret's broker: {message}"),
        }
    }

    /// The whole response. The connection ends with it.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let body = serde_json::json!({
            "type": "error",
            "error": { "type": "lazaret_broker", "code": self.status, "message": self.message },
        });
        let body = body.to_string();
        format!(
            "HTTP/1.1 {} \r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            self.status,
            body.len()
        )
        .into_bytes()
    }
}
