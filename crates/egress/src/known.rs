//! Names and addresses that are denied by what they are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::HostName;

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn v6(a: u16, b: u16, c: u16, h: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, h))
}

/// Where clouds hand out credentials of the machine to every client (NET-08): each is
/// documented by its vendor. Denied even when the user names the network around it.
pub(crate) const METADATA_ADDRESSES: [IpAddr; 11] = [
    // AWS, Azure, Google, OpenStack and most others.
    v4(169, 254, 169, 254),
    v6(0xfd00, 0xec2, 0, 0x254),
    v6(0xfd20, 0xce, 0, 0x254),
    // Tasks and pods of AWS.
    v4(169, 254, 170, 2),
    v4(169, 254, 170, 23),
    v6(0xfd00, 0xec2, 0, 0x23),
    // Alibaba, Oracle's former one, Tencent.
    v4(100, 100, 100, 200),
    v4(192, 0, 0, 192),
    v4(169, 254, 0, 23),
    // Azure's platform channel, on a public address.
    v4(168, 63, 129, 16),
    // The resolver of AWS, which answers for internal zones.
    v4(169, 254, 169, 253),
];

/// Names of the same.
const METADATA_NAMES: [&str; 7] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Domains of engines: names below them are the machine that the engine runs on (NET-09).
/// Podman's were forgotten elsewhere (GHSA-2x65-h9w3-h7hc).
const ENGINE_DOMAINS: [&str; 5] = [
    "docker.internal",
    "containers.internal",
    "container.internal",
    "lima.internal",
    "orb.internal",
];

/// Whether it is a name of a cloud's metadata service.
pub(crate) fn is_metadata(host: &HostName) -> bool {
    METADATA_NAMES.contains(&host.as_str())
}

/// Whether it is a name by which an engine offers its own machine.
pub(crate) fn is_engine(host: &HostName) -> bool {
    let below = |domain: &&str| {
        let rest = host.as_str().strip_suffix(*domain);
        rest.is_some_and(|rest| rest.ends_with('.'))
    };
    ENGINE_DOMAINS.iter().any(below)
}

/// Whether it is `localhost` or below it (RFC 6761 section 6.3).
pub(crate) fn is_localhost(host: &HostName) -> bool {
    let name = host.as_str();
    matches!(
        name,
        "localhost" | "localhost.localdomain" | "localhost6" | "ip6-localhost" | "ip6-loopback"
    ) || name.ends_with(".localhost")
}
