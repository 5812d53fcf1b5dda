//! `CountedVolumes`: what counts for a session's disk limits beside the copy of its workspace.

use lazaret_runtime::{Access, ServiceName, VolumeMount, VolumeName};

use crate::engine::mount::{MountPlan, MountSource};
use crate::engine::owner::ResourceOwner;

/// The kept home, volumes of the profile, and the data of services: what the session alone writes
/// to.
#[derive(Debug, Clone, Default)]
pub struct CountedVolumes(Vec<VolumeName>);

impl CountedVolumes {
    /// Names those of a session: its home, if that is kept, those of `mounts` that are its own, and
    /// those of the services that keep data.
    pub(crate) fn of<'a>(
        owner: &ResourceOwner,
        home: Option<VolumeName>,
        mounts: &[MountPlan],
        services: impl Iterator<Item = &'a ServiceName>,
    ) -> Self {
        let own = mounts.iter().filter_map(|mount| match &mount.source {
            MountSource::Kept(id) => Some(owner.kept_volume(id)),
            MountSource::Copied(id) => Some(owner.copied_volume(id)),
            MountSource::Extra(_) | MountSource::Shared { .. } => None,
        });
        let data = services.map(|service| owner.service_volume(service));
        Self(home.into_iter().chain(own).chain(data).collect())
    }

    /// Returns where each is mounted in the container that counts.
    pub(crate) fn targets(&self) -> Vec<String> {
        (1..=self.0.len())
            .map(|number| format!("/volumes/{number}"))
            .collect()
    }

    pub(super) fn mounts(&self) -> impl Iterator<Item = VolumeMount> {
        let volumes = self.0.iter().cloned().zip(self.targets());
        volumes.map(|(volume, target)| VolumeMount {
            volume,
            target,
            access: Access::ReadOnly,
        })
    }
}
