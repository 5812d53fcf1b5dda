//! `cargo xtask dist`: one archive that runs where the repository is not, and a Debian package of
//! the same files.
//!
//! A static `lazaret` with images, profiles and porter inside, completions, manual pages,
//! documentation, licences, checksums. The archive is reproducible: sorted, no owners, the time of the
//! commit (or of `SOURCE_DATE_EPOCH`), no paths of this machine in the program.

mod archive;
mod deb;
mod elf;
mod licences;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};
use xshell::{Shell, cmd};

use self::deb::Package;
use self::licences::Linked;
use crate::flags;
use crate::project::{self, Porter};
use crate::section::Section;

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Tells whether the archive holds a file of the repository as it is: pages and licences.
pub(crate) fn is_paper(path: &str) -> bool {
    let at_top = !path.contains('/') && (path.ends_with(".md") || path.starts_with("LICENSE-"));
    at_top || path.starts_with("docs/")
}

impl flags::Dist {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let triple = project::host_triple(sh)?;
        let lazaret = {
            let _section = Section::new(sh, "static lazaret");
            build(sh, &triple)?
        };
        let name = format!("lazaret-{}-{triple}", env!("CARGO_PKG_VERSION"));
        let out = project::target_dir(sh).join("dist");
        let stage = out.join(&name);
        sh.remove_path(&stage)?;
        let mtime = commit_time(sh)?;
        stage_files(sh, &lazaret, &stage, mtime)?;

        let archive = out.join(format!("{name}.tar.gz"));
        archive::write(&stage, &name, mtime, &archive)?;
        let package = Package {
            stage: &stage,
            version: env!("CARGO_PKG_VERSION"),
            triple: &triple,
            mtime,
        };
        let deb = out.join(package.file_name()?);
        package.write(&deb)?;
        for path in [archive, deb] {
            let digest = hex_digest(&fs::read(&path)?);
            let file = path.file_name().context("a file")?.to_string_lossy();
            let sum = path.with_added_extension("sha256");
            sh.write_file(sum, format!("{digest}  {file}\n"))?;
            println!("{digest}  {}", path.display());
        }
        Ok(())
    }
}

/// Builds `lazaret` as users get it: optimised, static, with its porter.
pub fn build(sh: &Shell, triple: &str) -> Result<PathBuf> {
    let porter = Porter::build(sh)?;
    let target = project::target_dir(sh).join("static");
    porter
        .cargo(
            sh,
            &[
                "build",
                "--package",
                "lazaret-launcher",
                "--profile",
                "dist",
            ],
        )
        .args(["--locked", "--target", triple, "--target-dir"])
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", project::static_flags(sh))
        .run()
        .context("build lazaret")?;
    let lazaret = target.join(triple).join("dist/lazaret");
    if let Some(interpreter) = elf::interpreter(&fs::read(&lazaret)?)? {
        bail!(
            "`{}` is not static: it needs {interpreter}",
            lazaret.display()
        );
    }
    Ok(lazaret)
}

fn stage_files(sh: &Shell, lazaret: &Path, stage: &Path, mtime: u64) -> Result<()> {
    let _section = Section::new(sh, "completions, manual pages, licences");
    sh.create_dir(stage.join("completions"))?;
    sh.create_dir(stage.join("man/man1"))?;
    sh.copy_file(lazaret, stage.join("lazaret"))?;
    for shell in SHELLS {
        let text = cmd!(sh, "{lazaret} completions {shell}").quiet().read()?;
        sh.write_file(
            stage.join(format!("completions/lazaret.{shell}")),
            format!("{text}\n"),
        )?;
    }
    let pages = stage.join("man/man1");
    cmd!(sh, "{lazaret} man {pages}").quiet().run()?;
    let known = cmd!(sh, "git ls-files").quiet().read()?;
    for paper in known.lines().filter(|path| is_paper(path)) {
        let copy = stage.join(paper);
        sh.create_dir(copy.parent().context("a folder")?)?;
        sh.copy_file(paper, copy)?;
    }
    let linked = Linked::read(sh)?;
    sh.write_file(stage.join("THIRD-PARTY.txt"), linked.licences()?)?;
    let name = stage.file_name().context("a folder")?.to_string_lossy();
    let moment = format!("@{mtime}");
    let created = cmd!(sh, "date --utc --date={moment} +%Y-%m-%dT%H:%M:%SZ")
        .quiet()
        .read()?;
    let bill = sbom::document(&linked.metadata, |id| linked.holds(id), &name, &created)?;
    let bill = serde_json::to_string_pretty(&bill)?;
    sh.write_file(stage.join("sbom.spdx.json"), format!("{bill}\n"))?;

    let mut sums = String::new();
    for file in archive::files(stage)? {
        let digest = hex_digest(&fs::read(stage.join(&file))?);
        sums.push_str(&format!("{digest}  {}\n", file.display()));
    }
    sh.write_file(stage.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// The time that all entries get, in seconds since 1970.
fn commit_time(sh: &Shell) -> Result<u64> {
    let text = match sh.var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => cmd!(sh, "git log -1 --format=%ct").quiet().read()?,
    };
    text.trim()
        .parse()
        .with_context(|| format!("`{text}` is no time in seconds"))
}

fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
