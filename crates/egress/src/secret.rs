//! `Secret`: a key that is never shown.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroize as _;

/// A key that is never shown: no `Display`, a `Debug` without the value, wiped when dropped.
///
/// It is serialized for one reader only, the gateway's standard input, in an
/// [`GatewayConfig`](crate::GatewayConfig). The writer of that line wipes it afterwards.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value over.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// Returns the value, to be sent to the host that it belongs to and to no other.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}
