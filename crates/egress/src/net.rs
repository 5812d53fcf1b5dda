//! `Net`: a range of addresses, as in `10.1.0.0/16`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An address and how many of its bits count.
///
/// No bit is set beyond them: `10.1.2.3/16` is refused, since it is either a typing error
/// or meant `/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Net {
    address: IpAddr,
    bits: u8,
}

/// Why a text is no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The part before the `/` is no address, or what follows no number in its range.
    #[error(
        "a network is written as `10.1.0.0/16` or `fd00:1::/32`; a single address needs no `/`"
    )]
    Syntax,
    /// Bits are set that don't count.
    #[error(
        "the address of a network has nothing after its first bits: write `10.1.0.0/16`, not `10.1.2.3/16`"
    )]
    HostBits,
}

impl Net {
    /// Returns the range of `bits` bits; `None` if that is more than the address has.
    /// Bits beyond are cleared.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(v4) if bits <= 32 => {
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask_v4(bits)))
            }
            IpAddr::V6(v6) if bits <= 128 => {
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask_v6(bits)))
            }
            _ => return None,
        };
        Some(Self { address, bits })
    }

    /// Whether the address lies in it. An IPv4 address never lies in an IPv6 range.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(net), IpAddr::V4(v4)) => v4.to_bits() & mask_v4(self.bits) == net.to_bits(),
            (IpAddr::V6(net), IpAddr::V6(v6)) => v6.to_bits() & mask_v6(self.bits) == net.to_bits(),
            _ => false,
        }
    }
}

fn mask_v4(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

fn mask_v6(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

impl FromStr for Net {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self, NetError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetError::Syntax)?;
        let bits = match bits {
            None if address.is_ipv4() => 32,
            None => 128,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().map_err(|_| NetError::Syntax)?
            }
            Some(_) => return Err(NetError::Syntax),
        };
        let net = Self::new(address, bits).ok_or(NetError::Syntax)?;
        match net.address == address {
            true => Ok(net),
            false => Err(NetError::HostBits),
        }
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl TryFrom<String> for Net {
    type Error = NetError;

    fn try_from(text: String) -> Result<Self, NetError> {
        text.parse()
    }
}

impl From<Net> for String {
    fn from(net: Net) -> Self {
        net.to_string()
    }
}
