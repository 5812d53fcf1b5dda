//! `Poised`: a command's process, started before the command may start.
//!
//! Starting a process inside takes an engine as long as several of our own steps. So it is
//! started beside them, as a porter that waits for a word; it is said once the copy is there,
//! every control is proven, and the record knows that the command may have started. Whatever
//! fails before ends the porter instead: with its stdin, or with its container.

use std::io::Write as _;

use lazaret_runtime::{Engine, EngineError, ExecSpec, GO, HardenedSpec, Process, Stdin, Terminal};

use super::cycle::Invocation;
use super::site::porter;
use super::terminal;

/// How a command is to be started.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) invocation: Invocation,
    /// Where it starts.
    pub(super) workdir: String,
    /// Whether it has the user's terminal.
    pub(super) connection: Connection,
}

/// What a command is connected with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connection {
    Terminal,
    Streams,
}

/// A porter that waits for its word, or nothing yet.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub(super) enum Poised {
    /// It becomes the command when it is told.
    Waiting(Process),
    /// A terminal is not given away before the command has it.
    Later,
}

impl Call {
    /// Starts what can be started before the command may.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn poise(
        &self,
        engine: &dyn Engine,
        agent: &HardenedSpec,
    ) -> Result<Poised, EngineError> {
        if self.connection == Connection::Terminal {
            return Ok(Poised::Later);
        }
        let exec = ExecSpec {
            argv: agent.poised_argv(&self.workdir, &self.invocation.argv),
            env: self.invocation.env.clone(),
            ..porter(&[], Stdin::Piped)
        };
        engine.exec(&agent.spec().name, &exec).map(Poised::Waiting)
    }

    /// Lets the command start.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn go(
        &self,
        poised: Poised,
        engine: &dyn Engine,
        agent: &HardenedSpec,
    ) -> Result<(Process, Terminal), EngineError> {
        match poised {
            Poised::Waiting(mut process) => {
                if let Some(mut stdin) = process.stdin.take() {
                    // A porter that refused has ended, and says why itself.
                    drop(stdin.write_all(GO).and_then(|()| stdin.flush()));
                }
                Ok((process, Terminal::None))
            }
            Poised::Later => {
                let terminal = Terminal::Allocated(terminal::size());
                let exec = ExecSpec {
                    argv: agent.run_argv(&self.invocation.argv),
                    env: self.invocation.env.clone(),
                    workdir: Some(self.workdir.clone()),
                    terminal,
                    ..porter(&[], Stdin::Piped)
                };
                let process = engine.exec(&agent.spec().name, &exec)?;
                Ok((process, terminal))
            }
        }
    }
}
