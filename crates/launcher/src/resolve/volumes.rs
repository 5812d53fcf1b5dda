//! The volumes of a profile, with what there is of those that are shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazaret_runtime::{EnvName, VolumeId};
use lazaret_session::store::Store;
use lazaret_session::volumes::shared::{FillingVolume, PinnedVolume, SharedVolumes};
use lazaret_session::volumes::{Volume, VolumeError, VolumeSource};
use lazaret_tree::PathError;

use crate::profile::{SharedAccess, VolumeRule, VolumeScope};

/// A shared volume that a command fills, in place of the volumes of its profile.
#[derive(Debug, Clone)]
pub struct Fill {
    /// Where it is mounted.
    pub rule: VolumeRule,
    /// It.
    pub filling: Arc<FillingVolume>,
}

impl Fill {
    /// Returns the volume of its command.
    pub fn volume(&self) -> Volume {
        Volume {
            id: self.rule.id.clone(),
            target: self.rule.target.clone(),
            source: VolumeSource::Filled(Arc::clone(&self.filling)),
        }
    }
}

/// Returns the variables by which programs find their caches.
pub fn variables(fill: Option<&Fill>, rules: &[VolumeRule]) -> BTreeMap<EnvName, String> {
    let filled = fill.map(|fill| &fill.rule);
    let caches = filled.into_iter().chain(rules);
    caches.flat_map(VolumeRule::variables).collect()
}

/// Pins what is shared: it stays until the last clone of what is returned is dropped.
///
/// # Errors
/// The disk's, or that a volume was never filled and is to be read only.
pub fn resolve(
    rules: &[VolumeRule],
    store: &Store,
    engine: &str,
) -> Result<Vec<Volume>, VolumeError> {
    let shared = SharedVolumes::of(store);
    let pin = |id: &VolumeId| -> Result<Option<Arc<PinnedVolume>>, PathError> {
        Ok(shared.pin(id, engine)?.map(Arc::new))
    };
    let volume = |rule: &VolumeRule| {
        let id = rule.id.clone();
        Ok(Volume {
            source: match rule.scope {
                VolumeScope::Session => VolumeSource::Session,
                VolumeScope::Shared(SharedAccess::Copy) => VolumeSource::Copy(pin(&id)?),
                VolumeScope::Shared(SharedAccess::ReadOnly) => match pin(&id)? {
                    Some(pinned) => VolumeSource::ReadOnly(pinned),
                    None => return Err(VolumeError::Unfilled { id }),
                },
            },
            id,
            target: rule.target.clone(),
        })
    };
    rules.iter().map(volume).collect()
}
