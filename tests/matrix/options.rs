//! The matrix' command line.

use std::path::PathBuf;

use crate::engine::EngineName;

/// What to run, and where the report goes.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) engines: Vec<EngineName>,
    /// Parts of scenario names; all scenarios when there is none.
    pub(crate) scenarios: Vec<String>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) jobs: usize,
    pub(crate) mode: Mode,
    pub(crate) again: Again,
    pub(crate) spread: Spread,
}

/// Which engines a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// All.
    All,
    /// If it asks the same of each engine, one of them: the next one in turn.
    InTurn,
}

/// What becomes of a scenario that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// It is run once more, by itself, and reported as flaky if it passes.
    Once,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Run,
    List,
}

impl Options {
    /// # Errors
    /// An argument that is not one of ours, or a value that is missing or wrong.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            engines: Vec::new(),
            scenarios: Vec::new(),
            report: None,
            // While one waits for its engine, another works.
            jobs: 1 + std::thread::available_parallelism().map_or(1, usize::from),
            mode: Mode::Run,
            again: Again::Never,
            spread: Spread::All,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("`{argument}` needs a value"))
            };
            match argument.as_str() {
                "--engine" => {
                    for name in value()?.split(',') {
                        options.engines.push(name.parse()?);
                    }
                }
                "--scenario" => options.scenarios.push(value()?),
                "--report" => options.report = Some(PathBuf::from(value()?)),
                "--jobs" => {
                    let jobs = value()?;
                    options.jobs = jobs
                        .parse()
                        .ok()
                        .filter(|jobs| *jobs > 0)
                        .ok_or_else(|| format!("`--jobs {jobs}`: expected 1 or more"))?;
                }
                "--again" => options.again = Again::Once,
                "--in-turn" => options.spread = Spread::InTurn,
                "--list" => options.mode = Mode::List,
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        if options.engines.is_empty() {
            options.engines = EngineName::ALL.to_vec();
        }
        Ok(options)
    }
}
