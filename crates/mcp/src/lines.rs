//! `Lines`: a transport of one message a line, with bounds.

use std::convert::Infallible;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::thread;

use lazaret_json::{Line as Raw, check, next_line};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The most bytes of a line.
pub const MOST_LINE: usize = 4 << 20;
/// The most levels of arrays and objects in a message.
pub const MOST_DEPTH: usize = 64;
/// The most requests that are worked on at once.
pub const MOST_CALLS: usize = 16;
/// The most answers that wait for a client to read them; then none of its requests is read.
const MOST_ANSWERS: usize = 32;

/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// What was read.
enum Line {
    Message(Box<ClientJsonRpcMessage>),
    /// Not a message; with the line that says so.
    Bad(Vec<u8>),
}

/// One message a line.
pub(crate) struct Lines {
    read: mpsc::Receiver<Line>,
    /// Read, and not handed on yet.
    held: Option<Line>,
    written: mpsc::UnboundedSender<(Vec<u8>, Option<OwnedSemaphorePermit>)>,
    calls: Arc<Semaphore>,
    /// Permits that answers hold until they are written.
    answers: Arc<Semaphore>,
}

/// Lies in the extensions of a request until it has been worked on.
#[derive(Clone)]
struct Permit(#[expect(dead_code, reason = "held for its end")] Arc<OwnedSemaphorePermit>);

/// Writes what was sent, until nothing more can come.
pub(crate) struct Writer(thread::JoinHandle<()>);

impl Writer {
    /// Waits until everything was written.
    pub(crate) fn finish(self) {
        let _panicked = self.0.join();
    }
}

impl Lines {
    /// Reads `input` and writes `output` on threads of their own.
    pub(crate) fn new(
        input: Box<dyn Read + Send>,
        output: Box<dyn Write + Send>,
    ) -> (Self, Writer) {
        let (reading, read) = mpsc::channel(1);
        thread::spawn(move || read_lines(input, &reading));
        let (written, writing) = mpsc::unbounded_channel();
        let writer = thread::spawn(move || write_lines(output, writing));
        let lines = Self {
            read,
            held: None,
            written,
            calls: Arc::new(Semaphore::new(MOST_CALLS)),
            answers: Arc::new(Semaphore::new(MOST_ANSWERS)),
        };
        (lines, Writer(writer))
    }

    /// Puts a line into the queue of the writer.
    fn queue(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        // One that finds no room is queued as well: it is the answer to a request that was read.
        // Nothing more is read before there is room, so only requests in work add to the queue.
        let room = Arc::clone(&self.answers).try_acquire_owned().ok();
        // A client that went away reads nothing.
        drop(self.written.send((line, room)));
    }
}

impl Transport<RoleServer> for Lines {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match serde_json::to_vec(&message) {
            Ok(line) => self.queue(line),
            Err(error) => self.queue(refusal(PARSE_ERROR, &error.to_string(), Value::Null)),
        }
        std::future::ready(Ok(()))
    }

    // Nothing is lost if this is dropped while it waits: what was read is held.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let line = match self.held.take() {
                Some(line) => line,
                None => self.read.recv().await?,
            };
            self.held = Some(line);
            let room = self.answers.acquire().await;
            drop(room.ok()?);
            let permit = match self.held {
                Some(Line::Message(ref message)) if is_request(message) => {
                    Some(Arc::clone(&self.calls).acquire_owned().await.ok()?)
                }
                _ => None,
            };
            match self.held.take()? {
                Line::Bad(line) => self.queue(line),
                Line::Message(mut message) => {
                    if let (Some(permit), JsonRpcMessage::Request(request)) =
                        (permit, message.as_mut())
                    {
                        let extensions = request.request.extensions_mut();
                        extensions.insert(Permit(Arc::new(permit)));
                    }
                    return Some(*message);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.read.close();
        Ok(())
    }
}

fn is_request(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(_))
}

/// Reads to the end of the input, or until the server wants no more.
fn read_lines(input: Box<dyn Read + Send>, to: &mpsc::Sender<Line>) {
    let mut input = BufReader::with_capacity(64 << 10, input);
    while let Ok(Some(line)) = next_line(&mut input, MOST_LINE) {
        let line = match line {
            Raw::Blank => continue,
            Raw::TooLong => {
                let text = format!("a message has more than {} MiB", MOST_LINE >> 20);
                Line::Bad(refusal(INVALID_REQUEST, &text, Value::Null))
            }
            Raw::Whole(bytes) => parse(&bytes),
        };
        if to.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Reads a message.
fn parse(line: &[u8]) -> Line {
    if let Err(error) = check(line, MOST_DEPTH) {
        let text = format!("not a message: {error}");
        return Line::Bad(refusal(PARSE_ERROR, &text, Value::Null));
    }
    match serde_json::from_slice(line) {
        Ok(message) => Line::Message(Box::new(message)),
        Err(error) => {
            let id = serde_json::from_slice::<Value>(line).ok();
            let id = id.and_then(|value| value.get("id").cloned());
            let id = id.filter(|id| id.is_string() || id.is_number());
            let text = format!("not a message of this protocol: {error}");
            Line::Bad(refusal(INVALID_REQUEST, &text, id.unwrap_or(Value::Null)))
        }
    }
}

fn refusal(code: i32, message: &str, id: Value) -> Vec<u8> {
    let error = json!({ "code": code, "message": message });
    let line = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    line.to_string().into_bytes()
}

/// Writes what comes, a line at a time. After a failure it only takes: the client is gone.
fn write_lines(
    mut output: Box<dyn Write + Send>,
    mut lines: mpsc::UnboundedReceiver<(Vec<u8>, Option<OwnedSemaphorePermit>)>,
) {
    let mut is_gone = false;
    while let Some((line, room)) = lines.blocking_recv() {
        if !is_gone {
            let wrote = output.write_all(&line).and_then(|()| output.flush());
            is_gone = wrote.is_err();
        }
        drop(room);
    }
}
