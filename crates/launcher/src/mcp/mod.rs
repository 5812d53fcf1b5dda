//! The tools of `lazaret mcp`: what an outer agent may ask for, done by the verbs.
//!
//! An outer agent is not trusted: it uses workspaces inside the configured roots and the configured
//! profiles, and sees the sessions of both alone. None of its calls approves, applies, trusts,
//! allows or removes; each session starts with `--apply never`, whatever the profile says.

mod access;
mod ask;
mod copy;
mod exec;
mod page;
mod project;
mod sessions;

use std::sync::Arc;

use lazaret_mcp::{Call, Stop, ToolError, Tools, serve};
use lazaret_tree::escape;
use serde_json::Value;

use crate::app::{App, CommandLine};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::ui::OutputFormat;
use crate::verb_runner::{Ran, VerbRunner, take_streams};
use access::Access;
use lazaret_session::cancel::Cancel;

/// Serves the client on stdin and stdout, until it goes.
///
/// # Errors
/// Nothing says what it may use, or it does not speak the protocol.
pub(crate) fn run(line: CommandLine, app: &App) -> Result<(), Failure> {
    let verbs = VerbRunner::new(line, app);
    let host = Host {
        access: Access::load(&verbs.env)?,
        verbs,
    };
    let streams = take_streams().or_fail(FailureKind::Internal, "the streams can't be used")?;
    let served = serve(
        Arc::new(host),
        Box::new(std::fs::File::from(streams.0)),
        Box::new(std::fs::File::from(streams.1)),
    );
    served.or_fail(FailureKind::Usage, "cannot serve the client")
}

/// What does the calls.
struct Host {
    access: Access,
    verbs: VerbRunner,
}

impl Host {
    /// Runs a verb for a call.
    ///
    /// # Errors
    /// As [`VerbRunner::run`].
    fn verb(&self, words: &[String], format: OutputFormat, stop: &Stop) -> Result<Ran, Failure> {
        let good = [ExitCode::SUCCESS, ExitCode::TIMEOUT];
        self.verbs.run(words, format, &good, Self::cancel_by(stop))
    }

    /// Returns what ends a verb when its call is to stop.
    fn cancel_by(stop: &Stop) -> Cancel {
        let cancel = Cancel::new();
        let raised = cancel.clone();
        stop.on_stop(move || raised.raise());
        cancel
    }
}

impl Tools for Host {
    fn call(&self, call: Call, stop: &Stop) -> Result<Value, ToolError> {
        let done = match call {
            Call::ProjectCreate(input) => self.project_create(&input),
            Call::ProjectGet(input) => self.project_get(&input),
            Call::WorkspaceCreate(input) => self.workspace_create(&input),
            Call::SessionStart(input) => self.start(input, stop),
            Call::SessionList(input) => self.list(&input, stop),
            Call::SessionGet(input) => self.get(&input, stop),
            Call::SessionWait(input) => self.wait(&input, stop),
            Call::SessionStop(input) => self.stop(&input, stop),
            Call::SessionExec(input) => self.exec(input, stop),
            Call::SessionAsk(input) => self.ask(&input, stop),
            Call::SessionLog(input) => self.log(&input),
            Call::SessionDiff(input) => self.diff(&input, stop),
            Call::SessionFindings(input) => self.findings(&input, stop),
            Call::SessionCommits(input) => self.commits(&input, stop),
            Call::SessionExport(input) => self.export(&input, stop),
            Call::SessionReview(input) => self.review(&input),
        };
        done.map_err(|failure| tool_error(&failure))
    }
}

/// Tells the client of a failure, as `--json` does, escaped.
fn tool_error(failure: &Failure) -> ToolError {
    let escaped = |text: &String| escape(text.as_bytes());
    let mut chain = failure.chain().into_iter();
    ToolError {
        kind: failure.kind.as_str(),
        message: chain.next().as_ref().map_or(String::new(), escaped),
        causes: chain.map(|cause| escape(cause.as_bytes())).collect(),
        hints: failure.hints.iter().map(escaped).collect(),
    }
}
