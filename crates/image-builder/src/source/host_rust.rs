//! The host's own Rust toolchain as a layer: the files that its installer's manifests
//! name, and nothing that merely lies beside them.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::layer::writer::{Attributes, LayerDigest, LayerWriter};

/// Starts the toolchain that `+NAME` names, as rustup's proxies do.
pub(crate) const RUN: &str = include_str!("../scripts/rust-run.sh");

/// Where toolchains are inside.
const HOME: &str = "opt/rust";

/// Why the host's toolchain can't be copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostRustError {
    /// There is none.
    #[error("the host has no Rust toolchain `{toolchain}`")]
    Missing {
        /// Which one was asked for.
        toolchain: String,
    },
    /// It can't be told apart from the rest of the system.
    #[error(
        "{sysroot}: no manifests in lib/rustlib: not a toolchain of rustup or Rust's installer"
    )]
    NoManifests {
        /// Where it is.
        sysroot: PathBuf,
    },
    /// It is for another processor.
    #[error("the host's toolchain is for {found}, the image for {expected}")]
    Architecture {
        /// The toolchain's host triple.
        found: String,
        /// The image's architecture.
        expected: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A toolchain of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostRust {
    name: String,
    sysroot: PathBuf,
    pub(crate) version: String,
}

impl HostRust {
    /// Looks for the toolchain `name`. Nothing is downloaded for it.
    pub(crate) fn find(name: &str, architecture: &str) -> Result<Self, HostRustError> {
        let missing = || HostRustError::Missing {
            toolchain: name.to_owned(),
        };
        let plus = format!("+{name}");
        // Without rustup there is one toolchain, and it is the stable one.
        let sysroot = ask(&["rustc", &plus, "--print", "sysroot"])
            .or_else(|| (name == "stable").then(|| ask(&["rustc", "--print", "sysroot"]))?)
            .map(PathBuf::from)
            .ok_or_else(missing)?;
        let rustc = sysroot.join("bin/rustc").display().to_string();
        let said = ask(&[&rustc, "-vV"]).ok_or_else(missing)?;
        let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name));
        let (version, triple) = (field("release: "), field("host: "));
        let (Some(version), Some(triple)) = (version, triple) else {
            return Err(missing());
        };
        let expected = match architecture {
            "amd64" => "x86_64-unknown-linux-gnu",
            _ => "aarch64-unknown-linux-gnu",
        };
        if triple != expected {
            return Err(HostRustError::Architecture {
                found: triple.to_owned(),
                expected: architecture.to_owned(),
            });
        }
        Ok(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            sysroot,
        })
    }

    /// Writes the toolchain to the new file `layer`.
    pub(crate) fn write(&self, layer: &Path) -> Result<LayerDigest, HostRustError> {
        let files = self.files()?;
        let at = |source| io_error(layer, source);
        let out = File::create_new(layer).map_err(at)?;
        let mut writer = LayerWriter::new(BufWriter::with_capacity(1 << 20, out));
        let inside = format!("{HOME}/{}", self.name);
        let mut entries: BTreeMap<String, Option<&PathBuf>> = BTreeMap::new();
        entries.insert(HOME.to_owned(), None);
        entries.insert(inside.clone(), None);
        for (relative, path) in &files {
            let mut dir = Path::new(relative);
            while let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                entries.insert(format!("{inside}/{}", parent.display()), None);
                dir = parent;
            }
            entries.insert(format!("{inside}/{relative}"), Some(path));
        }
        for (path, from) in entries {
            match from {
                None => writer
                    .dir(path.as_bytes(), Attributes::root(0o755))
                    .map_err(at)?,
                Some(from) => copy(&mut writer, &path, from)?,
            }
        }
        if self.name == "stable" {
            self.links(&mut writer, &files).map_err(at)?;
        }
        let (out, digest) = writer.finish().map_err(at)?;
        let out = out.into_inner().map_err(|error| at(error.into_error()))?;
        out.sync_all().map_err(at)?;
        Ok(digest)
    }

    /// Puts the programs on the search path.
    fn links<W: Write>(
        &self,
        writer: &mut LayerWriter<W>,
        files: &BTreeMap<String, PathBuf>,
    ) -> io::Result<()> {
        let run = format!("{HOME}/run");
        let size = RUN.len() as u64;
        writer.file(
            run.as_bytes(),
            Attributes::root(0o755),
            size,
            RUN.as_bytes(),
        )?;
        let programs = files.keys().filter_map(|path| path.strip_prefix("bin/"));
        for program in programs.filter(|program| !program.starts_with("rust-")) {
            let link = format!("usr/local/bin/{program}");
            let target = format!("/{run}");
            writer.symlink(link.as_bytes(), target.as_bytes(), Attributes::root(0o777))?;
        }
        Ok(())
    }

    /// Returns what the manifests name, by path within the toolchain. Documentation and
    /// what belongs to other programs (shell completions, manuals) is left out.
    fn files(&self) -> Result<BTreeMap<String, PathBuf>, HostRustError> {
        let rustlib = self.sysroot.join("lib/rustlib");
        let no_manifests = || HostRustError::NoManifests {
            sysroot: self.sysroot.clone(),
        };
        let components =
            fs::read_to_string(rustlib.join("components")).map_err(|_| no_manifests())?;
        let mut files = BTreeMap::new();
        for component in components.lines() {
            let manifest = rustlib.join(format!("manifest-{component}"));
            let text = fs::read_to_string(&manifest).map_err(|error| io_error(&manifest, error))?;
            for line in text.lines() {
                let Some((kind, path)) = line.split_once(':') else {
                    continue;
                };
                let is_plain = Path::new(path)
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)));
                let is_program = ["bin/", "lib/", "libexec/"]
                    .iter()
                    .any(|dir| path.starts_with(dir));
                match kind {
                    _ if !is_plain || !is_program => {}
                    "file" => {
                        files.insert(path.to_owned(), self.sysroot.join(path));
                    }
                    _ => collect(&self.sysroot, Path::new(path), &mut files)?,
                }
            }
        }
        match files.is_empty() {
            true => Err(no_manifests()),
            false => Ok(files),
        }
    }
}

fn collect(
    sysroot: &Path,
    dir: &Path,
    files: &mut BTreeMap<String, PathBuf>,
) -> Result<(), HostRustError> {
    let full = sysroot.join(dir);
    let at = |source| io_error(&full, source);
    for entry in fs::read_dir(&full).map_err(at)? {
        let entry = entry.map_err(at)?;
        let path = dir.join(entry.file_name());
        if entry.file_type().map_err(at)?.is_dir() {
            collect(sysroot, &path, files)?;
        } else {
            files.insert(path.display().to_string(), entry.path());
        }
    }
    Ok(())
}

fn copy<W: Write>(
    writer: &mut LayerWriter<W>,
    path: &str,
    from: &Path,
) -> Result<(), HostRustError> {
    let at = |source| io_error(from, source);
    let found: Metadata = fs::symlink_metadata(from).map_err(at)?;
    let attributes = Attributes {
        mode: if found.mode() & 0o111 == 0 {
            0o644
        } else {
            0o755
        },
        mtime: found.mtime().try_into().unwrap_or(0),
        ..Attributes::root(0)
    };
    if found.is_symlink() {
        let target = fs::read_link(from).map_err(at)?;
        let target = target.as_os_str().as_bytes().to_vec();
        return writer
            .symlink(path.as_bytes(), &target, attributes)
            .map_err(at);
    }
    let file = File::open(from).map_err(at)?;
    writer
        .file(path.as_bytes(), attributes, found.len(), file)
        .map_err(at)
}

/// Runs a program of the host and returns what it prints; `None` when it fails.
fn ask(argv: &[&str]) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    let said = duct::cmd(*program, arguments)
        // Away from any project: its `rust-toolchain.toml` has no say here.
        .dir("/")
        .env("RUSTUP_AUTO_INSTALL", "0")
        .stdin_null()
        .stderr_null()
        .read();
    said.ok().filter(|text| !text.is_empty())
}

fn io_error(path: &Path, source: io::Error) -> HostRustError {
    HostRustError::Io {
        path: path.to_owned(),
        source,
    }
}
