//! Where the repository is, and cargo calls that all use the same settings.
//!
//! Every product build gets the same `LAZARET_PORTER`: one that did not would build the
//! launcher again, without its porter.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xshell::{Cmd, Shell, cmd};

/// The repository's root: the parent of the folder that this crate was built from.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask/ lies in the repository")
        .to_path_buf()
}

/// Where cargo builds.
pub fn target_dir(sh: &Shell) -> PathBuf {
    match sh.var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The triple that this machine's toolchain builds for.
pub fn host_triple(sh: &Shell) -> Result<String> {
    let version = cmd!(sh, "rustc -vV").quiet().read()?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

/// Compiler flags of static programs, for `CARGO_ENCODED_RUSTFLAGS`: no loader, and no path of this machine in them, so
/// that two machines build the same bytes.
pub(crate) fn static_flags(sh: &Shell) -> String {
    let cargo_home = sh
        .var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(sh.var_os("HOME")?).join(".cargo")))
        .unwrap_or_default();
    // Encoded: a space in a path does not end a flag.
    [
        "-Ctarget-feature=+crt-static".to_owned(),
        format!("--remap-path-prefix={}=/lazaret", root().display()),
        format!("--remap-path-prefix={}=/cargo", cargo_home.display()),
    ]
    .join("\x1f")
}

/// Arguments of every cargo call of the checks: packages and features decide what cargo can
/// take from an earlier call.
pub(crate) const WHOLE_WORKSPACE: [&str; 2] = ["--workspace", "--all-features"];

/// A static porter, without which a `lazaret` can't move a file.
#[derive(Clone, Debug)]
pub(crate) struct Porter {
    pub(crate) path: PathBuf,
}

impl Porter {
    /// Builds the porter that goes into images, where it is not fresh.
    pub(crate) fn build(sh: &Shell) -> Result<Self> {
        Self::build_profile(sh, "porter")
    }

    /// Builds a porter for tests: the same without link-time optimisation, which takes minutes.
    pub(crate) fn build_dev(sh: &Shell) -> Result<Self> {
        Self::build_profile(sh, "porter-dev")
    }

    /// Builds `lazaret` from what the tests are built from: its features only add entrances for
    /// tests.
    pub(crate) fn build_tested_lazaret(&self, sh: &Shell) -> Result<PathBuf> {
        self.cargo(sh, &["build", "--quiet", "--bin", "lazaret"])
            .args(WHOLE_WORKSPACE)
            .quiet()
            .run()
            .context("build lazaret")?;
        Ok(target_dir(sh).join("debug/lazaret"))
    }

    /// A target directory of its own, because other flags would make cargo build everything
    /// else again.
    fn build_profile(sh: &Shell, profile: &str) -> Result<Self> {
        let triple = host_triple(sh)?;
        let target = target_dir(sh).join("porter");
        cmd!(
            sh,
            "cargo build --quiet --package lazaret-porter --profile {profile} --target {triple} --target-dir {target}"
        )
        .quiet()
        .env("CARGO_ENCODED_RUSTFLAGS", static_flags(sh))
        .run()
        .context("build the porter")?;
        let path = target.join(triple).join(profile).join("lazaret-porter");
        Ok(Self { path })
    }

    /// `cargo ARGUMENTS` with this porter built in. Streams are inherited.
    pub(crate) fn cargo<'a>(&self, sh: &'a Shell, arguments: &[&str]) -> Cmd<'a> {
        sh.cmd("cargo")
            .args(arguments)
            .env("LAZARET_PORTER", &self.path)
    }

    /// Builds `lazaret` as users have it, with this porter, and says where it is.
    pub(crate) fn build_lazaret(&self, sh: &Shell) -> Result<PathBuf> {
        self.cargo(sh, &["build", "--quiet", "--package", "lazaret-launcher"])
            .quiet()
            .run()
            .context("build lazaret")?;
        Ok(target_dir(sh).join("debug/lazaret"))
    }
}
