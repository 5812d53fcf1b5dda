//! Two sessions at once, one of them open to everything public, with a port for its host.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use super::upstream::{NAME, Upstream};
use super::{ASK, LIMIT, profile, said};
use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};

/// A server on the loopback inside.
const SERVE: &str = r#"
perl -MIO::Socket::INET -e '
    $SIG{PIPE} = "IGNORE";
    my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 8000,
        Listen => 5, ReuseAddr => 1) or die $@;
    print "serving\n"; $| = 1; print "";
    while (my $client = $server->accept) { my $line = <$client>; print $client "inside: $line"; }
' &
"#;

pub(super) fn net_24_two_sessions_know_nothing_of_each_other(ctx: &Ctx) -> Result<(), String> {
    let upstream = Upstream::start(ctx)?;
    let port = upstream.port;
    upstream.open(ctx, "\"inner.test\" = \"10.255.254.253\"\n");
    ctx.profile(
        "open",
        "image = \"base\"\n[network]\nmode = \"open\"\nports = [\"8000\"]\n\
         [limits]\ntimeout = \"10m\"\n",
    );
    ctx.workspace("one", "f a \"a\\n\"");
    ctx.workspace("two", "f a \"a\\n\"");
    let script = format!(
        r#"{ASK}{SERVE}
        echo "unlisted $(ask other.test:{port})"
        echo "private $(connect inner.test:443)"
        echo "metadata $(connect 169.254.169.254:80)"
        echo "cloud $(connect metadata.google.internal:80)"
        until (exec 5<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done
        echo ready; until test -e /tmp/go; do sleep 0.1; done; kill %1
        "#
    );
    let open = ctx
        .script(
            "run open -w one --name one --apply never -- bash -c",
            &script,
        )
        .start()?;
    open.until_said("ready")?;
    reached_by_its_port_alone(&upstream, &open.stderr_so_far())?;
    let second = beside(ctx, &upstream)?;
    for (what, expected) in [
        ("server", "closed"),
        ("gateway", "HTTP/1.1 403"),
        ("own", "HTTP/1.1 200 OK"),
    ] {
        let found = said(&second, what);
        expect(&format!("{what} of the second: {found}"), || {
            found.starts_with(expected)
        })?;
    }
    ctx.tell("go")?;
    let output = open.wait()?.expect_code(0)?;
    expect_eq(
        "what is public",
        &said(&output.stdout, "unlisted"),
        &"HTTP/1.1 200 OK",
    )?;
    for what in ["private", "metadata", "cloud"] {
        let found = said(&output.stdout, what);
        expect(&format!("{what} is denied: {found}"), || {
            found.starts_with("HTTP/1.1 403")
        })?;
    }
    // Each has its own requests in its log, and no other's.
    let log = |name| ctx.ok(&format!("policy log {name}"));
    let (one, two) = (log("one")?.stdout, log("two")?.stdout);
    expect("the first's log", || {
        one.contains("by open") && one.contains("net.private") && !one.contains(NAME)
    })?;
    expect("the second's log", || {
        two.contains(NAME) && !two.contains("other.test")
    })?;
    for name in ["one", "two"] {
        ctx.ok(&format!("rm --force {name}"))?;
    }
    Ok(())
}

/// Runs a second session beside the first, and returns what it said.
fn beside(ctx: &Ctx, upstream: &Upstream) -> Result<String, String> {
    let gateway = ctx.objects()?.into_iter().find(|object| {
        matches!(object, Object::Container { .. }) && object.to_string().ends_with("-gateway")
    });
    let address = address_of(ctx, &gateway.ok_or("no gateway")?)?;
    upstream.open(ctx, &format!("\"gateway.test\" = \"{address}\"\n"));
    let port = upstream.port;
    profile(ctx, &format!("\"{NAME}:{port}\", \"gateway.test:3128\""));
    let script = format!(
        r#"{ASK}
        (exec 5<>/dev/tcp/127.0.0.1/8000) 2>/dev/null && echo "server open" || echo "server closed"
        echo "gateway $(connect gateway.test:3128)"
        echo "own $(ask {NAME}:{port})"
        "#
    );
    let output = ctx.exits(
        0,
        "run net -w two --name two --apply never -- bash -c",
        &script,
    )?;
    Ok(output.stdout)
}

/// The address of a container in its engine's network; rootless Podman's is the same in all.
fn address_of(ctx: &Ctx, container: &Object) -> Result<IpAddr, String> {
    let Object::Container { id, .. } = container else {
        return Err(format!("{container} is no container"));
    };
    let shown = api::get(&ctx.engine().socket(), &format!("/containers/{id}/json"))?;
    let settings = &shown["NetworkSettings"];
    let networks = settings["Networks"].as_object().into_iter().flatten();
    let mut addresses = networks
        .map(|(_, network)| &network["IPAddress"])
        .chain([&settings["IPAddress"]])
        .filter_map(|address| address.as_str()?.parse().ok());
    Ok(addresses.next().unwrap_or(IpAddr::from([10, 0, 2, 100])))
}

/// The host's loopback leads in; another interface of the host does not.
fn reached_by_its_port_alone(upstream: &Upstream, said: &str) -> Result<(), String> {
    let mut lines = said.lines().filter_map(|line| {
        let (_, rest) = line.split_once("127.0.0.1:")?;
        rest.split_once(" leads to port 8000 inside")?
            .0
            .parse()
            .ok()
    });
    let port: u16 = lines
        .next_back()
        .ok_or_else(|| format!("no port: {said}"))?;
    let failed = |error: std::io::Error| format!("port {port}: {error}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    stream.set_read_timeout(Some(LIMIT)).map_err(failed)?;
    stream.write_all(b"hello\n").map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    expect_eq("the server inside", &answer.as_str(), &"inside: hello\n")?;
    let other =
        TcpStream::connect_timeout(&(upstream.address, port).into(), Duration::from_secs(5));
    expect("another interface of this host", || other.is_err())
}
