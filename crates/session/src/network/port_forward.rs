//! Ports of the session that one of the host's loopback leads to.
//!
//! Each connection is an exec of `porter dial` in the command's container: no network is
//! needed for it, and none is made.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lazaret_egress::Port;
use lazaret_protocol::Verb;
use lazaret_runtime::{ContainerName, Engine, Process, Stdin};

use crate::porter::porter;

/// The most connections at once, in all; each is a process in the container.
const MOST: usize = 64;

/// Between two looks for a connection.
const TICK: Duration = Duration::from_millis(20);

/// A port of the host's loopback that is ours, before the command starts.
#[derive(Debug)]
pub struct PortBinding {
    listener: TcpListener,
    /// The port on 127.0.0.1.
    pub host: u16,
    /// The port inside.
    pub inside: u16,
}

/// A port inside, and the one of the host's loopback that is to lead there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortSpec {
    /// The port on 127.0.0.1; `None` for any that is free.
    pub host: Option<Port>,
    /// The port inside.
    pub inside: Port,
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Some(host) => write!(f, "{host}:{}", self.inside),
            None => self.inside.fmt(f),
        }
    }
}

/// A port of the host's loopback can't be had.
#[derive(Debug, thiserror::Error)]
#[error("port {port} can't be published")]
pub struct BindError {
    /// As it was asked for.
    pub port: String,
    /// Why.
    source: io::Error,
}

/// Takes the ports.
///
/// # Errors
/// Another process has one of them.
pub fn bind(ports: &[PortSpec]) -> Result<Vec<PortBinding>, BindError> {
    let bound = |publish: &PortSpec| -> io::Result<PortBinding> {
        let wanted = publish.host.map_or(0, Port::get);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted))?;
        listener.set_nonblocking(true)?;
        Ok(PortBinding {
            host: listener.local_addr()?.port(),
            listener,
            inside: publish.inside.get(),
        })
    };
    ports
        .iter()
        .map(|publish| {
            bound(publish).map_err(|source| BindError {
                port: publish.to_string(),
                source,
            })
        })
        .collect()
}

/// Ports that lead inside; closed when it is dropped.
#[derive(Debug)]
#[must_use = "the ports are closed with it"]
pub struct PortForwarder {
    over: Arc<AtomicBool>,
}

impl PortForwarder {
    /// Begins to lead connections inside.
    pub fn start(engine: &Arc<dyn Engine>, agent: &ContainerName, ports: Vec<PortBinding>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let open = Arc::new(AtomicUsize::new(0));
        for port in ports {
            let acceptor = PortAcceptor {
                engine: Arc::clone(engine),
                agent: agent.clone(),
                inside: port.inside,
                over: Arc::clone(&over),
                open: Arc::clone(&open),
            };
            thread::spawn(move || acceptor.accept(&port.listener));
        }
        Self { over }
    }
}

impl Drop for PortForwarder {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone)]
struct PortAcceptor {
    engine: Arc<dyn Engine>,
    agent: ContainerName,
    inside: u16,
    over: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
}

impl PortAcceptor {
    fn accept(&self, listener: &TcpListener) {
        while !self.over.load(Ordering::SeqCst) {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(TICK);
                continue;
            };
            if self.open.fetch_add(1, Ordering::SeqCst) >= MOST {
                self.open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let acceptor = self.clone();
            thread::spawn(move || {
                // The client sees that its connection is closed; that is all it needs.
                let _closed = acceptor.carry(&stream);
                let _gone = stream.shutdown(Shutdown::Both);
                acceptor.open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    fn carry(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        let dial = porter(&Verb::Dial { port: self.inside }, Stdin::Piped);
        let Process {
            stdin,
            stdout,
            stderr,
            ..
        } = (self.engine.exec(&self.agent, &dial)).map_err(io::Error::other)?;
        let from = stream.try_clone()?;
        let sending = thread::spawn(move || copy(from, stdin));
        thread::spawn(move || copy(stderr, Some(io::sink())));
        copy(stdout, Some(stream));
        let _gone = stream.shutdown(Shutdown::Both);
        let _over = sending.join();
        Ok(())
    }
}

/// Copies as it comes, and closes the other side at the end.
fn copy(mut from: impl Read, to: Option<impl Write>) {
    let Some(mut to) = to else { return };
    let mut buffer = vec![0; 32 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let chunk = buffer.get(..count).unwrap_or_default();
                if to.write_all(chunk).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
