//! The other end of a server that runs on a thread.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use lazaret_mcp::{Call, Stop, ToolError, Tools, serve};
use serde_json::{Value, json};

/// Answers with what it was asked; a wait lasts until it is released or stopped.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) at_work: Mutex<u32>,
    pub(crate) most_at_once: Mutex<u32>,
    pub(crate) stopped: Mutex<u32>,
    is_released: Mutex<bool>,
    changed: Condvar,
}

impl Echo {
    pub(crate) fn release(&self) {
        *self.is_released.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

/// What the calls get: the trait wants a value of its own.
struct Shared(Arc<Echo>);

impl Tools for Shared {
    fn call(&self, call: Call, stop: &Stop) -> Result<Value, ToolError> {
        let echo = &self.0;
        match call {
            Call::SessionWait(_) => {
                {
                    let mut now = echo.at_work.lock().unwrap();
                    *now += 1;
                    let mut most = echo.most_at_once.lock().unwrap();
                    *most = (*most).max(*now);
                }
                let raised = Arc::clone(echo);
                stop.on_stop(move || {
                    *raised.stopped.lock().unwrap() += 1;
                    raised.release();
                });
                let mut released = echo.is_released.lock().unwrap();
                while !*released {
                    released = echo.changed.wait(released).unwrap();
                }
                *echo.at_work.lock().unwrap() -= 1;
                Ok(json!({ "came": "ended" }))
            }
            Call::SessionLog(input) => {
                let most = usize::try_from(input.max.unwrap_or_default()).unwrap();
                Ok(json!({ "text": "x".repeat(most) }))
            }
            Call::SessionStop(_) => Err(ToolError {
                kind: "refused",
                message: "no".to_owned(),
                causes: vec!["because".to_owned()],
                hints: vec!["Do.".to_owned()],
            }),
            Call::SessionList(_) => panic!("a mistake"),
            call => Ok(json!({ "asked": format!("{call:?}") })),
        }
    }
}

pub(crate) struct Client {
    pub(crate) tools: Arc<Echo>,
    stream: Option<UnixStream>,
    lines: BufReader<UnixStream>,
    server: JoinHandle<bool>,
}

impl Client {
    pub(crate) fn connect() -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let tools = Arc::<Echo>::default();
        let served = Shared(Arc::clone(&tools));
        let server = std::thread::spawn(move || {
            let input = Box::new(theirs.try_clone().unwrap());
            serve(Arc::new(served), input, Box::new(theirs)).is_ok()
        });
        Self {
            tools,
            lines: BufReader::new(ours.try_clone().unwrap()),
            stream: Some(ours),
            server,
        }
    }

    /// Connects, and does what the revision 2025-11-25 begins with.
    pub(crate) fn initialized() -> Self {
        let mut client = Self::connect();
        let answer = client.initialize("2025-11-25");
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.request(0, "initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let mut stream = self.stream.as_ref().unwrap();
        stream.write_all(line).unwrap();
        stream.write_all(b"\n").unwrap();
    }

    /// A second handle for writing, for a thread.
    pub(crate) fn writer(&self) -> UnixStream {
        self.stream.as_ref().unwrap().try_clone().unwrap()
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn request(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool; returns what it said and whether that is an error.
    pub(crate) fn call(&mut self, id: u32, tool: &str, arguments: Value) -> (Value, bool) {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request(id, "tools/call", params);
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}"));
        let is_error = answer["result"]["isError"] == true;
        (serde_json::from_str(text).unwrap(), is_error)
    }

    /// Goes, and waits for the server's end. Says whether it ended well.
    pub(crate) fn leave(mut self) -> bool {
        let stream = self.stream.take().unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        self.server.join().unwrap()
    }
}
