//! One exchange with `porter home`.

use std::collections::BTreeMap;
use std::io;

use lazaret_protocol::{HomeEntries, HomeEntry, RecordError};
use lazaret_runtime::{ContainerName, EngineError, ExecSpec, Unenforceable};
use lazaret_tree::{PathError, RelPathBuf};

use crate::cancel::Interrupted;
use crate::context::SessionContext;
use crate::porter::conversation::{
    ExchangeError, FromPorter, PorterCall, PorterError, ToPorter, until_exit,
};

/// Why a home is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// What the porter says of the home can't be.
    #[error("cannot read the settings in the home")]
    Entries(#[source] RecordError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

impl ExchangeError for HomeError {
    fn is_of_stream(&self) -> bool {
        match self {
            Self::Porter(error) => error.is_of_stream(),
            Self::Entries(_) => true,
            _ => false,
        }
    }
}

/// A container in which the porter can see the home.
pub(super) struct Exchange<'a> {
    pub(super) cx: &'a SessionContext<'a>,
    pub(super) container: &'a ContainerName,
}

impl Exchange<'_> {
    /// Talks with a porter until it ends.
    pub(super) fn run<T>(
        &self,
        exec: &ExecSpec,
        talk: impl FnOnce(ToPorter<'_>, FromPorter<'_>) -> Result<T, HomeError>,
    ) -> Result<T, HomeError> {
        let process = self.cx.engine.exec(self.container, exec)?;
        let call = PorterCall {
            name: "home",
            container: self.container,
        };
        until_exit(self.cx, call, process, talk)
    }

    /// Reads what lies in the home.
    pub(super) fn entries(
        answers: FromPorter<'_>,
    ) -> Result<BTreeMap<RelPathBuf, HomeEntry>, HomeError> {
        let HomeEntries(entries) = HomeEntries::read_from(answers).map_err(HomeError::Entries)?;
        Ok(entries)
    }

    /// Returns the error of a word that did not arrive.
    pub(super) fn lost(error: io::Error) -> HomeError {
        PorterError::Stream(error).into()
    }
}
