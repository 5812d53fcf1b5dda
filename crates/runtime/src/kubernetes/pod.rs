//! `HardenedSpec` to a pod; pure.
//!
//! The pod meets the Pod Security Standard "restricted". What a pod can't ask for (our filter of
//! system calls, the limits of each process) the porter sets, and `porter probe` proves all of it
//! from inside.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, EmptyDirVolumeSource, EnvVar, HostAlias, NodeAffinity,
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolumeClaimVolumeSource,
    Pod, PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile, SecurityContext,
    Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::client::metadata;
use crate::{Access, EngineError, HardenedSpec};

/// The container of a pod.
pub(super) const CONTAINER: &str = "lazaret";

/// How long a pod may run, in seconds: 7 days. The cluster ends what a launcher has left behind; its
/// volume stays.
const LIFE: i64 = 7 * 24 * 3600;

/// A file of the node's is mounted there, into which the container could write without a limit. The
/// directory is root's and closed, so no process of the container has a way to it.
const TERMINATION_LOG: &str = "/root/termination-log";

/// The directory of a volume that holds the contents: the root of a new disk has a `lost+found`.
const CONTENTS: &str = "contents";

/// Bytes of the container's logs and of all that it writes outside of volumes, before it is evicted.
const EPHEMERAL: u64 = 1 << 30;

/// What a pod asks for at least; its limits are higher.
const REQUESTED_MILLICORES: u64 = 100;
const REQUESTED_MEMORY: u64 = 128 << 20;

/// Returns the pod of a spec. `node` is the one that has its volumes in use already.
///
/// # Errors
/// When Kubernetes can't use a name.
pub(super) fn of(spec: &HardenedSpec, node: Option<&str>) -> Result<Pod, EngineError> {
    let wanted = spec.spec();
    Ok(Pod {
        metadata: metadata(wanted.name.as_str(), &wanted.labels)?,
        spec: Some(pod_spec(spec, node)),
        status: None,
    })
}

fn pod_spec(spec: &HardenedSpec, node: Option<&str>) -> PodSpec {
    let controls = spec.controls();
    let (volumes, mounts) = volumes(spec);
    let text = |text: &str| Some(text.to_owned());
    let seccomp = SeccompProfile {
        type_: "RuntimeDefault".to_owned(),
        localhost_profile: None,
    };
    let user = i64::from(controls.user.uid);
    let group = i64::from(controls.user.gid);
    let container = Container {
        name: CONTAINER.to_owned(),
        image: Some(spec.spec().image.as_str().to_owned()),
        // An id names an image of the node's, which no registry serves.
        image_pull_policy: text("Never"),
        command: Some(owned(controls.entrypoint)),
        args: Some(owned(controls.cmd)),
        working_dir: Some(controls.workdir.clone()),
        env: Some(controls.env.iter().map(variable).collect()),
        resources: Some(resources(spec)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(!controls.no_new_privileges),
            capabilities: Some(Capabilities {
                add: None,
                drop: Some(owned(&controls.cap_drop)),
            }),
            privileged: Some(false),
            read_only_root_filesystem: Some(controls.read_only_rootfs),
            run_as_group: Some(group),
            run_as_non_root: Some(true),
            run_as_user: Some(user),
            seccomp_profile: Some(seccomp.clone()),
            ..SecurityContext::default()
        }),
        termination_message_path: text(TERMINATION_LOG),
        volume_mounts: Some(mounts),
        ..Container::default()
    };
    PodSpec {
        active_deadline_seconds: Some(LIFE),
        affinity: node.map(on_node),
        automount_service_account_token: Some(false),
        containers: vec![container],
        enable_service_links: Some(false),
        host_aliases: host_aliases(spec),
        hostname: text(controls.hostname),
        node_selector: Some(BTreeMap::from([
            ("kubernetes.io/os".to_owned(), "linux".to_owned()),
            (
                "kubernetes.io/arch".to_owned(),
                spec.engine().architecture.clone(),
            ),
        ])),
        restart_policy: text("Never"),
        security_context: Some(PodSecurityContext {
            fs_group: Some(group),
            run_as_group: Some(group),
            run_as_non_root: Some(true),
            run_as_user: Some(user),
            seccomp_profile: Some(seccomp),
            ..PodSecurityContext::default()
        }),
        termination_grace_period_seconds: Some(i64::from(controls.stop_timeout)),
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// `$(NAME)` in a value would be replaced, and `$$` is how to say `$`.
fn variable((name, value): (&String, &String)) -> EnvVar {
    EnvVar {
        name: name.clone(),
        value: Some(value.replace('$', "$$")),
        value_from: None,
    }
}

fn resources(spec: &HardenedSpec) -> ResourceRequirements {
    let controls = spec.controls();
    let millicores = (controls.nano_cpus / 1_000_000).max(1);
    let quantities = |millicores: u64, memory: u64| {
        BTreeMap::from([
            ("cpu".to_owned(), Quantity(format!("{millicores}m"))),
            (
                "ephemeral-storage".to_owned(),
                Quantity(EPHEMERAL.to_string()),
            ),
            ("memory".to_owned(), Quantity(memory.to_string())),
        ])
    };
    let requested = quantities(
        millicores.min(REQUESTED_MILLICORES),
        controls.memory.min(REQUESTED_MEMORY),
    );
    ResourceRequirements {
        claims: None,
        limits: Some(quantities(millicores, controls.memory)),
        requests: Some(requested),
    }
}

fn host_aliases(spec: &HardenedSpec) -> Option<Vec<HostAlias>> {
    let hosts = &spec.spec().hosts;
    let aliases = hosts.iter().map(|alias| HostAlias {
        ip: alias.address.to_string(),
        hostnames: Some(vec![alias.name.to_string()]),
    });
    (!hosts.is_empty()).then(|| aliases.collect())
}

/// A volume can be used on one node at a time.
fn on_node(node: &str) -> Affinity {
    let is_node = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![NodeSelectorTerm {
                    match_expressions: None,
                    match_fields: Some(vec![is_node]),
                }],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

/// Returns the claims and the volumes in memory, each with its mount. Those above come first.
fn volumes(spec: &HardenedSpec) -> (Vec<Volume>, Vec<VolumeMount>) {
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    for (number, tmpfs) in spec.controls().tmpfs.iter().enumerate() {
        let name = format!("memory-{number}");
        volumes.push(Volume {
            name: name.clone(),
            empty_dir: Some(EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Quantity(tmpfs.size.to_string())),
            }),
            ..Volume::default()
        });
        mounts.push(VolumeMount {
            name,
            mount_path: tmpfs.target.clone(),
            ..VolumeMount::default()
        });
    }
    for (number, mount) in spec.spec().volumes.iter().enumerate() {
        let name = format!("claim-{number}");
        volumes.push(Volume {
            name: name.clone(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: mount.volume.as_str().to_owned(),
                read_only: None,
            }),
            ..Volume::default()
        });
        mounts.push(VolumeMount {
            name,
            mount_path: mount.target.clone(),
            sub_path: Some(CONTENTS.to_owned()),
            read_only: (mount.access == Access::ReadOnly).then_some(true),
            ..VolumeMount::default()
        });
    }
    (volumes, mounts)
}

#[cfg(test)]
mod tests;
