//! CON-18 and CON-20: there is no way out, and none to the engine.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use super::{Outcome, Scene};

/// Where engines have been found to listen from inside (CVE-2025-9074: Docker Desktop's
/// 192.168.65.7); the last is documentation's own address.
const ENGINES: [&str; 4] = [
    "192.168.65.7:2375",
    "192.168.65.254:2375",
    "172.17.0.1:2375",
    "10.0.2.2:2375",
];

/// Time for a connection that nobody refuses.
const PATIENCE: Duration = Duration::from_millis(300);

/// CON-18: only loopback, no route, and the kernel says so at once.
pub(super) fn none(_scene: &Scene) -> Outcome {
    let mut complaints = Vec::new();
    match interfaces() {
        Ok(names) => {
            let others: Vec<_> = names.into_iter().filter(|name| name != "lo").collect();
            if !others.is_empty() {
                complaints.push(format!("interfaces {}", others.join(" ")));
            }
        }
        Err(error) => complaints.push(format!("/proc/net/dev: {error}")),
    }
    match fs::read_to_string("/proc/net/route") {
        Ok(text) if text.lines().count() <= 1 => {}
        Ok(_) => complaints.push("there are routes".to_owned()),
        Err(error) => complaints.push(format!("/proc/net/route: {error}")),
    }
    // A datagram socket's connect sends nothing; it only asks for a route.
    for (own, other) in [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")] {
        let outcome = UdpSocket::bind(own).and_then(|socket| socket.connect(other));
        if outcome.is_ok() {
            complaints.push(format!("{other} has a route"));
        }
    }
    Outcome::of(&complaints, "only lo, no route")
}

/// CON-20: no socket of an engine, by address or by path.
pub(super) fn engine_api() -> Outcome {
    let mut complaints = Vec::new();
    for address in ENGINES {
        for port in [2375, 2376] {
            let Ok(mut address) = address.parse::<SocketAddr>() else {
                continue;
            };
            address.set_port(port);
            if TcpStream::connect_timeout(&address, PATIENCE).is_ok() {
                complaints.push(format!("{address} answers"));
            }
        }
    }
    for path in [
        "/var/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
    ] {
        if Path::new(path).exists() {
            complaints.push(format!("{path} is there"));
        }
    }
    Outcome::of(&complaints, "no engine answers")
}

/// `/proc/net/dev`: two lines of headings, then `name: numbers`.
fn interfaces() -> io::Result<Vec<String>> {
    let text = fs::read_to_string("/proc/net/dev")?;
    let names = text.lines().skip(2).filter_map(|line| {
        let (name, _) = line.split_once(':')?;
        Some(name.trim().to_owned())
    });
    Ok(names.collect())
}
