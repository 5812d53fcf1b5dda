//! `Model`: a vendor's API without a model. It speaks TLS with a certificate of its own,
//! follows a script of tool calls, and keeps every request that it gets.
//!
//! | path | answered as | ends with |
//! |---|---|---|
//! | `/v1/messages` | Anthropic's Messages, streamed | `message_stop` |
//! | `/v1/messages/count_tokens` | a number | |
//! | `/v1/responses` | OpenAI's Responses, streamed | `response.completed` |
//! | `/echo` | the key of the request, in a field, the body, and an error's code | |
//! | anything else | an empty JSON object | |
//!
//! Where in the script a conversation stands is read from the request: an agent sends all
//! results of its tools each time. So nothing has to be remembered, and one that asks twice
//! is answered twice alike.

mod anthropic;
mod authority;
mod http;
mod openai;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

pub use authority::Authority;
pub use http::Request;

/// One turn of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// It reads a file.
    Read {
        /// Absolute, as the agent sees it.
        path: String,
    },
    /// It replaces a line that stands once in a file.
    Edit {
        /// Absolute, as the agent sees it.
        path: String,
        /// The whole line, without its end.
        before: String,
        /// The line that shall stand there.
        after: String,
    },
    /// It runs a command in a shell.
    Shell(String),
}

/// A running server. It ends when it is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Vec<Turn>,
    watch: Box<dyn Fn(usize) + Send + Sync>,
    last_words: String,
    requests: Mutex<Vec<Request>>,
    answers: AtomicUsize,
    over: AtomicBool,
    tls: Arc<rustls::ServerConfig>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Listens on a free port of `host`, with a certificate for `name`, and follows `script`.
    /// `watch` is called with the number of turns that are done before each answer: an agent
    /// does nothing meanwhile.
    ///
    /// # Errors
    /// The port can't be had.
    pub fn start(
        host: &str,
        authority: &Authority,
        name: &str,
        script: Vec<Turn>,
        watch: impl Fn(usize) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve(
            TcpListener::bind((host, 0))?,
            authority,
            name,
            script,
            watch,
        )
    }

    /// As [`Model::start`], on a port that is there already.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn serve(
        listener: TcpListener,
        authority: &Authority,
        name: &str,
        script: Vec<Turn>,
        watch: impl Fn(usize) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            watch: Box::new(watch),
            last_words: "All of it is done.".to_owned(),
            requests: Mutex::default(),
            answers: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            tls: authority.server(&[name]),
        });
        let served = Arc::clone(&shared);
        // Detached: it ends with the next connection after `drop`, which `drop` makes.
        drop(
            thread::Builder::new()
                .name("model".to_owned())
                .spawn(move || {
                    for stream in listener.incoming() {
                        if served.over.load(Ordering::Relaxed) {
                            return;
                        }
                        let (Ok(stream), served) = (stream, Arc::clone(&served)) else {
                            continue;
                        };
                        // A client that breaks off is the client's affair.
                        drop(thread::spawn(move || served.serve(stream)));
                    }
                })?,
        );
        Ok(Self { address, shared })
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What came so far.
    pub fn requests(&self) -> Vec<Request> {
        let requests = self.shared.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        drop(TcpStream::connect_timeout(&address, Duration::from_secs(5)));
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        // An agent may think for long between two requests, and not for ever.
        stream.set_read_timeout(Some(Duration::from_secs(600)))?;
        stream.set_write_timeout(Some(Duration::from_secs(600)))?;
        stream.set_nodelay(true)?;
        let session = rustls::ServerConnection::new(Arc::clone(&self.tls));
        let session = session.map_err(io::Error::other)?;
        let mut stream = io::BufReader::new(rustls::StreamOwned::new(session, stream));
        while let Some(request) = Request::read(&mut stream)? {
            self.answer(&request, stream.get_mut())?;
            let is_last = request.header("connection") == Some("close");
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request);
            if is_last {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request, to: &mut impl Write) -> io::Result<()> {
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let path = request.path.split('?').next().unwrap_or_default();
        let turn = |done: usize| {
            (self.watch)(done);
            self.script.get(done)
        };
        match (request.method.as_str(), path) {
            ("POST", "/v1/messages") => {
                let reply = anthropic::reply(&body, turn, &self.last_words, number);
                match body["stream"].as_bool() {
                    Some(true) => http::stream(to, &reply.events()),
                    _ => http::json(to, &reply.message()),
                }
            }
            ("POST", "/v1/messages/count_tokens") => {
                http::json(to, &serde_json::json!({ "input_tokens": 100 }))
            }
            ("POST", "/v1/responses") => {
                http::stream(to, &openai::events(&body, turn, &self.last_words, number))
            }
            (_, "/echo") => http::echo(to, request.header("x-api-key").unwrap_or_default()),
            ("HEAD", _) => http::nothing(to),
            _ => http::json(to, &serde_json::json!({ "data": [], "models": [] })),
        }
    }
}
