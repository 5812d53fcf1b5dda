//! What a store's sessions have in an engine, found by label and never by name alone:
//! a volume that merely carries a name of ours is somebody else's (FLT-13).

use std::collections::BTreeMap;

use super::owner::Owner;
use lazaret_runtime::{ContainerName, Engine, EngineError, Label, VolumeName};

/// Containers and volumes of one store, with the tag of the owner of each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Belongings {
    /// Containers, in any state.
    pub containers: Vec<(ContainerName, String)>,
    /// Volumes.
    pub volumes: Vec<(VolumeName, String)>,
}

impl Belongings {
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
        let containers = engine.containers(key)?.into_iter().filter_map(|container| {
            session(&container.labels).map(|session| (container.name, session))
        });
        let volumes = engine
            .volumes(key)?
            .into_iter()
            .filter_map(|volume| session(&volume.labels).map(|session| (volume.name, session)));
        Ok(Self {
            containers: containers.collect(),
            volumes: volumes.collect(),
        })
    }

    /// Keeps what belongs to the owners whose tags are `wanted`.
    #[must_use]
    pub fn only(self, mut wanted: impl FnMut(&str) -> bool) -> Self {
        Self {
            containers: self
                .containers
                .into_iter()
                .filter(|(_, s)| wanted(s))
                .collect(),
            volumes: self
                .volumes
                .into_iter()
                .filter(|(_, s)| wanted(s))
                .collect(),
        }
    }

    /// Keeps what belongs to one owner.
    #[must_use]
    pub fn of(self, owner: &Owner) -> Self {
        self.only(|tag| tag == owner.tag.as_str())
    }

    /// Removes the containers.
    ///
    /// # Errors
    /// The engine's; what is gone is no error.
    fn remove_containers(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        for (container, _) in &self.containers {
            gone_is_fine(engine.remove_container(container))?;
        }
        Ok(())
    }

    /// Removes what passes with a command: the containers, and the volume with the sockets of
    /// its gateway.
    ///
    /// # Errors
    /// The engine's; what is gone is no error.
    pub fn remove_passing(&self, engine: &dyn Engine, owner: &Owner) -> Result<(), EngineError> {
        self.remove_containers(engine)?;
        let sockets = owner.sockets();
        for (volume, _) in self.volumes.iter().filter(|(name, _)| *name == sockets) {
            gone_is_fine(engine.remove_volume(volume))?;
        }
        Ok(())
    }

    /// Removes the containers, then the volumes, those among them that the engine made by
    /// itself: a container whose creation was on its way when its volume was swept gets
    /// another one, on Podman without any label. Nothing but our own containers ever has a
    /// volume of that name, so it is looked for only where there was one of those.
    ///
    /// # Errors
    /// The engine's; what is gone is no error.
    pub fn remove(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        self.remove_containers(engine)?;
        for (volume, _) in &self.volumes {
            gone_is_fine(engine.remove_volume(volume))?;
        }
        let mut made: Vec<VolumeName> = self
            .containers
            .iter()
            .filter_map(|(container, _)| volume_of(container))
            .filter(|volume| !self.volumes.iter().any(|(known, _)| known == volume))
            .collect();
        made.sort_unstable();
        made.dedup();
        for volume in made {
            gone_is_fine(engine.remove_volume(&volume))?;
        }
        Ok(())
    }
}

/// Names the volume that a container of ours has mounted: see `Owner::volume`. A view is
/// left out: it is removed by itself, while its session goes on.
fn volume_of(container: &ContainerName) -> Option<VolumeName> {
    let (start, role) = container.as_str().rsplit_once('-')?;
    match role {
        "agent" | "exporter" | "guard" | "importer" => format!("{start}-workspace").parse().ok(),
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
        assert_eq!(volume("lazaret-a-b-0123ab-view-4711aa"), None);
        assert_eq!(volume("other"), None);
    }
}
