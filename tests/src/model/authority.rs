//! `Authority`: certificates that are made when a test runs, and trusted by no other program.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority with its key.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Makes one.
    ///
    /// # Panics
    /// When the system gives no random numbers.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("the system gives random numbers");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).expect("the parameters are right");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Its certificate, for those who shall trust it.
    pub fn pem(&self) -> String {
        self.pem.clone()
    }

    /// What a server with these names shows.
    ///
    /// # Panics
    /// When a name is no DNS name.
    pub fn server(&self, names: &[&str]) -> Arc<rustls::ServerConfig> {
        let (certificate, key) = self.issue(names);
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("the key is the certificate's");
        Arc::new(config)
    }

    /// Writes what a server or a client with these names shows into a directory: `ca.pem`,
    /// `cert.pem` and `key.pem`, as Docker names them.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// When a name is no DNS name.
    pub fn write(&self, names: &[&str], directory: &Path) -> io::Result<()> {
        let (certificate, key) = self.issue(names);
        fs::create_dir_all(directory)?;
        fs::write(directory.join("ca.pem"), &self.pem)?;
        fs::write(directory.join("cert.pem"), certificate.pem())?;
        fs::write(directory.join("key.pem"), key.serialize_pem())
    }

    fn issue(&self, names: &[&str]) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().expect("the system gives random numbers");
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("they are names");
        params
            .distinguished_name
            .push(DnType::CommonName, "of a test");
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("the parameters are right");
        (certificate, key)
    }
}
