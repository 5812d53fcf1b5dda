//! What a store's sessions have in an engine, found by label and never by name alone: a volume
//! without the label may belong to another program even if the name matches (FLT-13).

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use crate::engine::empty::empty;
use crate::engine::owner::{ResourceOwner, is_lasting_volume, is_service, is_written_inside};
use lazaret_tree::PathError;

use crate::store::StoreError;
use crate::store::record::Record;
use lazaret_runtime::{ContainerName, ContainerState, Engine, EngineError, Label, VolumeName};

/// Why what a session has in an engine could not all be removed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// How often a volume is looked at again that something has mounted, and how long after each
/// look: two and a half seconds in all. An engine has a container in its list some tens of
/// milliseconds after the volume counts as used; where its disk is busy, some hundreds.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Containers and volumes of one store, with the tag of the owner of each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The id of the store.
    pub store: String,
    /// Containers, in any state.
    pub containers: Vec<(ContainerName, String)>,
    /// Those of them that run.
    pub running: Vec<ContainerName>,
    /// Volumes.
    pub volumes: Vec<(VolumeName, String)>,
    /// How deep the volumes are.
    depth: Depth,
}

/// How deep the directories of a volume are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// As deep as an agent has made them.
    #[default]
    Unknown,
    /// No deeper than what lazaret carries.
    Bounded,
}

impl Inventory {
    /// Asks the engine for everything that carries the store's label.
    ///
    /// # Errors
    /// The engine's.
    pub fn of_store(engine: &dyn Engine, store_id: &str) -> Result<Self, EngineError> {
        let key = Label::Store.key();
        let session = |labels: &BTreeMap<String, String>| {
            let ours = labels.get(key).is_some_and(|store| store == store_id);
            ours.then(|| {
                labels
                    .get(Label::Session.key())
                    .cloned()
                    .unwrap_or_default()
            })
        };
        let (mut containers, mut running) = (Vec::new(), Vec::new());
        for container in engine.containers(key)? {
            let Some(session) = session(&container.labels) else {
                continue;
            };
            if container.state == ContainerState::Running {
                running.push(container.name.clone());
            }
            containers.push((container.name, session));
        }
        let volumes = engine
            .volumes(key)?
            .into_iter()
            .filter_map(|volume| session(&volume.labels).map(|session| (volume.name, session)));
        Ok(Self {
            store: store_id.to_owned(),
            containers,
            running,
            volumes: volumes.collect(),
            depth: Depth::Unknown,
        })
    }

    /// Keeps what belongs to the owners whose tags are `wanted`.
    #[must_use]
    pub fn only(self, mut wanted: impl FnMut(&str) -> bool) -> Self {
        Self {
            store: self.store,
            containers: self
                .containers
                .into_iter()
                .filter(|(_, s)| wanted(s))
                .collect(),
            running: self.running,
            volumes: self
                .volumes
                .into_iter()
                .filter(|(_, s)| wanted(s))
                .collect(),
            depth: self.depth,
        }
    }

    /// Keeps what belongs to one owner.
    #[must_use]
    pub fn of(self, owner: &ResourceOwner) -> Self {
        self.only(|tag| tag == owner.tag.as_str())
    }

    /// Says that no command has written to the volumes, so their depth is bounded: an engine
    /// removes them as they are.
    #[must_use]
    pub(crate) fn unused(mut self) -> Self {
        self.depth = Depth::Bounded;
        self
    }

    /// Says what the record of their session knows of the volumes.
    #[must_use]
    pub fn surveyed(self, record: &Record) -> Self {
        match record.seen_whole {
            true => self.unused(),
            false => self,
        }
    }

    /// Keeps what passes with a command of this owner: the containers, and the volume with the
    /// sockets of its gateway.
    #[must_use]
    pub(crate) fn transient(self, owner: &ResourceOwner) -> Self {
        let sockets = owner.sockets();
        let mut all = self.of(owner);
        all.volumes.retain(|(name, _)| *name == sockets);
        all
    }

    /// Keeps what is no volume that stays until its session is removed.
    #[must_use]
    pub fn except_lasting_volumes(mut self) -> Self {
        self.volumes.retain(|(name, _)| !is_lasting_volume(name));
        self
    }

    /// Keeps the volume of the owner's home.
    #[must_use]
    pub(crate) fn home_of(mut self, owner: &ResourceOwner) -> Self {
        let home = owner.home_volume();
        self.containers.clear();
        self.volumes.retain(|(name, _)| *name == home);
        self
    }

    /// Removes the containers: those of services first, since no engine removes a container whose
    /// network another one is in.
    ///
    /// # Errors
    /// The engine's; what is gone is no error.
    fn remove_containers(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        let (services, others): (Vec<_>, Vec<_>) =
            (self.containers.iter()).partition(|(name, _)| is_service(name));
        for (container, _) in services.into_iter().chain(others) {
            gone_is_fine(engine.remove_container(container))?;
        }
        Ok(())
    }

    /// Removes what is [transient](Self::transient).
    ///
    /// # Errors
    /// The engine's; what is gone is no error.
    pub fn remove_transient(
        &self,
        engine: &dyn Engine,
        owner: &ResourceOwner,
    ) -> Result<(), EngineError> {
        self.remove_containers(engine)?;
        let sockets = owner.sockets();
        for (volume, tag) in self.volumes.iter().filter(|(name, _)| *name == sockets) {
            self.remove_volume(engine, volume, tag)?;
        }
        Ok(())
    }

    /// Removes the containers, then the volumes, those among them that the engine made by
    /// itself: a container whose creation was on its way when its volume was swept gets
    /// another one, on Podman without any label. Nothing but our own containers ever has a
    /// volume of that name, so it is looked for only where there was one of those.
    ///
    /// A volume whose depth is not known is emptied first, and so is one that the engine fails
    /// to remove.
    ///
    /// # Errors
    /// The engine's; what is gone is no error.
    pub fn remove(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        self.remove_containers(engine)?;
        for (volume, tag) in &self.volumes {
            self.remove_filled(engine, volume, tag)?;
        }
        let mut made: Vec<(VolumeName, &String)> = self
            .containers
            .iter()
            .filter_map(|(container, tag)| Some((volume_of(container)?, tag)))
            .filter(|(volume, _)| !self.volumes.iter().any(|(known, _)| known == volume))
            .collect();
        made.sort_unstable();
        made.dedup();
        for (volume, tag) in made {
            self.remove_filled(engine, &volume, tag)?;
        }
        Ok(())
    }

    /// Removes a volume that an agent may have filled.
    fn remove_filled(
        &self,
        engine: &dyn Engine,
        volume: &VolumeName,
        tag: &str,
    ) -> Result<(), EngineError> {
        let owner = self.owner_of(volume, tag);
        let depth = match is_written_inside(volume) {
            // What is known of the copy of the workspace says nothing of it.
            true => Depth::Unknown,
            false => self.depth,
        };
        if let (Depth::Unknown, Some(owner)) = (depth, &owner) {
            // If it can't be emptied, the engine may still be able to remove it.
            drop(empty(engine, owner, volume));
        }
        match (self.remove_volume(engine, volume, tag), owner) {
            // Podman has forgotten it by now, but not its files: the container brings it back.
            (Err(EngineError::Refused { .. }), Some(owner)) => {
                drop(empty(engine, &owner, volume));
                self.remove_volume(engine, volume, tag)
            }
            (settled, _) => settled,
        }
    }

    /// Returns whose volume it is, if commands inside write to it; else `None`.
    fn owner_of(&self, volume: &VolumeName, tag: &str) -> Option<ResourceOwner> {
        let owner = ResourceOwner {
            tag: tag.parse().ok()?,
            store: self.store.clone(),
            workspace: None,
        };
        (owner.volume() == *volume || is_written_inside(volume)).then_some(owner)
    }

    /// Removes a volume. Where it is in use, a container that its owner had asked for has
    /// appeared since the list was made: such ones are removed too. Whatever else has the
    /// volume is left alone.
    fn remove_volume(
        &self,
        engine: &dyn Engine,
        volume: &VolumeName,
        tag: &str,
    ) -> Result<(), EngineError> {
        for _ in 0..LOOKS {
            match gone_is_fine(engine.remove_volume(volume)) {
                Err(EngineError::InUse { .. }) => {}
                settled => return settled,
            }
            Self::of_store(engine, &self.store)?
                .only(|other| other == tag)
                .remove_containers(engine)?;
            thread::sleep(BETWEEN_LOOKS);
        }
        gone_is_fine(engine.remove_volume(volume))
    }
}

/// Names the volume that a container of ours has mounted: see `ResourceOwner::volume`. A view is
/// left out: it is removed by itself, while its session goes on.
fn volume_of(container: &ContainerName) -> Option<VolumeName> {
    let (start, role) = container.as_str().rsplit_once('-')?;
    match role {
        "agent" | "exporter" | "guard" | "importer" | "packer" => {
            format!("{start}-workspace").parse().ok()
        }
        _ => None,
    }
}

fn gone_is_fine(removed: Result<(), EngineError>) -> Result<(), EngineError> {
    match removed {
        Err(EngineError::NotFound { .. }) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_no_volume_that_goes_with_it() {
        let volume = |container: &str| {
            let container = container.parse().expect("a name");
            volume_of(&container).map(|volume| volume.to_string())
        };
        let workspace = Some("lazaret-a-b-0123ab-workspace".to_owned());
        assert_eq!(volume("lazaret-a-b-0123ab-agent"), workspace);
        assert_eq!(volume("lazaret-a-b-0123ab-guard"), workspace);
        assert_eq!(volume("lazaret-a-b-0123ab-packer"), workspace);
        assert_eq!(volume("lazaret-a-b-0123ab-view-4711aa"), None);
        assert_eq!(volume("other"), None);
    }
}
