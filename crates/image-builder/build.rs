//! Embeds the declarations under `images/` and `profiles/`, found by directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let images = root.join("images");
    let declared = |dir: PathBuf| (name_of(&dir), dir.join("image.toml"));
    let mut code = String::new();
    let of_images = entries(&images)?.into_iter().map(declared);
    table(
        &mut code,
        "IMAGES",
        of_images.filter(|(_, file)| file.is_file()),
    );
    table(
        &mut code,
        "COMPONENTS",
        toml_files(&images.join("components"))?,
    );
    table(&mut code, "PROFILES", toml_files(&root.join("profiles"))?);
    #[expect(
        clippy::disallowed_methods,
        reason = "Cargo tells a build script where to write"
    )]
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("embedded.rs"), code)
}

/// Appends a table of names and texts.
fn table(code: &mut String, name: &str, files: impl IntoIterator<Item = (String, PathBuf)>) {
    let _infallible = writeln!(code, "pub(crate) const {name}: &[(&str, &str)] = &[");
    for (name, file) in files {
        let file = file.display();
        let _infallible = writeln!(code, "    ({name:?}, include_str!(r\"{file}\")),");
    }
    code.push_str("];\n");
}

fn toml_files(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let files = entries(dir)?;
    let is_toml = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "toml");
    let mut named: Vec<_> = files
        .into_iter()
        .filter(is_toml)
        .map(|file| (name_of(&file), file))
        .collect();
    named.sort();
    Ok(named)
}

/// Returns what is in a directory, sorted, and has Cargo watch it.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
