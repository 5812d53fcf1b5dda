//! `Cli`: what was typed. Nothing here needs a system call; the doc comments are the help.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::app::GlobalOptions;
use crate::commands::Command;
use crate::environment::Environment;
use crate::examples;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::ui::{
    ColorChoice, OutputFormat, ProgressChoice, Questions, Streams, Ui, UiOptions, Verbosity,
    sanitize,
};
use lazaret_gate::format::show_command;
use lazaret_runtime::SessionId;

/// What `--version` prints: also what the program was built from.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nbuilt from ",
    env!("LAZARET_SOURCE"),
    " for ",
    env!("LAZARET_TARGET"),
);

/// Runs a coding agent, or any command you don't trust, in a hardened container.
///
/// The project is copied in, never mounted. What changed comes back only through a gate
/// that collects, judges, shows, and then applies it in one transaction.
#[derive(Debug, Parser)]
#[command(
    name = "lazaret",
    version,
    long_version = LONG_VERSION,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 settled, 1 refused, 2 usage, 120 changes kept for review, \
    121 changes rejected, 122 no command runs, 123 another client drives, 124 timeout, 125 lazaret or the engine failed, 126 command not \
    executable, 127 command not found, 130 interrupted; else the command's own."
)]
pub struct Cli {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: GlobalOptions,
    /// The verb.
    #[command(subcommand)]
    pub command: Command,
}

/// Describes the command line, with the examples of each verb.
pub fn command() -> clap::Command {
    examples::added_to(Cli::command())
}

/// Parses a command line, the program's name first.
///
/// # Errors
/// What is wrong with it, or that help is wanted.
pub fn parse<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Prints help, the version, or what is wrong with the command line.
pub(crate) fn show_parse_error(
    error: &clap::Error,
    arguments: &[OsString],
    env: &Environment,
    streams: Streams,
) -> ExitCode {
    let mut options = UiOptions {
        format: OutputFormat::Text,
        color: ColorChoice::Auto,
        progress: ProgressChoice::None,
        verbosity: Verbosity::Normal,
        questions: Questions::Asked,
    };
    if !error.use_stderr() {
        let ui = Ui::new(streams, options, env);
        ui.result(error.render().to_string().trim_end());
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let ui = Ui::new(streams, options, env);
        ui.status(error.render().to_string().trim_end());
        return ExitCode::USAGE;
    }
    // The command line did not parse, but a user who typed --json still expects JSON.
    let json = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json");
    if json {
        options.format = OutputFormat::Json;
    }
    let ui = Ui::new(streams, options, env);
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let hint = hint(error, arguments);
    if json {
        let failure = Failure::message(FailureKind::Usage, text);
        ui.failure(&match hint {
            Some(hint) => failure.hinted(hint),
            None => failure,
        });
    } else {
        // The lines are clap's own; what was typed is within them.
        let lines: Vec<_> = text.lines().map(sanitize).collect();
        ui.error(&lines.join("\n"));
        hint.iter().for_each(|hint| ui.hint(&sanitize(hint)));
    }
    ExitCode::USAGE
}

/// Verbs that take a command.
const RUNS: [&str; 2] = ["run", "start"];

/// Returns what was meant, where that can be told.
fn hint(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let typed = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = typed(ContextKind::InvalidArg)?;
    let verb = arguments.get(1)?.to_str()?;
    match error.kind() {
        ErrorKind::UnknownArgument if RUNS.contains(&verb) && !argument.starts_with('-') => {
            let words = arguments.iter().skip(1);
            let words = Vec::from_iter(words.map(|word| word.to_string_lossy().into_owned()));
            let at = words.iter().position(|word| word == argument)?;
            let (before, behind) = (show_command(&words[..at]), show_command(&words[at..]));
            Some(match Path::new(argument).is_dir() {
                true => format!("`-w {argument}` names a workspace."),
                false => format!("A command stands behind `--`: `lazaret {before} -- {behind}`."),
            })
        }
        ErrorKind::ValueValidation if argument.starts_with("--name") => {
            let name = SessionId::resembling(typed(ContextKind::InvalidValue)?, SessionId::MOST)?;
            Some(format!("`--name {name}` is one."))
        }
        _ => None,
    }
}
