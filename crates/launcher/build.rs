//! Embeds the porter: copies the file that `LAZARET_PORTER` names into `OUT_DIR`.
//!
//! An empty file stands for "not there", so that the crate builds without it and says
//! at run time how to build it.

use std::fs;
use std::path::PathBuf;

#[expect(
    clippy::disallowed_methods,
    reason = "a build script gets everything from the environment"
)]
fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=LAZARET_PORTER");
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let out = PathBuf::from(out).join("porter");
    let porter = match std::env::var_os("LAZARET_PORTER").filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = PathBuf::from(path);
            println!("cargo::rerun-if-changed={}", path.display());
            fs::read(&path)
                .map_err(|error| format!("LAZARET_PORTER: {}: {error}", path.display()))?
        }
        None => Vec::new(),
    };
    // Unchanged bytes leave the file alone, so nothing is compiled again.
    if fs::read(&out).ok().as_deref() != Some(&porter[..]) {
        fs::write(&out, porter).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    Ok(())
}
