//! Where the repository is, and cargo calls that all use the same settings.
//!
//! Every product build gets the same `LAZARET_PORTER`: one that did not would build the
//! launcher again, without its porter.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Cmd, Shell, cmd};

/// The repository's root: the parent of the folder that this crate was built from.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask/ lies in the repository")
        .to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target_dir(sh: &Shell) -> PathBuf {
    match sh.var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The triple that this machine's toolchain builds for.
pub(crate) fn host_triple(sh: &Shell) -> Result<String> {
    let version = cmd!(sh, "rustc -vV").quiet().read()?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

/// A static porter, without which a `lazaret` can't move a file.
#[derive(Clone, Debug)]
pub(crate) struct Porter {
    pub(crate) path: PathBuf,
}

impl Porter {
    /// Builds the porter where it is not fresh. A target directory of its own, because
    /// other flags would make cargo build everything else again.
    pub(crate) fn build(sh: &Shell) -> Result<Self> {
        let triple = host_triple(sh)?;
        let target = target_dir(sh).join("porter");
        cmd!(
            sh,
            "cargo build --quiet --package lazaret-porter --profile porter --target {triple} --target-dir {target}"
        )
        .quiet()
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .run()
        .context("build the porter")?;
        let path = target.join(triple).join("porter/lazaret-porter");
        Ok(Self { path })
    }

    /// `cargo ARGUMENTS` with this porter built in. Streams are inherited.
    pub(crate) fn cargo<'a>(&self, sh: &'a Shell, arguments: &[&str]) -> Cmd<'a> {
        sh.cmd("cargo")
            .args(arguments)
            .env("LAZARET_PORTER", &self.path)
    }

    /// Builds `lazaret` with this porter and says where it is.
    pub(crate) fn build_lazaret(&self, sh: &Shell) -> Result<PathBuf> {
        self.cargo(sh, &["build", "--quiet", "--package", "lazaret-launcher"])
            .quiet()
            .run()
            .context("build lazaret")?;
        Ok(target_dir(sh).join("debug/lazaret"))
    }
}
