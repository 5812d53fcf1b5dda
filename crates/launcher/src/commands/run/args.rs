//! The options of `run`, and the run that they and a profile ask for.

use std::io::Read as _;
use std::path::PathBuf;
use std::str::FromStr;

use lazaret_egress::AllowEntry;
use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::{EnvName, SessionId};
use lazaret_transfer::FileSelector;

use crate::app::App;
use crate::config::Config;
use crate::environment::StreamKind;
use crate::failure::{Failure, FailureKind};
use crate::gate::Asked;
use crate::profile::units::Span;
use crate::profile::{self, ApplyMode, Profile, Publish, WORKSPACE_FILE, pass, profile_for};
use crate::resolve::run_spec::RunRequest;
use crate::resolve::scope::WorkspaceScope;
use crate::resolve::workspace;
use crate::session_access::with_ignored::WithIgnored;
use crate::ui::OutputFormat;
use lazaret_session::spec::{LogLevel, TerminalMode};
use lazaret_session::store::record::{KeepVolume, WriteScope};

/// What is run, on what, and what becomes of it: options of `run` and `start`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile: a built-in name, one of your own, or a path to a TOML file [default: yours for this
    /// project, which `lazaret init` writes, else `profile` of config.toml]
    #[arg(value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Workspace [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Name of the session; an existing one continues, with what you changed since [default: made
    /// from the workspace's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<SessionId>,
    /// Clone this branch, tag or commit instead of copying the workspace's files: nothing
    /// uncommitted goes in
    #[arg(long, value_name = "BRANCH")]
    pub from: Option<String>,
    /// What to do with changes [default: the profile's, else ask]
    #[arg(long, value_name = "MODE")]
    pub apply: Option<ApplyMode>,
    #[command(flatten)]
    pub ignored: WithIgnored,
    /// Time limit of the command, such as 90s, 5m, 2h [default: the profile's]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// Variable for the command, or the name of one of yours; repeatable
    #[arg(short, long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<EnvVar>,
    /// Port inside that a port of 127.0.0.1 leads to; repeatable
    #[arg(short, long = "publish", value_name = "[HOST_PORT:]PORT")]
    pub publish: Vec<Publish>,
    /// Host that the command may reach too, or @crates, @github, @go, @npm, @pypi; a workspace's
    /// lazaret.toml still tightens; repeatable
    #[arg(long, value_name = "HOST[:PORT]", value_parser = AllowEntry::typed)]
    pub allow: Vec<AllowEntry>,
    /// Task for the command, passed as the profile's `prompt` says; - reads stdin
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub prompt: Option<String>,
    /// Give the command this terminal [default: for a profile with `terminal = true`, without
    /// a task or another command]
    #[arg(short, long, conflicts_with = "prompt")]
    pub terminal: bool,
    /// Image to run on instead of the profile's
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,
    /// Image to combine with that one, such as a toolchain; repeatable
    #[arg(long, value_name = "IMAGE")]
    pub with: Vec<String>,
    /// Keep the session's volume for another run of that name, until `rm`
    #[arg(long)]
    pub keep: bool,
    /// What is kept of the run: `info` (what it prints and a summary) or `debug` (also what it is
    /// sent on stdin)
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        hide_possible_values = true
    )]
    pub log_level: KeptLog,
    /// Only list what would be copied in, with sizes
    #[arg(long)]
    pub dry_run: bool,
    /// Command to run instead of the profile's
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// What is kept of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KeptLog {
    /// What it prints, and a summary.
    Info,
    /// Also what it is sent on stdin.
    Debug,
}

impl From<KeptLog> for LogLevel {
    fn from(level: KeptLog) -> Self {
        match level {
            KeptLog::Info => Self::Info,
            KeptLog::Debug => Self::Debug,
        }
    }
}

/// A variable for the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name.
    pub name: EnvName,
    /// Its value; may hold `=` and `,`. `None` for that of the caller's own variable.
    pub value: Option<String>,
}

impl FromStr for EnvVar {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let name = name.parse().map_err(|error| format!("{error}"))?;
        if value.as_ref().is_some_and(|value| value.contains('\0')) {
            return Err("a value can't hold a NUL byte".to_owned());
        }
        Ok(Self { name, value })
    }
}

impl Args {
    /// Names the profile: the given one, else the user's for the workspace, else the user's default.
    ///
    /// # Errors
    /// There is none, or the user's files are wrong.
    pub(in crate::commands) fn profile_name(&self, app: &App) -> Result<String, Failure> {
        if let Some(name) = &self.profile {
            return Ok(name.clone());
        }
        let dir = match &self.workspace {
            Some(dir) => app.env.cwd.join(dir),
            None => app.env.cwd.clone(),
        };
        // What can't be used as a workspace is refused where it is opened.
        let dir = std::fs::canonicalize(&dir).unwrap_or(dir);
        if let Some(found) = profile_for(&dir, &app.env)? {
            return Ok(found.name);
        }
        if let Some(name) = Config::load(&app.env)?.profile {
            let loaded = profile::load(&name, &app.env);
            loaded.map_err(|failure| failure.context("`profile` of config.toml"))?;
            return Ok(name);
        }
        let text = format!("no profile is for {}", dir.display());
        Err(Failure::message(FailureKind::Usage, text).hinted(
            "`lazaret init` writes one for this project; `lazaret run PROFILE` names one, such as \
             claude, and `lazaret profile ls` lists them.",
        ))
    }
}

/// Shells: alone, they read what a user types.
const SHELLS: [&str; 5] = ["bash", "dash", "fish", "sh", "zsh"];

impl Args {
    /// Whether the command is one for a terminal, if there is one.
    pub(in crate::commands) fn wants_terminal(&self, profile: &Profile) -> bool {
        let is_own = self.prompt.is_none() && self.command.is_empty();
        let is_shell = match self.command.as_slice() {
            [program] => SHELLS.contains(&program.as_str()),
            _ => false,
        };
        self.terminal || is_shell || (profile.terminal && is_own)
    }
}

/// Finds out what of which workspace the profile is for.
pub(in crate::commands) fn scope(
    args: &Args,
    profile: Profile,
    app: &App,
) -> Result<(WorkspaceScope, FileSelector), Failure> {
    let path = args
        .workspace
        .clone()
        .unwrap_or_else(|| app.env.cwd.clone());
    let workspace = workspace::open(&path, &app.env)?;
    let profile = match &args.image {
        Some(image) => profile.on_image(image)?,
        None => profile,
    };
    let profile = match args.with.is_empty() {
        true => profile,
        false => {
            let image = format!("{}+{}", profile.image, args.with.join("+"));
            profile.on_image(&image)?
        }
    };
    let scope = WorkspaceScope::of(profile.allowing(&args.allow), workspace, &app.env)?;
    if !scope.keys.is_empty() {
        let keys = scope.keys.join(", ");
        app.ui.status(&format!("{WORKSPACE_FILE} tightens: {keys}"));
    }
    if !scope.looser.is_empty() {
        let keys = scope.looser.join(", ");
        app.ui.warn(&format!(
            "{WORKSPACE_FILE} can only tighten: {keys} in it has no effect"
        ));
    }
    if let Some(repository) = scope.repository_above() {
        app.ui.hint(&format!(
            "This directory goes in without its repository, {}: `workspace.isolation = \"project\"` \
             in a profile takes all of that in.",
            app.ui.whole_place(repository)
        ));
    }
    let selector = scope.selector()?;
    Ok((scope, selector))
}

/// Joins what was typed with the profile: a command without a terminal and a time limit.
pub(in crate::commands) fn job(
    args: Args,
    mut profile: Profile,
    bounds: WriteScope,
    shared: Option<Vec<String>>,
    app: &App,
) -> Result<RunRequest, Failure> {
    let command = if let Some(prompt) = &args.prompt {
        prompted(&profile, prompt, app)?
    } else if args.command.is_empty() {
        profile.command.clone()
    } else {
        args.command
    };
    if command.is_empty() {
        let text = format!("profile {} has no command of its own", profile.name);
        return Err(Failure::message(FailureKind::Usage, text).hinted(format!(
            "Name one: `lazaret run {} -- CMD …`.",
            profile.name
        )));
    }
    profile.gate.ignored = profile.gate.ignored.max(args.ignored.files());
    let mut env = pass::passed(&profile.env_pass, &app.env.variables);
    env.extend(profile.env.clone());
    for EnvVar { name, value } in args.env {
        let value = match value {
            Some(value) => value,
            None => own(&name, app)?,
        };
        env.insert(name, value);
    }
    let mut ports = profile.network.ports.clone();
    ports.extend(args.publish);
    Ok(RunRequest {
        id: args.name,
        command,
        apply: args.apply.unwrap_or(profile.gate.apply),
        asked: Asked::Here,
        timeout: None,
        env,
        ports,
        volume: if args.keep {
            KeepVolume::Always
        } else {
            KeepVolume::UntilSettled
        },
        bounds,
        shared,
        from: args.from,
        terminal: TerminalMode::None,
        stdin: CommandStdin::Empty,
        extra: Vec::new(),
        fills: None,
        log: args.log_level.into(),
        profile,
    })
}

/// Says whether the command gets the user's terminal.
pub(super) fn terminal(args: &Args, profile: &Profile, app: &App) -> Result<TerminalMode, Failure> {
    let streams = app.env.streams;
    let is_there = [streams.stdin, streams.stdout] == [StreamKind::Terminal; 2]
        && app.ui.format() == OutputFormat::Text
        && !app.ui.is_unasked();
    match is_there {
        true if args.wants_terminal(profile) => Ok(TerminalMode::Interactive),
        false if args.terminal => {
            let text = "--terminal needs a terminal on stdin and stdout, and neither --json nor --no-input";
            Err(Failure::message(FailureKind::Usage, text))
        }
        _ => Ok(TerminalMode::None),
    }
}

/// Returns a variable of the caller's, which was asked for by name.
pub(in crate::commands) fn own(name: &EnvName, app: &App) -> Result<String, Failure> {
    let value = app.env.variables.get(name.as_str());
    let value = value.ok_or_else(|| {
        Failure::message(FailureKind::Usage, format!("{name} is not set"))
            .hinted(format!("`-e {name}=VALUE` gives it a value."))
    })?;
    value.to_str().map(str::to_owned).ok_or_else(|| {
        let text = format!("the value of {name} is not UTF-8");
        Failure::message(FailureKind::Usage, text)
    })
}

/// Puts the profile's command and the task together.
fn prompted(profile: &Profile, prompt: &str, app: &App) -> Result<Vec<String>, Failure> {
    /// The most bytes of a task: the kernel takes 128 KiB in one argument (execve(2)).
    const MOST: u64 = 100 << 10;
    let usage = |text: String| Failure::message(FailureKind::Usage, text);
    if profile.prompt.is_empty() || profile.command.is_empty() {
        let text = format!(
            "profile {} does not say how its command is given a task",
            profile.name
        );
        return Err(usage(text).hinted("Add such as prompt = [\"-p\", \"{}\"] to the profile."));
    }
    let task = match prompt {
        "-" => {
            let input = app.ui.take_stdin();
            let mut text = String::new();
            let mut input = input.map(|input| input.take(MOST + 1));
            let read = input.as_mut().map(|input| input.read_to_string(&mut text));
            if let Some(Err(error)) = read {
                return Err(Failure::new(FailureKind::Usage, error)
                    .context("the task on stdin can't be read"));
            }
            text
        }
        text => text.to_owned(),
    };
    if task.trim().is_empty() || task.len() as u64 > MOST || task.contains('\0') {
        return Err(usage(format!(
            "the task is empty, holds a NUL byte, or is longer than {} KiB",
            MOST >> 10
        )));
    }
    let words = profile.prompt.iter().map(|word| word.replace("{}", &task));
    Ok(profile.command.iter().cloned().chain(words).collect())
}
