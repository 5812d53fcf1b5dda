//! `HardenedSpec` to the body of Docker's "create a container"; pure.
//!
//! Docker and Podman (its compatible API) differ in four places: where the seccomp
//! profile is (inline, or a file on the service's host), how masked paths are named,
//! what a private pid and uts namespace are called, and the user namespace. All else
//! is the same body.

use std::collections::HashMap;
use std::path::PathBuf;

use bollard::models::{
    ContainerCreateBody, DeviceMapping, HostConfig, HostConfigCgroupnsModeEnum,
    HostConfigLogConfig, Mount, MountType, MountVolumeOptions, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};
use bollard::query_parameters::CreateContainerOptions;

use crate::{AGENT_HOME, Access, Controls, EngineKind, HardenedSpec, Label, Namespace, Tmpfs};

/// What Podman masks or makes read-only on its own, as far as our lists have it too.
const PODMAN_PATHS: [&str; 6] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
];

/// How the engine is given the seccomp profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SeccompRef {
    /// In the request: Docker.
    Inline(String),
    /// As a file that the service can read: Podman refuses anything else.
    Path(PathBuf),
}

/// Returns the query and the body that create a container.
pub(super) fn create(
    spec: &HardenedSpec,
    seccomp: &SeccompRef,
) -> (CreateContainerOptions, ContainerCreateBody) {
    let wanted = spec.spec();
    let controls = spec.controls();
    let options = CreateContainerOptions {
        name: Some(wanted.name.as_str().to_owned()),
        ..CreateContainerOptions::default()
    };
    let body = ContainerCreateBody {
        hostname: hostname(spec),
        user: Some(format!("{}:{}", controls.user.uid, controls.user.gid)),
        attach_stdin: Some(false),
        attach_stdout: Some(false),
        attach_stderr: Some(false),
        tty: Some(false),
        open_stdin: Some(false),
        env: Some(
            controls
                .env
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        ),
        entrypoint: Some(owned(controls.entrypoint)),
        cmd: Some(owned(controls.cmd)),
        image: Some(wanted.image.as_str().to_owned()),
        working_dir: Some(controls.workdir.clone()),
        // Docker writes no /etc/hosts where it is told that the network is disabled; without a
        // network there is none either way.
        network_disabled: Some(controls.network == "none" && wanted.hosts.is_empty()),
        labels: Some(wanted.labels.clone().into_iter().collect()),
        stop_signal: Some(controls.stop_signal.to_owned()),
        stop_timeout: Some(i64::from(controls.stop_timeout)),
        host_config: Some(host_config(spec, seccomp)),
        ..ContainerCreateBody::default()
    };
    (options, body)
}

/// Docker gives a container that joins another one's network that one's name, and takes no other.
fn hostname(spec: &HardenedSpec) -> Option<String> {
    let is_joined = spec.controls().network.starts_with("container:");
    match is_joined && spec.engine().kind == EngineKind::Docker {
        true => None,
        false => Some(spec.controls().hostname.to_owned()),
    }
}

fn host_config(spec: &HardenedSpec, seccomp: &SeccompRef) -> HostConfig {
    let controls = spec.controls();
    let podman = spec.engine().kind == EngineKind::Podman;
    HostConfig {
        memory: Some(signed(controls.memory)),
        memory_swap: Some(signed(controls.memory_swap)),
        nano_cpus: Some(signed(controls.nano_cpus)),
        pids_limit: Some(i64::from(controls.pids)),
        ulimits: Some(ulimits(controls)),
        binds: some_unless_empty(owned(&controls.binds)),
        devices: some_unless_empty(controls.devices.iter().map(device).collect()),
        mounts: some_unless_empty(mounts(spec)),
        tmpfs: Some(
            controls
                .tmpfs
                .iter()
                .map(|mount| (mount.target.clone(), tmpfs_options(mount)))
                .collect::<HashMap<_, _>>(),
        ),
        shm_size: Some(signed(controls.shm_size)),
        init: Some(false),
        privileged: Some(false),
        publish_all_ports: Some(false),
        auto_remove: Some(false),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        log_config: Some(HostConfigLogConfig {
            typ: Some(controls.log_driver.to_owned()),
            config: None,
        }),
        network_mode: Some(controls.network.to_string()),
        // Names that lead to the loopback are served on its ports 80 and 443, and without root
        // no process could listen there: Docker permits it by default, Podman (4.3) does not.
        sysctls: (!spec.spec().hosts.is_empty()).then(|| {
            let unprivileged = ("net.ipv4.ip_unprivileged_port_start", "0");
            HashMap::from([unprivileged].map(|(key, value)| (key.to_owned(), value.to_owned())))
        }),
        extra_hosts: some_unless_empty(
            (spec.spec().hosts.iter())
                .map(|alias| format!("{}:{}", alias.name, alias.address))
                .collect(),
        ),
        cap_drop: some_unless_empty(owned(&controls.cap_drop)),
        cap_add: some_unless_empty(owned(&controls.cap_add)),
        readonly_rootfs: Some(controls.read_only_rootfs),
        security_opt: Some(security_opt(controls, seccomp, spec.engine().kind)),
        // Podman takes these by `mask=` only.
        masked_paths: (!podman).then(|| owned(&controls.masked_paths)),
        readonly_paths: (!podman).then(|| owned(&controls.read_only_paths)),
        ipc_mode: Some(namespace(controls.ipc, "private")),
        pid_mode: Some(namespace(controls.pid, if podman { "private" } else { "" })),
        uts_mode: Some(namespace(controls.uts, if podman { "private" } else { "" })),
        cgroupns_mode: Some(match controls.cgroup {
            Namespace::Private => HostConfigCgroupnsModeEnum::PRIVATE,
            Namespace::Host => HostConfigCgroupnsModeEnum::HOST,
        }),
        userns_mode: controls.userns.as_ref().map(ToString::to_string),
        ..HostConfig::default()
    }
}

fn security_opt(controls: &Controls, seccomp: &SeccompRef, engine: EngineKind) -> Vec<String> {
    let mut options = Vec::new();
    if controls.no_new_privileges {
        options.push("no-new-privileges".to_owned());
    }
    options.push(match seccomp {
        SeccompRef::Inline(json) => format!("seccomp={json}"),
        SeccompRef::Path(path) => format!("seccomp={}", path.display()),
    });
    if engine == EngineKind::Podman {
        options.push(format!("mask={}", controls.masked_paths.join(":")));
        // Its own lists stay; what we leave out of ours has to be taken off them.
        let left_out: Vec<&str> = PODMAN_PATHS
            .into_iter()
            .filter(|path| {
                !controls.masked_paths.contains(path) && !controls.read_only_paths.contains(path)
            })
            .collect();
        if !left_out.is_empty() {
            options.push(format!("unmask={}", left_out.join(":")));
        }
    }
    options
}

fn ulimits(controls: &Controls) -> Vec<ResourcesUlimits> {
    controls
        .ulimits
        .iter()
        .map(|ulimit| ResourcesUlimits {
            name: Some(ulimit.resource.name().to_owned()),
            soft: Some(signed(ulimit.limit)),
            hard: Some(signed(ulimit.limit)),
        })
        .collect()
}

fn mounts(spec: &HardenedSpec) -> Vec<Mount> {
    spec.spec()
        .volumes
        .iter()
        .map(|mount| Mount {
            typ: Some(MountType::VOLUME),
            source: Some(mount.volume.as_str().to_owned()),
            target: Some(mount.target.clone()),
            read_only: Some(mount.access == Access::ReadOnly),
            volume_options: Some(MountVolumeOptions {
                labels: Some(volume_labels(spec)),
                // Docker fills an empty volume with what the image has there.
                no_copy: (mount.target == AGENT_HOME).then_some(true),
                ..MountVolumeOptions::default()
            }),
            ..Mount::default()
        })
        .collect()
}

/// Returns the labels of a volume that the engine creates because it is gone: the launcher that
/// created it is dead, and another one has swept it while this call was on its way.
/// Podman's compatible API drops these (4.3); see `remove` of the launcher's inventory.
fn volume_labels(spec: &HardenedSpec) -> HashMap<String, String> {
    let mut labels: HashMap<String, String> = spec.spec().labels.clone().into_iter().collect();
    if let Some(role) = labels.get_mut(Label::Role.key()) {
        "workspace".clone_into(role);
    }
    labels
}

fn tmpfs_options(mount: &Tmpfs) -> String {
    format!(
        "{},size={},mode={:o}",
        mount.options.join(","),
        mount.size,
        mount.mode
    )
}

fn device((from, to): &(&str, &str)) -> DeviceMapping {
    DeviceMapping {
        path_on_host: Some((*from).to_owned()),
        path_in_container: Some((*to).to_owned()),
        cgroup_permissions: Some("rwm".to_owned()),
    }
}

fn namespace(namespace: Namespace, private: &str) -> String {
    match namespace {
        Namespace::Private => private.to_owned(),
        Namespace::Host => "host".to_owned(),
    }
}

/// The API counts in signed numbers; more than 8 EiB is as good as no limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn some_unless_empty<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harden::tests::{engine, rootless_podman, spec};
    use crate::{ContainerSpec, EngineInfo, Network, Privilege, Role};

    /// Returns the body as JSON with sorted keys.
    fn lowered(spec: ContainerSpec, engine: &EngineInfo, seccomp: &SeccompRef) -> String {
        let spec = HardenedSpec::new(spec, engine).expect("enforceable");
        let (options, body) = create(&spec, seccomp);
        let body = serde_json::to_value(body).expect("JSON");
        let name = options.name.expect("a name");
        format!(
            "{name}\n{}",
            serde_json::to_string_pretty(&body).expect("JSON")
        )
    }

    #[test]
    fn docker_is_given_the_profile_inline() {
        let inline = SeccompRef::Inline("{}".to_owned());
        let text = lowered(spec(), &engine(EngineKind::Docker), &inline);
        insta::assert_snapshot!("docker", text);
    }

    #[test]
    fn podman_is_given_the_profile_as_a_file() {
        let file = SeccompRef::Path("/run/lazaret/profile.json".into());
        insta::assert_snapshot!(
            "podman_rootless",
            lowered(spec(), &rootless_podman(), &file)
        );
    }

    /// Only what tells the engines apart.
    #[test]
    fn con_22_podman_on_cgroup_v1_has_the_hosts_cgroup_namespace() {
        let file = SeccompRef::Path("/profile.json".into());
        let mode = |version: &str| {
            let mut podman = engine(EngineKind::Podman);
            podman.cgroup_version = version.to_owned();
            let spec = HardenedSpec::new(spec(), &podman).expect("enforceable");
            host_config(&spec, &file).cgroupns_mode
        };
        assert_eq!(mode("1"), Some(HostConfigCgroupnsModeEnum::HOST));
        assert_eq!(mode("2"), Some(HostConfigCgroupnsModeEnum::PRIVATE));
    }

    #[test]
    fn the_exporter_reads_everything_and_writes_nothing() {
        let mut exporter = spec();
        exporter.role = Role::Exporter;
        exporter.privilege = Privilege::ReadEverything;
        exporter.volumes[0].access = Access::ReadOnly;
        let spec = HardenedSpec::new(exporter, &rootless_podman()).expect("enforceable");
        let (_, body) = create(&spec, &SeccompRef::Inline("{}".to_owned()));
        let host = body.host_config.expect("a host config");
        assert_eq!(body.user.as_deref(), Some("0:0"));
        assert_eq!(host.cap_drop, Some(vec!["ALL".to_owned()]));
        assert_eq!(host.cap_add, Some(vec!["DAC_READ_SEARCH".to_owned()]));
        assert_eq!(host.mounts.expect("mounts")[0].read_only, Some(true));
        // The ids on a volume mean the same in every container that mounts it.
        assert_eq!(
            host.userns_mode.as_deref(),
            Some("keep-id:uid=1000,gid=1000")
        );
        assert!(!host.tmpfs.expect("tmpfs").contains_key(crate::AGENT_HOME));
    }

    #[test]
    fn a_service_joins_the_agents_network_and_has_no_name_of_its_own_on_docker() {
        let created = |engine: &EngineInfo| {
            let service = ContainerSpec {
                role: Role::Service,
                network: Network::Joined("agent".parse().expect("a name")),
                ..spec()
            };
            let spec = HardenedSpec::new(service, engine).expect("enforceable");
            let (_, body) = create(&spec, &SeccompRef::Inline("{}".to_owned()));
            let host = body.host_config.expect("a host config");
            assert_eq!(host.network_mode.as_deref(), Some("container:agent"));
            assert_eq!(host.extra_hosts, None);
            assert_eq!(body.network_disabled, Some(false));
            (body.hostname, host.userns_mode)
        };
        assert_eq!(created(&engine(EngineKind::Docker)), (None, None));
        let lazaret = Some("lazaret".to_owned());
        let userns = Some("container:agent".to_owned());
        assert_eq!(created(&rootless_podman()), (lazaret, userns));
    }

    #[test]
    fn con_09_podman_is_told_what_to_leave_alone() {
        let file = SeccompRef::Path("/profile.json".into());
        let spec = HardenedSpec::new(spec(), &engine(EngineKind::Podman)).expect("enforceable");
        let mut controls = spec.controls().clone();
        let unmask = |controls: &Controls| {
            let options = security_opt(controls, &file, EngineKind::Podman);
            options
                .into_iter()
                .find(|option| option.starts_with("unmask="))
        };
        assert_eq!(unmask(&controls), None);
        controls.read_only_paths.retain(|path| *path != "/proc/sys");
        assert_eq!(unmask(&controls).as_deref(), Some("unmask=/proc/sys"));
    }
}
