//! The target of a request, by its request line and its `Host`.

use lazaret_egress::{Denied, HostPort, HostPortError, NameError, Port};

use crate::http::{RequestHead, Version};

/// A request that is denied, and what it asked for as far as that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRequest {
    /// What was asked for, escaped and short.
    pub asked: String,
    /// Why.
    pub denied: Denied,
}

impl RejectedRequest {
    /// Makes `asked` short and plain ASCII.
    pub fn new(asked: &[u8], denied: Denied) -> Self {
        Self {
            asked: short(asked),
            denied,
        }
    }
}

/// Makes any bytes short and plain ASCII, for a log.
fn short(bytes: &[u8]) -> String {
    let cut = bytes.get(..MOST_SHOWN).unwrap_or(bytes);
    cut.escape_ascii().to_string()
}

/// The most bytes of the workload's that a log shows of one text.
const MOST_SHOWN: usize = 120;

/// Returns where a `CONNECT` goes: authority-form, the port written out (RFC 9112 3.2.3).
///
/// # Errors
///
/// An authority that is none, or a `Host` that names another place (NET-13).
pub fn of_connect(head: &RequestHead) -> Result<HostPort, RejectedRequest> {
    let asked = head.target.as_bytes();
    let target: HostPort = head
        .target
        .parse()
        .map_err(|error| RejectedRequest::new(asked, denied(error)))?;
    // Older clients leave `Host` out here, or its port.
    let agrees = head
        .host()
        .is_none_or(|host| authority(host, target.port) == Ok(target.clone()));
    match agrees {
        true => Ok(target),
        false => Err(RejectedRequest::new(asked, Denied::BadRequest)),
    }
}

/// Returns where an absolute `http:` address goes, and the origin-form of the rest.
///
/// # Errors
///
/// Another scheme, credentials or a fragment in the address, an authority that is none, or
/// a `Host` that names another place (NET-13).
pub fn of_absolute(head: &RequestHead) -> Result<(HostPort, String), RejectedRequest> {
    let asked = head.target.as_bytes();
    let rejected = |denied| RejectedRequest::new(asked, denied);
    let scheme = head.target.get(..7);
    if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")) {
        return Err(rejected(Denied::BadRequest));
    }
    let rest = &head.target[7..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    if path.contains('#') {
        return Err(rejected(Denied::BadRequest));
    }
    let target = authority(place.as_bytes(), Port::HTTP).map_err(rejected)?;
    let agrees = match head.host() {
        Some(host) => authority(host, Port::HTTP) == Ok(target.clone()),
        None => head.version == Version::Http10,
    };
    match agrees {
        true if path.starts_with('/') => Ok((target, path.to_owned())),
        true => Ok((target, format!("/{path}"))),
        false => Err(rejected(Denied::BadRequest)),
    }
}

/// Returns where a request in origin-form goes: its `Host`, on `port`.
///
/// # Errors
///
/// No `Host`, one that is none, one with another port, or a target of another form.
pub fn of_origin(head: &RequestHead, port: Port) -> Result<HostPort, RejectedRequest> {
    let host = head.host().unwrap_or_default();
    if !head.target.starts_with('/') || host.is_empty() {
        return Err(RejectedRequest::new(host, Denied::BadRequest));
    }
    let target = authority(host, port).map_err(|denied| RejectedRequest::new(host, denied))?;
    match target.port == port {
        true => Ok(target),
        false => Err(RejectedRequest::new(host, Denied::BadRequest)),
    }
}

/// Reads `host` or `host:port`.
fn authority(bytes: &[u8], default: Port) -> Result<HostPort, Denied> {
    let text = str::from_utf8(bytes).map_err(|_| Denied::from(NameError::Character))?;
    match text.parse::<HostPort>() {
        Err(HostPortError::NoPort) => {
            let host = text.parse().map_err(Denied::from)?;
            Ok(HostPort::new(host, default))
        }
        read => read.map_err(denied),
    }
}

fn denied(error: HostPortError) -> Denied {
    match error {
        HostPortError::NoPort | HostPortError::Port(_) => Denied::BadPort,
        HostPortError::Name(error) => error.into(),
    }
}
