//! A client of `lazaret mcp` that writes lines of its own.

use serde_json::{Value, json};

use crate::ctx::Ctx;
use crate::lazaret::Output;
use crate::line_client::LineClient;

/// A client, and the server that it began.
#[derive(Debug)]
pub(crate) struct McpClient(LineClient);

impl McpClient {
    /// Begins a server, and does the handshake.
    ///
    /// # Errors
    /// It does not answer as the protocol says.
    pub(crate) fn begin(ctx: &Ctx) -> Result<Self, String> {
        let mut client = LineClient::begin(ctx.call("mcp"))?;
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "matrix", "version": "1" },
        });
        client.request("initialize", hello)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(Self(client))
    }

    /// As [`LineClient::send`].
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn send(&mut self, message: &Value) -> Result<(), String> {
        self.0.send(message)
    }

    /// As [`LineClient::send_bytes`].
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn send_bytes(&mut self, line: &[u8]) -> Result<(), String> {
        self.0.send_bytes(line)
    }

    /// As [`LineClient::next`].
    ///
    /// # Errors
    /// No message comes.
    pub(crate) fn next(&mut self) -> Result<Value, String> {
        self.0.next()
    }

    /// As [`LineClient::request`].
    ///
    /// # Errors
    /// No answer comes.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.0.request(method, params)
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

    /// As [`LineClient::leave`].
    ///
    /// # Errors
    /// The server does not end, or ends badly.
    pub(crate) fn leave(self) -> Result<Output, String> {
        self.0.leave()
    }

    /// As [`LineClient::kill`].
    ///
    /// # Errors
    /// The server can't be killed.
    pub(crate) fn kill(self) -> Result<(), String> {
        self.0.kill()
    }
}
