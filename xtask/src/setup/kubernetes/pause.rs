//! The pause image: one static program, as the archive that `docker save` writes.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::node::PAUSE_IMAGE;

/// Source of the program.
pub(super) const SOURCE: &str = include_str!("pause.go");

/// Writes an image whose only file is `program`.
pub(super) fn write_image(program: &Path, archive: &Path) -> Result<()> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    let mut layer = tar::Builder::new(Vec::new());
    append(
        &mut layer,
        Entry {
            name: "pause",
            mode: 0o755,
            bytes: &bytes,
        },
    )?;
    let layer = layer.into_inner()?;
    let digest = Sha256::digest(&layer);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();

    let file = File::create(archive).with_context(|| archive.display().to_string())?;
    let mut image = tar::Builder::new(file);
    let config = settings(&digest).to_string();
    let manifest = manifest().to_string();
    let files = [
        ("manifest.json", manifest.as_bytes()),
        ("config.json", config.as_bytes()),
        ("layer.tar", &layer),
    ];
    for (name, bytes) in files {
        append(
            &mut image,
            Entry {
                name,
                mode: 0o644,
                bytes,
            },
        )?;
    }
    image.finish().context("write the pause image")
}

fn settings(layer: &str) -> Value {
    json!({
        "architecture": architecture(),
        "os": "linux",
        "config": { "Entrypoint": ["/pause"] },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
    })
}

fn manifest() -> Value {
    json!([{ "Config": "config.json", "RepoTags": [PAUSE_IMAGE], "Layers": ["layer.tar"] }])
}

/// As Go names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[derive(Debug)]
struct Entry<'a> {
    name: &'a str,
    mode: u32,
    bytes: &'a [u8],
}

fn append<W: std::io::Write>(archive: &mut tar::Builder<W>, entry: Entry<'_>) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_mode(entry.mode);
    header.set_size(entry.bytes.len() as u64);
    archive
        .append_data(&mut header, entry.name, entry.bytes)
        .with_context(|| format!("append {}", entry.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_names_its_layer_by_digest_and_itself_by_tag() {
        let settings = settings("00ff");
        assert_eq!(settings["rootfs"]["diff_ids"][0], "sha256:00ff");
        assert_eq!(manifest()[0]["RepoTags"][0], PAUSE_IMAGE);
        assert_eq!(manifest()[0]["Config"], "config.json");
    }
}
