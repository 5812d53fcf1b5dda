//! `Poised`: a command's process, started before the command may start.
//!
//! Starting a process inside takes an engine as long as several of our own steps. So it is
//! started beside them, as a porter that proves every control and then waits for a word; it is
//! said once the copy is there, and the record knows that the command may have started.
//! Whatever fails before ends the porter instead: with its stdin, or with its container.

use std::io::Write as _;

use lazaret_runtime::{Engine, EngineError, ExecSpec, GO, HardenedSpec, Process, Stdin, Terminal};

use super::cycle::Invocation;
use super::prove::{believe, prove, report_of};
use super::site::porter;
use super::terminal;
use crate::failure::Failure;
use crate::ui::Ui;

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
    /// Proves every control of the command's container, and starts what can be started
    /// before the command may.
    ///
    /// # Errors
    /// The engine's, or a control that is not in force (P12).
    pub(super) fn poise(
        &self,
        engine: &dyn Engine,
        agent: &HardenedSpec,
        ui: &Ui,
    ) -> Result<Poised, Failure> {
        if self.connection == Connection::Terminal {
            prove(engine, agent, ui)?;
            return Ok(Poised::Later);
        }
        let Invocation { argv, env } = &self.invocation;
        let exec = ExecSpec {
            argv: agent.poised_argv(&self.workdir, env.keys(), argv),
            env: env.clone(),
            ..porter(&[], Stdin::Piped)
        };
        let mut process = engine.exec(&agent.spec().name, &exec)?;
        let report = report_of(&mut process)?;
        believe(&report, agent, ui)?;
        Ok(Poised::Waiting(process))
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
