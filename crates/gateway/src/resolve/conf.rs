//! Reads `/etc/resolv.conf` (resolv.conf(5)).

use std::net::{IpAddr, SocketAddr};

/// As many servers as the C library takes (MAXNS).
const MOST_SERVERS: usize = 3;
const DNS: u16 = 53;

/// Returns the servers that the text of a `resolv.conf` names. Without any there is none:
/// a resolver on the own machine, which the C library would ask then, isn't there.
pub fn servers(text: &str) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (Some("nameserver"), Some(address)) = (words.next(), words.next()) else {
            return None;
        };
        // A zone needs an interface's number; the engines write none.
        let address: IpAddr = address.parse().ok()?;
        Some(SocketAddr::new(address, DNS))
    });
    named.take(MOST_SERVERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_the_c_library_does() {
        let text = "# by an engine\nsearch example.test\nnameserver 127.0.0.11\n\
            nameserver\tfd00::53 \n;nameserver 192.0.2.9\nnameserver host\n\
            options ndots:0\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n";
        let read: Vec<_> = servers(text).iter().map(SocketAddr::to_string).collect();
        assert_eq!(read, ["127.0.0.11:53", "[fd00::53]:53", "192.0.2.1:53"]);
        assert_eq!(servers(""), []);
    }
}
