//! A software bill of materials: what is in an image, as CycloneDX 1.5 JSON.
//!
//! From the lock alone: Debian's packages by name and version, and one entry for each
//! component. No time and no serial number, so the same image has the same document.

use lazaret_tree::Digest;
use serde::Serialize;

use crate::{ImageLock, LockedLayer};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u32,
    metadata: Metadata,
    components: Vec<Component>,
}

#[derive(Serialize)]
struct Metadata {
    component: Component,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
struct Component {
    r#type: &'static str,
    #[serde(rename = "bom-ref")]
    bom_ref: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    purl: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    properties: Vec<Property>,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Hash {
    alg: &'static str,
    content: String,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Property {
    name: &'static str,
    value: String,
}

impl ImageLock {
    /// Returns the bill of materials as JSON; the same lock gives the same text.
    ///
    /// # Errors
    /// None for a lock that was parsed or built here.
    pub fn sbom(&self) -> serde_json::Result<String> {
        let mut components = Vec::new();
        let mut packages = std::collections::BTreeMap::new();
        for layer in &self.layer {
            packages.extend(layer.packages.iter());
            components.push(of_layer(layer));
        }
        for (name, version) in packages {
            components.push(self.of_package(name, version));
        }
        let digests: Vec<_> = self
            .layer
            .iter()
            .map(|layer| layer.layer.as_str())
            .collect();
        let document = Document {
            bom_format: "CycloneDX",
            spec_version: "1.5",
            version: 1,
            metadata: Metadata {
                component: Component {
                    r#type: "container",
                    bom_ref: format!("image:{}", self.image),
                    name: self.image.clone(),
                    // The layers below the porter's: what the bill is about.
                    version: Digest::of(digests.join("\n").as_bytes()).to_hex(),
                    purl: None,
                    hashes: Vec::new(),
                    properties: Vec::new(),
                },
            },
            components,
        };
        serde_json::to_string_pretty(&document)
    }

    fn of_package(&self, name: &str, version: &str) -> Component {
        let (plain, architecture) = name.split_once(':').unwrap_or((name, &self.architecture));
        // Package URL specification: type `deb`; `+` and `:` are percent-encoded.
        let encode = |text: &str| {
            text.replace('%', "%25")
                .replace('+', "%2B")
                .replace(':', "%3A")
        };
        let purl = format!(
            "pkg:deb/debian/{}@{}?arch={architecture}",
            encode(plain),
            encode(version)
        );
        Component {
            r#type: "library",
            bom_ref: purl.clone(),
            name: plain.to_owned(),
            version: version.to_owned(),
            purl: Some(purl),
            hashes: Vec::new(),
            properties: Vec::new(),
        }
    }
}

fn of_layer(layer: &LockedLayer) -> Component {
    Component {
        r#type: "application",
        bom_ref: format!("layer:{}", layer.layer),
        name: layer.name.clone(),
        version: layer.version.clone(),
        purl: None,
        hashes: vec![Hash {
            alg: "SHA-256",
            content: layer.layer.trim_start_matches("sha256:").to_owned(),
        }],
        properties: vec![Property {
            name: "lazaret:source",
            value: layer.source.clone(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_bill_names_components_and_packages() {
        let layer = |name: &str, packages: &[(&str, &str)]| LockedLayer {
            name: name.to_owned(),
            source: "debian".to_owned(),
            version: "1.2".to_owned(),
            layer: format!("sha256:{name}"),
            bytes: 1,
            packages: packages
                .iter()
                .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()))
                .collect(),
        };
        let lock = ImageLock {
            format: 2,
            image: "mine".to_owned(),
            architecture: "amd64".to_owned(),
            layer: vec![
                layer("debian", &[("g++", "1:2+b1"), ("libc6:i386", "2")]),
                layer("tool", &[("g++", "1:3")]),
            ],
        };
        let text = lock.sbom().unwrap();
        assert_eq!(text, lock.sbom().unwrap());
        let bill: serde_json::Value = serde_json::from_str(&text).unwrap();
        let names: BTreeMap<_, _> = bill["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                (
                    one["bom-ref"].as_str().unwrap(),
                    one["version"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            names,
            BTreeMap::from([
                ("layer:sha256:debian", "1.2"),
                ("layer:sha256:tool", "1.2"),
                ("pkg:deb/debian/g%2B%2B@1%3A3?arch=amd64", "1:3"),
                ("pkg:deb/debian/libc6@2?arch=i386", "2"),
            ])
        );
    }
}
