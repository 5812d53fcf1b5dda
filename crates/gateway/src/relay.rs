//! The relay: loopback ports inside, carried over to the gateway's unix sockets.
//!
//! It runs beside the command and can't be trusted more than that: it decides nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::pump::{Budget, End, Pump, TunnelSpec};

/// One port, and the socket that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayRoute {
    /// The port on 127.0.0.1 and ::1.
    pub port: u16,
    /// The gateway's socket.
    pub socket: PathBuf,
}

/// Why a relay is not there.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// A port could not be bound.
    #[error("can't listen at {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// A thread or descriptor was not to be had.
    #[error("can't start the relay: {0}")]
    Start(#[from] io::Error),
}

/// How long an accept that failed for want of something waits before the next.
const BREATH: Duration = Duration::from_millis(50);

/// A relay that listens.
#[derive(Debug)]
#[must_use = "it carries as long as it is kept"]
pub struct Relay {
    _pump: Arc<Pump>,
    addresses: Vec<SocketAddr>,
}

impl Relay {
    /// Binds every port and begins to carry.
    ///
    /// # Errors
    ///
    /// A port of 127.0.0.1 that can't be bound. One of ::1 may be missing with IPv6.
    pub fn start(routes: &[RelayRoute]) -> Result<Self, RelayError> {
        let pump = Arc::new(Pump::start(1, Arc::new(Budget::unlimited()))?);
        let mut addresses = Vec::new();
        let mut listeners = Vec::new();
        for route in routes {
            let v4 = bind(Ipv4Addr::LOCALHOST.into(), route.port)?;
            // The port that was chosen, when none was asked for.
            let port = v4.local_addr()?.port();
            listeners.push((v4, route.socket.clone()));
            match bind(Ipv6Addr::LOCALHOST.into(), port) {
                Ok(v6) => listeners.push((v6, route.socket.clone())),
                Err(RelayError::Bind { source, .. }) if is_without_v6(&source) => {}
                Err(error) => return Err(error),
            }
        }
        for (listener, socket) in listeners {
            addresses.push(listener.local_addr()?);
            let pump = Arc::clone(&pump);
            thread::Builder::new()
                .name("relay".to_owned())
                .spawn(move || accept(&listener, &socket, &pump))?;
        }
        Ok(Self {
            _pump: pump,
            addresses,
        })
    }

    /// Returns what it listens at, in the order of the leads, IPv4 before IPv6.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

fn bind(address: IpAddr, port: u16) -> Result<TcpListener, RelayError> {
    let address = SocketAddr::new(address, port);
    TcpListener::bind(address).map_err(|source| RelayError::Bind { address, source })
}

/// Whether there is no IPv6 here: no such family, or no such address.
fn is_without_v6(error: &io::Error) -> bool {
    let errno = error
        .raw_os_error()
        .map(rustix::io::Errno::from_raw_os_error);
    matches!(
        errno,
        Some(rustix::io::Errno::AFNOSUPPORT | rustix::io::Errno::ADDRNOTAVAIL)
    )
}

fn accept(listener: &TcpListener, socket: &PathBuf, pump: &Pump) {
    loop {
        match listener.accept() {
            Ok((client, _)) => carry(client, socket, pump),
            // No descriptor left, or a client that went away.
            Err(_) => thread::sleep(BREATH),
        }
    }
}

fn carry(client: TcpStream, socket: &PathBuf, pump: &Pump) {
    // Without a gateway there is no way out: the client's connection is closed.
    let Ok(server) = UnixStream::connect(socket) else {
        return;
    };
    pump.add(TunnelSpec {
        client: End::Tcp(client),
        server: End::Unix(server),
        first: Vec::new(),
        sent: None,
        received: None,
        farewell: b"",
        label: None,
        ended: Box::new(|_| {}),
    });
}
