//! The image's configuration, as Docker and OCI write it. Its SHA-256 is the image's id.

use std::collections::BTreeMap;

use lazaret_protocol::PORTER_PATH;
use serde::Serialize;

use crate::layer::writer::EPOCH_TEXT;
use crate::{IMAGE_LABEL, INPUTS_LABEL};

/// What a container of the image finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) architecture: &'a str,
    pub(crate) inputs: &'a str,
    pub(crate) user: &'a str,
    pub(crate) home: &'a str,
    pub(crate) path: &'a str,
    /// What each layer is for, and its digest, lowest first.
    pub(crate) layers: &'a [(&'a str, &'a str)],
}

#[derive(Serialize)]
struct Image<'a> {
    architecture: &'a str,
    config: Container<'a>,
    created: &'a str,
    history: Vec<Step<'a>>,
    os: &'a str,
    rootfs: RootFs,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Container<'a> {
    user: &'a str,
    env: [String; 3],
    entrypoint: [&'a str; 1],
    cmd: [&'a str; 1],
    working_dir: &'a str,
    labels: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Step<'a> {
    created: &'a str,
    created_by: String,
}

#[derive(Serialize)]
struct RootFs {
    r#type: &'static str,
    diff_ids: Vec<String>,
}

impl Config<'_> {
    /// Returns the configuration as JSON; the same input gives the same bytes.
    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Image {
            architecture: self.architecture,
            config: Container {
                user: self.user,
                env: [
                    format!("PATH={}", self.path),
                    format!("HOME={}", self.home),
                    "LANG=C.UTF-8".to_owned(),
                ],
                entrypoint: [PORTER_PATH],
                cmd: ["init"],
                working_dir: "/workspace",
                labels: BTreeMap::from([
                    (IMAGE_LABEL, self.name),
                    (INPUTS_LABEL, self.inputs),
                    ("org.opencontainers.image.title", self.name),
                    ("org.opencontainers.image.description", self.description),
                    (
                        "org.opencontainers.image.version",
                        env!("CARGO_PKG_VERSION"),
                    ),
                    ("org.opencontainers.image.vendor", "lazaret"),
                ]),
            },
            created: EPOCH_TEXT,
            history: self
                .layers
                .iter()
                .map(|(purpose, _)| Step {
                    created: EPOCH_TEXT,
                    created_by: format!("lazaret: {purpose}"),
                })
                .collect(),
            os: "linux",
            rootfs: RootFs {
                r#type: "layers",
                diff_ids: self
                    .layers
                    .iter()
                    .map(|(_, hex)| format!("sha256:{hex}"))
                    .collect(),
            },
        })
    }
}
