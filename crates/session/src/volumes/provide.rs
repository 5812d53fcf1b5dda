//! Makes the volumes of a command, before its container.

use std::fs;
use std::path::PathBuf;
use std::thread;

use lazaret_image_builder::Pinned;
use lazaret_protocol::Verb;
use lazaret_runtime::{
    Access, ContainerSpec, HardenedSpec, Limits, Role, Unenforceable, VolumeId, VolumeLease,
    VolumeMount, VolumeName,
};
use lazaret_tree::AtPath as _;

use super::error::VolumeError;
use super::shared::{FillingVolume, PinnedVolume};
use super::{Volume, VolumeSource};
use crate::context::{SessionContext, WORKSPACE};
use crate::engine::containers::base;
use crate::engine::lasting_volume::{LastingVolume, LastingVolumeError, run_once};
use crate::engine::owner::ResourceOwner;
use crate::store::SessionDir;
use crate::store::file::{private_dir, remove_file};

/// Where the copier sees the volume that it reads.
const FROM: &str = "/from";

/// The most bytes of one file: as much as any disk has.
pub(super) const LARGEST_FILE: u64 = 1 << 43;

/// Makes the volumes that are missing, side by side. Returns those that were made now.
///
/// # Errors
/// The engine's, the porter's or the disk's; what was made is removed again.
pub(crate) fn provide(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    dir: &SessionDir,
    volumes: &[Volume],
    porter: &Pinned,
) -> Result<Vec<VolumeLease>, VolumeError> {
    if volumes.is_empty() {
        return Ok(Vec::new());
    }
    cx.phase("volumes", |_| {
        let outcomes = thread::scope(|scope| {
            let making: Vec<_> = volumes
                .iter()
                .map(|Volume { id, source, .. }| {
                    let of_session = OfSession {
                        cx,
                        owner,
                        dir,
                        id,
                        porter,
                    };
                    scope.spawn(move || of_session.make(source))
                })
                .collect();
            let joined = making.into_iter().map(|making| making.join());
            joined
                .map(|outcome| outcome.unwrap_or(Err(VolumeError::Panicked)))
                .collect::<Vec<_>>()
        });
        cx.cancel.check()?;
        let made: Result<Vec<_>, _> = outcomes.into_iter().collect();
        Ok(made?.into_iter().flatten().collect())
    })
}

/// A volume of a session that is to be there.
#[derive(Debug, Clone, Copy)]
struct OfSession<'a> {
    cx: &'a SessionContext<'a>,
    owner: &'a ResourceOwner,
    dir: &'a SessionDir,
    id: &'a VolumeId,
    porter: &'a Pinned,
}

impl OfSession<'_> {
    fn make(self, source: &VolumeSource) -> Result<Option<VolumeLease>, VolumeError> {
        let Self {
            cx,
            owner,
            id,
            porter,
            ..
        } = self;
        match source {
            VolumeSource::Session => self.provide(&self.own(owner.kept_volume(id)), "", |_| Ok(())),
            VolumeSource::Copy(from) => {
                self.provide(&self.own(owner.copied_volume(id)), "", |own| match from {
                    Some(from) => copy(cx, own, id, from, porter),
                    None => Ok(()),
                })
            }
            VolumeSource::Extra(extra) => {
                let own = LastingVolume {
                    guard: owner.extra_guard(),
                    ..self.own(owner.extra_volume())
                };
                let digest = extra.digest().to_hex();
                self.provide(&own, &digest, |own| extra.copy(cx, own, porter))
            }
            VolumeSource::ReadOnly(_) => Ok(None),
            VolumeSource::Filled(filling) => begin(cx, filling, porter).map(Some),
        }
    }

    fn own(&self, name: VolumeName) -> LastingVolume<'_> {
        LastingVolume {
            owner: self.owner,
            name,
            guard: self.owner.volume_guard(self.id),
            role: "volume",
        }
    }

    /// Makes the volume if it is missing, and fills it. A mark in the session's directory says that
    /// this is done, and with what; without that mark the volume is made anew.
    fn provide(
        self,
        own: &LastingVolume<'_>,
        contents: &str,
        fill: impl FnOnce(&LastingVolume<'_>) -> Result<(), VolumeError>,
    ) -> Result<Option<VolumeLease>, VolumeError> {
        let cx = self.cx;
        let mark = self.mark(&own.name);
        let is_filled = || fs::read(&mark).is_ok_and(|found| found == contents.as_bytes());
        let lease = match own.create(cx)? {
            None if is_filled() => return Ok(None),
            None => {
                cx.engine.remove_volume(&own.name)?;
                own.create(cx)?
            }
            made => made,
        };
        remove_file(&mark)?;
        own.give(cx, self.porter)?;
        fill(own)?;
        private_dir(&self.dir.file("volumes"))?;
        fs::write(&mark, contents).at(&mark)?;
        Ok(lease)
    }

    fn mark(self, volume: &VolumeName) -> PathBuf {
        self.dir.file("volumes").join(volume.as_str())
    }
}

/// Makes the volume that a command fills: a copy of what the shared one holds so far.
fn begin(
    cx: &SessionContext<'_>,
    filling: &FillingVolume,
    porter: &Pinned,
) -> Result<VolumeLease, VolumeError> {
    let (owner, volume) = (filling.owner(), filling.volume());
    let own = LastingVolume {
        owner,
        name: volume.clone(),
        guard: owner.volume_guard(filling.id()),
        role: "shared",
    };
    let Some(lease) = own.create(cx)? else {
        return Err(LastingVolumeError::Foreign { volume }.into());
    };
    own.give(cx, porter)?;
    if let Some(base) = filling.base() {
        copy(cx, &own, filling.id(), base, porter)?;
    }
    Ok(lease)
}

fn copy(
    cx: &SessionContext<'_>,
    to: &LastingVolume<'_>,
    id: &VolumeId,
    from: &PinnedVolume,
    porter: &Pinned,
) -> Result<(), VolumeError> {
    let spec = copier(cx, to, id, from.volume(), porter)?;
    let verb = Verb::Copy {
        from: FROM.to_owned(),
        to: WORKSPACE.to_owned(),
    };
    Ok(run_once(cx, &spec, &verb)?)
}

/// Hardens the container that copies a shared volume.
fn copier(
    cx: &SessionContext<'_>,
    to: &LastingVolume<'_>,
    id: &VolumeId,
    from: VolumeName,
    porter: &Pinned,
) -> Result<HardenedSpec, Unenforceable> {
    let mount = |volume, target: &str, access| VolumeMount {
        volume,
        target: target.to_owned(),
        access,
    };
    let base = base(to.owner, Role::Importer, porter);
    let spec = ContainerSpec {
        name: to.owner.volume_copier(id),
        volumes: vec![
            mount(from, FROM, Access::ReadOnly),
            mount(to.name.clone(), WORKSPACE, Access::ReadWrite),
        ],
        limits: Limits {
            fsize: LARGEST_FILE,
            ..base.limits.clone()
        },
        ..base
    };
    HardenedSpec::new(spec, &cx.info)
}
