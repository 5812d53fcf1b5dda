//! Compressed streams, for engines on other machines: what `porter deflated` reads and writes.

use std::io::Write;

use lazaret_protocol::{Compressor, Decompressor, Verb};
use lazaret_runtime::{ContainerName, EngineError, Process, Spawner, Stdin};

use crate::context::SessionContext;
use crate::porter::porter;

impl SessionContext<'_> {
    /// Starts a verb of the porter's that moves files, the last process of a container: PID 1
    /// ends with it.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn carry(
        &self,
        container: &ContainerName,
        verb: Verb,
    ) -> Result<Process, EngineError> {
        self.carry_by(&self.spawner(container), verb)
    }

    /// Starts a verb of the porter's that moves files.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn carry_by(&self, spawner: &Spawner, verb: Verb) -> Result<Process, EngineError> {
        if !self.info.is_remote() {
            return self.spawn_first(spawner, &porter(&verb, Stdin::Piped));
        }
        let container = spawner.container();
        let verb = Verb::Compressed(Box::new(verb));
        let process = self.engine.exec(container, &porter(&verb, Stdin::Piped))?;
        let deflated = |stdin| Box::new(Compressor::new(stdin)) as Box<dyn Write + Send>;
        Ok(Process {
            stdin: process.stdin.map(deflated),
            stdout: Box::new(Decompressor::new(process.stdout)),
            ..process
        })
    }
}
