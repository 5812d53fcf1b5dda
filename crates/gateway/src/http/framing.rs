//! `Framing`: where a body ends (RFC 9112 section 6.3), if that can be read in one way only.

use super::fields::Fields;

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    Nothing,
    /// After this many bytes.
    Length(u64),
    /// After the chunk of size 0 (RFC 9112 section 7.1).
    Chunked,
    /// With the connection; in responses only.
    UntilClose,
}

/// Why the end of a body is not certain (NET-13). Each is a way of request smuggling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FramingError {
    /// A length and a transfer coding.
    #[error("it has a length and a transfer coding")]
    LengthAndCoding,
    /// A length twice, or one that is not digits alone: no sign, list or white space.
    #[error("its length is not one plain number")]
    Length,
    /// A coding twice, one other than `chunked`, or one in HTTP/1.0.
    #[error("its transfer coding is not `chunked` alone")]
    Coding,
}

impl Framing {
    /// Reads how the body of a request is framed.
    pub(super) fn of_request(fields: &Fields) -> Result<Self, FramingError> {
        Ok(declared(fields)?.unwrap_or(Self::Nothing))
    }

    /// Reads how the body of a response to `method` is framed.
    pub(super) fn of_response(
        fields: &Fields,
        method: &str,
        status: u16,
    ) -> Result<Self, FramingError> {
        let declared = declared(fields)?;
        if method == "HEAD" || matches!(status, 100..200 | 204 | 304) {
            return Ok(Self::Nothing);
        }
        Ok(declared.unwrap_or(Self::UntilClose))
    }

    /// Returns true if no byte of a body follows.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Nothing | Self::Length(0))
    }
}

fn declared(fields: &Fields) -> Result<Option<Framing>, FramingError> {
    let mut lengths = fields.values("content-length");
    let mut codings = fields.values("transfer-encoding");
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(FramingError::LengthAndCoding),
        (Some(length), None) => match plain_number(length) {
            Some(length) if lengths.next().is_none() => Ok(Some(Framing::Length(length))),
            _ => Err(FramingError::Length),
        },
        (None, Some(coding)) => match coding.eq_ignore_ascii_case(b"chunked") {
            true if codings.next().is_none() => Ok(Some(Framing::Chunked)),
            _ => Err(FramingError::Coding),
        },
    }
}

/// Reads `1*DIGIT`.
fn plain_number(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(value).ok()?.parse().ok()
}
