//! Reads the first flight of TLS, without taking part in it (NET-11).
//!
//! What is read is the server name, which the ClientHello holds in clear. With Encrypted Client Hello
//! (RFC 9849) that is the outer name, the public one of the provider: it has to be allowed
//! like any other, and which of the provider's hosts is meant can't be told here.

use lazaret_egress::{Denied, HostName, NameError};

/// What the bytes are so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientHello {
    /// The beginning of a ClientHello.
    Incomplete,
    /// A ClientHello for this name.
    For(HostName),
}

/// Why bytes are no ClientHello for one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ClientHelloError {
    /// No handshake record of TLS.
    #[error("not TLS")]
    NotTls,
    /// Lengths that contradict each other, or a list of names, or an extension twice.
    #[error("a malformed TLS greeting")]
    Malformed,
    /// No name.
    #[error("a TLS greeting without a name")]
    NoName,
    /// A name that is none, such as an address (RFC 6066 section 3 forbids them).
    #[error("a TLS greeting for what is no name: {0}")]
    Name(NameError),
}

impl From<ClientHelloError> for Denied {
    fn from(error: ClientHelloError) -> Self {
        match error {
            ClientHelloError::NotTls | ClientHelloError::Malformed => Self::NotTls,
            ClientHelloError::NoName => Self::NoSni,
            ClientHelloError::Name(error) => error.into(),
        }
    }
}

/// The content type of handshake records.
pub const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// RFC 8446 section 5.1.
const LONGEST_RECORD: usize = 1 << 14;
/// The fatal alert `unrecognized_name` (RFC 6066 section 3), as a record of its own.
pub const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 1, 0, 2, 2, 112];

/// Reads what a client sent first.
///
/// # Errors
///
/// As soon as the bytes can't be the beginning of a ClientHello for exactly one name.
pub fn read(bytes: &[u8]) -> Result<ClientHello, ClientHelloError> {
    let Some(handshake) = handshake(bytes)? else {
        return Ok(ClientHello::Incomplete);
    };
    let name = name(&handshake).ok_or(ClientHelloError::Malformed)??;
    Ok(ClientHello::For(name))
}

/// Collects the first handshake message out of its records; `None` when it is not all there.
fn handshake(bytes: &[u8]) -> Result<Option<Vec<u8>>, ClientHelloError> {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        if let Some((&kind, after)) = message.split_first() {
            if kind != CLIENT_HELLO {
                return Err(ClientHelloError::NotTls);
            }
            if let [a, b, c, body @ ..] = after {
                let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
                match body.len().cmp(&length) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => return Ok(Some(body.to_vec())),
                    // Nothing may share a record with a ClientHello (RFC 8446 section 5.1).
                    std::cmp::Ordering::Greater => return Err(ClientHelloError::Malformed),
                }
            }
        }
        match rest {
            [kind, ..] if *kind != HANDSHAKE => return Err(ClientHelloError::NotTls),
            [_, major, ..] if *major != 3 => return Err(ClientHelloError::NotTls),
            [_, _, _, high, low, body @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                if length == 0 || length > LONGEST_RECORD {
                    return Err(ClientHelloError::Malformed);
                }
                // A part of a record tells nothing that the whole won't.
                let Some((record, after)) = body.split_at_checked(length) else {
                    return Ok(None);
                };
                message.extend_from_slice(record);
                rest = after;
            }
            _ => return Ok(None),
        }
    }
}

/// Reads the name out of a ClientHello's body (RFC 8446 section 4.1.2); `None` when lengths
/// contradict each other.
fn name(body: &[u8]) -> Option<Result<HostName, ClientHelloError>> {
    let mut cursor = Cursor(body);
    cursor.take(2 + 32)?;
    cursor.short_vector()?;
    cursor.long_vector()?;
    cursor.short_vector()?;
    if cursor.0.is_empty() {
        return Some(Err(ClientHelloError::NoName));
    }
    let mut extensions = Cursor(cursor.long_vector()?);
    if !cursor.0.is_empty() {
        return None;
    }
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let value = extensions.long_vector()?;
        if kind == SERVER_NAME && found.replace(value).is_some() {
            return None;
        }
    }
    let Some(value) = found else {
        return Some(Err(ClientHelloError::NoName));
    };
    let mut outer = Cursor(value);
    let mut list = Cursor(outer.long_vector()?);
    let [HOST_NAME] = list.take(1)? else {
        return None;
    };
    let name = list.long_vector()?;
    // A second name: the host could take either.
    if !list.0.is_empty() || !outer.0.is_empty() {
        return None;
    }
    let name = match str::from_utf8(name) {
        Ok(name) if name.is_ascii() => name.parse(),
        _ => Err(NameError::Character),
    };
    Some(name.map_err(ClientHelloError::Name))
}

/// The rest of some bytes.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Bytes after their count in one byte.
    fn short_vector(&mut self) -> Option<&'a [u8]> {
        let count = self.take(1)?[0];
        self.take(count.into())
    }

    /// Bytes after their count in two bytes.
    fn long_vector(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(count.into())
    }
}
