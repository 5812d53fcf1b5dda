//! Embeds the porter in `OUT_DIR`, and says what the program is built from.
//!
//! The porter is the file that `LAZARET_PORTER` names. Without one, an optimised build, such as
//! that of `cargo install`, builds it; any other build embeds an empty file, and says at run time
//! how to build it.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads the environment, and builds without dependencies"
)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Below the repository: what the porter is built from.
const PORTER_SOURCES: [&str; 6] = [
    "Cargo.lock",
    "crates/egress",
    "crates/gateway",
    "crates/porter",
    "crates/protocol",
    "crates/tree",
];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=LAZARET_PORTER");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let repository = repository()?;
    let is_optimised = variable("PROFILE")? == "release";
    let porter = match std::env::var_os("LAZARET_PORTER").filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = PathBuf::from(path);
            println!("cargo::rerun-if-changed={}", path.display());
            read(&path)?
        }
        None if is_optimised => read(&build_porter(&repository, &out)?)?,
        None => Vec::new(),
    };
    // Unchanged bytes leave the file alone, so nothing is compiled again.
    let embedded = out.join("porter");
    if fs::read(&embedded).ok().as_deref() != Some(&porter[..]) {
        fs::write(&embedded, porter).map_err(|error| at(&embedded, error))?;
    }
    let commit = match is_optimised {
        true => commit(&repository),
        // Its commit would have every build after a commit compile all of the launcher again.
        false => None,
    };
    let source = match (&commit, is_optimised) {
        (Some(commit), _) => commit.as_str(),
        (None, true) => "an unknown commit",
        (None, false) => "a working tree",
    };
    println!("cargo::rustc-env=LAZARET_SOURCE={source}");
    println!("cargo::rustc-env=LAZARET_TARGET={}", text("TARGET")?);
    Ok(())
}

/// Builds the static porter in a target directory of its own: the outer cargo holds the lock of
/// the other one.
fn build_porter(repository: &Path, out: &Path) -> Result<PathBuf, String> {
    for source in PORTER_SOURCES {
        let path = repository.join(source);
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let (target, triple) = (out.join("porter-target"), text("TARGET")?);
    let status = Command::new(variable("CARGO")?)
        .args(["build", "--locked", "--package", "lazaret-porter"])
        .args(["--profile", "porter", "--target", &triple, "--target-dir"])
        .arg(&target)
        .current_dir(repository)
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .status()
        .map_err(|error| format!("cargo can't be started to build the porter: {error}"))?;
    match status.success() {
        true => Ok(target.join(triple).join("porter/lazaret-porter")),
        false => Err(format!("building the porter failed: {status}")),
    }
}

/// Returns the commit that is checked out, with the day of it, and whether files differ from it;
/// `None` where this is no repository.
fn commit(repository: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(repository)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    for name in ["HEAD", "logs/HEAD"] {
        let path = repository.join(git(&["rev-parse", "--git-path", name])?);
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let commit = git(&["log", "-1", "--format=commit %h of %cs", "--abbrev=12"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(match changed.is_empty() {
        true => commit,
        false => format!("{commit}, with changes"),
    })
}

fn repository() -> Result<PathBuf, String> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let repository = manifest.ancestors().nth(2);
    Ok(repository
        .ok_or("crates/launcher lies in a repository")?
        .to_path_buf())
}

fn variable(name: &str) -> Result<OsString, String> {
    std::env::var_os(name).ok_or(format!("cargo sets {name}"))
}

fn text(name: &str) -> Result<String, String> {
    variable(name)?
        .into_string()
        .map_err(|_| format!("{name} is not UTF-8 text"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| at(path, error))
}

fn at(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
