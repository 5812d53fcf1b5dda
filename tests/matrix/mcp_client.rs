//! A client of `lazaret mcp` that writes lines of its own.

use std::io::{BufRead as _, BufReader, PipeWriter, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::ctx::Ctx;
use crate::lazaret::{Output, Running};

/// How long an answer may take. Only a server that hangs takes that long.
const LIMIT: Duration = Duration::from_secs(600);

/// A client, and the server that it began.
#[derive(Debug)]
pub(crate) struct McpClient {
    to: PipeWriter,
    lines: Receiver<String>,
    server: Running,
    asked: u64,
}

impl McpClient {
    /// Begins a server, and does the handshake.
    ///
    /// # Errors
    /// It does not answer as the protocol says.
    pub(crate) fn begin(ctx: &Ctx) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let (stdin, to) = std::io::pipe().map_err(failed)?;
        let (from, stdout) = std::io::pipe().map_err(failed)?;
        let call = ctx.call("mcp").stdin_pipe(stdin).stdout_pipe(stdout);
        let server = call.start()?;
        let (heard, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if heard.send(line).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            to,
            lines,
            server,
            asked: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "matrix", "version": "1" },
        });
        client.request("initialize", hello)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends one line.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn send(&mut self, message: &Value) -> Result<(), String> {
        self.send_bytes(message.to_string().as_bytes())
    }

    /// As [`McpClient::send`], whatever the bytes are.
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
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let answer = self.next()?;
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    }

    /// Calls a tool, which must do it; returns what it said.
    ///
    /// # Errors
    /// It says an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        match self.try_call(tool, arguments)? {
            Ok(said) => Ok(said),
            Err(error) => Err(format!("{tool}: {error}")),
        }
    }

    /// Calls a tool, which must refuse; returns the error.
    ///
    /// # Errors
    /// It does it.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        match self.try_call(tool, arguments.clone())? {
            Ok(said) => Err(format!("{tool} {arguments} did it: {said}")),
            Err(error) => Ok(error.to_string()),
        }
    }

    fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Result<Value, Value>, String> {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.ok_or_else(|| format!("{tool}: {answer}"))?;
        let mut said: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(match answer["result"]["isError"] == true {
            true => Err(said["error"].take()),
            false => Ok(said),
        })
    }

    /// Goes, and waits for the server's end.
    ///
    /// # Errors
    /// It does not end, or ends badly.
    pub(crate) fn leave(self) -> Result<Output, String> {
        drop(self.to);
        self.server.wait()?.expect_code(0)
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
