//! `Cli`: what was typed. Nothing here needs a system call; the doc comments are the help.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    allowed, apply, check, completions, diff, discard, doctor, export, image, logs, ls, man,
    policy, pool, profile, prune, recover, review, rm, rules, run, show, sync, undo, watch,
};
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::ui::{
    ColorChoice, OutputFormat, ProgressChoice, Streams, Ui, UiOptions, Verbosity, harmless,
};

/// Runs a coding agent, or any command you don't trust, in a hardened container.
///
/// The project is copied in, never mounted. What changed comes back only through a gate
/// that collects, judges, shows, and then applies it in one transaction.
#[derive(Debug, Parser)]
#[command(
    name = "lazaret",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 settled, 1 refused, 2 usage, 120 changes kept for review, \
    121 changes rejected, 124 timeout, 125 lazaret or the engine failed, 126 command not \
    executable, 127 command not found, 130 interrupted; else the command's own."
)]
pub struct Cli {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: Global,
    /// The verb.
    #[command(subcommand)]
    pub command: Command,
}

/// The options of every verb.
#[derive(Debug, Args)]
pub struct Global {
    /// Print results as JSON on stdout, and failures as JSON on stderr
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// Engine: docker, podman, apple, or an endpoint such as unix:///run/podman/podman.sock
    /// [env: LAZARET_ENGINE] [default: what DOCKER_HOST, DOCKER_CONTEXT, CONTAINER_HOST or
    /// Docker's current context names, else the first one found]
    #[arg(
        long,
        global = true,
        value_name = "ENGINE",
        help_heading = "Global options"
    )]
    pub engine: Option<String>,
    /// When to colour [env: LAZARET_COLOR, NO_COLOR, CLICOLOR_FORCE] [default: auto]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        help_heading = "Global options"
    )]
    pub color: Option<ColorChoice>,
    /// How to show progress [env: LAZARET_PROGRESS] [default: auto]
    #[arg(
        long,
        global = true,
        value_name = "HOW",
        help_heading = "Global options"
    )]
    pub progress: Option<ProgressChoice>,
    /// Say only warnings and errors
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub verbose: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
#[expect(
    missing_docs,
    reason = "the doc comment of each Args is the help; one here would hide it"
)]
pub enum Command {
    Run(run::Args),
    Diff(diff::Args),
    Watch(watch::Args),
    Sync(sync::Args),
    Review(review::Args),
    Apply(apply::Args),
    Allowed(allowed::Args),
    Export(export::Args),
    Check(check::Args),
    Discard(discard::Args),
    Undo(undo::Args),
    Ls(ls::Args),
    Show(show::Args),
    Logs(logs::Args),
    Rm(rm::Args),
    Recover(recover::Args),
    Prune(prune::Args),
    Doctor(doctor::Args),
    Rules(rules::Args),
    #[command(subcommand)]
    Policy(policy::Command),
    #[command(subcommand)]
    Pool(pool::Command),
    #[command(subcommand)]
    Image(image::Command),
    #[command(subcommand)]
    Profile(profile::Command),
    Completions(completions::Args),
    Man(man::Args),
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
    };
    if !error.use_stderr() {
        let ui = Ui::new(streams, options, env);
        ui.result(error.render().to_string().trim_end());
        return ExitCode::SUCCESS;
    }
    // The command line was not understood, but this much of it can be: whoever typed
    // --json reads JSON.
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
    if json {
        ui.failure(&Failure::message(FailureKind::Usage, text));
    } else {
        // The lines are clap's own; what was typed is within them.
        let lines: Vec<_> = text.lines().map(harmless).collect();
        ui.error(&lines.join("\n"));
    }
    ExitCode::USAGE
}
