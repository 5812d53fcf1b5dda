//! The volume of a service: see [`LastingVolume`].

use lazaret_runtime::ServiceName;

use crate::engine::lasting_volume::LastingVolume;
use crate::engine::owner::ResourceOwner;

/// Returns the volume of a service.
pub(super) fn of<'a>(owner: &'a ResourceOwner, name: &ServiceName) -> LastingVolume<'a> {
    LastingVolume {
        owner,
        name: owner.service_volume(name),
        guard: owner.service_guard(name),
        role: "service",
    }
}
