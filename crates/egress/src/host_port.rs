//! `HostPort`: what a connection asks for.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{HostName, NameError};

/// A port that can be connected to: 1 to 65535, in decimal without leading zeros or sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Port(NonZeroU16);

/// A text is no port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a port is a number from 1 to 65535, without leading zeros")]
pub struct PortError;

/// A name and a port: the smallest thing that is allowed or denied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPort {
    /// The name.
    pub host: HostName,
    /// The port.
    pub port: Port,
}

/// Why a text is no `host:port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HostPortError {
    /// There is no `:port` at its end.
    #[error("the port is missing; write it out, as in `host:443`")]
    NoPort,
    /// What stands after the last colon is none.
    #[error(transparent)]
    Port(#[from] PortError),
    /// What stands before it is no name.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl Port {
    /// Of HTTP.
    pub const HTTP: Self = Self(NonZeroU16::new(80).expect("not zero"));
    /// Of HTTP over TLS.
    pub const HTTPS: Self = Self(NonZeroU16::new(443).expect("not zero"));

    /// Returns the port of that number; 0 is none.
    pub fn new(number: u16) -> Option<Self> {
        NonZeroU16::new(number).map(Self)
    }

    /// Returns the number.
    pub fn get(self) -> u16 {
        self.0.get()
    }
}

impl FromStr for Port {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        // `u16::from_str` takes a sign and leading zeros, which other parsers read otherwise.
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        match text.parse() {
            Ok(number) if plain => Self::new(number).ok_or(PortError),
            _ => Err(PortError),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl HostPort {
    /// Puts the two together.
    pub fn new(host: HostName, port: Port) -> Self {
        Self { host, port }
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, HostPortError> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => {
                // An address without a port is told as an address.
                text.parse::<HostName>()?;
                return Err(HostPortError::NoPort);
            }
        };
        // `::1` has colons of its own: what was cut off was a part of it.
        if text.parse::<HostName>() == Err(NameError::Literal) {
            return Err(NameError::Literal.into());
        }
        let host = host.parse()?;
        Ok(Self::new(host, port.parse()?))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl TryFrom<String> for HostPort {
    type Error = HostPortError;

    fn try_from(text: String) -> Result<Self, HostPortError> {
        text.parse()
    }
}

impl From<HostPort> for String {
    fn from(target: HostPort) -> Self {
        target.to_string()
    }
}
