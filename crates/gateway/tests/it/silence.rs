//! NET-23: a launcher that says nothing more, though its end of the input is not closed.

use std::io::{self, BufReader, Read as _, Write};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_egress::{GatewayConfig, Policy, Port, SessionLimits};
use lazaret_gateway::{GatewayError, InputError, Setup};

use crate::world::{DEADLINE, Plan, Server, all};

#[test]
fn net_23_silence_closes_everything() {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let plan = Plan::allowing(std::slice::from_ref(&target));
    let silence = Duration::from_secs(3);
    let mut world = Plan { silence, ..plan }.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    let mut tunnel = world.tunnel(&target);
    tunnel.write_all(b"a").expect("open");
    tunnel.read_exact(&mut [0]).expect("open");
    assert_eq!(all(tunnel), "");
    let outcome = world.outcome();
    assert!(
        matches!(outcome, Err(GatewayError::Input(InputError::Silence { after })) if after == silence),
        "{outcome:?}"
    );
    crate::world::wait("closed sockets", || {
        std::os::unix::net::UnixStream::connect(world.socket("proxy.sock")).is_err()
    });
}

#[test]
fn net_23_empty_lines_keep_it_open() {
    let server = Server::echo();
    let target = format!("up.test:{}", server.port());
    let plan = Plan::allowing(std::slice::from_ref(&target));
    let silence = Duration::from_secs(3);
    let mut world = Plan { silence, ..plan }.start();
    world.dns.answer("up.test", &["127.0.0.1"]);
    let mut tunnel = world.tunnel(&target);
    let begun = Instant::now();
    while begun.elapsed() < silence * 2 {
        world.beat();
        // Several looks find nothing between two beats.
        thread::sleep(Duration::from_millis(500));
    }
    tunnel.write_all(b"a").expect("open");
    tunnel.read_exact(&mut [0]).expect("still open");
    world.end();
}

/// Takes the first line, and never another.
struct Stuck(Option<Sender<()>>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.take() {
            Some(first) => drop(first.send(())),
            None => loop {
                thread::park();
            },
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn net_23_an_output_that_is_not_read_does_not_keep_it_alive() {
    let directory = tempfile::tempdir().expect("a directory");
    let setup = Setup {
        directory: directory.path().to_owned(),
        resolvers: Vec::new(),
        closed: Vec::new(),
        tls: Port::HTTPS,
        http: Port::HTTP,
        silence: Duration::from_secs(2),
    };
    let order = GatewayConfig {
        policy: Policy::nothing(),
        routes: Vec::new(),
        trust: Vec::new(),
        inside: String::new(),
        caps: SessionLimits::default(),
    };
    let (reader, mut input) = io::pipe().expect("a pipe");
    writeln!(input, "{}", serde_json::to_string(&order).expect("JSON")).expect("written");
    let (first, ready) = mpsc::channel();
    let (tell, ended) = mpsc::channel();
    thread::spawn(move || {
        let output = Box::new(Stuck(Some(first)));
        drop(tell.send(lazaret_gateway::run(BufReader::new(reader), output, &setup)));
    });
    ready.recv_timeout(DEADLINE).expect("it listens");
    // Its denial can't be told.
    let socket = directory.path().join("proxy.sock");
    let mut asks = std::os::unix::net::UnixStream::connect(socket).expect("it listens");
    let request = crate::world::connect("other.test:443");
    asks.write_all(request.as_bytes()).expect("written");
    let outcome = ended.recv_timeout(DEADLINE).expect("it ends");
    assert!(
        matches!(
            outcome,
            Err(GatewayError::Input(InputError::Silence { .. }))
        ),
        "{outcome:?}"
    );
    drop(input);
}
