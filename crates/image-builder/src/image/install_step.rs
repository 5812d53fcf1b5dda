//! `InstallStep`: an install step in a container on the engine, and what it changed.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use lazaret_protocol::Verb;
use lazaret_runtime::{
    BuildNetwork, BuildSpec, ContainerLease, ContainerName, Engine, EngineError, EngineInfo,
    EnvName, ExecSpec, HardenedSpec, ImageRef, Process, Stdin, Unenforceable,
};
use lazaret_tree::escape;

/// How much of a failed step's output is shown.
const TAIL_LINES: usize = 15;

/// The most that is read of what a command says of its version.
const MAX_ANSWER: u64 = 64 << 10;

/// Why an install step gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce what even a build must have.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// It failed.
    #[error("it {how}; its last lines:\n{tail}")]
    Failed {
        /// How it ended.
        how: String,
        /// Its last lines, escaped.
        tail: String,
    },
    /// What it changed could not be taken over.
    #[error("take over what it changed: {0}")]
    Take(#[source] io::Error),
    /// There is no room for what it changed, or no right to write it.
    #[error("keep what it changed in {path}: {source}")]
    Keep {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A container with the image so far, in which a step is run.
pub(crate) struct InstallStep<'a> {
    pub(crate) engine: &'a Arc<dyn Engine>,
    pub(crate) env: BTreeMap<EnvName, String>,
    lease: ContainerLease,
}

/// What the container of a step is made of.
pub(crate) struct InstallContainer<'a> {
    pub(crate) name: ContainerName,
    pub(crate) image: &'a ImageRef,
    pub(crate) network: BuildNetwork,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) info: Box<EngineInfo>,
    pub(crate) env: BTreeMap<EnvName, String>,
}

impl<'a> InstallStep<'a> {
    /// Starts the container. One of the same name is a killed build's: the caller holds the
    /// lock of the cache entry that it is named after.
    pub(crate) fn start(
        engine: &'a Arc<dyn Engine>,
        place: InstallContainer<'_>,
    ) -> Result<Self, StepError> {
        engine.remove_container(&place.name)?;
        let spec = BuildSpec {
            name: place.name,
            image: place.image.clone(),
            network: place.network,
            labels: place.labels,
        };
        let spec = HardenedSpec::for_build(spec, &place.info)?;
        let lease = ContainerLease::create(engine, &spec)?;
        engine.start_container(lease.name())?;
        Ok(Self {
            engine,
            env: place.env,
            lease,
        })
    }

    /// Returns the container's name; removing the container ends the step.
    pub(crate) fn container(&self) -> &ContainerName {
        self.lease.name()
    }

    /// Runs `script`, whose lines come to `on_line`, and writes what it changed in `only`
    /// (everywhere, when that is empty) to the tar `changes`.
    pub(crate) fn run(
        &self,
        script: &str,
        only: &[String],
        changes: &Path,
        on_line: &mut dyn FnMut(String),
    ) -> Result<(), StepError> {
        let layer = Verb::Layer {
            root: "/".to_owned(),
            only: only.to_vec(),
            argv: ["/bin/sh", "-ec", script].map(str::to_owned).to_vec(),
        };
        let Process {
            stdout,
            stderr,
            control,
            ..
        } = self.exec(layer.to_command())?;
        let mut tail = VecDeque::with_capacity(TAIL_LINES);
        let copied = thread::scope(|scope| {
            let copying = scope.spawn(|| copy(stdout, changes));
            let listened = listen(stderr, &mut |line| {
                if tail.len() == TAIL_LINES {
                    tail.pop_front();
                }
                tail.push_back(line.clone());
                on_line(line);
            });
            let copied = copying.join().unwrap_or_else(|_| {
                let error = io::Error::other("the copy panicked");
                Err(StepError::Take(error))
            });
            copied.and(listened.map_err(StepError::Take))
        });
        // How it ended says more than a stream that broke off because of it; and a disk
        // that is full says why it ended so.
        match (control.wait(), copied) {
            (_, Err(full @ StepError::Keep { .. })) => Err(full),
            (Ok(0), copied) => copied,
            (Ok(code), _) => Err(StepError::Failed {
                how: format!("ended with exit code {code}"),
                tail: Vec::from(tail).join("\n"),
            }),
            (Err(error), Ok(())) => Err(error.into()),
            (Err(_), Err(error)) => Err(error),
        }
    }

    /// Runs `command` and returns what it says on both streams.
    pub(crate) fn ask(&self, command: &str) -> Result<String, StepError> {
        let command = format!("{{ {command}\n}} 2>&1");
        answer(self.exec(vec!["/bin/sh".to_owned(), "-ec".to_owned(), command])?)
    }

    fn exec(&self, argv: Vec<String>) -> Result<Process, EngineError> {
        let spec = ExecSpec {
            env: self.env.clone(),
            workdir: Some("/".to_owned()),
            ..ExecSpec::new(argv, Stdin::Closed)
        };
        self.engine.exec(self.lease.name(), &spec)
    }
}

/// Waits for a command's end and returns what it said, or how it failed.
pub(crate) fn answer(process: Process) -> Result<String, StepError> {
    let Process {
        stdout,
        stderr,
        control,
        ..
    } = process;
    let read = |stream: Box<dyn Read + Send>| -> io::Result<Vec<u8>> {
        let mut said = Vec::new();
        let mut stream = stream;
        (&mut stream).take(MAX_ANSWER).read_to_end(&mut said)?;
        io::copy(&mut stream, &mut io::sink())?;
        Ok(said)
    };
    let said = thread::scope(|scope| {
        let errors = scope.spawn(|| read(stderr));
        let mut said = read(stdout)?;
        said.extend(
            errors
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the copy panicked")))?,
        );
        Ok(said)
    })
    .map_err(StepError::Take)?;
    let lines: Vec<_> = said
        .split(|byte| *byte == b'\n')
        .map(|line| escape(line.trim_ascii_end()))
        .collect();
    let text = lines.join("\n").trim().to_owned();
    match control.wait()? {
        0 => Ok(text),
        code => {
            let lines: Vec<_> = text.lines().collect();
            let from = lines.len().saturating_sub(TAIL_LINES);
            Err(StepError::Failed {
                how: format!("ended with exit code {code}"),
                tail: lines.get(from..).unwrap_or_default().join("\n"),
            })
        }
    }
}

fn copy(mut from: Box<dyn Read + Send>, to: &Path) -> Result<(), StepError> {
    let keep = |source| StepError::Keep {
        path: to.to_owned(),
        source,
    };
    let mut out = File::create_new(to).map_err(keep)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StepError::Take(error)),
        };
        let (filled, _) = buffer.split_at(read);
        if let Err(error) = out.write_all(filled) {
            // Read to its end all the same: the step must not wait for a reader for ever.
            let _rest = io::copy(&mut from, &mut io::sink());
            return Err(keep(error));
        }
    }
}

fn listen(stream: Box<dyn Read + Send>, on_line: &mut dyn FnMut(String)) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    // A line without an end must not fill the memory.
    while (&mut lines).take(MAX_ANSWER).read_until(b'\n', &mut line)? > 0 {
        on_line(escape(line.trim_ascii_end()));
        line.clear();
    }
    Ok(())
}

/// Returns the first thing in `text` that looks like a version: digits and points, with
/// at least one point.
pub(crate) fn version_in(text: &str) -> Option<&str> {
    text.split(|byte: char| byte.is_whitespace() || "(),:".contains(byte))
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_tools_say() {
        let found = |text| version_in(text).unwrap_or_default();
        assert_eq!(found("rustc 1.95.0 (59807616e 2026-04-14)"), "1.95.0");
        assert_eq!(found("v22.1.0"), "22.1.0");
        assert_eq!(found("Python 3.11.2"), "3.11.2");
        assert_eq!(found("2.1.330 (Claude Code)"), "2.1.330");
        assert_eq!(
            found("psql (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"),
            "15.18"
        );
        assert_eq!(found("no version 7 here"), "");
    }
}
