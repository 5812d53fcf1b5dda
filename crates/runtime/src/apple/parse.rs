//! What Apple `container` prints; pure.
//!
//! The shapes changed between versions (1.0, 1.4.1), so every value is looked for where
//! any of them has it. What decides something and is nowhere is an error (FLT-26).

use std::collections::BTreeMap;

use lazaret_protocol::Control;
use serde_json::Value;

use crate::{
    Capabilities, ContainerInfo, ContainerState, EngineError, EngineInfo, EngineKind, ImageInfo,
    ImageRef, UserNamespace, VolumeInfo,
};

/// The exit code of a container whose own is not told (before 1.4 none is).
const UNKNOWN_CODE: i32 = -1;

/// Why a control has no meaning in a virtual machine of one container.
const NOT_APPLICABLE: &[(Control, &str)] = &[
    (
        Control::NoNewPrivileges,
        "the machine holds nothing but the container",
    ),
    (
        Control::Seccomp,
        "system calls reach the machine's own kernel only",
    ),
    (
        Control::SocketFamilies,
        "system calls reach the machine's own kernel only",
    ),
    (
        Control::Tmpfs,
        "a tmpfs takes size and mode only, and the machine's own memory",
    ),
    (
        Control::MaskedPaths,
        "/proc and /sys tell about the machine only",
    ),
    (Control::ReadOnlyProc, "/proc/sys steers the machine only"),
    (Control::MaskIntegrity, "nothing is masked"),
    (Control::LsmLabel, "the machine is the boundary"),
    (Control::UserNamespace, "uid 0 is the machine's own"),
    (
        Control::Pids,
        "the machine has its own processes; nproc limits the user's",
    ),
    (Control::Namespaces, "the machine is the boundary"),
    (Control::Devices, "devices are the machine's own"),
];

/// `system version --format json`.
pub(super) fn engine_info(program: &str, json: &[u8]) -> Result<EngineInfo, EngineError> {
    let value = document("probe", json)?;
    // One entry per part; the command's own comes first. Before 1.0 it is no list.
    let first = match &value {
        Value::Array(parts) => parts.first().unwrap_or(&Value::Null),
        other => other,
    };
    let version =
        text(first, &["/version", "/appVersion"]).ok_or_else(|| nonsense("probe", "no version"))?;
    Ok(EngineInfo {
        kind: EngineKind::Apple,
        version,
        api_version: None,
        endpoint: program.to_owned(),
        rootless: true,
        user_namespace: UserNamespace::Mapped,
        architecture: "arm64".to_owned(),
        cores: None,
        cgroup_version: "2".to_owned(),
        runtime: "one virtual machine for each container".to_owned(),
        nofile_hard: None,
        nproc_hard: None,
        capabilities: Capabilities::VIRTUAL_MACHINES,
        unenforceable: Vec::new(),
        not_applicable: NOT_APPLICABLE
            .iter()
            .map(|(control, reason)| (*control, format!("not applicable (VM): {reason}")))
            .collect(),
        warnings: vec!["lazaret's authors could not run Apple container".to_owned()],
    })
}

/// `list --all --format json`.
pub(super) fn containers(json: &[u8]) -> Result<Vec<ContainerInfo>, EngineError> {
    const VERB: &str = "list containers";
    rows(VERB, json)?
        .iter()
        .map(|row| {
            let name = text(row, &["/id", "/configuration/id"])
                .ok_or_else(|| nonsense(VERB, "a container without an id"))?;
            Ok(ContainerInfo {
                name: name.parse().map_err(|error| nonsense(VERB, &error))?,
                labels: labels(row, &["/configuration/labels", "/labels"]),
                state: state(row)?,
            })
        })
        .collect()
}

fn state(row: &Value) -> Result<ContainerState, EngineError> {
    const VERB: &str = "list containers";
    let state = text(row, &["/status/state", "/status", "/state"])
        .ok_or_else(|| nonsense(VERB, "a container without a state"))?;
    let started = ["/status/startedDate", "/startedDate"]
        .iter()
        .any(|path| row.pointer(path).is_some_and(|date| !date.is_null()));
    let code = ["/status/exitCode", "/exitCode"]
        .iter()
        .find_map(|path| row.pointer(path)?.as_i64())
        .map(|code| i32::try_from(code).unwrap_or(UNKNOWN_CODE));
    match state.as_str() {
        "running" => Ok(ContainerState::Running),
        "stopping" | "unknown" => Ok(ContainerState::Transient),
        // Created or ended: both are `stopped`.
        "stopped" | "created" if !started && code.is_none() => Ok(ContainerState::Created),
        "stopped" | "exited" => Ok(ContainerState::Exited {
            code: code.unwrap_or(UNKNOWN_CODE),
            oom_killed: false,
        }),
        other => Err(nonsense(VERB, &format!("the unknown state {other:?}"))),
    }
}

/// `volume list --format json`.
pub(super) fn volumes(json: &[u8]) -> Result<Vec<VolumeInfo>, EngineError> {
    const VERB: &str = "list volumes";
    rows(VERB, json)?
        .iter()
        .map(|row| {
            let name = text(row, &["/configuration/name", "/name", "/id"])
                .ok_or_else(|| nonsense(VERB, "a volume without a name"))?;
            Ok(VolumeInfo {
                name: name.parse().map_err(|error| nonsense(VERB, &error))?,
                labels: labels(row, &["/configuration/labels", "/labels"]),
            })
        })
        .collect()
}

/// `image list --format json`, names only.
pub(super) fn image_names(json: &[u8]) -> Result<Vec<ImageRef>, EngineError> {
    const VERB: &str = "list images";
    rows(VERB, json)?
        .iter()
        .map(|row| {
            let name = text(row, &["/configuration/name", "/reference", "/name"])
                .ok_or_else(|| nonsense(VERB, "an image without a name"))?;
            name.parse().map_err(|error| nonsense(VERB, &error))
        })
        .collect()
}

/// `image inspect`.
pub(super) fn images(json: &[u8]) -> Result<Vec<ImageInfo>, EngineError> {
    const VERB: &str = "inspect image";
    rows(VERB, json)?
        .iter()
        .map(|row| {
            let id = text(
                row,
                &[
                    "/index/digest",
                    "/configuration/descriptor/digest",
                    "/descriptor/digest",
                    "/id",
                ],
            )
            .ok_or_else(|| nonsense(VERB, "an image without a digest"))?;
            let name = text(row, &["/configuration/name", "/name", "/reference"]);
            let none = Vec::new();
            let variants = row
                .pointer("/variants")
                .and_then(Value::as_array)
                .unwrap_or(&none);
            let native = variants
                .iter()
                .find(|variant| architecture(variant).as_deref() == Some("arm64"))
                .or(variants.first())
                .ok_or_else(|| nonsense(VERB, "an image without a variant"))?;
            let config = native.pointer("/config/config").unwrap_or(&Value::Null);
            let words = |path: &str| {
                let words = config.pointer(path).and_then(Value::as_array);
                words
                    .into_iter()
                    .flatten()
                    .filter_map(|word| Some(word.as_str()?.to_owned()))
                    .collect()
            };
            let volumes = config.pointer("/Volumes").and_then(Value::as_object);
            Ok(ImageInfo {
                id,
                tags: name.into_iter().collect(),
                size: native
                    .pointer("/size")
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
                labels: labels(config, &["/Labels"]),
                volumes: volumes
                    .into_iter()
                    .flat_map(|volumes| volumes.keys().cloned())
                    .collect(),
                entrypoint: words("/Entrypoint"),
                architecture: architecture(native).unwrap_or_default(),
            })
        })
        .collect()
}

fn architecture(variant: &Value) -> Option<String> {
    text(variant, &["/platform/architecture", "/config/architecture"])
}

/// What `image load` prints: the name of each image that it loaded, last.
pub(super) fn loaded_image(said: &str) -> Result<ImageRef, EngineError> {
    const VERB: &str = "load image";
    let last = said
        .split_whitespace()
        .next_back()
        .ok_or_else(|| nonsense(VERB, "no image is named"))?;
    last.parse().map_err(|error| nonsense(VERB, &error))
}

/// Sorts what a failed command says. Its exit codes tell nothing (1, or 64 for usage).
pub(super) fn refusal(
    verb: &'static str,
    what: &'static str,
    name: &str,
    code: i32,
    said: &str,
) -> EngineError {
    let lower = said.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let name = || name.to_owned();
    if says(&["already exists", "exists:"]) {
        EngineError::AlreadyExists { what, name: name() }
    } else if says(&["notfound", "not found", "no such"]) {
        EngineError::NotFound { what, name: name() }
    } else if says(&["in use", "being used"]) {
        EngineError::InUse { what, name: name() }
    } else {
        EngineError::Refused {
            verb,
            status: u16::try_from(code).unwrap_or_default(),
            message: said.to_owned(),
        }
    }
}

fn document(verb: &'static str, json: &[u8]) -> Result<Value, EngineError> {
    serde_json::from_slice(json).map_err(|error| nonsense(verb, &error))
}

fn rows(verb: &'static str, json: &[u8]) -> Result<Vec<Value>, EngineError> {
    match document(verb, json)? {
        Value::Array(rows) => Ok(rows),
        _ => Err(nonsense(verb, "no list")),
    }
}

/// Returns the first text among several places.
fn text(value: &Value, paths: &[&str]) -> Option<String> {
    paths
        .iter()
        .find_map(|path| Some(value.pointer(path)?.as_str()?.to_owned()))
}

fn labels(value: &Value, paths: &[&str]) -> BTreeMap<String, String> {
    let labels = paths
        .iter()
        .find_map(|path| value.pointer(path)?.as_object());
    labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn nonsense(verb: &'static str, message: &(impl ToString + ?Sized)) -> EngineError {
    EngineError::Lost {
        verb,
        message: message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_of(json: &str) -> String {
        let json = format!(r#"[{{"id":"c","configuration":{{"labels":{{"k":"v"}}}},{json}}}]"#);
        match containers(json.as_bytes()) {
            Ok(containers) => format!("{:?}", containers[0].state),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn states_of_every_version_are_understood() {
        assert_eq!(state_of(r#""status":"running""#), "Running");
        assert_eq!(
            state_of(r#""status":{"state":"running","networks":[]}"#),
            "Running"
        );
        assert_eq!(
            state_of(r#""status":{"state":"stopped","startedDate":null}"#),
            "Created"
        );
        assert_eq!(
            state_of(r#""status":{"state":"stopped","startedDate":"2026-08-07T00:00:00Z"}"#),
            "Exited { code: -1, oom_killed: false }"
        );
        assert_eq!(
            state_of(r#""status":{"state":"stopped","startedDate":1,"exitCode":3}"#),
            "Exited { code: 3, oom_killed: false }"
        );
        assert_eq!(
            state_of(r#""status":{"state":"molten"}"#),
            "list containers: lost the engine: the unknown state \"molten\""
        );
        containers(b"[{\"status\":\"running\"}]").unwrap_err();
        containers(b"Error: it broke").unwrap_err();
    }

    #[test]
    fn volumes_before_and_after_1_0() {
        let new =
            br#"[{"id":"v","configuration":{"name":"v","labels":{"k":"1"},"sizeInBytes":1}}]"#;
        let old = br#"[{"name":"v","labels":{"k":"1"},"createdAt":0}]"#;
        assert_eq!(volumes(new).unwrap(), volumes(old).unwrap());
        assert_eq!(volumes(new).unwrap()[0].labels["k"], "1");
    }

    #[test]
    fn an_image_is_its_variant_for_this_machine() {
        let json = br#"[{"name":"lazaret/base:1","index":{"digest":"sha256:aa"},"variants":[
            {"platform":{"architecture":"amd64"},"size":1,"config":{"config":{}}},
            {"platform":{"architecture":"arm64"},"size":2,"config":{"architecture":"arm64",
             "config":{"Labels":{"k":"v"},"Entrypoint":["/lazaret/porter"],"Volumes":{"/x":{}}}}}]}]"#;
        let image = images(json).unwrap().remove(0);
        assert_eq!(
            (image.id.as_str(), image.size, image.architecture.as_str()),
            ("sha256:aa", 2, "arm64")
        );
        assert_eq!(image.entrypoint, ["/lazaret/porter"]);
        assert_eq!(image.volumes, ["/x"]);
    }

    #[test]
    fn what_a_failed_command_says_is_sorted() {
        let sort = |said: &str| refusal("do it", "volume", "v", 1, said).to_string();
        assert_eq!(
            sort("Error: notFound: \"volume v not found\""),
            "no such volume: v"
        );
        assert_eq!(
            sort("Error: volume v already exists"),
            "a volume named v exists already"
        );
        assert_eq!(sort("Error: volume v is in use by c"), "volume v is in use");
        assert_eq!(
            sort("\u{1b}[31mboom"),
            "do it: the engine refused: \u{1b}[31mboom"
        );
    }

    #[test]
    fn what_a_machine_makes_pointless_is_named_with_its_reason() {
        let json =
            br#"[{"appName":"container","version":"1.2.2","buildType":"release","commit":"x"}]"#;
        let info = engine_info("/usr/local/bin/container", json).unwrap();
        assert_eq!(info.version, "1.2.2");
        assert_eq!(
            info.not_applicable[&Control::Seccomp],
            "not applicable (VM): system calls reach the machine's own kernel only"
        );
        engine_info("container", b"[]").unwrap_err();
    }
}
