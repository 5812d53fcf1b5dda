//! `Poised`: a command's process, started before the command may start.
//!
//! Starting a process inside takes an engine as long as several of our own steps. So it is
//! started once, as a porter that proves every control, brings the volume up to date, and then
//! waits for a word; it is said once the copy is there, and the record knows that the command
//! may have started. Whatever fails before ends the porter instead: with its stdin, or with its
//! container.

use std::io::Write as _;

use lazaret_runtime::{
    ContainerName, END, Engine, EngineError, ExecSpec, GO, HardenedSpec, Process, Stdin, Terminal,
};

use super::converse::{Answers, Said, Verb, go_on, to_the_end};
use super::cycle::Invocation;
use super::populate::broken_stream;
use super::prove::{believe, report_of};
use super::site::{Site, porter};
use super::terminal;
use crate::failure::Failure;

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

/// A porter that has proven where it is, and waits for its words.
#[derive(Debug)]
#[must_use = "dropping it ends the process"]
pub(super) struct Poised(Process);

impl Call {
    /// Starts the porter that becomes the command, and has it prove every control of its
    /// container first.
    ///
    /// # Errors
    /// The engine's, or a control that is not in force (P12).
    pub(super) fn poise(&self, site: &Site<'_>, agent: &HardenedSpec) -> Result<Poised, Failure> {
        let Invocation { argv, env } = &self.invocation;
        let exec = ExecSpec {
            argv: agent.poised_argv(&self.workdir, env.keys(), argv),
            env: env.clone(),
            ..porter(&[], Stdin::Piped)
        };
        let mut process = site.engine.exec(&agent.spec().name, &exec)?;
        let report = report_of(&mut process)?;
        believe(&report, agent, site.ui)?;
        Ok(Poised(process))
    }

    /// Lets the command start. It takes the place of the porter, but where it has the user's
    /// terminal: that is not given away before.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn go(
        &self,
        Poised(mut process): Poised,
        engine: &dyn Engine,
        agent: &HardenedSpec,
    ) -> Result<(Process, Terminal), EngineError> {
        let word = match self.connection {
            Connection::Streams => GO,
            Connection::Terminal => END,
        };
        if let Some(mut stdin) = process.stdin.take() {
            // A porter that refused has ended, and says why itself.
            drop(stdin.write_all(word).and_then(|()| stdin.flush()));
        }
        if self.connection == Connection::Streams {
            return Ok((process, Terminal::None));
        }
        process.control.wait()?;
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

impl Poised {
    /// Has a verb of the porter's done before the command starts: in the same process, but on
    /// another machine, where what moves is compressed.
    ///
    /// # Errors
    /// The engine's, or the talk's.
    pub(super) fn first<T>(
        self,
        site: &Site<'_>,
        container: &ContainerName,
        words: &[&str],
        talk: impl FnOnce(Said<'_>, Answers<'_>) -> Result<T, Failure>,
    ) -> Result<(T, Self), Failure> {
        let name = words.first().copied().unwrap_or_default();
        let verb = Verb { name, container };
        if site.info.is_remote() {
            let process = site.carry(container, words)?;
            return Ok((to_the_end(site, verb, process, talk)?, self));
        }
        let (talked, process) = go_on(site, verb, self.0, |said, answers| {
            let word = format!("{}\n", words.join(" "));
            said.write_all(word.as_bytes()).map_err(broken_stream)?;
            said.flush().map_err(broken_stream)?;
            talk(said, answers)
        })?;
        Ok((talked, Self(process)))
    }
}
