//! The product: profiles, sessions, the gate, and the command line over them.
//!
//! `main` (the binary) reads the environment once and calls [`main`]; from there on
//! everything is injected. A verb is a file in `commands`; it returns an
//! [`exit_code::ExitCode`] or a [`failure::Failure`], and speaks through [`ui::Ui`] only.

pub mod app;
pub mod attach;
mod captures;
pub mod cli;
mod commands;
mod commits;
mod completion;
mod config;
pub mod decide;
pub mod demo;
pub mod environment;
pub mod examples;
pub mod exit_code;
pub mod failure;
pub mod gate;
pub mod groups;
mod image;
mod keeper;
mod markdown;
mod mcp;
mod nonce;
pub mod own_dirs;
pub mod panic;
pub mod porter;
pub mod profile;
mod pull_request;
pub mod report;
pub mod resolve;
mod session_access;
mod signals;
pub mod ui;
mod user_programs;
mod verb_runner;

use std::ffi::OsString;

use crate::app::{App, CommandLine, Options};
use crate::cli::Cli;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::ui::{SessionEvents, Streams, Ui};
use lazaret_session::cancel::Cancel;

/// Runs the command line and says what the process shall end with. Signals are caught
/// from here on, and raise `cancel`.
pub fn main(
    arguments: impl IntoIterator<Item = OsString>,
    env: Environment,
    mut streams: Streams,
    cancel: Cancel,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = completion::answer(cli::command, &arguments, &env, &mut streams) {
        return code;
    }
    let cli = match cli::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return cli::show_parse_error(&error, &arguments, &env, streams),
    };
    let options = Options::new(&cli.global, &env);
    let ui = Ui::new(streams, options.ui, &env);
    let called = Called { cli, arguments };
    let code = run(called, env, &ui, options, cancel).unwrap_or_else(|failure| {
        ui.failure(&failure);
        failure.exit_code()
    });
    if code != ExitCode::SUCCESS {
        // The verb failed already; that says more. Nor is stdout touched again: a reader that
        // has stopped reading must not delay the exit (FLT-18).
        return code;
    }
    match ui.take_output_error() {
        Some(error) => {
            let failure =
                Failure::new(FailureKind::State, error).context("the result could not be written");
            ui.failure(&failure);
            failure.exit_code()
        }
        None => code,
    }
}

const COMMAND_LINE: CommandLine = CommandLine {
    describe: cli::command,
    run: run_line,
};

/// Does what a verb of another call would.
fn run_line(arguments: &[OsString], app: &App) -> Result<ExitCode, Failure> {
    let cli = cli::parse(arguments).map_err(|error| {
        let text = error.render().to_string();
        let line = text.lines().next().unwrap_or_default();
        let line = line.strip_prefix("error: ").unwrap_or(line);
        Failure::message(FailureKind::Usage, line)
    })?;
    commands::run(cli.command, COMMAND_LINE, app)
}

/// What the process was called with.
struct Called {
    cli: Cli,
    arguments: Vec<OsString>,
}

fn run(
    Called { cli, arguments }: Called,
    env: Environment,
    ui: &Ui,
    options: Options,
    cancel: Cancel,
) -> Result<ExitCode, Failure> {
    signals::install(&cancel).or_fail(FailureKind::Internal, "Ctrl-C can't be caught")?;
    let app = App {
        arguments,
        env,
        ui: ui.clone(),
        events: SessionEvents::new(ui.clone()),
        cancel,
        options,
        keeper_stderr: None,
    };
    let done = commands::run(cli.command, COMMAND_LINE, &app);
    for lazaret_runtime::UnremovedResource { what, name, cause } in lazaret_runtime::unremoved() {
        let cause = lazaret_tree::escape(cause.as_bytes());
        ui.warn(&format!("{what} {name} could not be removed: {cause}"));
        ui.hint("`lazaret recover` or `lazaret prune` tries again.");
    }
    done
}
