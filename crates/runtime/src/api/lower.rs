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
    HostConfigLogConfig, Mount, MountType, ResourcesUlimits, RestartPolicy, RestartPolicyNameEnum,
};
use bollard::query_parameters::CreateContainerOptions;

use crate::{Access, Controls, EngineKind, HardenedSpec, Namespace, Tmpfs};

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
        hostname: Some(controls.hostname.to_owned()),
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
        working_dir: Some(wanted.workdir.clone()),
        network_disabled: Some(controls.network == "none"),
        labels: Some(wanted.labels.clone().into_iter().collect()),
        stop_signal: Some(controls.stop_signal.to_owned()),
        stop_timeout: Some(i64::from(controls.stop_timeout)),
        host_config: Some(host_config(spec, seccomp)),
        ..ContainerCreateBody::default()
    };
    (options, body)
}

fn host_config(spec: &HardenedSpec, seccomp: &SeccompRef) -> HostConfig {
    let controls = spec.controls();
    let podman = spec.engine() == EngineKind::Podman;
    HostConfig {
        memory: Some(signed(controls.memory)),
        memory_swap: Some(signed(controls.memory_swap)),
        nano_cpus: Some(signed(controls.nano_cpus)),
        pids_limit: Some(i64::from(controls.pids)),
        ulimits: Some(ulimits(controls)),
        binds: some_unless_empty(owned(&controls.binds)),
        devices: some_unless_empty(controls.devices.iter().map(|path| device(path)).collect()),
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
        network_mode: Some(controls.network.to_owned()),
        cap_drop: some_unless_empty(owned(&controls.cap_drop)),
        cap_add: some_unless_empty(owned(&controls.cap_add)),
        readonly_rootfs: Some(controls.read_only_rootfs),
        security_opt: Some(security_opt(controls, seccomp, spec.engine())),
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
        userns_mode: controls.userns.map(str::to_owned),
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
    if engine == EngineKind::Podman && !controls.masked_paths.is_empty() {
        options.push(format!("mask={}", controls.masked_paths.join(":")));
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
            ..Mount::default()
        })
        .collect()
}

fn tmpfs_options(mount: &Tmpfs) -> String {
    format!(
        "{},size={},mode={:o}",
        mount.options.join(","),
        mount.size,
        mount.mode
    )
}

fn device(path: &str) -> DeviceMapping {
    DeviceMapping {
        path_on_host: Some(path.to_owned()),
        path_in_container: Some(path.to_owned()),
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
