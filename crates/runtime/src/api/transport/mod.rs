//! The connection to an engine's API: one socket per request, under a deadline.
//!
//! bollard writes every request onto it through [`Wire::send`]. Two things need more than
//! bollard offers. Its requests carry no API version (its URLs lose the `/v1.41` prefix),
//! so the engine would answer in its newest dialect: the prefix is put back here. And
//! its reader of attached streams guesses from the first byte whether a frame header
//! follows, which terminal output can fool: [`Wire::upgrade`] hands out the bare socket.

mod bridge;
mod dial;
mod ssh;
mod tls;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream as Socket;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;

use self::dial::{Dialer, Stream};
use super::errors;
use crate::{Endpoint, EngineError, TlsAddress};

/// The longest answer that is read: a list of every object that an engine has.
const ANSWER_LIMIT: usize = 64 << 20;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Where an engine is and which version of its API is spoken.
#[derive(Debug)]
pub(super) struct Wire {
    dialer: Dialer,
    /// The prefix of every path, such as `/v1.41`, once it is negotiated.
    prefix: OnceLock<String>,
}

/// A failed request, before it has a verb and a name.
#[derive(Debug)]
pub(super) enum WireError {
    /// No connection.
    Connect(io::Error),
    /// A connection, but no HTTP answer.
    Http(String),
    /// The engine said no.
    Refused {
        /// Its HTTP status.
        status: u16,
        /// Its words.
        message: String,
    },
    /// The answer is not what was asked for.
    Nonsense(String),
}

impl Wire {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            dialer: Dialer::new(endpoint),
            prefix: OnceLock::new(),
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        self.dialer.endpoint()
    }

    /// Returns how long a first connection may take beyond what an engine's answer may.
    pub(super) fn connect_limit(&self) -> Duration {
        match self.endpoint() {
            Endpoint::Ssh(_) => ssh::START_LIMIT,
            Endpoint::Unix(_) | Endpoint::Tcp(_) | Endpoint::Tls(_) => Duration::ZERO,
        }
    }

    /// Sets the version of every later request.
    pub(super) fn speak(&self, version: &str) {
        // A second negotiation comes to the same result.
        drop(self.prefix.set(format!("/v{version}")));
    }

    /// Sends a request and returns the head of its answer.
    pub(super) async fn send<B>(&self, request: Request<B>) -> Result<Response<Incoming>, WireError>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let request = self.address(request)?;
        let answered = match self.dialer.connect().await.map_err(WireError::Connect)? {
            Stream::Unix(stream) => exchange(stream, request).await,
            Stream::Other(stream) => exchange(stream, request).await,
        };
        match answered {
            Ok(response) => Ok(response),
            Err(error) => Err(match self.dialer.last_words().await {
                Some(words) => WireError::Connect(io::Error::other(words)),
                None => error,
            }),
        }
    }

    /// Asks whether anyone answers: the one request for which an engine does no work.
    /// Returns what the head of the answer tells, by lower-case name.
    pub(super) async fn ping(&self) -> Result<BTreeMap<String, String>, WireError> {
        let response = self
            .send(request(Method::GET, "/_ping", Bytes::new())?)
            .await?;
        let status = response.status();
        let told = response
            .headers()
            .iter()
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();
        let body = read(response).await?;
        match status.is_success() {
            true => Ok(told),
            false => Err(refused(status, &body)),
        }
    }

    /// Reads a document.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, WireError> {
        let response = self.send(request(Method::GET, path, Bytes::new())?).await?;
        let status = response.status();
        let body = read(response).await?;
        if !status.is_success() {
            return Err(refused(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| WireError::Nonsense(error.to_string()))
    }

    /// Posts a document and reads another.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, WireError> {
        let body =
            serde_json::to_vec(body).map_err(|error| WireError::Nonsense(error.to_string()))?;
        let response = self.send(request(Method::POST, path, body.into())?).await?;
        let status = response.status();
        let body = read(response).await?;
        if !status.is_success() {
            return Err(refused(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| WireError::Nonsense(error.to_string()))
    }

    /// Posts a document, and returns the socket with the bytes that came behind the
    /// answer's head: from then on it belongs to the process inside.
    pub(super) async fn upgrade(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<(Socket, Bytes), WireError> {
        let body =
            serde_json::to_vec(body).map_err(|error| WireError::Nonsense(error.to_string()))?;
        let mut request = request(Method::POST, path, body.into())?;
        let headers = request.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("tcp"));
        let response = self.send(request).await?;
        let status = response.status();
        if status != StatusCode::SWITCHING_PROTOCOLS {
            let body = read(response).await?;
            return Err(refused(status, &body));
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(http)?;
        let socket = bridge::blocking(upgraded).map_err(WireError::Connect)?;
        Ok(socket)
    }

    /// Puts the version into the path and the host into the headers.
    fn address<B>(&self, mut request: Request<B>) -> Result<Request<B>, WireError> {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned();
        let path = match self.prefix.get() {
            Some(prefix) if !is_versioned(&path) => format!("{prefix}{path}"),
            _ => path,
        };
        *request.uri_mut() = path
            .parse::<Uri>()
            .map_err(|error| WireError::Nonsense(error.to_string()))?;
        let host = match self.endpoint() {
            Endpoint::Unix(_) | Endpoint::Ssh(_) => "localhost",
            Endpoint::Tcp(address) | Endpoint::Tls(TlsAddress { address, .. }) => address,
        };
        let host =
            HeaderValue::from_str(host).map_err(|error| WireError::Nonsense(error.to_string()))?;
        request.headers_mut().insert(HOST, host);
        Ok(request)
    }
}

/// Podman's own API is asked with a version of its own.
fn is_versioned(path: &str) -> bool {
    path.strip_prefix("/v")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

async fn exchange<S, B>(stream: S, request: Request<B>) -> Result<Response<Incoming>, WireError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(http)?;
    // Ends with the answer's body, or with the upgrade. What goes wrong on it reaches the
    // reader of the answer too.
    drop(tokio::spawn(connection.with_upgrades()));
    sender.send_request(request).await.map_err(http)
}

fn request(method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, WireError> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|error| WireError::Nonsense(error.to_string()))
}

async fn read(response: Response<Incoming>) -> Result<Bytes, WireError> {
    let body = Limited::new(response.into_body(), ANSWER_LIMIT)
        .collect()
        .await;
    body.map(http_body_util::Collected::to_bytes)
        .map_err(|error| WireError::Http(errors::chain(&*error)))
}

fn http(error: hyper::Error) -> WireError {
    WireError::Http(errors::chain(&error))
}

/// Takes the engine's words out of an error document.
fn refused(status: StatusCode, body: &[u8]) -> WireError {
    #[derive(serde::Deserialize)]
    struct Words {
        message: String,
    }
    let message = match serde_json::from_slice::<Words>(body) {
        Ok(words) => words.message,
        Err(_) => String::from_utf8_lossy(body).trim().to_owned(),
    };
    WireError::Refused {
        status: status.as_u16(),
        message,
    }
}

impl WireError {
    /// Adds what was asked and where.
    pub(super) fn about(
        self,
        verb: &'static str,
        what: &'static str,
        name: &str,
        endpoint: &Endpoint,
    ) -> EngineError {
        match self {
            Self::Connect(source) => errors::unreachable(endpoint, source),
            Self::Http(message) | Self::Nonsense(message) => EngineError::Lost { verb, message },
            Self::Refused { status, message } => errors::refusal(verb, what, name, status, message),
        }
    }
}

/// Runs a request under a time limit.
pub(super) async fn within<T>(
    limit: Duration,
    endpoint: &Endpoint,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(EngineError::Timeout {
            endpoint: endpoint.to_string(),
            after: limit,
        }),
    }
}
