//! `PendingCommand`: a command's process, started before the command may start.
//!
//! Starting a process inside takes an engine as long as several of our own steps. So it is
//! started once, as a porter that proves every control, brings the volume up to date, and then
//! waits for a word; it is said once the copy is there, and the record knows that the command
//! may have started. Whatever fails before ends the porter instead: with its stdin, or with its
//! container.

use std::io::Write as _;

use lazaret_protocol::verb::CommandStdin;
use lazaret_protocol::{Placement, Verb, bootstrap};
use lazaret_runtime::{
    ContainerName, EngineError, ExecSpec, HardenedSpec, Process, Spawner, Stdin, Terminal,
    TerminalSize, WhenAbandoned,
};

use crate::context::SessionContext;
use crate::lifecycle::verify::{VerifyError, accept_report, report_of};
use crate::porter::conversation::{
    ExchangeError, FromPorter, PorterCall, PorterError, ToPorter, until_answered, until_exit,
};
use crate::spec::{CommandSpec, RunSpec, TerminalMode};

/// A porter that has proven where it is, and waits for its first word.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub(crate) struct VerifiedContainer {
    process: Process,
    terminal: TerminalMode,
    placement: Placement,
}

/// A container that has proven where it is, and in which what comes first is done.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub(crate) struct PendingCommand {
    /// Where the proof was made: later processes start there only.
    pub(crate) placement: Placement,
    /// The porter that becomes the command when it is told. `None` where another process becomes
    /// it, with a terminal.
    process: Option<Process>,
}

impl VerifiedContainer {
    /// Starts the porter that becomes the command, and has it prove every control of its
    /// container first.
    ///
    /// # Errors
    /// The engine's, or a control that is not in force (P12).
    pub(crate) fn verify(
        cx: &SessionContext<'_>,
        agent: &HardenedSpec,
        spec: &RunSpec<'_>,
        spawner: &Spawner,
    ) -> Result<Self, VerifyError> {
        let CommandSpec {
            argv,
            env,
            terminal,
            stdin,
            limits,
        } = &spec.command;
        let directory = spec.scope.workdir();
        let argv = agent.bootstrap_argv(&directory, env.keys(), argv, limits.timeout, *stdin);
        let exec = ExecSpec {
            env: env.clone(),
            // There, only a seat outlives a lost connection. Here, PID 1 ends it in good order.
            when_abandoned: match cx.info.resumes_connections() {
                true => WhenAbandoned::End,
                false => WhenAbandoned::Leave,
            },
            ..ExecSpec::new(argv, Stdin::Piped)
        };
        let mut process = cx.spawn_first(spawner, &exec)?;
        let report = report_of(&mut process)?;
        let placement = accept_report(&report, agent, cx.events)?;
        Ok(Self {
            process,
            terminal: *terminal,
            placement,
        })
    }
}

impl PendingCommand {
    /// Lets the command start.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn go(
        self,
        spawner: &Spawner,
        agent: &HardenedSpec,
        spec: &RunSpec<'_>,
        size: Option<TerminalSize>,
    ) -> Result<Process, EngineError> {
        match self.process {
            Some(mut process) => {
                // A porter that refused has ended, and says why itself.
                match spec.command.stdin {
                    CommandStdin::Empty => tell_last(&mut process, bootstrap::GO),
                    CommandStdin::Kept => tell(&mut process, bootstrap::GO),
                }
                Ok(process)
            }
            None => {
                let terminal = size.map_or(Terminal::None, Terminal::Allocated);
                let CommandSpec {
                    argv, env, limits, ..
                } = &spec.command;
                let argv = agent.exec_argv(self.placement, argv, limits.timeout);
                let exec = ExecSpec {
                    env: env.clone(),
                    workdir: Some(spec.scope.workdir()),
                    terminal,
                    when_abandoned: WhenAbandoned::End,
                    ..ExecSpec::new(argv, Stdin::Piped)
                };
                spawner.spawn(&exec)
            }
        }
    }
}

/// Says a word to a porter. One that has ended needs none.
fn tell(process: &mut Process, word: &[u8]) {
    if let Some(stdin) = &mut process.stdin {
        drop(stdin.write_all(word).and_then(|()| stdin.flush()));
    }
}

/// Says the last word to a porter, and ends what it reads.
fn tell_last(process: &mut Process, word: &[u8]) {
    tell(process, word);
    process.stdin = None;
}

impl VerifiedContainer {
    /// Has a verb of the porter's done before the command starts: in the same process, but on
    /// another machine, where what moves is compressed. A porter whose place the command can't
    /// take has ended then.
    ///
    /// # Errors
    /// The engine's, or the talk's.
    pub(crate) fn run_step<T, E: ExchangeError>(
        self,
        cx: &SessionContext<'_>,
        container: &ContainerName,
        verb: Verb,
        talk: impl FnOnce(ToPorter<'_>, FromPorter<'_>) -> Result<T, E>,
    ) -> Result<(T, PendingCommand), E> {
        let call = PorterCall {
            name: verb.name(),
            container,
        };
        let (talked, mut process) = match cx.info.resumes_connections() {
            true => {
                let process = cx.carry(container, verb).map_err(PorterError::from)?;
                (until_exit(cx, call, process, talk)?, self.process)
            }
            false => until_answered(cx, call, self.process, |said, answers| {
                said.write_all(bootstrap::line(&verb).as_bytes())
                    .map_err(PorterError::Stream)?;
                said.flush().map_err(PorterError::Stream)?;
                talk(said, answers)
            })?,
        };
        let process = match self.terminal {
            TerminalMode::None => Some(process),
            TerminalMode::Interactive => {
                tell_last(&mut process, bootstrap::CANCEL);
                process.control.wait().map_err(PorterError::from)?;
                None
            }
        };
        let pending = PendingCommand {
            placement: self.placement,
            process,
        };
        Ok((talked, pending))
    }
}
