//! A connection to where an engine is: one per request.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::ssh::Tunnel;
use super::tls::TlsClient;
use crate::Endpoint;

/// A machine that answers none of three probes is gone, as with ssh: so a lost connection is
/// noticed within a minute.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVES: u32 = 3;

/// A connection of any kind.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// A connection that was made.
pub(super) enum Stream {
    /// The only kind that can be handed out as a blocking socket as it is.
    Unix(UnixStream),
    Other(Box<dyn Connection>),
}

/// How connections are made.
#[derive(Debug)]
pub(super) struct Dialer {
    endpoint: Endpoint,
    tunnel: Option<Tunnel>,
}

impl Dialer {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        let tunnel = match &endpoint {
            Endpoint::Ssh(address) => Some(Tunnel::new(address.clone())),
            _ => None,
        };
        Self { endpoint, tunnel }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// # Errors
    /// The system's, rustls's or, with its last words, ssh's.
    pub(super) async fn connect(&self) -> io::Result<Stream> {
        Ok(match (&self.endpoint, &self.tunnel) {
            (Endpoint::Unix(path), _) => Stream::Unix(UnixStream::connect(path).await?),
            (Endpoint::Ssh(_), Some(tunnel)) => Stream::Unix(tunnel.connect().await?),
            (Endpoint::Ssh(_), None) => return Err(io::ErrorKind::NotConnected.into()),
            (Endpoint::Tcp(address), _) => Stream::Other(Box::new(tcp(address).await?)),
            (Endpoint::Tls(address), _) => {
                let client = TlsClient::new(address)?;
                let connected = tcp(&address.address).await?;
                Stream::Other(Box::new(client.handshake(connected).await?))
            }
        })
    }

    /// Returns why a connection that was made carried nothing, where something on the way knows.
    pub(super) async fn last_words(&self) -> Option<String> {
        self.tunnel.as_ref()?.last_words().await
    }
}

async fn tcp(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(&stream, KEEPALIVE)?;
    sockopt::set_tcp_keepcnt(&stream, KEEPALIVES)?;
    Ok(stream)
}
