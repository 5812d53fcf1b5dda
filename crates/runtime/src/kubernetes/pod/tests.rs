//! The pod of a spec, and what the Pod Security Standard "restricted" asks of it.

use serde_json::{Value, json};

use super::*;
use crate::harden::tests::{engine, spec};
use crate::{ContainerSpec, EngineInfo, EngineKind, HardenedSpec, Privilege, Role, Unenforceable};

fn cluster() -> EngineInfo {
    engine(EngineKind::Kubernetes)
}

fn pod(spec: ContainerSpec, node: Option<&str>) -> Value {
    let hardened = HardenedSpec::new(spec, &cluster()).expect("enforceable");
    serde_json::to_value(of(&hardened, node).expect("a pod")).expect("JSON")
}

/// The fields of the standard, as Kubernetes' documentation lists them.
#[test]
fn a_pod_meets_the_standard_restricted() {
    let pod = pod(spec(), None);
    let (pod_spec, container) = (&pod["spec"], &pod["spec"]["containers"][0]);
    for absent in ["hostNetwork", "hostPID", "hostIPC", "initContainers"] {
        assert_eq!(pod_spec[absent], Value::Null, "{absent}");
    }
    let context = &container["securityContext"];
    assert_eq!(context["privileged"], false);
    assert_eq!(context["allowPrivilegeEscalation"], false);
    assert_eq!(context["capabilities"], json!({ "drop": ["ALL"] }));
    assert_eq!(context["readOnlyRootFilesystem"], true);
    for context in [context, &pod_spec["securityContext"]] {
        assert_eq!(context["runAsNonRoot"], true);
        assert_eq!(context["runAsUser"], 1000);
        assert_eq!(context["runAsGroup"], 1000);
        assert_eq!(context["seccompProfile"]["type"], "RuntimeDefault");
    }
    for volume in pod_spec["volumes"].as_array().expect("volumes") {
        let kinds: Vec<_> = volume.as_object().expect("a volume").keys().collect();
        assert!(
            kinds == ["emptyDir", "name"] || kinds == ["name", "persistentVolumeClaim"],
            "{kinds:?}"
        );
    }
}

#[test]
fn a_pod_has_no_credentials_of_the_cluster_and_ends() {
    let pod = pod(spec(), None);
    let pod_spec = &pod["spec"];
    assert_eq!(pod_spec["automountServiceAccountToken"], false);
    assert_eq!(pod_spec["enableServiceLinks"], false);
    assert_eq!(pod_spec["restartPolicy"], "Never");
    assert_eq!(pod_spec["activeDeadlineSeconds"], 604_800);
    let container = &pod_spec["containers"][0];
    assert_eq!(container["imagePullPolicy"], "Never");
    assert_eq!(container["command"], json!(["/lazaret/porter"]));
    assert_eq!(container["args"], json!(["init"]));
    let filter = json!({ "name": "LAZARET_FILTER", "value": "unix-sockets" });
    assert!(
        container["env"]
            .as_array()
            .expect("variables")
            .contains(&filter)
    );
    let limits = &container["resources"]["limits"];
    assert_eq!(limits["memory"], "268435456");
    assert_eq!(limits["cpu"], "1500m");
}

#[test]
fn labels_are_annotations_and_marks() {
    let pod = pod(spec(), None);
    let metadata = &pod["metadata"];
    assert_eq!(metadata["annotations"]["io.lazaret.session"], "s");
    assert_eq!(metadata["labels"]["io.lazaret.session"], "");
}

#[test]
fn a_claim_is_mounted_by_a_directory_of_it_where_it_is_in_use() {
    let pod = pod(spec(), Some("node-2"));
    let container = &pod["spec"]["containers"][0];
    let mounts = container["volumeMounts"].as_array().expect("mounts");
    let workspace = mounts
        .iter()
        .find(|mount| mount["mountPath"] == "/workspace");
    assert_eq!(
        *workspace.expect("the workspace"),
        json!({ "name": "claim-0", "mountPath": "/workspace", "subPath": "contents" })
    );
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"];
    let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
    let field = &required["nodeSelectorTerms"][0]["matchFields"][0];
    assert_eq!(field["values"], json!(["node-2"]));
}

#[test]
fn a_value_is_passed_on_as_it_is() {
    let mut spec = spec();
    let value = "$(HOME) $$ $".to_owned();
    spec.env.insert("VALUE".parse().expect("a name"), value);
    let pod = pod(spec, None);
    let variables = pod["spec"]["containers"][0]["env"]
        .as_array()
        .expect("variables");
    let found = variables
        .iter()
        .find(|variable| variable["name"] == "VALUE");
    assert_eq!(found.expect("the variable")["value"], "$$(HOME) $$$$ $$");
}

#[test]
fn what_needs_root_is_refused_by_name() {
    for (role, privilege, task) in [
        (Role::Exporter, Privilege::ReadEverything, "read every file"),
        (Role::Guard, Privilege::ChownOnly, "protect paths"),
        (Role::Builder, Privilege::Install, "run install steps"),
    ] {
        let spec = ContainerSpec {
            role,
            privilege,
            ..spec()
        };
        let refused = HardenedSpec::new(spec, &cluster()).expect_err("refused");
        let engine = "unix:///engine.sock".to_owned();
        assert_eq!(refused, Unenforceable::Root { engine, task });
    }
}

#[test]
fn a_name_that_kubernetes_refuses_is_not_sent() {
    for name in ["Upper", "under_score", "dot.dot", "end-"] {
        let spec = ContainerSpec {
            name: name.parse().expect("a name of other engines"),
            ..spec()
        };
        let hardened = HardenedSpec::new(spec, &cluster()).expect("enforceable");
        of(&hardened, None).expect_err(name);
    }
}
