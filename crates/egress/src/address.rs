//! `AddressClass`: what kind of place an address is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Net;
use crate::known::METADATA_ADDRESSES;

/// What kind of place an address is (NET-06, NET-08).
///
/// Of the registries of special-purpose addresses (IANA, RFC 6890 and its successors).
/// An IPv6 address that carries an IPv4 one which a stack or a translator would dial is of
/// that one's class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressClass {
    /// On the public internet.
    Public,
    /// This machine: 127/8, ::1.
    Loopback,
    /// A private network: RFC 1918, unique local addresses (RFC 4193), NAT64 of a local
    /// prefix (RFC 8215), and the former site-local ones.
    Private,
    /// A carrier's network behind its address translation: 100.64/10 (RFC 6598).
    Shared,
    /// This link only: 169.254/16, fe80::/10.
    LinkLocal,
    /// Where a cloud hands out credentials to every client.
    Metadata,
    /// No address of one host: unspecified, 0/8, multicast, broadcast, 240/4.
    Unusable,
    /// For text books and measurements only: documentation and benchmarking ranges.
    Reserved,
    /// A form that only tunnels of the past translate: v4-compatible, 6to4, Teredo, SIIT.
    Transition,
}

impl AddressClass {
    /// Returns the class of an address.
    pub fn of(address: IpAddr) -> Self {
        if METADATA_ADDRESSES.contains(&address) {
            return Self::Metadata;
        }
        match address {
            IpAddr::V4(v4) => of_v4(v4),
            IpAddr::V6(v6) => of_v6(v6),
        }
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    use AddressClass::{Public, Reserved, Shared, Unusable};
    match address.octets() {
        [0 | 224..=255, ..] => Unusable,
        _ if address.is_loopback() => AddressClass::Loopback,
        _ if address.is_private() => AddressClass::Private,
        _ if address.is_link_local() => AddressClass::LinkLocal,
        [100, 64..=127, ..] => Shared,
        // IETF protocol assignments, documentation, 6to4 relays, AS112, benchmarking.
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [192, 31, 196, _]
        | [192, 52, 193, _]
        | [192, 175, 48, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [198, 18..=19, ..] => Reserved,
        _ => Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    use AddressClass::{Private, Public, Reserved, Transition, Unusable};
    let [a, b, c, d, e, f, ..] = address.segments();
    match (a, b, c, d, e, f) {
        _ if address.is_unspecified() => Unusable,
        _ if address.is_loopback() => AddressClass::Loopback,
        // A stack dials the IPv4 address (RFC 4291 2.5.5.2), a translator too (RFC 6052).
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => {
            AddressClass::of(IpAddr::V4(embedded(address)))
        }
        // v4-compatible, SIIT, Teredo, 6to4.
        (0, 0, 0, 0, 0, 0) | (0, 0, 0, 0, 0xffff, 0) | (0x2001, 0, ..) | (0x2002, ..) => Transition,
        (0x64, 0xff9b, 1, ..) => Private,
        (0xfc00..=0xfdff, ..) | (0xfec0..=0xfeff, ..) => Private,
        (0xfe80..=0xfebf, ..) => AddressClass::LinkLocal,
        (0xff00..=0xffff, ..) => Unusable,
        // The rest of the protocol assignments, ORCHID, documentation, segment routing.
        (0x2001, 1..=0x1ff, ..) | (0x2001, 0xdb8, ..) | (0x3fff, 0..=0xfff, ..) => Reserved,
        // Only 2000::/3 is handed out.
        (0x2000..=0x3fff, ..) => Public,
        _ => Unusable,
    }
}

/// Returns the IPv4 address in the last 32 bits.
fn embedded(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// Returns the address where a connection ends up: the IPv4 address that a stack or a
/// translator dials for an IPv6 one, or else the address itself.
fn dialled(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if matches!(v6.segments(), [0x64, 0xff9b, 0, 0, 0, 0, ..]) => {
            IpAddr::V4(embedded(v6))
        }
        address => address.to_canonical(),
    }
}

/// Whether the address, or the one where it ends up, lies in one of the ranges.
pub(crate) fn lies_in(address: IpAddr, nets: &[Net]) -> bool {
    let dialled = dialled(address);
    nets.iter()
        .any(|net| net.contains(address) || net.contains(dialled))
}
