//! A client of a server that speaks JSON-RPC on its streams, a line for each message.

use std::io::{BufRead as _, BufReader, PipeWriter, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::lazaret::{Call, Ended, Output, Running};

/// How long an answer may take. Only a server that hangs takes that long.
const LIMIT: Duration = Duration::from_secs(600);

/// How long a server may take nothing that takes no more.
const FULL: Duration = Duration::from_secs(3);

/// A client, and the server that it began.
#[derive(Debug)]
pub(crate) struct LineClient {
    to: PipeWriter,
    lines: Receiver<String>,
    server: Running,
    asked: u64,
}

impl LineClient {
    /// Begins a server.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn begin(call: Call) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let (stdin, to) = std::io::pipe().map_err(failed)?;
        let (from, stdout) = std::io::pipe().map_err(failed)?;
        let server = call.stdin_pipe(stdin).stdout_pipe(stdout).start()?;
        let (heard, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if heard.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            to,
            lines,
            server,
            asked: 0,
        })
    }

    /// Sends one line.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn send(&mut self, message: &Value) -> Result<(), String> {
        self.send_bytes(message.to_string().as_bytes())
    }

    /// As [`LineClient::send`], whatever the bytes are.
    pub(crate) fn send_bytes(&mut self, line: &[u8]) -> Result<(), String> {
        let line = [line, b"\n"].concat();
        self.to.write_all(&line).map_err(|error| error.to_string())
    }

    /// The next line of the server, which is a message.
    ///
    /// # Errors
    /// It is none, or none comes.
    pub(crate) fn next(&mut self) -> Result<Value, String> {
        let line = self.lines.recv_timeout(LIMIT);
        let line = line.map_err(|error| format!("no line of the server: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))
    }

    /// Asks, and returns the answer.
    ///
    /// # Errors
    /// None comes.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.request_and_hear(method, params)
            .map(|(answer, _)| answer)
    }

    /// As [`LineClient::request`]; also returns what came before the answer.
    ///
    /// # Errors
    /// No answer comes.
    pub(crate) fn request_and_hear(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<(Value, Vec<Value>), String> {
        let id = self.ask(method, params)?;
        let mut heard = Vec::new();
        loop {
            let answer = self.next()?;
            if answer["id"] == id && answer.get("method").is_none() {
                return Ok((answer, heard));
            }
            heard.push(answer);
        }
    }

    /// Asks, and returns the id of the answer that will come.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<u64, String> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Sends a line again and again, until the server takes no more.
    ///
    /// # Errors
    /// The server is gone, or takes everything.
    pub(crate) fn fill(&mut self, line: &[u8]) -> Result<(), String> {
        /// More than all buffers on the way to a command.
        const MOST: usize = 64 << 20;
        let flags = fcntl_getfl(&self.to).map_err(|error| error.to_string())?;
        fcntl_setfl(&self.to, flags | OFlags::NONBLOCK).map_err(|error| error.to_string())?;
        let lines = line.repeat(1 + (64 << 10) / line.len());
        let mut sent = 0;
        while sent < MOST {
            match self.to.write(&lines) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    let mut room = [PollFd::new(&self.to, PollFlags::OUT)];
                    let patience = Timespec::try_from(FULL).ok();
                    match poll(&mut room, patience.as_ref()) {
                        Ok(0) => return Ok(()),
                        _ => continue,
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!("the server took {sent} bytes"))
    }

    /// The server.
    pub(crate) fn server(&self) -> &Running {
        &self.server
    }

    /// Goes, and waits for the server's end.
    ///
    /// # Errors
    /// It does not end, or ends badly.
    pub(crate) fn leave(self) -> Result<Output, String> {
        self.end()?.expect_code(0)
    }

    /// As [`LineClient::leave`], however the server ends.
    ///
    /// # Errors
    /// It does not end.
    pub(crate) fn end(self) -> Result<Ended, String> {
        drop(self.to);
        self.server.wait()
    }

    /// Kills the server.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn kill(self) -> Result<(), String> {
        self.server.signal(Signal::KILL)?;
        self.server.wait().map(drop)
    }
}
