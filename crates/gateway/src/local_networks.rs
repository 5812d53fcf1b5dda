//! The networks that the gateway's own container is in: closed, whatever their addresses
//! are (NET-09). Other containers and the engine's machine answer there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lazaret_egress::Net;

/// Wider routes are ways out, not networks.
const NARROWEST_WAY_OUT: u8 = 7;

/// Reads the kernel's tables of routes (`/proc/net/route`, `/proc/net/ipv6_route`).
///
/// Returns every network on a link, and every router.
pub fn local_networks(route: &str, ipv6_route: &str) -> Vec<Net> {
    let v4 = route.lines().skip(1).filter_map(v4).flatten();
    let v6 = ipv6_route.lines().filter_map(v6).flatten();
    let mut networks: Vec<Net> = v4.chain(v6).collect();
    networks.sort_unstable();
    networks.dedup();
    networks
}

/// `eth0 000011AC 010011AC 0003 0 0 0 0000FFFF …`: numbers in the machine's byte order.
fn v4(line: &str) -> Option<Vec<Net>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
    let address = |raw: u32| IpAddr::V4(Ipv4Addr::from(raw.to_ne_bytes()));
    let bits = u8::try_from(number(7)?.count_ones()).ok()?;
    Some(pair(address(number(1)?), bits, address(number(2)?), 32))
}

/// `fd00… 40 0… 00 0… … eth0`: destination, its bits, source, its bits, router.
fn v6(line: &str) -> Option<Vec<Net>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let address = |at: usize| {
        let bits = u128::from_str_radix(words.get(at)?, 16).ok()?;
        Some(IpAddr::V6(Ipv6Addr::from_bits(bits)))
    };
    let bits = u8::from_str_radix(words.get(1)?, 16).ok()?;
    Some(pair(address(0)?, bits, address(4)?, 128))
}

fn pair(network: IpAddr, bits: u8, router: IpAddr, all: u8) -> Vec<Net> {
    let network = Net::new(network, bits).filter(|_| bits > NARROWEST_WAY_OUT);
    let router = Net::new(router, all).filter(|_| !router.is_unspecified());
    network.into_iter().chain(router).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn net_09_links_and_routers_are_found() {
        let route = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
            eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
        let ipv6_route = "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 \
            00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth0\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
            fd000000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n";
        let found: Vec<String> = local_networks(route, ipv6_route)
            .iter()
            .map(Net::to_string)
            .collect();
        let expected = ["172.17.0.0/16", "172.17.0.1/32", "fd00::/64", "fd00::1/128"];
        assert_eq!(found, expected);
        assert_eq!(local_networks("", "x\ny z"), []);
    }
}
