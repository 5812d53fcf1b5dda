//! The broker, between a workload and a vendor's server of the test's own.

mod keys;
mod streams;
mod strict;

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lazaret_egress::{
    BrokerRoute, HostPort, Mode, Policy, PrivateReach, Scheme, Secret, SessionLimits,
};
use lazaret_gateway::broker::Broker;
use lazaret_gateway::resolve::Resolver;
use lazaret_gateway::{Client, Context, EventLog};
use lazaret_tests::model::{Authority, Request};
use rustls::{ServerConnection, StreamOwned};

const KEY: &str = "sk-canary-0123456789-abcdefghij";
const PLACEHOLDER: &str = "lazaret-placeholder-KEY";
const HOST: &str = "vendor.test";
/// Far longer than anything takes on a machine that is not stuck.
const PATIENCE: Duration = Duration::from_secs(120);

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;

/// A vendor's server: each connection is handed to `serve`.
struct Vendor {
    port: u16,
}

impl Vendor {
    fn start(
        authority: &Authority,
        name: &str,
        serve: impl Fn(&mut Stream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (config, serve) = (authority.server(&[name]), Arc::new(serve));
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (config, serve) = (Arc::clone(&config), Arc::clone(&serve));
                thread::spawn(move || {
                    socket.set_read_timeout(Some(PATIENCE))?;
                    socket.set_nodelay(true)?;
                    let tls = ServerConnection::new(config).expect("TLS works");
                    let mut stream = BufReader::new(StreamOwned::new(tls, socket));
                    serve(&mut stream)?;
                    let stream = stream.get_mut();
                    stream.conn.send_close_notify();
                    stream.flush()
                });
            }
        });
        Self { port }
    }

    /// Answers each request alike, and tells what came.
    fn answering(authority: &Authority, answer: &'static str) -> (Self, Receiver<Request>) {
        let (told, requests): (Sender<Request>, _) = mpsc::channel();
        let told = Mutex::new(told);
        let vendor = Self::start(authority, HOST, move |stream| {
            while let Some(request) = Request::read(stream)? {
                stream.get_mut().write_all(answer.as_bytes())?;
                stream.get_mut().flush()?;
                let _gone = told.lock().expect("no test panics here").send(request);
            }
            Ok(())
        });
        (vendor, requests)
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("no thread panicked")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A gateway with one route.
struct Gateway {
    broker: Arc<Broker>,
    context: Arc<Context>,
    log: Lines,
}

impl Gateway {
    fn new(port: u16, trust: &Authority, scheme: Scheme) -> Self {
        Self::with(port, trust, scheme, SessionLimits::default())
    }

    fn with(port: u16, trust: &Authority, scheme: Scheme, caps: SessionLimits) -> Self {
        let target: HostPort = format!("{HOST}:{port}").parse().expect("it is a target");
        let header = match scheme {
            Scheme::Raw => "X-Api-Key",
            Scheme::Bearer => "Authorization",
        };
        let route = BrokerRoute {
            name: "KEY".to_owned(),
            index: 0,
            target: target.clone(),
            header: header.to_owned(),
            scheme,
            secret: Secret::new(KEY.to_owned()),
            pass: vec!["x-special".to_owned()],
        };
        let policy = Policy {
            mode: Mode::Allowlist,
            rules: Vec::new(),
            denied: Vec::new(),
            brokered: vec![target.clone()],
            private: PrivateReach {
                networks: vec!["127.0.0.0/8".parse().expect("it is a network")],
                hosts: [(target.host, "127.0.0.1".parse().expect("it is an address"))].into(),
                ..PrivateReach::default()
            },
            closed: Vec::new(),
        };
        let log = Lines::default();
        let trust = vec![trust.pem()];
        let event_log = EventLog::new(Box::new(log.clone()));
        Self {
            broker: Arc::new(Broker::new(route, &trust).expect("the route is right")),
            context: Arc::new(Context::new(
                policy,
                caps,
                trust,
                event_log,
                Resolver::new(Vec::new()),
            )),
            log,
        }
    }

    /// The workload's end of a connection that is served.
    fn connect(&self) -> UnixStream {
        let (inside, outside) = UnixStream::pair().expect("sockets can be made");
        inside.set_read_timeout(Some(PATIENCE)).expect("it is open");
        let (broker, context) = (Arc::clone(&self.broker), Arc::clone(&self.context));
        thread::spawn(move || {
            let client = Client {
                stream: outside,
                id: 1,
            };
            broker.serve(client, &context);
        });
        inside
    }

    /// Sends bytes, ends, and reads to the end.
    fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("the broker reads");
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("it is open");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the broker ends");
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn log(&self) -> String {
        let log = self.log.0.lock().expect("no thread panicked");
        String::from_utf8_lossy(&log).into_owned()
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

fn post(fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:8100\r\n{fields}\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn has_key(request: &Request, scheme: Scheme) -> bool {
    match scheme {
        Scheme::Raw => request.header("x-api-key") == Some(KEY),
        Scheme::Bearer => request.header("authorization") == Some(&format!("Bearer {KEY}")),
    }
}
