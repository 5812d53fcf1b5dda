//! TLS to an engine: by the certificates that Docker's own command uses.
//!
//! A server is always verified, against `ca.pem` alone. Docker's "TLS with any server"
//! (`DOCKER_TLS` without `DOCKER_TLS_VERIFY`, `SkipTLSVerify` of a context) is refused: with it,
//! any machine on the way can be the engine.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::TlsAddress;

/// What verifies one server, and tells it who asks.
pub(super) struct TlsClient {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl TlsClient {
    /// # Errors
    /// `InvalidData` for certificates that can't be used, and the system's.
    pub(super) fn new(address: &TlsAddress) -> io::Result<Self> {
        let TlsAddress {
            address,
            certificates,
        } = address;
        let directory = certificates.as_deref().ok_or_else(|| {
            io::Error::other("no directory of certificates is known: set DOCKER_CERT_PATH")
        })?;
        let connector = TlsConnector::from(Arc::new(config(directory)?));
        let host = address.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let server = ServerName::try_from(host.to_owned()).map_err(invalid)?;
        Ok(Self { connector, server })
    }

    /// Begins TLS on a connection.
    ///
    /// # Errors
    /// The system's; `InvalidData` for a server that the certificates don't vouch for.
    pub(super) async fn handshake(self, connected: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.server, connected).await
    }
}

/// Reads `ca.pem`, and `cert.pem` with `key.pem` where they are.
fn config(directory: &Path) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&directory.join("ca.pem"))? {
        roots.add(certificate).map_err(invalid)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(invalid)?
        .with_root_certificates(roots);
    let (chain, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    match chain.exists() || key.exists() {
        false => Ok(config.with_no_client_auth()),
        true => {
            let chain = certificates(&chain)?;
            let key = PrivateKeyDer::from_pem_file(&key).map_err(|error| unread(&key, error))?;
            config.with_client_auth_cert(chain, key).map_err(invalid)
        }
    }
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unread(file, pem::Error::NoItemsFound)),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unread(file, error)),
    }
}

fn unread(file: &Path, error: pem::Error) -> io::Error {
    let file = file.display();
    match error {
        pem::Error::Io(error) => io::Error::new(error.kind(), format!("{file}: {error}")),
        error => io::Error::new(io::ErrorKind::InvalidData, format!("{file}: {error}")),
    }
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
