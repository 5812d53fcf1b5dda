//! `App`: what every verb gets.

use std::ffi::OsString;
use std::fs::File;

use lazaret_runtime::{DecidedBy, Detected, EngineChoice, EngineInfo, EngineRequest, InfoCache};
use lazaret_tree::escape;

use crate::config::Config;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, unusable};
use crate::ui::{
    ColorChoice, OutputFormat, ProgressChoice, Questions, SessionEvents, Ui, UiOptions, Verbosity,
};
use lazaret_session::cancel::Cancel;
use lazaret_session::store::record::Record;

/// The options of every verb.
#[derive(Debug, clap::Args)]
pub struct GlobalOptions {
    /// Print results as JSON on stdout, and failures as JSON on stderr
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// Engine: docker, podman, apple, or an endpoint such as unix:///run/podman/podman.sock or
    /// k8s://CONTEXT/NAMESPACE
    /// [env: LAZARET_ENGINE] [default: what DOCKER_HOST, DOCKER_CONTEXT, CONTAINER_HOST, config.toml
    /// or Docker's current context names, else the first one found]
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
    /// Show only warnings and errors
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub quiet: bool,
    /// Show details
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub verbose: bool,
    /// Never ask: what needs an answer is kept or refused
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_input: bool,
}

/// The global choices: what was typed, else the environment, else the default.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the user interface is made of.
    pub ui: UiOptions,
    /// The engine, as it was named; `None` to find one.
    pub engine: Option<EngineName>,
    /// Whether processes may be started through PID 1, past the engine.
    pub use_init_channel: bool,
}

/// An engine, as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineName {
    /// Its name or its address.
    pub text: String,
    /// What names it: `--engine` or `LAZARET_ENGINE`.
    pub by: DecidedBy,
}

impl EngineName {
    /// Reads `--engine`, else `LAZARET_ENGINE`.
    fn find(global: &GlobalOptions, env: &Environment) -> Option<Self> {
        let variable = || {
            let value = env.os(ENGINE_VARIABLE)?;
            Some(Self {
                text: value.to_string_lossy().into_owned(),
                by: DecidedBy::Variable(ENGINE_VARIABLE),
            })
        };
        let typed = global.engine.clone().map(|text| Self {
            text,
            by: DecidedBy::Flag,
        });
        typed.or_else(variable)
    }
}

/// Names an engine where `--engine` does not.
const ENGINE_VARIABLE: &str = "LAZARET_ENGINE";
/// Name the engine of Docker's and Podman's own clients.
const ENGINES_OWN: [&str; 3] = ["CONTAINER_HOST", "DOCKER_CONTEXT", "DOCKER_HOST"];

impl Options {
    /// Joins what was typed with the environment.
    pub fn new(global: &GlobalOptions, env: &Environment) -> Self {
        let chosen = |variable| env.text(variable);
        Self {
            ui: UiOptions {
                format: if global.json {
                    OutputFormat::Json
                } else {
                    OutputFormat::Text
                },
                color: global
                    .color
                    .or_else(|| by_name(chosen("LAZARET_COLOR")))
                    .unwrap_or(ColorChoice::Auto),
                progress: global
                    .progress
                    .or_else(|| by_name(chosen("LAZARET_PROGRESS")))
                    .unwrap_or(ProgressChoice::Auto),
                verbosity: match (global.quiet, global.verbose) {
                    (true, _) => Verbosity::Quiet,
                    (false, true) => Verbosity::Verbose,
                    (false, false) => Verbosity::Normal,
                },
                questions: match global.no_input {
                    true => Questions::Unasked,
                    false => Questions::Asked,
                },
            },
            engine: EngineName::find(global, env),
            use_init_channel: chosen("LAZARET_STARTER") != Some("engine"),
        }
    }
}

/// A variable that holds something else is as good as unset: looks are no reason to fail.
fn by_name<T: clap::ValueEnum>(text: Option<&str>) -> Option<T> {
    T::from_str(text?, true).ok()
}

/// What every verb gets.
#[derive(Debug)]
pub struct App {
    /// What the process was called with, its own name first.
    pub arguments: Vec<OsString>,
    /// The surroundings.
    pub env: Environment,
    /// Says and asks.
    pub ui: Ui,
    /// Shows what sessions tell.
    pub events: SessionEvents,
    /// Ctrl-C and its like.
    pub cancel: Cancel,
    /// The global choices.
    pub options: Options,
    /// What a keeper that is begun says until clients can come; `None` for this process's stderr.
    pub keeper_stderr: Option<File>,
}

/// The command line, for the verbs that describe it or do what other verbs do.
#[derive(Debug, Clone, Copy)]
pub struct CommandLine {
    /// Describes it.
    pub describe: fn() -> clap::Command,
    /// Does what was typed, the program's name first.
    pub run: fn(&[OsString], &App) -> Result<ExitCode, Failure>,
}

impl App {
    /// Connects to the engine that was named, or finds one.
    ///
    /// # Errors
    /// Says where it was tried, what went wrong there, and what to do.
    pub fn engine(&self) -> Result<Detected, Failure> {
        self.connect(&self.default_engine()?, None)
    }

    /// Connects to the engine that a run is for: the one that was named, that its session
    /// lives in where it was there before, or that is found. What `cache` knows of it is not
    /// asked again.
    ///
    /// # Errors
    /// As [`App::engine`].
    pub fn engine_for(
        &self,
        record: Option<&Record>,
        cache: &dyn InfoCache,
    ) -> Result<Detected, Failure> {
        let request = match record {
            Some(record) => self.request_at(&record.engine, format!("session {}", record.id))?,
            None => self.default_engine()?,
        };
        self.connect(&request, Some(cache))
    }

    fn connect(
        &self,
        request: &EngineRequest,
        cache: Option<&dyn InfoCache>,
    ) -> Result<Detected, Failure> {
        let environment = self.env.for_detection();
        self.cancel.check()?;
        let detected = match cache {
            Some(cache) => lazaret_runtime::detect_cached(request, &environment, cache),
            None => lazaret_runtime::detect(request, &environment),
        };
        // An engine that was silent for seconds is less to say than that the user went.
        self.cancel.check()?;
        let detected = detected?;
        self.ui.detail(&format!(
            "engine: {} at {} ({})",
            describe(&detected.info),
            escape(detected.info.endpoint.as_bytes()),
            escape(detected.by.to_string().as_bytes())
        ));
        Ok(detected)
    }

    /// Connects to the engine that was named, by whatever means, or to every one that answers.
    ///
    /// # Errors
    /// As [`App::engine`].
    pub fn engines(&self) -> Result<Vec<Detected>, Failure> {
        if self.options.engine.is_some() {
            return Ok(vec![self.engine()?]);
        }
        self.cancel.check()?;
        let found = lazaret_runtime::detect_all(&self.engine_request()?, &self.env.for_detection());
        self.cancel.check()?;
        Ok(found?)
    }

    /// Connects to the engine that a stored session lives in; `--engine` has the last word.
    ///
    /// # Errors
    /// As [`App::engine`].
    pub fn engine_of(&self, record: &Record) -> Result<Detected, Failure> {
        self.engine_at(&record.engine, format!("session {}", record.id))
    }

    /// Connects to the engine in which something lives; `--engine` has the last word.
    ///
    /// # Errors
    /// As [`App::engine`].
    pub fn engine_at(&self, endpoint: &str, what: String) -> Result<Detected, Failure> {
        self.connect(&self.request_at(endpoint, what)?, None)
    }

    fn request_at(&self, endpoint: &str, what: String) -> Result<EngineRequest, Failure> {
        match self.options.engine {
            Some(_) => self.engine_request(),
            None => match endpoint.parse::<EngineChoice>() {
                Ok(choice) => Ok(EngineRequest::by(choice, DecidedBy::Record(what))),
                Err(error) => Err(Failure::new(FailureKind::State, error)
                    .context(format!("the engine of {what} is unknown"))),
            },
        }
    }

    /// Returns which engine is used where nothing else says so: the one that was asked for, else
    /// that of `config.toml`, unless a variable of an engine's own names one.
    ///
    /// # Errors
    /// When what names one names none, or the configuration is wrong.
    pub fn default_engine(&self) -> Result<EngineRequest, Failure> {
        let is_named = self.options.engine.is_some()
            || ENGINES_OWN.iter().any(|name| self.env.os(name).is_some());
        // Without a home there is no configuration either.
        if is_named || self.env.config_dir().is_err() {
            return self.engine_request();
        }
        match Config::load(&self.env)?.engine {
            Some(text) => request(&text, DecidedBy::Config(Config::file(&self.env)?)),
            None => self.engine_request(),
        }
    }

    /// Returns which engine was asked for, by `--engine` or `LAZARET_ENGINE`.
    ///
    /// # Errors
    /// When what was typed names none.
    pub fn engine_request(&self) -> Result<EngineRequest, Failure> {
        let Some(EngineName { text, by }) = &self.options.engine else {
            let auto = EngineChoice::Auto;
            return Ok(EngineRequest::by(auto, DecidedBy::Detected));
        };
        request(text, by.clone())
    }
}

fn request(text: &str, by: DecidedBy) -> Result<EngineRequest, Failure> {
    match text.parse::<EngineChoice>() {
        Ok(choice) => Ok(EngineRequest::by(choice, by)),
        Err(error) => Err(unusable(&by, error)),
    }
}

/// `Docker 20.10.24 (API 1.41)`, escaped.
pub(crate) fn describe(info: &EngineInfo) -> String {
    let api = info
        .api_version
        .as_ref()
        .map(|api| format!(" (API {api})"))
        .unwrap_or_default();
    let text = format!("{} {}{api}", info.kind, info.version);
    escape(text.as_bytes())
}
