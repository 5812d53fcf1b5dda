//! What hardening adds, without an engine; and the specs that other tests start from.

use super::*;
use crate::{Access, Capabilities, Limits, Role, VolumeMount};

/// An engine that can do everything.
pub(crate) fn engine(kind: EngineKind) -> EngineInfo {
    EngineInfo {
        kind,
        version: "1".to_owned(),
        api_version: None,
        endpoint: "unix:///engine.sock".to_owned(),
        rootless: false,
        user_namespace: UserNamespace::Host,
        architecture: "amd64".to_owned(),
        cores: None,
        cgroup_version: "2".to_owned(),
        runtime: "runc".to_owned(),
        nofile_hard: Some(20_000),
        nproc_hard: None,
        capabilities: match kind {
            EngineKind::Apple => Capabilities::VIRTUAL_MACHINES,
            EngineKind::Kubernetes => Capabilities::PODS,
            _ => Capabilities::SHARED_KERNEL,
        },
        unenforceable: vec![],
        not_applicable: BTreeMap::new(),
        warnings: vec![],
    }
}

/// Podman without root, on a machine with cgroup v1: what can enforce least.
pub(crate) fn rootless_podman() -> EngineInfo {
    EngineInfo {
        rootless: true,
        user_namespace: UserNamespace::Mapped,
        cgroup_version: "1".to_owned(),
        not_applicable: [Control::Pids, Control::Memory, Control::ProcessLimits]
            .map(|control| (control, "no such controller".to_owned()))
            .into(),
        ..engine(EngineKind::Podman)
    }
}

/// An agent's container.
pub(crate) fn spec() -> ContainerSpec {
    ContainerSpec {
        name: "lazaret-s-agent".parse().expect("name"),
        role: Role::Agent,
        image: "lazaret-base:1".parse().expect("image"),
        privilege: Privilege::Agent,
        volumes: vec![VolumeMount {
            volume: "lazaret-s-workspace".parse().expect("volume"),
            target: "/workspace".to_owned(),
            access: Access::ReadWrite,
        }],
        network: Network::None,
        hosts: vec![],
        env: BTreeMap::from([("EDITOR".parse().expect("name"), "true".to_owned())]),
        workdir: "/workspace".to_owned(),
        limits: Limits {
            memory: 256 << 20,
            cpus: 1.5,
            pids: 100,
            tmp: 64 << 20,
            shm: 32 << 20,
            home: 16 << 20,
            nofile: 1 << 20,
            fsize: 1 << 30,
        },
        labels: BTreeMap::from([("io.lazaret.session".to_owned(), "s".to_owned())]),
    }
}

#[test]
fn a_control_that_can_not_be_enforced_is_named() {
    let mut engine = engine(EngineKind::Apple);
    engine.unenforceable = vec![Control::Seccomp, Control::Pids];
    let error = HardenedSpec::new(spec(), &engine).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "unix:///engine.sock can't enforce CON-04 seccomp"
    );
}

#[test]
fn con_18_only_a_gateway_has_a_network() {
    let docker = engine(EngineKind::Docker);
    let network = |role| {
        let spec = ContainerSpec {
            role,
            network: Network::Engine,
            ..spec()
        };
        HardenedSpec::new(spec, &docker).map(|spec| spec.controls().network.clone())
    };
    assert_eq!(network(Role::Gateway), Ok("default".into()));
    for role in [
        Role::Agent,
        Role::Exporter,
        Role::Viewer,
        Role::Importer,
        Role::Packer,
        Role::Service,
    ] {
        assert_eq!(network(role), Err(Unenforceable::Network));
    }
}

#[test]
fn con_18_only_a_service_joins_the_network_of_another_container() {
    let joined = |role, engine: &EngineInfo| {
        let spec = ContainerSpec {
            role,
            network: Network::Joined("other".parse().expect("a name")),
            ..spec()
        };
        HardenedSpec::new(spec, engine)
    };
    let docker = engine(EngineKind::Docker);
    let service = joined(Role::Service, &docker).expect("enforceable");
    assert_eq!(service.controls().network, "container:other");
    assert_eq!(service.controls().userns, None);
    // What must be proven is what an agent's container must prove.
    let agent = HardenedSpec::new(spec(), &docker).expect("enforceable");
    assert_eq!(service.request(), agent.request());
    assert_eq!(service.expected(), agent.expected());
    // A network belongs to a user namespace.
    let podman = joined(Role::Service, &rootless_podman()).expect("enforceable");
    let userns = podman.controls().userns.as_deref();
    assert_eq!(userns, Some("container:other"));
    assert_eq!(podman.controls().masked_paths.last(), Some(&"/sys"));
    for role in [Role::Agent, Role::Gateway, Role::Packer] {
        assert_eq!(
            joined(role, &docker).expect_err("refused"),
            Unenforceable::Network
        );
    }
    let error = joined(Role::Service, &engine(EngineKind::Apple)).expect_err("refused");
    insta::assert_snapshot!(error, @"unix:///engine.sock can run no services: its containers can't share a network");
}

#[test]
fn con_18_where_there_can_be_no_gateway_there_is_no_network() {
    let gateway = ContainerSpec {
        role: Role::Gateway,
        network: Network::Engine,
        ..spec()
    };
    let error = HardenedSpec::new(gateway, &engine(EngineKind::Apple)).expect_err("refused");
    insta::assert_snapshot!(error, @"unix:///engine.sock can give a session no network");
}

#[test]
fn con_17_no_limit_is_above_the_engines_own() {
    let ulimits = |engine: &EngineInfo| {
        let spec = HardenedSpec::new(spec(), engine).expect("enforceable");
        let ulimits = spec.controls().ulimits.iter();
        ulimits
            .map(|ulimit| format!("{}={}", ulimit.resource.name(), ulimit.limit))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut docker = engine(EngineKind::Docker);
    assert_eq!(
        ulimits(&docker),
        "core=0 fsize=1073741824 nofile=20000 nproc=32768"
    );
    (docker.nofile_hard, docker.nproc_hard) = (None, Some(500));
    assert_eq!(
        ulimits(&docker),
        "core=0 fsize=1073741824 nofile=16384 nproc=500"
    );
    // Nothing counts the memory of the whole container there.
    assert_eq!(
        ulimits(&rootless_podman()),
        "core=0 fsize=1073741824 nofile=20000 nproc=100 data=268435456"
    );
}

#[test]
fn con_07_what_lies_above_a_volume_in_the_home_is_scratch_space_as_the_home_is() {
    let volume = |target: &str| VolumeMount {
        volume: "lazaret-s-v_a".parse().expect("volume"),
        target: target.to_owned(),
        access: Access::ReadWrite,
    };
    let targets = [
        "/home/agent/.cache",
        "/home/agent/.config/tool/a",
        "/home/agent/.config/b",
        "/home/agents/c/d",
        "/data/e/f",
    ];
    let spec = ContainerSpec {
        volumes: targets.map(volume).into(),
        ..spec()
    };
    let spec = HardenedSpec::new(spec, &engine(EngineKind::Docker)).expect("enforceable");
    let mounts = &spec.controls().tmpfs;
    let homes: Vec<_> = mounts
        .iter()
        .filter(|mount| mount.target.starts_with("/home"))
        .collect();
    let found: Vec<_> = homes.iter().map(|mount| &*mount.target).collect();
    let expected = [
        AGENT_HOME,
        "/home/agent/.config",
        "/home/agent/.config/tool",
    ];
    assert_eq!(found, expected);
    assert!(homes.iter().all(|mount| mount.options.contains(&"noexec")));
}

#[test]
fn con_23_the_environment_is_named() {
    let spec = HardenedSpec::new(spec(), &engine(EngineKind::Docker)).expect("enforceable");
    insta::assert_snapshot!(spec.controls().env.keys().cloned().collect::<Vec<_>>().join(" "),
        @"EDITOR HOME LANG LAZARET LAZARET_SESSION PATH");
}
