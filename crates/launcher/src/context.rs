//! `Context`: what every verb gets.

use lazaret_runtime::{Detected, EngineChoice, Memory, Starter};
use lazaret_transfer::escape;

use crate::cli::Global;
use crate::commands::doctor::describe;
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::interrupt::Interrupt;
use crate::session::record::Record;
use crate::ui::{ColorChoice, OutputFormat, ProgressChoice, Ui, UiOptions, Verbosity};

/// The global choices: what was typed, else the environment, else the default.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the user interface is made of.
    pub ui: UiOptions,
    /// The engine, as it was named; `None` to find one.
    pub engine: Option<String>,
    /// Who starts the first process of ours in a container.
    pub starter: Starter,
}

impl Options {
    /// Joins what was typed with the environment.
    pub fn new(global: &Global, env: &Environment) -> Self {
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
            },
            engine: global
                .engine
                .clone()
                .or_else(|| chosen("LAZARET_ENGINE").map(str::to_owned)),
            starter: match chosen("LAZARET_STARTER") {
                Some("engine") => Starter::Engine,
                _ => Starter::FirstProcess,
            },
        }
    }
}

/// A variable that holds something else is as good as unset: looks are no reason to fail.
fn by_name<T: clap::ValueEnum>(text: Option<&str>) -> Option<T> {
    T::from_str(text?, true).ok()
}

/// What every verb gets.
#[derive(Debug)]
pub struct Context {
    /// The surroundings.
    pub env: Environment,
    /// Says and asks.
    pub ui: Ui,
    /// Ctrl-C and its like.
    pub interrupt: Interrupt,
    /// The global choices.
    pub options: Options,
}

impl Context {
    /// Connects to the engine that was named, or finds one.
    ///
    /// # Errors
    /// Says where it was tried, what went wrong there, and what to do.
    pub fn engine(&self) -> Result<Detected, Failure> {
        self.connect(&self.engine_choice()?, None)
    }

    /// Connects to the engine that a run is for: the one that was named, that its session
    /// lives in where it was there before, or that is found. What `memory` knows of it is not
    /// asked again.
    ///
    /// # Errors
    /// As [`Context::engine`].
    pub fn engine_for(
        &self,
        record: Option<&Record>,
        memory: &dyn Memory,
    ) -> Result<Detected, Failure> {
        let choice = match record {
            Some(record) => self.choice_at(&record.engine, &format!("session {}", record.id))?,
            None => self.engine_choice()?,
        };
        self.connect(&choice, Some(memory))
    }

    fn connect(
        &self,
        choice: &EngineChoice,
        memory: Option<&dyn Memory>,
    ) -> Result<Detected, Failure> {
        let environment = self.env.for_detection();
        self.interrupt.check()?;
        let detected = match memory {
            Some(memory) => lazaret_runtime::detect_remembering(choice, &environment, memory),
            None => lazaret_runtime::detect(choice, &environment),
        };
        // An engine that was silent for seconds is less to say than that the user went.
        self.interrupt.check()?;
        let detected = detected?;
        self.ui.detail(&format!(
            "engine: {} at {}",
            describe(&detected.info),
            escape(detected.info.endpoint.as_bytes())
        ));
        Ok(detected)
    }

    /// Connects to the engine that was named, or to every one that answers.
    ///
    /// # Errors
    /// As [`Context::engine`].
    pub fn engines(&self) -> Result<Vec<Detected>, Failure> {
        if self.options.engine.is_some() {
            return Ok(vec![self.engine()?]);
        }
        self.interrupt.check()?;
        let found = lazaret_runtime::detect_all(&EngineChoice::Auto, &self.env.for_detection());
        self.interrupt.check()?;
        Ok(found?)
    }

    /// Connects to the engine that a stored session lives in; `--engine` has the last word.
    ///
    /// # Errors
    /// As [`Context::engine`].
    pub fn engine_of(&self, record: &Record) -> Result<Detected, Failure> {
        self.engine_at(&record.engine, &format!("session {}", record.id))
    }

    /// Connects to the engine in which something lives; `--engine` has the last word.
    ///
    /// # Errors
    /// As [`Context::engine`].
    pub fn engine_at(&self, endpoint: &str, what: &str) -> Result<Detected, Failure> {
        self.connect(&self.choice_at(endpoint, what)?, None)
    }

    fn choice_at(&self, endpoint: &str, what: &str) -> Result<EngineChoice, Failure> {
        match self.options.engine {
            Some(_) => self.engine_choice(),
            None => endpoint.parse::<EngineChoice>().or_fail(
                FailureKind::State,
                &format!("the engine of {what} is unknown"),
            ),
        }
    }

    /// Returns which engine was asked for.
    ///
    /// # Errors
    /// When what was typed names none.
    pub fn engine_choice(&self) -> Result<EngineChoice, Failure> {
        let Some(text) = &self.options.engine else {
            return Ok(EngineChoice::Auto);
        };
        Ok(text.parse::<EngineChoice>()?)
    }
}
