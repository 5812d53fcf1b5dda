//! Every control is proven by a healthy container, and missed by a weakened one: one run
//! per control on each real engine, in which that control is taken away and the start
//! must be refused by its name (P12).

use lazaret_protocol::Control;
use lazaret_runtime::{EngineInfo, Privilege, ProbeFailure, Proof, Proven, Role, UserNamespace};

use crate::station::Station;

/// Controls that this machine and engine have no means for.
fn absent(engine: &EngineInfo) -> Vec<Control> {
    let mut absent: Vec<Control> = engine.not_applicable.keys().copied().collect();
    if engine.user_namespace == UserNamespace::Host {
        absent.push(Control::UserNamespace);
    }
    absent.sort_unstable();
    absent
}

#[test]
fn p12_a_healthy_container_proves_every_control() {
    for station in Station::all() {
        let proven = station.with(&station.hardened(), |container| container.probe());
        let proven = proven.unwrap_or_else(|error| panic!("{}: {error:?}", station.name));
        let not_applicable: Vec<Control> = proven
            .controls()
            .iter()
            .inspect(|line| println!("{} {line:?}", station.name))
            .filter(|line| line.proof == Proof::NotApplicable)
            .map(|line| line.control)
            .collect();
        assert_eq!(
            not_applicable,
            absent(&station.detected.info),
            "{}",
            station.name
        );
    }
}

/// The exporter is uid 0, with one capability and every other control.
#[test]
fn con_02_the_exporter_may_read_and_nothing_else() {
    for station in Station::all() {
        let exporter = station.hardened_as(Role::Exporter, Privilege::ReadEverything);
        let proven = station.with(&exporter, |container| container.probe());
        let proven = proven.unwrap_or_else(|error| panic!("{}: {error:?}", station.name));
        let capabilities = proven.controls().iter();
        let detail: Vec<&str> = capabilities
            .filter(|line| line.control == Control::Capabilities)
            .map(|line| line.detail.as_str())
            .collect();
        assert_eq!(detail, ["0x4"], "{}", station.name);
    }
}

/// A gateway has a network of its own, and every other control.
#[test]
fn con_18_a_gateway_has_the_engines_network_and_every_other_control() {
    for station in Station::all() {
        let gateway = station.hardened_as(Role::Gateway, Privilege::Agent);
        let proven = station.with(&gateway, |container| container.probe());
        let proven = proven.unwrap_or_else(|error| panic!("{}: {error:?}", station.name));
        let network = proven.controls().iter();
        let proof: Vec<Proof> = network
            .filter(|line| line.control == Control::NoNetwork)
            .map(|line| line.proof)
            .collect();
        assert_eq!(proof, [Proof::NotApplicable], "{}", station.name);
    }
}

/// A service has the network of the agent's container, and every control that this one has.
#[test]
fn con_18_a_service_is_in_the_agents_network_and_has_every_control() {
    for station in Station::all() {
        let agent = station.with(&station.hardened(), |container| container.probe());
        let service = station.hardened_as(Role::Service, Privilege::Agent);
        let (beside, service) = station.with(&service, |container| {
            let beside = container.agent().probe();
            (beside, container.probe())
        });
        let [agent, beside, service] = [agent, beside, service]
            .map(|proven| proven.unwrap_or_else(|error| panic!("{}: {error:?}", station.name)));
        let proofs = |proven: &Proven| -> Vec<(Control, Proof)> {
            let lines = proven.controls().iter();
            lines.map(|line| (line.control, line.proof)).collect()
        };
        assert_eq!(proofs(&service), proofs(&agent), "{}", station.name);
        let (beside, service) = (beside.placement(), service.placement());
        assert!(service.shares_network(&beside), "{}", station.name);
        assert_ne!(service, beside, "{}", station.name);
    }
}

/// The host's network is not the engine's.
#[test]
fn con_18_a_gateway_on_the_hosts_network_is_missed() {
    for station in Station::all() {
        let gateway = station.hardened_as(Role::Gateway, Privilege::Agent);
        let weakened = gateway.weakened(Control::NoNetwork).expect("weakened");
        match station.with(&weakened, |container| container.probe()) {
            Err(ProbeFailure::NotInForce { .. }) => {}
            other => panic!("{}: {other:?}", station.name),
        }
    }
}

#[track_caller]
fn is_missed(control: Control) {
    for role in [Role::Agent, Role::Gateway, Role::Service] {
        // What a gateway is allowed is tested above.
        if (role, control) != (Role::Gateway, Control::NoNetwork) {
            is_missed_in(role, control);
        }
    }
}

#[track_caller]
fn is_missed_in(role: Role, control: Control) {
    for station in Station::all() {
        let info = &station.detected.info;
        let whole = station.hardened_as(role, Privilege::Agent);
        let Some(weakened) = whole.weakened(control) else {
            // Nothing to take away: exactly where a healthy container has nothing either,
            // or, for the mapping of ids, always has it.
            let inherent =
                control == Control::UserNamespace && info.user_namespace == UserNamespace::Mapped;
            assert!(
                inherent || absent(info).contains(&control),
                "{}: {control} can't be weakened",
                station.name
            );
            continue;
        };
        match station.with(&weakened, |container| container.probe()) {
            Err(ProbeFailure::NotInForce {
                control: first,
                detail,
                others,
            }) => {
                assert!(
                    first == control || others.contains(&control),
                    "{}: {control} was not missed, but {first} ({detail}) and {others:?}",
                    station.name
                );
            }
            other => panic!("{}: without {control}: {other:?}", station.name),
        }
    }
}

macro_rules! weakened {
    ($($name:ident $control:ident;)*) => {
        $(#[test] fn $name() { is_missed(Control::$control); })*

        #[test]
        fn every_control_has_a_weakened_run() {
            let tested = [$(Control::$control),*];
            let judged_outside = [Control::Image, Control::EngineFloor];
            for control in Control::ALL {
                assert!(
                    tested.contains(control) || judged_outside.contains(control),
                    "{control}"
                );
            }
        }
    };
}

weakened! {
    con_01_weakened_user User;
    con_02_weakened_capabilities Capabilities;
    con_03_weakened_no_new_privileges NoNewPrivileges;
    con_04_weakened_seccomp Seccomp;
    con_05_weakened_socket_families SocketFamilies;
    con_06_weakened_read_only_root ReadOnlyRoot;
    con_07_weakened_tmpfs Tmpfs;
    con_08_weakened_shm Shm;
    con_09_weakened_masked_paths MaskedPaths;
    con_10_weakened_read_only_proc ReadOnlyProc;
    con_11_weakened_mask_integrity MaskIntegrity;
    con_12_weakened_descriptors Descriptors;
    con_13_weakened_lsm_label LsmLabel;
    con_14_weakened_user_namespace UserNamespace;
    con_15_weakened_pids Pids;
    con_16_weakened_memory Memory;
    con_17_weakened_process_limits ProcessLimits;
    con_18_weakened_no_network NoNetwork;
    con_19_weakened_no_host_mounts NoHostMounts;
    con_20_weakened_engine_api EngineApi;
    con_21_weakened_devices Devices;
    con_22_weakened_namespaces Namespaces;
    con_23_weakened_environment Environment;
    con_24_weakened_terminal Terminal;
}
