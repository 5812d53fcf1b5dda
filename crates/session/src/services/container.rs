//! How the container of a service is hardened, and what it is called.

use lazaret_runtime::{
    Access, ContainerSpec, HardenedSpec, Network, Role, Unenforceable, VolumeMount,
};

use super::Service;
use crate::context::SessionContext;
use crate::engine::containers::base;
use crate::engine::owner::ResourceOwner;

/// Where a service's process starts.
pub(super) const WORKDIR: &str = "/";

/// Hardens the container of a service: an agent's container in the network of the command's, with
/// the service's volume in place of the workspace.
pub(super) fn hardened(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    service: &Service,
) -> Result<HardenedSpec, Unenforceable> {
    let mount = |target: &String| VolumeMount {
        volume: owner.service_volume(&service.name),
        target: target.clone(),
        access: Access::ReadWrite,
    };
    let spec = ContainerSpec {
        name: owner.service(&service.name),
        volumes: service.data.iter().map(mount).collect(),
        network: Network::Joined(owner.agent()),
        workdir: WORKDIR.to_owned(),
        limits: service.limits.clone(),
        ..base(owner, Role::Service, &service.image)
    };
    HardenedSpec::new(spec, &cx.info)
}
