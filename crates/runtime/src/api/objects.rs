//! The answers about images, volumes, containers and processes, read leniently; pure.
//!
//! Only the fields that are used are named; a missing one is empty. What decides
//! something and can't be understood is an error (docs/design/threats.md FLT-26).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use crate::{ContainerInfo, ContainerState, EngineError, ImageInfo, VolumeInfo};

/// Reads `null` as the empty value.
fn or_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A row of a list.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    #[serde(rename = "Id")]
    pub(super) id: String,
}

/// `GET /images/NAME/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Image {
    id: String,
    #[serde(default, deserialize_with = "or_empty")]
    repo_tags: Vec<String>,
    #[serde(default)]
    size: i64,
    #[serde(default)]
    architecture: String,
    #[serde(default, deserialize_with = "or_empty")]
    config: ImageConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ImageConfig {
    #[serde(deserialize_with = "or_empty")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_empty")]
    volumes: BTreeMap<String, serde_json::Value>,
    #[serde(deserialize_with = "or_empty")]
    entrypoint: Vec<String>,
}

impl Image {
    pub(super) fn into_info(self) -> ImageInfo {
        // Podman leaves the algorithm out in some answers.
        let id = match self.id.contains(':') {
            true => self.id,
            false => format!("sha256:{}", self.id),
        };
        ImageInfo {
            id,
            tags: self.repo_tags,
            size: u64::try_from(self.size).unwrap_or_default(),
            labels: self.config.labels,
            volumes: self.config.volumes.into_keys().collect(),
            entrypoint: self.config.entrypoint,
            architecture: self.architecture,
        }
    }
}

/// `GET /volumes/NAME`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Volume {
    name: String,
    #[serde(default, deserialize_with = "or_empty")]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    mountpoint: String,
}

/// `GET /volumes`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Volumes {
    #[serde(default, deserialize_with = "or_empty")]
    volumes: Vec<Volume>,
}

impl Volume {
    pub(super) fn label(&self, key: &str) -> Option<&String> {
        self.labels.get(key)
    }

    /// Returns its directory on the engine's machine.
    pub(super) fn mountpoint(&self) -> Option<PathBuf> {
        self.mountpoint
            .starts_with('/')
            .then(|| PathBuf::from(&self.mountpoint))
    }
}

impl Volumes {
    /// # Errors
    /// When a volume has a name that no engine allows.
    pub(super) fn into_infos(self) -> Result<Vec<VolumeInfo>, EngineError> {
        let mut volumes = Vec::new();
        for Volume {
            name, mut labels, ..
        } in self.volumes
        {
            labels.remove(super::NONCE_LABEL);
            let name = name
                .parse()
                .map_err(|error| nonsense("list volumes", &error))?;
            volumes.push(VolumeInfo { name, labels });
        }
        volumes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(volumes)
    }
}

/// `GET /containers/NAME/json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Container {
    #[serde(default)]
    id: String,
    name: String,
    state: State,
    #[serde(default, deserialize_with = "or_empty")]
    config: ContainerConfig,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    status: String,
    #[serde(default)]
    pid: i32,
    #[serde(default)]
    exit_code: i64,
    #[serde(default, rename = "OOMKilled")]
    oom_killed: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ContainerConfig {
    #[serde(deserialize_with = "or_empty")]
    labels: BTreeMap<String, String>,
}

/// The first process of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InitProcess {
    /// As the engine's machine counts.
    pub(super) pid: i32,
    /// The container's id.
    pub(super) id: String,
}

impl Container {
    pub(super) fn first_process(&self) -> InitProcess {
        InitProcess {
            pid: self.state.pid,
            id: self.id.clone(),
        }
    }

    /// # Errors
    /// When its state or name is none that is known.
    pub(super) fn into_info(self) -> Result<ContainerInfo, EngineError> {
        const VERB: &str = "inspect container";
        let exited = ContainerState::Exited {
            code: i32::try_from(self.state.exit_code).unwrap_or(i32::MAX),
            oom_killed: self.state.oom_killed,
        };
        let state = match self.state.status.as_str() {
            // `configured` and `initialized` are Podman's.
            "created" | "configured" | "initialized" => ContainerState::Created,
            "running" => ContainerState::Running,
            "paused" => ContainerState::Paused,
            "exited" | "dead" => exited,
            // Podman's `stopped` is an end whose code is not yet recorded.
            "stopped" | "stopping" | "restarting" | "removing" => ContainerState::Transient,
            other => return Err(nonsense(VERB, &format!("the unknown state {other:?}"))),
        };
        let name = self.name.trim_start_matches('/');
        Ok(ContainerInfo {
            name: name.parse().map_err(|error| nonsense(VERB, &error))?,
            labels: self.config.labels,
            state,
        })
    }
}

/// `GET /exec/ID/json`.
#[derive(Debug, Deserialize)]
pub(super) struct Exec {
    #[serde(rename = "Running")]
    pub(super) running: bool,
    #[serde(default, rename = "ExitCode")]
    pub(super) exit_code: Option<i64>,
}

/// `POST /containers/NAME/exec`.
#[derive(Debug, Deserialize)]
pub(super) struct Created {
    #[serde(rename = "Id")]
    pub(super) id: String,
}

/// Finds the name of the one image that was loaded in what the engine said.
///
/// # Errors
/// When it named none, or several.
pub(super) fn loaded_image<'a>(said: impl Iterator<Item = &'a str>) -> Result<String, EngineError> {
    const VERB: &str = "load image";
    let text: String = said.collect::<Vec<_>>().join("\n");
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            // An image without a tag is named by its id; Podman before 5 has the plural.
            ["Loaded image ID: ", "Loaded image: ", "Loaded image(s): "]
                .into_iter()
                .find_map(|words| line.trim().strip_prefix(words))
        })
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .collect();
    names.dedup();
    match names.as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => Err(nonsense(VERB, &format!("no image is named in {text:?}"))),
        _ => Err(nonsense(
            VERB,
            &format!("several images are named in {text:?}"),
        )),
    }
}

fn nonsense(verb: &'static str, message: &impl ToString) -> EngineError {
    EngineError::Lost {
        verb,
        message: message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn state(json: &str) -> String {
        let json = format!(r#"{{"Name":"/c","State":{json},"Config":{{"Labels":null}}}}"#);
        match serde_json::from_str::<Container>(&json)
            .unwrap()
            .into_info()
        {
            Ok(info) => format!("{:?}", info.state),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn flt_26_states_of_both_engines_are_known_and_others_refused() {
        assert_eq!(state(r#"{"Status":"configured"}"#), "Created");
        assert_eq!(state(r#"{"Status":"stopped"}"#), "Transient");
        assert_eq!(
            state(r#"{"Status":"exited","ExitCode":137,"OOMKilled":true}"#),
            "Exited { code: 137, oom_killed: true }"
        );
        assert_eq!(
            state(r#"{"Status":"\u001b[31mrunning"}"#),
            "inspect container: lost the engine: the unknown state \"\\u{1b}[31mrunning\""
        );
        serde_json::from_str::<Container>(r#"{"Name":"/c"}"#).unwrap_err();
    }

    #[test]
    fn flt_26_the_loaded_image_is_the_one_that_is_named() {
        let name = |said: &[&str]| loaded_image(said.iter().copied()).ok();
        assert_eq!(name(&["Loaded image: a:b\n"]).as_deref(), Some("a:b"));
        assert_eq!(
            name(&["Loaded image ID: sha256:0\n"]).as_deref(),
            Some("sha256:0")
        );
        assert_eq!(
            name(&["x\n", "Loaded image: h/a:b"]).as_deref(),
            Some("h/a:b")
        );
        assert_eq!(name(&["Loaded image(s): a:b"]).as_deref(), Some("a:b"));
        assert_eq!(name(&["Loaded image: a", "Loaded image: b"]), None);
        assert_eq!(name(&["done"]), None);
    }

    #[test]
    fn an_image_without_a_config_is_read() {
        let image: Image =
            serde_json::from_str(r#"{"Id":"00","RepoTags":null,"Config":null}"#).unwrap();
        let info = image.into_info();
        assert_eq!(info.id, "sha256:00");
        assert!(info.volumes.is_empty());
    }
}
