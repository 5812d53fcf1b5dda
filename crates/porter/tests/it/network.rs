//! The verbs of the network as programs: `gateway`, `relay` and `dial` with pipes and sockets.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Nothing that has to happen takes longer.
const DEADLINE: Duration = Duration::from_secs(60);

const KEY: &str = "sk-canary-0123456789abcdef";

/// A porter that runs, with its three streams. It is killed with this value.
struct Porter {
    handle: duct::Handle,
    stdin: Option<PipeWriter>,
    stdout: BufReader<PipeReader>,
    stderr: PipeReader,
}

impl Porter {
    fn start(arguments: &[&str]) -> Self {
        let (input, stdin) = std::io::pipe().unwrap();
        let (stdout, output) = std::io::pipe().unwrap();
        let (stderr, errors) = std::io::pipe().unwrap();
        let handle = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
            .stdin_file(input)
            .stdout_file(output)
            .stderr_file(errors)
            .unchecked()
            .start()
            .unwrap();
        Self {
            handle,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            stderr,
        }
    }

    fn say(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Ends its input, waits, and returns its exit code and what it said on stderr.
    fn end(&mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        let output = self.handle.wait_timeout(DEADLINE).unwrap();
        let code = output.expect("it ends").status.code();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        // It has ended, or ends now.
        drop(self.handle.kill());
    }
}

/// A server at the loopback that answers one line with another.
fn server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            drop(reader.read_line(&mut line));
            drop(stream.write_all(format!("heard {line}").as_bytes()));
            drop(stream.shutdown(Shutdown::Write));
        }
    });
    port
}

/// An order that allows `up.test` at a port of the loopback, and has a key for another host.
fn order(port: u16) -> String {
    format!(
        "{{\"policy\":{{\"mode\":\"allowlist\",\"rules\":[\"up.test:{port}\"],\"brokered\":[],\
         \"private\":{{\"networks\":[\"127.0.0.0/8\"],\"hosts\":{{\"up.test\":\"127.0.0.1\"}}}}}},\
         \"routes\":[{{\"name\":\"K\",\"index\":0,\"target\":\"vendor.test:443\",\
         \"header\":\"x-api-key\",\"scheme\":\"raw\",\"secret\":\"{KEY}\"}}],\
         \"trust\":[],\"caps\":{{}}}}\n"
    )
}

/// A gateway that listens.
fn gateway(directory: &Path, port: u16) -> Porter {
    let mut gateway = Porter::start(&["gateway", directory.to_str().unwrap()]);
    gateway.say(&order(port));
    let ready = gateway.line();
    assert!(ready.contains("\"event\":\"ready\""), "{ready}");
    assert!(ready.contains("broker-0.sock"), "{ready}");
    gateway
}

fn ask(stream: &mut (impl std::io::Read + std::io::Write), target: &str) -> String {
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.extend_from_slice(&byte);
    }
    String::from_utf8(answer).unwrap()
}

#[test]
fn net_23_a_gateway_serves_from_its_order_to_the_end_of_its_input() {
    let directory = tempfile::tempdir().unwrap();
    let port = server();
    let mut gateway = gateway(directory.path(), port);
    let socket = directory.path().join("proxy.sock");
    let mut denied = UnixStream::connect(&socket).unwrap();
    let answer = ask(&mut denied, "other.test:443");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let decision = gateway.line();
    assert!(decision.contains("net.not_listed"), "{decision}");
    // An empty line says nothing, and ends nothing.
    gateway.say("\n\n");
    let mut tunnel = UnixStream::connect(&socket).unwrap();
    let answer = ask(&mut tunnel, &format!("up.test:{port}"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (code, said) = gateway.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(tunnel.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(UnixStream::connect(&socket).is_err());
}

#[test]
fn net_17_net_22_a_gateways_key_is_in_its_memory_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut gateway = gateway(directory.path(), 9);
    let pid = gateway.handle.pids()[0];
    let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    for file in ["cmdline", "environ"] {
        let text = String::from_utf8_lossy(&read(file)).into_owned();
        assert!(!text.contains(KEY), "{file}: {text}");
    }
    let limits = String::from_utf8(read("limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let numbers: Vec<&str> = core.unwrap().split_whitespace().skip(4).take(2).collect();
    assert_eq!(numbers, ["0", "0"]);
    // A line that it can't read may be a key that was cut.
    gateway.say(&format!("{{\"policy\":\"{KEY}\"}}\n"));
    let (code, said) = gateway.end();
    assert_eq!(code, Some(125), "{said}");
    assert!(said.contains("no update") && !said.contains(KEY), "{said}");
}

#[test]
fn a_gateway_without_an_order_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let (code, said) = Porter::start(&["gateway", path]).end();
    assert_eq!(
        (code, said.as_str()),
        (Some(125), "porter: gateway: no configuration came\n")
    );
    for arguments in [&["gateway"][..], &["gateway", path, path]] {
        let (code, said) = Porter::start(arguments).end();
        assert_eq!(code, Some(125), "{said}");
        assert!(said.contains("usage: porter gateway DIRECTORY"), "{said}");
    }
}

/// Returns a loopback port on which no process listens.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_relay_leads_a_port_to_a_gateway_and_closes_with_its_input() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = server();
    let mut gateway = gateway(directory.path(), upstream);
    let port = free_port();
    let socket = directory.path().join("proxy.sock");
    let mut relay = Porter::start(&["relay", &format!("{port}={}", socket.display())]);
    assert_eq!(relay.line(), "ready\n");
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let answer = ask(&mut stream, &format!("up.test:{upstream}"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stream.write_all(b"hello\n").unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "heard hello\n");
    // Without a gateway nothing is open (NET-23), and the relay goes on.
    let _ended = gateway.end();
    let mut closed = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    closed.set_read_timeout(Some(DEADLINE)).unwrap();
    assert!(!matches!(closed.read(&mut [0]), Ok(1..)));
    let (code, said) = relay.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let begun = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
        assert!(begun.elapsed() < DEADLINE, "still open");
    }
}

#[test]
fn a_relay_that_can_lead_nowhere_says_so() {
    for arguments in [&["relay"][..], &["relay", "80"], &["relay", "http=/x"]] {
        let (code, said) = Porter::start(arguments).end();
        assert_eq!(code, Some(125), "{said}");
        assert!(said.contains("usage: porter relay"), "{said}");
    }
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let (code, said) = Porter::start(&["relay", &format!("{port}=/x")]).end();
    assert_eq!(code, Some(125), "{said}");
    assert!(said.contains(&port.to_string()), "{said}");
}

#[test]
fn a_dialled_port_is_connected_to_stdin_and_stdout() {
    let mut dial = Porter::start(&["dial", &server().to_string()]);
    dial.say("hello\n");
    assert_eq!(dial.line(), "heard hello\n");
    let (code, said) = dial.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let (code, said) = Porter::start(&["dial", &free_port().to_string()]).end();
    assert_eq!(code, Some(125), "{said}");
    let (code, said) = Porter::start(&["dial", "http"]).end();
    assert_eq!(code, Some(125), "{said}");
    assert!(said.contains("usage: porter dial PORT"), "{said}");
}

#[test]
fn a_socket_of_a_gateway_is_open_to_every_user_of_its_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    // A socket that a killed gateway left behind does not stop the next one.
    drop(UnixListener::bind(directory.path().join("proxy.sock")).unwrap());
    let _gateway = gateway(directory.path(), 9);
    for name in ["proxy.sock", "tls.sock", "http.sock", "broker-0.sock"] {
        let found = std::fs::metadata(directory.path().join(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o666, "{name}");
    }
}
