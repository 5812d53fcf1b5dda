//! The notices of everything that is linked into the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

/// Binaries in the archive: the launcher, and the porter inside it.
const ROOTS: [&str; 2] = ["lazaret-launcher", "lazaret-porter"];

/// The crates that are linked in.
#[derive(Debug)]
pub(super) struct Linked {
    /// What `cargo metadata` says of all crates.
    pub(super) metadata: serde_json::Value,
    /// `name version` of each that is linked in.
    ids: BTreeSet<String>,
}

impl Linked {
    /// Asks cargo.
    ///
    /// # Errors
    /// Cargo's.
    pub(super) fn read(sh: &Shell) -> Result<Self> {
        let metadata = cmd!(sh, "cargo metadata --format-version 1 --locked")
            .quiet()
            .read()?;
        Ok(Self {
            metadata: serde_json::from_str(&metadata)?,
            ids: linked(sh)?,
        })
    }

    /// Whether a crate, as `name version`, is linked in.
    pub(super) fn holds(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Each licence text once, under the names of the crates that come with it.
    ///
    /// # Errors
    /// A crate has no licence, or its text can't be read.
    pub(super) fn licences(&self) -> Result<String> {
        collect(self)
    }
}

fn collect(linked: &Linked) -> Result<String> {
    let mut summary = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked.metadata["packages"]
        .as_array()
        .context("cargo metadata has packages")?
    {
        let field = |name: &str| package[name].as_str().unwrap_or_default();
        let id = format!("{} {}", field("name"), field("version"));
        // Ours have the licences at the top of the archive.
        if !linked.holds(&id) || package["source"].is_null() {
            continue;
        }
        if field("license").is_empty() {
            bail!("{id} declares no licence");
        }
        summary.push_str(&format!("{id}: {}\n", field("license")));
        let folder = Path::new(field("manifest_path"))
            .parent()
            .context("a manifest's folder")?;
        for text in licence_files(folder)? {
            texts.entry(text).or_default().push(id.clone());
        }
    }
    let mut document = String::from("Programs in this archive contain the following crates.\n\n");
    document.push_str(&summary);
    for (text, ids) in texts {
        document.push_str(&format!("\n{}\n\n{}\n", "-".repeat(72), ids.join(", ")));
        document.push_str(&format!("\n{}\n", text.trim_end()));
    }
    Ok(document)
}

/// `name version` of every crate that is linked in.
fn linked(sh: &Shell) -> Result<BTreeSet<String>> {
    let mut linked = BTreeSet::new();
    for root in ROOTS {
        let tree = cmd!(
            sh,
            "cargo tree --quiet --edges normal --prefix none --package {root}"
        );
        for line in tree.quiet().read()?.lines() {
            let mut words = line.split_whitespace();
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                linked.insert(format!("{name} {}", version.trim_start_matches('v')));
            }
        }
    }
    Ok(linked)
}

fn licence_files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|start| upper.starts_with(start));
        if is_licence && folder.join(&name).is_file() {
            names.push(name);
        }
    }
    names.sort();
    let read = |name: &String| {
        let bytes = fs::read(folder.join(name)).with_context(|| name.clone())?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
    };
    names.iter().map(read).collect()
}
