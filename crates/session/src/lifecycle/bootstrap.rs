//! `PendingCommand`: a command's process, started before the command may start.
//!
//! Starting a process inside takes an engine as long as several of our own steps. So it is
//! started once, as a porter that proves every control, brings the volume up to date, and then
//! waits for a word; it is said once the copy is there, and the record knows that the command
//! may have started. Whatever fails before ends the porter instead: with its stdin, or with its
//! container.

use std::io::Write as _;
use std::time::Duration;

use lazaret_protocol::{Verb, bootstrap};
use lazaret_runtime::{
    ContainerName, Engine, EngineError, ExecSpec, HardenedSpec, Process, Stdin, Terminal,
};

use crate::context::SessionContext;
use crate::lifecycle::follow::{CommandSpec, StartedCommand};
use crate::lifecycle::verify::{VerifyError, believe, report_of};
use crate::output::terminal;
use crate::porter::conversation::{
    ExchangeError, FromPorter, PorterCall, PorterError, ToPorter, and_return, until_exit,
};

/// How a command is to be started.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) invocation: CommandSpec,
    /// Where it starts.
    pub(crate) workdir: String,
    /// Whether it has the user's terminal.
    pub(crate) connection: TerminalMode,
    /// How long it may take: PID 1 ends it then, unless the launcher has.
    pub(crate) timeout: Option<Duration>,
}

/// What a command is connected with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalMode {
    /// With the user's terminal.
    Terminal,
    /// With its output alone.
    Streams,
}

/// A porter that has proven where it is, and waits for its first word.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub(crate) struct Proven {
    process: Process,
    connection: TerminalMode,
}

/// A porter that has done what comes first, or nothing yet.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub(crate) enum PendingCommand {
    /// It becomes the command when it is told.
    Waiting(Process),
    /// A terminal is not given away before the command has it.
    Later,
}

impl Call {
    /// Starts the porter that becomes the command, and has it prove every control of its
    /// container first.
    ///
    /// # Errors
    /// The engine's, or a control that is not in force (P12).
    pub(crate) fn prove(
        &self,
        site: &SessionContext<'_>,
        agent: &HardenedSpec,
    ) -> Result<Proven, VerifyError> {
        let CommandSpec { argv, env } = &self.invocation;
        let argv = agent.poised_argv(&self.workdir, env.keys(), argv, self.timeout);
        let exec = ExecSpec {
            env: env.clone(),
            ..ExecSpec::new(argv, Stdin::Piped)
        };
        let mut process = site.exec_first(&agent.spec().name, &exec)?;
        let report = report_of(&mut process)?;
        believe(&report, agent, site.events)?;
        Ok(Proven {
            process,
            connection: self.connection,
        })
    }

    /// Lets the command start.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn go(
        &self,
        poised: PendingCommand,
        engine: &dyn Engine,
        agent: &HardenedSpec,
    ) -> Result<StartedCommand, EngineError> {
        match poised {
            PendingCommand::Waiting(mut process) => {
                // A porter that refused has ended, and says why itself.
                tell(&mut process, bootstrap::GO);
                let terminal = Terminal::None;
                Ok(StartedCommand { process, terminal })
            }
            PendingCommand::Later => {
                let terminal = Terminal::Allocated(terminal::size());
                let argv = agent.timed_argv(&self.invocation.argv, self.timeout);
                let exec = ExecSpec {
                    env: self.invocation.env.clone(),
                    workdir: Some(self.workdir.clone()),
                    terminal,
                    ..ExecSpec::new(argv, Stdin::Piped)
                };
                let process = engine.exec(&agent.spec().name, &exec)?;
                Ok(StartedCommand { process, terminal })
            }
        }
    }
}

/// Says the last word to a porter. One that has ended needs none.
fn tell(process: &mut Process, word: &[u8]) {
    if let Some(mut stdin) = process.stdin.take() {
        drop(stdin.write_all(word).and_then(|()| stdin.flush()));
    }
}

impl Proven {
    /// Has a verb of the porter's done before the command starts: in the same process, but on
    /// another machine, where what moves is compressed. A porter whose place the command can't
    /// take has ended then.
    ///
    /// # Errors
    /// The engine's, or the talk's.
    pub(crate) fn first<T, E: ExchangeError>(
        self,
        site: &SessionContext<'_>,
        container: &ContainerName,
        verb: Verb,
        talk: impl FnOnce(ToPorter<'_>, FromPorter<'_>) -> Result<T, E>,
    ) -> Result<(T, PendingCommand), E> {
        let call = PorterCall {
            name: verb.name(),
            container,
        };
        let (talked, mut process) = match site.info.is_remote() {
            true => {
                let process = site.carry(container, verb).map_err(PorterError::from)?;
                (until_exit(site, call, process, talk)?, self.process)
            }
            false => and_return(site, call, self.process, |said, answers| {
                said.write_all(bootstrap::line(&verb).as_bytes())
                    .map_err(PorterError::Stream)?;
                said.flush().map_err(PorterError::Stream)?;
                talk(said, answers)
            })?,
        };
        let poised = match self.connection {
            TerminalMode::Streams => PendingCommand::Waiting(process),
            TerminalMode::Terminal => {
                tell(&mut process, bootstrap::CANCEL);
                process.control.wait().map_err(PorterError::from)?;
                PendingCommand::Later
            }
        };
        Ok((talked, poised))
    }
}
