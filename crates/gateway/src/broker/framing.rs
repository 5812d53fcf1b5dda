//! `Framing`: where a body ends (RFC 9112, 6.3), when that can be read in one way only.

use super::head::Fields;

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Nothing,
    /// After so many bytes.
    Length(u64),
    /// With the chunk of size 0.
    Chunked,
    /// With the connection; in responses only.
    Close,
}

/// Why the end of a body can't be told (NET-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadFraming {
    #[error("it has a length and a transfer coding, which is how requests are smuggled")]
    Both,
    #[error("its length is not one plain number")]
    Length,
    #[error("its transfer coding is not `chunked` alone")]
    Coding,
}

impl Framing {
    pub(super) fn of_request(fields: &Fields) -> Result<Self, BadFraming> {
        Ok(said(fields)?.unwrap_or(Self::Nothing))
    }

    /// Of an answer to `method`.
    pub(super) fn of_response(
        fields: &Fields,
        method: &str,
        status: u16,
    ) -> Result<Self, BadFraming> {
        let said = said(fields)?;
        if method == "HEAD" || matches!(status, 100..200 | 204 | 304) {
            return Ok(Self::Nothing);
        }
        Ok(said.unwrap_or(Self::Close))
    }
}

fn said(fields: &Fields) -> Result<Option<Framing>, BadFraming> {
    let mut lengths = fields.all("content-length");
    let mut codings = fields.all("transfer-encoding");
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(BadFraming::Both),
        (Some(length), None) => {
            let digits = std::str::from_utf8(length).unwrap_or_default();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            match digits.parse().ok().filter(|_| is_number) {
                Some(length) if lengths.next().is_none() => Ok(Some(Framing::Length(length))),
                _ => Err(BadFraming::Length),
            }
        }
        (None, Some(coding)) => match coding.eq_ignore_ascii_case(b"chunked") {
            true if codings.next().is_none() => Ok(Some(Framing::Chunked)),
            _ => Err(BadFraming::Coding),
        },
    }
}
