//! CON-18 and CON-20: there is no way out, and none to the engine.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration;

use lazaret_protocol::Control;

use super::{Outcome, ProbeContext};

/// Where engines have been found to listen from inside (CVE-2025-9074: Docker Desktop's
/// 192.168.65.7), besides whatever routes lead to.
const ENGINES: [&str; 4] = ["192.168.65.7", "192.168.65.254", "172.17.0.1", "10.0.2.2"];

/// Timeout for a connection that gets no answer.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time for an engine's answer to a ping.
const ANSWER: Duration = Duration::from_secs(1);

/// CON-18: only loopback, no route, and the kernel says so at once.
pub(super) fn none(_scene: &ProbeContext) -> Outcome {
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
pub(super) fn engine_api(scene: &ProbeContext) -> Outcome {
    let has_network = scene.is_without(Control::NoNetwork);
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let engines = ENGINES.into_iter().filter_map(|text| text.parse().ok());
    let addresses: BTreeSet<SocketAddr> = engines
        .chain(gateways(&routes))
        .flat_map(|address: Ipv4Addr| [2375, 2376].map(|port| (address, port).into()))
        .collect();
    let mut complaints = Vec::new();
    thread::scope(|scope| {
        // All at once: where there is a network, most of them say nothing at all.
        let tries: Vec<_> = addresses
            .iter()
            .map(|address| {
                let answers = move || match TcpStream::connect_timeout(address, PATIENCE) {
                    Ok(stream) => !has_network || is_engine(stream),
                    Err(_) => false,
                };
                (address, thread::Builder::new().spawn_scoped(scope, answers))
            })
            .collect();
        for (address, answers) in tries {
            match answers.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(false)) => {}
                Ok(Ok(true)) => complaints.push(format!("{address} answers")),
                Ok(Err(_)) | Err(_) => complaints.push(format!("{address} could not be tried")),
            }
        }
    });
    for path in [
        "/var/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
        "/var/run/secrets/kubernetes.io",
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

/// Whether what took a connection is an engine, by its answer to a ping. Networks exist that
/// take every connection, to any address, and look at it later.
fn is_engine(mut stream: TcpStream) -> bool {
    let mut answer = Vec::new();
    let _silent = stream
        .set_read_timeout(Some(ANSWER))
        .and_then(|()| stream.write_all(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n"))
        .and_then(|()| stream.take(4096).read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer).to_ascii_lowercase();
    // The last is the answer of an engine behind TLS to a request without TLS.
    [
        "api-version:",
        "server: docker",
        "libpod",
        "http request to an https server",
    ]
    .iter()
    .any(|mark| answer.contains(mark))
}

/// `/proc/net/route`: a line of headings, then fields, of which the third is the gateway in
/// the machine's own byte order, as hexadecimal digits.
fn gateways(routes: &str) -> Vec<Ipv4Addr> {
    let mut gateways: Vec<Ipv4Addr> = (routes.lines().skip(1))
        .filter_map(|line| line.split_whitespace().nth(2))
        .filter_map(|digits| u32::from_str_radix(digits, 16).ok())
        .map(|number| Ipv4Addr::from(number.to_ne_bytes()))
        .collect();
    gateways.retain(|address| !address.is_unspecified());
    gateways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_20_the_gateways_of_all_routes_are_tried() {
        let number = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let routes = format!(
            "Iface\tDestination\tGateway\tFlags\n\
             eth0\t00000000\t{}\t0003\n\
             eth0\t{}\t00000000\t0001\n",
            number([172, 18, 0, 1]),
            number([172, 18, 0, 0]),
        );
        assert_eq!(gateways(&routes), [Ipv4Addr::new(172, 18, 0, 1)]);
        assert_eq!(gateways(""), [Ipv4Addr::LOCALHOST; 0]);
    }
}
