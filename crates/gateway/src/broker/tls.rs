//! TLS towards the vendor: always verified, by `ring`.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// Why no connection could be verified.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// What was to be trusted is no certificate.
    #[error("what the broker shall trust holds no certificate in PEM")]
    NoCertificate,
    /// TLS can't be set up.
    #[error("TLS can't be set up: {0}")]
    Setup(rustls::Error),
}

/// Trusts `trust` (PEM), or the usual authorities when that is empty.
pub(super) fn config(trust: &[String]) -> Result<Arc<ClientConfig>, TrustError> {
    let mut roots = RootCertStore::empty();
    if trust.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for pem in trust {
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).flatten() {
            // A bundle may hold some that this library can't read.
            let _skipped = roots.add(certificate);
        }
    }
    if roots.is_empty() {
        return Err(TrustError::NoCertificate);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Setup)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
