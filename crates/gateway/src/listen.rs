//! The sockets of a gateway, and who serves what comes there.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use lazaret_egress::{Denied, EntryPoint, Port};
use rustix::event::{PollFd, PollFlags};

use crate::broker::Broker;
use crate::context::{Client, Context, Shut};
use crate::frontend::{ClientConnection, host, proxy, sni};
use crate::http;
use crate::pump::Pump;

/// What is served at a socket.
#[derive(Debug, Clone)]
pub(crate) enum Service {
    /// The proxy.
    Proxy,
    /// TLS by the server name in its ClientHello.
    Sni,
    /// HTTP by its `Host`.
    Host,
    /// A route of the broker.
    Broker(u16, Arc<Broker>),
}

impl Service {
    /// Returns the name of the socket.
    pub(crate) fn socket(&self) -> String {
        match self {
            Self::Proxy => "proxy.sock".to_owned(),
            Self::Sni => "tls.sock".to_owned(),
            Self::Host => "http.sock".to_owned(),
            Self::Broker(index, _) => format!("broker-{index}.sock"),
        }
    }

    fn via(&self) -> EntryPoint {
        match self {
            Self::Proxy => EntryPoint::Connect,
            Self::Sni => EntryPoint::Sni,
            Self::Host => EntryPoint::Host,
            Self::Broker(..) => EntryPoint::Broker,
        }
    }
}

/// A socket could not be made.
#[derive(Debug, thiserror::Error)]
#[error("can't listen at `{}`: {source}", path.display())]
pub struct ListenError {
    /// Where.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// How long an accept that failed for want of something waits before the next.
const BREATH: Duration = Duration::from_millis(50);
/// A head is read and parsed in it. Stacks count against a limit of private memory
/// (RLIMIT_DATA), used or not.
const STACK: usize = 256 * 1024;
/// TLS is spoken in it.
const BROKER_STACK: usize = 1 << 20;

/// Makes the socket of a service. Every process in a container that sees the directory may
/// connect to it; the launcher decides which containers do.
pub(crate) fn bind(directory: &Path, service: &Service) -> Result<UnixListener, ListenError> {
    let path = directory.join(service.socket());
    let bound = || {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bound().map_err(|source| ListenError {
        path: path.clone(),
        source,
    })
}

/// What the listeners of a gateway share.
#[derive(Debug, Clone)]
pub(crate) struct Listeners {
    pub(crate) context: Arc<Context>,
    pub(crate) pump: Arc<Pump>,
    /// The port that TLS by its server name goes to.
    pub(crate) tls: Port,
    /// The port that HTTP by its `Host` goes to.
    pub(crate) http: Port,
    /// Rings when the gateway ends.
    pub(crate) bell: Arc<OwnedFd>,
}

/// Accepts until the bell rings; each connection gets a thread until it is a tunnel.
pub(crate) fn run(listener: &UnixListener, service: &Service, shared: &Listeners) {
    let busy = Arc::new(AtomicU32::new(0));
    loop {
        let mut fds = [
            PollFd::new(&*shared.bell, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        let polled = rustix::event::poll(&mut fds, None);
        if !fds[0].revents().is_empty() {
            return;
        }
        if polled.is_err() || fds[1].revents().is_empty() {
            continue;
        }
        // What waits is accepted when a thread is free: slow clients wait for each other.
        if busy.load(Ordering::Acquire) >= shared.context.caps.threads {
            thread::sleep(BREATH);
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => begin(stream, service, shared, &busy),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // No descriptor left, or a client that went away: neither ends the gateway.
            Err(_) => thread::sleep(BREATH),
        }
    }
}

fn begin(stream: UnixStream, service: &Service, shared: &Listeners, busy: &Arc<AtomicU32>) {
    let client = Client {
        stream,
        id: shared.context.event_log.next_id(),
    };
    let work = {
        let (service, shared) = (service.clone(), shared.clone());
        let busy = Busy::one_more(busy);
        move || {
            serve(client, &service, &shared);
            drop(busy);
        }
    };
    let stack = match service {
        Service::Broker(..) => BROKER_STACK,
        Service::Proxy | Service::Sni | Service::Host => STACK,
    };
    let thread = thread::Builder::new().stack_size(stack);
    if let Err(error) = thread.spawn(work) {
        shared.context.log_fault(format!("no thread: {error}"));
        thread::sleep(BREATH);
    }
}

fn serve(client: Client, service: &Service, shared: &Listeners) {
    let context = &shared.context;
    // An accepted socket does not inherit the listener's mode, but say so.
    if client.stream.set_nonblocking(false).is_err() {
        return;
    }
    let slot = match context.enter(&client) {
        Ok(slot) => slot,
        Err(Shut::Ended) => return,
        Err(Shut::Full) => {
            let (via, id) = (service.via(), client.id);
            context.log_denial(String::new(), via, id, Denied::Connections);
            if !matches!(service, Service::Sni) {
                // A client that has gone misses the answer and nothing else.
                let _unread = http::write_denial(&client.stream, Denied::Connections);
            }
            return;
        }
    };
    if let Service::Broker(_, broker) = service {
        broker.serve(client, context);
        drop(slot);
        return;
    }
    let connection = ClientConnection {
        context,
        pump: &shared.pump,
        client,
        slot,
        via: service.via(),
    };
    match service {
        Service::Proxy => proxy::serve(connection),
        Service::Sni => sni::serve(connection, shared.tls),
        Service::Host | Service::Broker(..) => host::serve(connection, shared.http),
    }
}

/// A thread that counts.
struct Busy(Arc<AtomicU32>);

impl Busy {
    fn one_more(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
