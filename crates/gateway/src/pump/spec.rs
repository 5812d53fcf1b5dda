//! `TunnelSpec`: a tunnel as it is handed to the pump, and how it ended.

use std::fmt;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lazaret_egress::{Denied, EntryPoint, HostPort};

use super::filter::OptionalFilter;

/// One side of a tunnel.
#[derive(Debug)]
pub enum End {
    /// A unix socket.
    Unix(UnixStream),
    /// A TCP connection.
    Tcp(TcpStream),
}

impl End {
    pub(super) fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => {
                // What comes is passed on at once; waiting for more is the sender's business.
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)
            }
        }
    }

    pub(super) fn end_writing(&self) {
        // A stream that is closed already needs no end.
        let _ended = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// What a tunnel was allowed for, to judge it again when the policy changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The entry point that took it.
    pub via: EntryPoint,
    /// What it asked for.
    pub target: HostPort,
    /// Where it leads.
    pub address: IpAddr,
}

/// How a tunnel ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Bytes that the client sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
    /// How long it was open.
    pub lasted: Duration,
    /// The cap or judgement that ended it, when it was not an end of its own.
    pub reason: Option<Denied>,
}

/// Two connections that belong together.
pub struct TunnelSpec {
    /// Who asked for it.
    pub client: End,
    /// Where it leads.
    pub server: End,
    /// What the client has sent already.
    pub first: Vec<u8>,
    /// Inspects what the client sends, [`TunnelSpec::first`] included.
    pub sent: OptionalFilter,
    /// Inspects what the server sends.
    pub received: OptionalFilter,
    /// What the client is sent if its ClientHello closes the tunnel.
    pub farewell: &'static [u8],
    /// What it was allowed for; `None` when it is not judged again.
    pub label: Option<Label>,
    /// Called once when it is over, by a thread of the pump.
    pub ended: Box<dyn FnOnce(Ended) + Send>,
}

impl fmt::Debug for TunnelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TunnelSpec")
            .field("client", &self.client)
            .field("server", &self.server)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
