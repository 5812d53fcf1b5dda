//! What only the user's own `network.toml` can open.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use lazaret_tests::model::{Authority, Model};

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "private/a-local-model" => a_local_model;
    "private/certificates-for-programs-inside" => certificates;
}

const ANSWER: &str = r#"{"choices":[{"message":{"content":"forty-two"}}]}"#;

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(60);

fn configure(ctx: &Ctx, text: &str) -> Result<(), String> {
    fs::create_dir_all(ctx.config()).map_err(|error| error.to_string())?;
    fs::write(ctx.config().join("network.toml"), text).map_err(|error| error.to_string())
}

/// What opens an address. A machine that tests run on may have one of any kind, not only of
/// those that `private` opens for a name.
fn opened(address: IpAddr) -> String {
    format!("private_networks = [\"{address}/32\"]\n")
}

/// Both the profile and the user's own configuration have to name it; a program finds the way
/// by `HTTP_PROXY`.
fn a_local_model(ctx: &Ctx) -> Result<(), String> {
    let address = own_address().map_err(|error| format!("an address of this machine: {error}"))?;
    let (port, asked) = serve().map_err(|error| format!("the model's server: {error}"))?;
    ctx.profile(
        "local",
        &format!(
            "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [\"model.lan:{port}\"]\n"
        ),
    );
    ctx.workspace("project", "f a \"a\\n\"");
    let script = format!(
        r#"
        proxy=${{HTTP_PROXY#http://}}
        exec 3<>/dev/tcp/${{proxy%:*}}/${{proxy#*:}}
        printf 'POST http://model.lan:{port}/v1/chat/completions HTTP/1.1\r\n' >&3
        printf 'Host: model.lan:{port}\r\nContent-Length: 17\r\nConnection: close\r\n\r\n' >&3
        printf '%s' '{{"model":"local"}}' >&3
        cat <&3
        "#
    );
    let run = ["run", "local", "-w", "project", "--", "bash", "-c", &script];
    let hosts = format!("[hosts]\n\"model.lan\" = \"{address}\"\n");
    configure(ctx, &hosts)?;
    let closed = ctx.lazaret(&run)?.expect_code(0)?;
    expect("a profile alone opens nothing", || {
        closed.stdout.starts_with("HTTP/1.1 403")
    })?;
    configure(ctx, &format!("{}{hosts}", opened(address)))?;
    let opened = ctx.lazaret(&run)?.expect_code(0)?;
    expect(&format!("it answers: {}", opened.stdout), || {
        opened.stdout.starts_with("HTTP/1.1 200") && opened.stdout.contains(ANSWER)
    })?;
    let heard = asked
        .recv_timeout(LIMIT)
        .map_err(|error| error.to_string())?;
    expect_eq("what it was asked", &heard, "{\"model\":\"local\"}")?;
    expect("it was asked once", || asked.try_recv().is_err())
}

/// A host whose certificate only the user's own list of authorities vouches for, as behind a
/// proxy that inspects: git inside trusts it if the user says so, and can't change the list.
fn certificates(ctx: &Ctx) -> Result<(), String> {
    let address = own_address().map_err(|error| format!("an address of this machine: {error}"))?;
    let authority = Authority::new("a proxy's authority");
    let server = Model::start("0.0.0.0", &authority, "inside.test", Vec::new(), |_| {})
        .map_err(|error| format!("the server: {error}"))?;
    let port = server.port();
    ctx.profile(
        "inspected",
        &format!(
            "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [\"inside.test:{port}\"]\n"
        ),
    );
    ctx.workspace("project", "f a \"a\\n\"");
    let pem = ctx.home().join("ca.pem");
    fs::write(&pem, authority.pem()).map_err(|error| error.to_string())?;
    let text = format!(
        "{}{{}}[hosts]\n\"inside.test\" = \"{address}\"\n",
        opened(address)
    );
    let script = format!(
        "git ls-remote https://inside.test:{port}/x; env | grep -c /egress/ca.pem
        if echo x >> /egress/ca.pem || rm -f /egress/ca.pem; then echo changed; fi"
    );
    let run = || {
        let run = [
            "run",
            "inspected",
            "-w",
            "project",
            "--",
            "sh",
            "-c",
            &script,
        ];
        ctx.lazaret(&run)?.expect_code(0)
    };
    configure(ctx, &text.replace("{}", ""))?;
    let refused = run()?;
    expect(
        &format!("git trusts no certificate: {}", refused.stderr),
        || refused.stderr.contains("certificate") && refused.stdout.starts_with("0\n"),
    )?;
    expect_eq("requests without trust", &server.requests().len(), &0)?;
    let named = format!("inside_ca = \"{}\"\n", pem.display());
    configure(ctx, &text.replace("{}", &named))?;
    let trusted = run()?;
    expect(&format!("git asks: {}", trusted.stderr), || {
        !trusted.stderr.contains("certificate") && !server.requests().is_empty()
    })?;
    expect(&format!("variables name it: {}", trusted.stdout), || {
        trusted.stdout.starts_with("8\n") && !trusted.stdout.contains("changed")
    })
}

/// Starts a server that answers every request, and tells their bodies.
fn serve() -> std::io::Result<(u16, Receiver<String>)> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let port = listener.local_addr()?.port();
    let (tell, asked) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Ok(clone) = stream.try_clone() else {
                return;
            };
            let _limit = stream.set_read_timeout(Some(LIMIT));
            let mut reader = BufReader::new(clone);
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
                    break;
                }
                let (name, value) = line.split_once(':').unwrap_or_default();
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap_or(0);
                }
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let _receiver_gone = tell.send(String::from_utf8_lossy(&body).into_owned());
            let _gone = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{ANSWER}",
                ANSWER.len()
            );
        }
    });
    Ok((port, asked))
}

/// The address from which this machine would reach others. Nothing is sent.
fn own_address() -> std::io::Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
    Ok(socket.local_addr()?.ip())
}
