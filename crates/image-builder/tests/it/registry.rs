//! A registry image as base: its layers are taken over, checked, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;
use lazaret_image_builder::{BuildEvent, BuiltImage, ImageSpec};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::build::program;
use crate::store::{Store, Yard};

pub(crate) const BASE: &str =
    "images.test/tools@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
}

pub(crate) fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, contents) in files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_size(contents.len() as u64);
        tar.append_data(&mut header, path, *contents).unwrap();
    }
    tar.into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A spec on a registry image.
pub(crate) fn spec(base: &str) -> ImageSpec {
    let source = format!("description = 'mine'\nbase.registry = '{base}'\n");
    ImageSpec::parse(&"mine".parse().unwrap(), "images/mine/image.toml", &source).unwrap()
}

/// An image that two layers are in, the lower one twice, and its whole configuration.
pub(crate) struct Sample {
    lower: Vec<u8>,
    upper: Vec<u8>,
    config: Vec<u8>,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let lower = tar_of(&[
            (
                "etc/passwd",
                b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n",
            ),
            ("etc/group", b"root:x:0:\n"),
        ]);
        let upper = tar_of(&[("opt/tool", b"tool")]);
        let id = |layer: &[u8]| format!("sha256:{}", sha256(layer));
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Env": ["PATH=/opt/bin:/bin", "SECRET=1"],
                "Entrypoint": ["/bin/sh"],
                "Volumes": { "/surprise": {} },
                "User": "root",
            },
            "rootfs": { "type": "layers", "diff_ids": [id(&lower), id(&upper), id(&lower)] },
        });
        Self {
            config: config.to_string().into_bytes(),
            lower,
            upper,
        }
    }

    /// As Docker before 25 writes it: a repeated layer is a symbolic link.
    pub(crate) fn legacy(&self) -> Vec<u8> {
        let layers = ["l/layer.tar", "u/layer.tar", "again/layer.tar"];
        let manifest = json!([{ "Config": "c.json", "Layers": layers }]).to_string();
        let files: [(&str, &[u8]); 4] = [
            ("c.json", &self.config),
            ("l/layer.tar", &self.lower),
            ("u/layer.tar", &self.upper),
            ("manifest.json", manifest.as_bytes()),
        ];
        let mut tar = tar::Builder::new(tar_of(&files));
        tar.get_mut().truncate(tar_of(&files).len() - 1024);
        let mut link = tar::Header::new_ustar();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        link.set_mode(0o777);
        link.set_mtime(0);
        tar.append_link(&mut link, "again/layer.tar", "../l/layer.tar")
            .unwrap();
        tar.into_inner().unwrap()
    }

    /// As newer engines write it: blobs by digest, compressed as they came.
    fn blobs(&self) -> Vec<u8> {
        let layers = ["blobs/sha256/l", "blobs/sha256/u", "blobs/sha256/l"];
        let manifest = json!([{ "Config": "blobs/sha256/c", "Layers": layers }]).to_string();
        tar_of(&[
            ("blobs/sha256/c", &self.config),
            ("blobs/sha256/l", &gzip(&self.lower)),
            ("blobs/sha256/u", &gzip(&self.upper)),
            ("manifest.json", manifest.as_bytes()),
        ])
    }
}

fn build(archive: Vec<u8>, cache: &Path) -> (Store, Vec<BuildEvent>, Result<BuiltImage, String>) {
    let mut store = Store::new();
    store.registry = BTreeMap::from([(BASE.to_owned(), archive)]);
    let mut events = Vec::new();
    let porter = program("1");
    let yard = Yard::new(Arc::new(store.clone()), &porter, cache);
    let result = yard
        .builder()
        .ensure_spec(&spec(BASE), &mut |event| events.push(event))
        .map_err(|error| error.to_string());
    (store, events, result)
}

/// Returns the names in the archive's layers and its configuration.
fn loaded(store: &Store) -> (Vec<String>, serde_json::Value) {
    let [archive] = store.loads().try_into().unwrap();
    let mut names = Vec::new();
    let mut config = serde_json::Value::Null;
    for entry in tar::Archive::new(archive.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).unwrap();
        if name.ends_with(".tar") {
            for inner in tar::Archive::new(contents.as_slice()).entries().unwrap() {
                names.push(inner.unwrap().path().unwrap().display().to_string());
            }
        } else if name != "manifest.json" {
            config = serde_json::from_slice(&contents).unwrap();
        }
    }
    (names, config["config"].clone())
}

#[test]
fn con_25_the_layers_are_taken_over_and_nothing_else() {
    let cache = tempfile::tempdir().unwrap();
    let (store, events, built) = build(Sample::new().legacy(), cache.path());
    let built = built.unwrap();
    assert!(
        matches!(events.first(), Some(BuildEvent::Pulling { .. })),
        "{events:?}"
    );
    let (names, config) = loaded(&store);
    assert_eq!(
        names,
        [
            "etc/passwd",
            "etc/group",
            "opt/tool",
            "etc/passwd",
            "etc/group",
            "etc/group",
            "etc/passwd",
            "home/agent",
            "lazaret",
            "lazaret/porter",
            "workspace",
        ]
    );
    assert_snapshot!(config["Env"], @r#"["PATH=/opt/bin:/bin","HOME=/home/agent","LANG=C.UTF-8"]"#);
    assert_snapshot!(config["Entrypoint"], @r#"["/lazaret/porter"]"#);
    assert_eq!(config.get("Volumes"), None);

    // The same from an engine that writes the other form, and from the cache.
    let other = tempfile::tempdir().unwrap();
    assert_eq!(build(Sample::new().blobs(), other.path()).2.unwrap(), built);
    let (_, events, again) = build(b"not asked for".to_vec(), cache.path());
    assert_eq!(again.unwrap(), built);
    assert!(
        matches!(events.as_slice(), [BuildEvent::Loading { .. }]),
        "{events:?}"
    );
}

#[test]
fn an_archive_that_is_not_what_it_says_is_refused() {
    let cache = tempfile::tempdir().unwrap();
    let refusal = |archive| {
        let (store, _, built) = build(archive, cache.path());
        assert_eq!(store.loads().len(), 0);
        built.unwrap_err().replace(BASE, "<base>")
    };
    let mut lying = Sample::new();
    lying.upper = tar_of(&[("opt/tool", b"evil")]);
    assert_snapshot!(refusal(lying.legacy()), @"build image mine: <base>: the engine's archive has a layer that does not match its digest");
    assert_snapshot!(refusal(tar_of(&[])), @"build image mine: <base>: the engine's archive lacks manifest.json");
    assert_snapshot!(refusal(tar_of(&[("manifest.json", b"[]")])), @"build image mine: <base>: the engine's archive does not hold exactly one image");
    assert_snapshot!(refusal(tar_of(&[("manifest.json", br#"[{"Config":"\u001bc","Layers":[]}]"#)])), @r"build image mine: <base>: the engine's archive lacks \u{1b}c");
    assert_snapshot!(refusal(tar_of(&[("manifest.json", b"{")])), @"build image mine: <base>: the engine's archive has a bad manifest.json: invalid type: map, expected a sequence at line 1 column 0");
}

#[test]
fn a_base_that_no_registry_has_is_named() {
    let (store, porter, cache) = (Store::new(), program("1"), tempfile::tempdir().unwrap());
    let yard = Yard::new(Arc::new(store), &porter, cache.path());
    let error = yard
        .builder()
        .ensure_spec(&spec(BASE), &mut |_| {})
        .unwrap_err();
    assert_snapshot!(error.to_string().replace(BASE, "<base>"), @"build image mine: fetch <base>: no such image: <base>");
}

#[test]
fn a_base_for_another_processor_is_named() {
    let cache = tempfile::tempdir().unwrap();
    let mut store = Store::new();
    store.pulled = "arm64";
    store.registry = BTreeMap::from([(BASE.to_owned(), Sample::new().legacy())]);
    let porter = program("1");
    let yard = Yard::new(Arc::new(store.clone()), &porter, cache.path());
    let built = yard.builder().ensure_spec(&spec(BASE), &mut |_| {});
    let error = built.unwrap_err().to_string();
    assert!(
        error.contains("arm64") && error.contains("amd64"),
        "{error}"
    );
    assert_eq!(store.loads().len(), 0);
}
