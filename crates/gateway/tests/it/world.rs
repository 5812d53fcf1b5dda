//! A gateway in this process, with its launcher's side, and servers for it to reach.

use std::io::{BufRead as _, BufReader, PipeWriter, Read, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_egress::{
    ConfigUpdate, Denied, Event, GatewayConfig, Policy, Port, SessionLimits, Verdict,
};
use lazaret_gateway::Setup;

use crate::dns::Dns;

/// Nothing that has to happen takes longer, however busy the machine is.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// What the gateway said so far.
#[derive(Default)]
struct Said {
    events: Mutex<Vec<Event>>,
    more: Condvar,
}

/// A gateway in this process.
pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) dns: Dns,
    input: Option<PipeWriter>,
    said: Arc<Said>,
    gateway: Option<thread::JoinHandle<Result<(), lazaret_gateway::GatewayError>>>,
}

/// What a world is made of.
pub(crate) struct Plan {
    pub(crate) policy: Policy,
    pub(crate) caps: SessionLimits,
    /// Where the doors of TLS and HTTP lead.
    pub(crate) port: Port,
    /// How long it goes on without a word.
    pub(crate) silence: Duration,
}

impl Plan {
    /// Allows these rules, to the loopback.
    pub(crate) fn allowing(rules: &[String]) -> Self {
        let mut policy = Policy::nothing();
        policy.rules = rules
            .iter()
            .map(|rule| rule.parse().expect("a rule"))
            .collect();
        policy.private.networks = ["127.0.0.0/8", "::1/128"]
            .map(|net| net.parse().expect("a network"))
            .into();
        Self {
            policy,
            caps: SessionLimits {
                // Far beyond what a test waits for, unless it says otherwise.
                head_ms: 120_000,
                connect_ms: 60_000,
                ..SessionLimits::default()
            },
            port: Port::new(9).expect("a port"),
            silence: Duration::from_secs(600),
        }
    }

    /// Starts it, and waits until it is ready.
    pub(crate) fn start(self) -> World {
        let directory = tempfile::tempdir().expect("a directory");
        let dns = Dns::start();
        let setup = Setup {
            directory: directory.path().to_owned(),
            resolvers: vec![dns.address],
            closed: Vec::new(),
            tls: self.port,
            http: self.port,
            silence: self.silence,
        };
        let (input_reader, mut input) = std::io::pipe().expect("a pipe");
        let (output_reader, output) = std::io::pipe().expect("a pipe");
        let said = Arc::new(Said::default());
        let hears = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(output_reader).lines() {
                let line = line.expect("a line");
                let event = serde_json::from_str(&line).expect("an event");
                hears.events.lock().expect("events").push(event);
                hears.more.notify_all();
            }
        });
        let order = GatewayConfig {
            policy: self.policy,
            routes: Vec::new(),
            trust: Vec::new(),
            inside: String::new(),
            caps: self.caps,
        };
        writeln!(input, "{}", serde_json::to_string(&order).expect("JSON")).expect("written");
        let gateway = thread::spawn(move || {
            lazaret_gateway::run(BufReader::new(input_reader), Box::new(output), &setup)
        });
        let world = World {
            directory,
            dns,
            input: Some(input),
            said,
            gateway: Some(gateway),
        };
        world.event("ready", |event| matches!(event, Event::Ready { .. }));
        world
    }
}

impl World {
    /// Returns where a socket is.
    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Connects to a socket of the gateway.
    pub(crate) fn connect(&self, name: &str) -> UnixStream {
        let stream = UnixStream::connect(self.socket(name)).expect("the gateway listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
        stream
    }

    /// Connects to the proxy and says `text`.
    pub(crate) fn say(&self, text: &str) -> UnixStream {
        let mut stream = self.connect("proxy.sock");
        // It may be refused before it has said everything; the answer is there then.
        let _written = stream.write_all(text.as_bytes());
        stream
    }

    /// Says `text` to the proxy and returns the first line of what it answers.
    pub(crate) fn answer(&self, text: &str) -> String {
        let answer = head(&mut self.say(text));
        answer.lines().next().unwrap_or_default().to_owned()
    }

    /// Asks for a tunnel; the stream is past the proxy's answer.
    #[track_caller]
    pub(crate) fn tunnel(&self, target: &str) -> UnixStream {
        let mut stream = self.say(&connect(target));
        let head = head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    }

    /// Waits for an event.
    #[track_caller]
    pub(crate) fn event(&self, what: &str, mut wanted: impl FnMut(&Event) -> bool) -> Event {
        let deadline = Instant::now() + DEADLINE;
        let mut events = self.said.events.lock().expect("events");
        loop {
            if let Some(event) = events.iter().find(|event| wanted(event)) {
                return event.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {what} among {events:#?}");
            events = self.said.more.wait_timeout(events, left).expect("events").0;
        }
    }

    /// Returns what was said so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.said.events.lock().expect("events").clone()
    }

    /// Waits for the denial of a host, and returns its code.
    #[track_caller]
    pub(crate) fn denial(&self, host: &str) -> &'static str {
        let mut found = None;
        self.event("denial", |event| match event {
            Event::Decision {
                host: asked,
                verdict: Verdict::Denied,
                reason,
                ..
            } if asked == host => {
                found = *reason;
                true
            }
            _ => false,
        });
        found.map_or("none", Denied::code)
    }

    /// Puts another policy in force.
    pub(crate) fn change(&mut self, policy: Policy) {
        let line = serde_json::to_string(&ConfigUpdate::Policy(policy)).expect("JSON");
        let input = self.input.as_mut().expect("not ended");
        writeln!(input, "{line}").expect("written");
    }

    /// Says that its launcher is there.
    pub(crate) fn beat(&mut self) {
        let input = self.input.as_mut().expect("not ended");
        input.write_all(b"\n").expect("written");
    }

    /// Waits for its end, and returns what it was.
    pub(crate) fn outcome(&mut self) -> Result<(), lazaret_gateway::GatewayError> {
        let gateway = self.gateway.take().expect("not ended");
        wait("its end", || gateway.is_finished());
        gateway.join().expect("no panic")
    }

    /// Ends the gateway's input, and waits for its end.
    pub(crate) fn end(&mut self) {
        drop(self.input.take());
        if let Some(gateway) = self.gateway.take() {
            gateway.join().expect("no panic").expect("no fault");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.input.take());
    }
}

/// Waits for something that has to become true.
#[track_caller]
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A request for a tunnel.
pub(crate) fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

/// Reads to the end. A reset is an end as well: the other side may close with bytes unread.
#[track_caller]
pub(crate) fn all(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        let kind = error.kind();
        assert!(kind != std::io::ErrorKind::WouldBlock, "it never ended");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a head, its empty line included.
#[track_caller]
pub(crate) fn head(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte).expect("an answer") {
            0 => break,
            _ => bytes.push(byte[0]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A server that hands every connection to a function, in a thread of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<usize>>,
}

impl Server {
    /// Listens at 127.0.0.1.
    pub(crate) fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), 0, serve)
    }

    /// Listens at an address of the loopback.
    pub(crate) fn at(
        address: IpAddr,
        port: u16,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, port)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&seen);
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                *counter.lock().expect("a count") += 1;
                stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
                stream.set_write_timeout(Some(DEADLINE)).expect("a timeout");
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        Self { address, seen }
    }

    /// Sends back what comes, to the end.
    pub(crate) fn echo() -> Self {
        Self::start(|stream| {
            let mut reader = stream.try_clone().expect("a clone");
            let _end = std::io::copy(&mut reader, &mut &stream);
            let _told = stream.shutdown(std::net::Shutdown::Write);
        })
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns how many connections it has had.
    pub(crate) fn seen(&self) -> usize {
        *self.seen.lock().expect("a count")
    }

    /// Waits until it has had so many connections.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) {
        wait("connections", || self.seen() == count);
    }
}
