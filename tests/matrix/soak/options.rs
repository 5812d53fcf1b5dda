//! The soak's command line.

use std::time::{Duration, SystemTime};

use crate::engine::EngineName;

#[derive(Debug)]
pub(super) struct Options {
    pub(super) engines: Vec<EngineName>,
    /// On all engines together.
    pub(super) sessions: usize,
    pub(super) lasts: Duration,
    pub(super) seed: u64,
}

impl Options {
    /// # Errors
    /// An argument that is unknown, or a value that is missing or wrong.
    pub(super) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            engines: Vec::new(),
            sessions: 24,
            lasts: Duration::from_secs(30 * 60),
            seed: seed(),
        };
        while let Some(argument) = arguments.next() {
            let value = arguments.next();
            let value = value.ok_or_else(|| format!("`{argument}` needs a value"))?;
            let wrong = |_| format!("`{argument} {value}`: expected a number");
            match argument.as_str() {
                "--engine" => options.engines.push(value.parse()?),
                "--sessions" => options.sessions = value.parse().map_err(wrong)?,
                "--minutes" => {
                    let minutes: u64 = value.parse().map_err(wrong)?;
                    options.lasts = Duration::from_secs(60 * minutes);
                }
                "--seed" => options.seed = value.parse().map_err(wrong)?,
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        if options.engines.is_empty() {
            options.engines = EngineName::ALL.to_vec();
        }
        Ok(options)
    }
}

/// A seed of its own for each soak.
pub(crate) fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
