//! What is closed to a session that has a network, and what its doors lead to.

use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lazaret_tests::model::{Authority, Model};

use super::upstream::{NAME, Upstream};
use super::{ASK, LIMIT, profile, said};
use crate::ctx::{Ctx, expect, expect_eq};

/// Names below `closed.test`, and where each leads: every class of address that is not public,
/// and what the denial is called (NET-06, NET-08, NET-09). The last three may be of a network
/// of the engine's own, and are then denied as that.
const CLOSED: [(&str, &str, &str); 13] = [
    ("loopback", "127.0.0.1", "net.loopback"),
    ("mapped", "::ffff:127.0.0.1", "net.loopback"),
    ("ten", "10.255.254.253", "net.private"),
    ("twelve", "172.31.254.253", "net.private"),
    ("sixteen", "192.168.254.253", "net.private"),
    ("link", "169.254.7.7", "net.link_local"),
    ("shared", "100.64.0.1", "net.private"),
    ("unique", "fc00::1", "net.private"),
    ("nowhere", "0.0.0.0", "net.reserved"),
    ("cloud", "169.254.169.254", "net.metadata"),
    ("link6", "fe80::1", "net."),
    ("docker", "172.17.0.1", "net."),
    ("podman", "10.88.0.1", "net."),
];

/// `out DOMAIN TYPE PROTOCOL ADDRESS PORT` tries to send a packet and says whether it could.
const OUT: &str = r#"
out() {
    perl -MSocket=:all -e '
        my ($domain, $type, $protocol, $address, $port) = @ARGV;
        my $family = $domain == 6 ? AF_INET6 : AF_INET;
        my $to = $domain == 6 ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $address))
            : pack_sockaddr_in($port, inet_pton(AF_INET, $address));
        my %types = (stream => SOCK_STREAM, dgram => SOCK_DGRAM, raw => SOCK_RAW);
        my $socket;
        my $ok = socket($socket, $family, $types{$type}, $protocol) && connect($socket, $to)
            && send($socket, "x" x 32, 0);
        print $ok ? "sent\n" : "failed\n";
    ' "$@"
}
"#;

pub(super) fn net_01_net_02_net_06_net_09_net_15_net_16_the_walls(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let (address, port) = (upstream.address, upstream.port);
    let hosts: String = (CLOSED.iter())
        .map(|(name, to, _)| format!("\"{name}.closed.test\" = \"{to}\"\n"))
        .collect();
    upstream.open(ctx, &hosts);
    let rules = "\"*.closed.test:443\", \"*.docker.internal:80\", \"*.containers.internal:80\"";
    profile(ctx, &format!("\"{NAME}:{port}\", {rules}"));
    ctx.workspace("project", "f a \"a\\n\"");
    let names: Vec<&str> = CLOSED.iter().map(|(name, ..)| *name).collect();
    let names = names.join(" ");
    let script = format!(
        r#"{ASK}{OUT}
        echo "tcp $(out 4 stream 0 {address} {port})"
        echo "udp $(out 4 dgram 0 {address} {port})"
        echo "quic $(out 4 dgram 0 203.0.113.9 443)"
        echo "icmp $(out 4 dgram 1 {address} 0)"
        echo "raw $(out 4 raw 1 {address} 0)"
        echo "tcp6 $(out 6 stream 0 2001:db8::1 443)"
        echo "udp6 $(out 6 dgram 0 2001:db8::1 443)"
        echo "dns $(out 4 dgram 0 8.8.8.8 53)"
        for server in $(sed -n 's/^nameserver *//p' /etc/resolv.conf) 127.0.0.11; do
            case $server in *:*) d=6;; 127.*) continue;; *) d=4;; esac
            echo "resolver $(out $d dgram 0 $server 53)"
        done
        timeout 20 getent ahosts data.attacker.test && echo "resolved"
        grep -v ' lo$' /proc/net/if_inet6 && echo "an interface of IPv6"
        echo "doh $(connect dns.google:443)"
        for name in {names}; do echo "$name $(connect $name.closed.test:443)"; done
        echo "engine $(ask host.docker.internal:80)"
        echo "engine $(ask gateway.docker.internal:80)"
        echo "engine $(ask host.containers.internal:80)"
        exec 3<>/dev/tcp/127.0.0.1/3128
        printf 'GET http://{NAME}:{port}/away HTTP/1.1\r\nHost: {NAME}:{port}\r\n\r\n' >&3
        next=$(tr -d '\r' <&3 | sed -n 's/^Location: //p'); exec 3<&-
        echo "led to $next"
        next=${{next#http://}}
        echo "hop $(ask ${{next%/}})"
        exit 0
        "#
    );
    let output = ctx.exits(0, "run net -w project --name net -- bash -c", &script)?;
    let all = |start: &str| -> Vec<&str> {
        let lines = output.stdout.lines().map(str::trim_end);
        lines.filter_map(|line| line.strip_prefix(start)).collect()
    };
    for packet in ["tcp", "udp", "quic", "icmp", "raw", "tcp6", "udp6", "dns"] {
        let what = format!("{packet} around the gateway");
        expect_eq(
            &what,
            &said(&output.stdout, &format!("{packet} ")),
            &"failed",
        )?;
    }
    expect("no resolver is reached", || {
        !all("resolver ").contains(&"sent")
    })?;
    for wrong in ["resolved", "an interface of IPv6"] {
        expect(wrong, || !output.stdout.lines().any(|line| line == wrong))?;
    }
    let log = ctx.ok("policy log net")?;
    for (name, _, code) in CLOSED {
        let answer = said(&output.stdout, &format!("{name} "));
        expect(&format!("{name} is denied: {answer}"), || {
            answer.starts_with("HTTP/1.1 403")
        })?;
        let host = format!("{name}.closed.test:443");
        let line = log.stdout.lines().find(|line| line.contains(&host));
        let line = line.unwrap_or("nothing");
        expect(&format!("{code} in: {line}"), || line.contains(code))?;
    }
    let denied: Vec<&str> = [all("engine "), all("doh "), all("hop ")].concat();
    expect_eq("answers", &denied.len(), &5)?;
    expect(&format!("all of it is denied: {denied:?}"), || {
        denied
            .iter()
            .all(|answer| answer.starts_with("HTTP/1.1 403"))
    })?;
    let away = format!("http://unlisted.test:{port}/");
    expect_eq(
        "where it was led",
        &said(&output.stdout, "led to"),
        &away.as_str(),
    )?;
    expect("the first hop alone", || upstream.heard() == 1)
}

/// Engines take turns: there is one port 443 on this machine.
static WELL_KNOWN: Mutex<()> = Mutex::new(());

pub(super) fn net_11_clients_that_know_no_proxy_are_led_by_name(ctx: &Ctx) -> Result<(), String> {
    let _turn = WELL_KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut upstream = Upstream::start(ctx)?;
    let authority = Authority::new("a test's authority");
    let model = Model::serve(bind(&upstream, 443)?, &authority, NAME, vec![], |_| ());
    let model = model.map_err(|error| format!("the server of TLS: {error}"))?;
    upstream.serve(bind(&upstream, 80)?)?;
    profile(ctx, &format!("\"{NAME}:443\", \"{NAME}:80\""));
    let workspace = ctx.workspace("project", "");
    let pem = workspace.join("ca.pem");
    std::fs::write(pem, authority.pem()).map_err(|error| error.to_string())?;
    let script = format!(
        r#"
        unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
        tls() {{
            printf 'GET /by-name HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n' | timeout 60 \
                openssl s_client -quiet -CAfile ca.pem -verify_return_error \
                -connect {NAME}:443 "$@" 2>/dev/null | head -n 1 | tr -d '\r'
        }}
        plain() {{
            exec 3<>/dev/tcp/{NAME}/80
            printf 'GET /by-host HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" >&3
            IFS= read -r -t 60 line <&3; echo "${{line%$'\r'}}"; exec 3<&-
        }}
        echo "sni $(tls -servername {NAME})"
        echo "another $(tls -servername other.test)"
        echo "nameless $(tls -noservername)"
        echo "host $(plain {NAME})"
        echo "stranger $(plain other.test)"
        exit 0
        "#
    );
    let output = ctx.exits(0, "run net -w project --name net -- bash -c", &script)?;
    for (door, expected) in [
        ("sni ", "HTTP/1.1 200 OK"),
        ("another ", ""),
        ("nameless ", ""),
        ("host ", "HTTP/1.1 200 OK"),
    ] {
        expect_eq(door, &said(&output.stdout, door), &expected)?;
    }
    let stranger = said(&output.stdout, "stranger ");
    expect(&format!("another host: {stranger}"), || {
        stranger.starts_with("HTTP/1.1 403")
    })?;
    let paths: Vec<String> = (model.requests().into_iter())
        .map(|request| request.path)
        .collect();
    expect_eq("what came by TLS", &paths, &vec!["/by-name".to_owned()])?;
    expect_eq("what came by HTTP", &upstream.heard(), &1)?;
    let log = ctx.ok("policy log net")?;
    for code in ["net.no_sni", "net.not_listed"] {
        expect(code, || log.stdout.contains(code))?;
    }
    Ok(())
}

/// Takes a port of this machine's own address; the scenarios of other programs may have it
/// for a moment.
fn bind(upstream: &Upstream, port: u16) -> Result<TcpListener, String> {
    let give_up = Instant::now() + LIMIT;
    loop {
        match TcpListener::bind((upstream.address, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                if Instant::now() > give_up {
                    return Err(format!("port {port} of {}: {error}", upstream.address));
                }
                std::thread::sleep(std::time::Duration::from_millis(500));
            }
            Err(error) => return Err(format!("port {port} of {}: {error}", upstream.address)),
        }
    }
}
