//! `serve`: answers a client until it goes.

use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, interval_at};

use crate::lines::Lines;
use crate::stop::Stop;
use crate::tools::{Call, Description, Effect, ToolError, Tools, descriptions};

/// The most bytes of an answer's text.
pub const MOST_ANSWER: usize = 256 << 10;
/// How often a client hears that a call goes on.
const PROGRESS: Duration = Duration::from_secs(5);
/// How long calls may take to end when the client is gone.
const LAST_CALLS: Duration = Duration::from_secs(30);

const INSTRUCTIONS: &str = "Runs commands in hardened containers, on copies of workspaces. What a \
    session changed comes back only when a person approves it: session_review returns the command \
    that the person types. No tool approves, applies, allows, trusts or removes.";

/// Why nothing was served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime could not be made.
    #[error("the runtime of the server can't be made")]
    Runtime(#[source] io::Error),
    /// The client's first messages were none of the protocol.
    #[error("the client did not begin as the protocol says: {0}")]
    Begin(String),
}

/// Answers a client, until its input ends. `input` and `output` are used by threads that end with
/// them.
///
/// # Errors
/// The client does not speak the protocol.
pub fn serve(
    tools: Arc<dyn Tools>,
    input: Box<dyn Read + Send>,
    output: Box<dyn Write + Send>,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(ServeError::Runtime)?;
    let (lines, writer) = Lines::new(input, output);
    let served = runtime.block_on(async move {
        match (Server { tools }).serve(lines).await {
            Ok(running) => {
                let _ended = running.waiting().await;
                Ok(())
            }
            // It came and went, without a word.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(ServeError::Begin(error.to_string())),
        }
    });
    // Their stops were raised.
    runtime.shutdown_timeout(LAST_CALLS);
    writer.finish();
    served
}

struct Server {
    tools: Arc<dyn Tools>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("lazaret", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let tools = descriptions().into_iter().map(tool).collect();
        std::future::ready(Ok(ListToolsResult::with_all_items(tools)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = match Call::read(&request.name, arguments) {
            None => {
                let text = format!("there is no tool {:?}", request.name);
                return Err(ErrorData::invalid_params(text, None));
            }
            Some(Err(error)) => {
                let refused = ToolError {
                    kind: "usage",
                    message: format!("the arguments of {} are wrong: {error}", request.name),
                    causes: Vec::new(),
                    hints: Vec::new(),
                };
                return Ok(failed(&refused).into());
            }
            Some(Ok(call)) => call,
        };
        let stop = Stop::default();
        // Also when this future is dropped: no client waits for the call then.
        let _raised = RaisedAtLast(stop.clone());
        let (tools, stopping) = (Arc::clone(&self.tools), stop.clone());
        let mut done = tokio::task::spawn_blocking(move || tools.call(call, &stopping));
        let token = context.meta.get_progress_token();
        let mut ticks = interval_at(Instant::now() + PROGRESS, PROGRESS);
        let mut told = 0;
        let is_over = context.ct.cancelled();
        tokio::pin!(is_over);
        let mut is_raised = false;
        let result = loop {
            tokio::select! {
                result = &mut done => break result,
                () = &mut is_over, if !is_raised => {
                    is_raised = true;
                    stop.raise();
                }
                _ = ticks.tick() => {
                    told += 1;
                    tell(&context, token.clone(), told).await;
                }
            }
        };
        Ok(match result {
            Ok(Ok(value)) => said(&value),
            Ok(Err(error)) => failed(&error),
            Err(_) => failed(&ToolError {
                kind: "internal",
                message: "the call ended in a mistake of lazaret's".to_owned(),
                causes: Vec::new(),
                hints: vec!["Its stderr says more.".to_owned()],
            }),
        }
        .into())
    }
}

struct RaisedAtLast(Stop);

impl Drop for RaisedAtLast {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Tells the client that a call goes on, if it asked for that.
async fn tell(context: &RequestContext<RoleServer>, token: Option<ProgressToken>, told: u32) {
    let Some(token) = token else {
        return;
    };
    let seconds = f64::from(told) * PROGRESS.as_secs_f64();
    let progress = ProgressNotificationParam::new(token, seconds);
    // A client that went away is heard of elsewhere.
    drop(context.peer.notify_progress(progress).await);
}

fn said(value: &Value) -> CallToolResult {
    let text = value.to_string();
    if text.len() > MOST_ANSWER {
        return failed(&ToolError {
            kind: "refused",
            message: format!("the answer has more than {} KiB", MOST_ANSWER >> 10),
            causes: Vec::new(),
            hints: Vec::new(),
        });
    }
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn failed(error: &ToolError) -> CallToolResult {
    let text = json!({ "error": error }).to_string();
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn tool(description: Description) -> Tool {
    let Description {
        name,
        text,
        schema,
        effect,
    } = description;
    let annotations = ToolAnnotations::new()
        .read_only(effect == Effect::Reads)
        .destructive(effect == Effect::Ends);
    Tool::new(name, text, schema).with_annotations(annotations)
}
