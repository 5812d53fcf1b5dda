//! `Bootstrap`: a Debian system as a cached layer, made once for all engines.

use std::collections::VecDeque;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lazaret_transfer::{Digest, escape};

use crate::archive::{Layer, LayerSource};
use crate::layer::{EPOCH, LayerDigest};
use crate::lock::{FORMAT, Lock, LockError, installed_packages};
use crate::rootfs::{self, TidyError};
use crate::{BUILDER_VERSION, BuildEvent, PackageName, Suite, apt_sources};

/// How much of a failed program's output is shown.
const TAIL_LINES: usize = 15;

/// Why there is no bootstrapped system. Nothing that was there before has changed.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The program is not installed.
    #[error(
        "bootstrap Debian: mmdebstrap is not installed; \
         install it (`apt-get install mmdebstrap`, as root) or run `cargo xtask setup`"
    )]
    NoMmdebstrap,
    /// The program could not be run.
    #[error("bootstrap Debian: run mmdebstrap: {0}")]
    Run(io::Error),
    /// The program failed.
    #[error("bootstrap Debian: `{command}` {how}; its last lines:\n{tail}")]
    Failed {
        /// What was run.
        command: String,
        /// How it ended.
        how: String,
        /// Its last lines, escaped.
        tail: String,
    },
    /// It said that all was well, but left no Debian system behind.
    #[error("bootstrap Debian: the system has no {missing}")]
    Incomplete {
        /// The file that every system has.
        missing: &'static str,
    },
    /// The cache.
    #[error("{path}: {source}")]
    Cache {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The machine's package sources.
    #[error("read the package sources under /etc/apt: {0}")]
    Sources(io::Error),
    /// Making the layer.
    #[error(transparent)]
    Tidy(#[from] TidyError),
    /// The record.
    #[error("record what was installed: {0}")]
    Lock(#[from] LockError),
}

/// A Debian system as a cached layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bootstrap<'a> {
    pub(crate) image: &'a str,
    pub(crate) suite: &'a Suite,
    pub(crate) include: &'a [PackageName],
    pub(crate) architecture: &'a str,
    pub(crate) cache: &'a Path,
}

/// A layer in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) path: PathBuf,
    pub(crate) lock: Lock,
    /// Time since it was made; zero when the clock went back.
    pub(crate) age: Duration,
}

impl Cached {
    pub(crate) fn layer(&self) -> Layer {
        let Lock {
            suite,
            layer,
            bytes,
            ..
        } = &self.lock;
        Layer {
            purpose: format!("Debian {suite}"),
            digest: LayerDigest {
                hex: hex_of(layer).to_owned(),
                size: *bytes,
            },
            source: LayerSource::File(self.path.clone()),
        }
    }
}

fn hex_of(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

impl Bootstrap<'_> {
    /// Hashes what the layer is made of. The porter is no part of it: a new porter
    /// on the same system costs no bootstrap.
    fn key(&self) -> String {
        let mut text = format!(
            "lazaret bootstrap {BUILDER_VERSION}\nsuite {}\narchitecture {}\n",
            self.suite, self.architecture
        );
        for package in self.include {
            text.push_str(&format!("include {package}\n"));
        }
        let hex = Digest::of(text.as_bytes()).to_hex();
        hex.get(..24).unwrap_or(&hex).to_owned()
    }

    fn dir(&self) -> PathBuf {
        self.cache.join(self.key())
    }

    /// Returns the layer if it is in the cache and whole.
    pub(crate) fn cached(&self) -> Option<Cached> {
        let dir = self.dir();
        let record = dir.join("lock.toml");
        let age = fs::metadata(&record)
            .ok()?
            .modified()
            .ok()?
            .elapsed()
            .unwrap_or_default();
        let lock = Lock::parse(&fs::read_to_string(&record).ok()?).ok()?;
        let path = dir.join(layer_name(&lock.layer));
        let is_whole = fs::metadata(&path).ok()?.len() == lock.bytes;
        is_whole.then_some(Cached { path, lock, age })
    }

    /// Returns the layer, making it when it is not in the cache or older than `max_age`.
    ///
    /// Two processes that want the same one make it once: the second waits.
    ///
    /// # Errors
    /// Names the step, with the last lines of the program's output.
    pub(crate) fn ensure(
        &self,
        max_age: Option<Duration>,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Cached, BootstrapError> {
        fs::create_dir_all(self.cache).map_err(at(self.cache))?;
        let guard_path = self.cache.join(format!("{}.guard", self.key()));
        let guard = File::create(&guard_path).map_err(at(&guard_path))?;
        match guard.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                on_event(BuildEvent::WaitingForOther {
                    image: self.image.to_owned(),
                });
                guard.lock().map_err(at(&guard_path))?;
            }
            Err(TryLockError::Error(error)) => return Err(at(&guard_path)(error)),
        }
        if let Some(cached) = self.cached()
            && max_age.is_none_or(|max_age| cached.age <= max_age)
        {
            return Ok(cached);
        }
        self.sweep();
        self.make(on_event)
    }

    /// Removes what a killed build left behind. The caller holds the guard.
    fn sweep(&self) {
        let prefix = self.scratch_prefix();
        let Ok(entries) = fs::read_dir(self.cache) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                // One that stays costs space, nothing else.
                let _gone = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn scratch_prefix(&self) -> String {
        format!("{}.new-", self.key())
    }

    fn make(&self, on_event: &mut dyn FnMut(BuildEvent)) -> Result<Cached, BootstrapError> {
        let scratch = tempfile::Builder::new()
            .prefix(&self.scratch_prefix())
            .tempdir_in(self.cache)
            .map_err(at(self.cache))?;
        on_event(BuildEvent::Bootstrapping {
            image: self.image.to_owned(),
            suite: self.suite.to_string(),
        });
        let system_path = scratch.path().join("system.tar");
        self.run_mmdebstrap(scratch.path(), &system_path, on_event)?;

        on_event(BuildEvent::Tidying {
            image: self.image.to_owned(),
        });
        let mut system = File::open(&system_path).map_err(at(&system_path))?;
        let fresh = scratch.path().join("layer.tar");
        let out = File::create_new(&fresh).map_err(at(&fresh))?;
        let (out, digest) = rootfs::tidy(&mut system, BufWriter::with_capacity(1 << 20, out))?;
        let out = out
            .into_inner()
            .map_err(|error| at(&fresh)(error.into_error()))?;
        out.sync_all().map_err(at(&fresh))?;

        let lock = self.record(&fresh, &digest)?;
        self.commit(scratch.path(), &fresh, &lock)?;
        self.cached().ok_or(BootstrapError::Incomplete {
            missing: "readable record in the cache",
        })
    }

    /// Reads back from the layer what was installed; what lacks one of the files
    /// that every Debian has is not used.
    fn record(&self, layer: &Path, digest: &LayerDigest) -> Result<Lock, BootstrapError> {
        const STATUS: &str = "var/lib/dpkg/status";
        let mut file = File::open(layer).map_err(at(layer))?;
        let found = rootfs::read_files(&mut file, &[STATUS, "etc/passwd", "etc/group"])
            .map_err(at(layer))?;
        for missing in ["etc/passwd", "etc/group"] {
            if !found.contains_key(missing) {
                return Err(BootstrapError::Incomplete { missing });
            }
        }
        let status = found
            .get(STATUS)
            .ok_or(BootstrapError::Incomplete { missing: STATUS })?;
        let packages = installed_packages(&String::from_utf8_lossy(status), self.architecture);
        let lacks = |package: &&PackageName| !packages.contains_key(package.as_str());
        if self.include.iter().any(|package| lacks(&package)) {
            return Err(BootstrapError::Incomplete {
                missing: "package that was asked for",
            });
        }
        Ok(Lock {
            format: FORMAT,
            suite: self.suite.to_string(),
            architecture: self.architecture.to_owned(),
            layer: format!("sha256:{}", digest.hex),
            bytes: digest.size,
            packages,
        })
    }

    /// Moves the layer into the cache. The record comes last and makes it count.
    fn commit(&self, scratch: &Path, fresh: &Path, lock: &Lock) -> Result<(), BootstrapError> {
        let dir = self.dir();
        fs::create_dir_all(&dir).map_err(at(&dir))?;
        let name = layer_name(&lock.layer);
        let kept = dir.join(&name);
        fs::rename(fresh, &kept).map_err(at(&kept))?;

        let draft = scratch.join("lock.toml");
        let record = dir.join("lock.toml");
        let mut out = File::create_new(&draft).map_err(at(&draft))?;
        out.write_all(lock.to_toml()?.as_bytes())
            .map_err(at(&draft))?;
        out.sync_all().map_err(at(&draft))?;
        fs::rename(&draft, &record).map_err(at(&record))?;

        for entry in fs::read_dir(&dir).map_err(at(&dir))?.flatten() {
            let other = entry.file_name();
            if other != "lock.toml" && other != name.as_str() {
                // An older layer that stays costs space, nothing else.
                let _gone = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Runs mmdebstrap. Its stdin is empty; stdout and stderr come to `on_event` line by line.
    fn run_mmdebstrap(
        &self,
        scratch: &Path,
        system: &Path,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), BootstrapError> {
        let mode = if rustix::process::geteuid().is_root() {
            "root"
        } else {
            "unshare"
        };
        let mut argv = vec![
            format!("--mode={mode}"),
            "--variant=minbase".to_owned(),
            "--format=tar".to_owned(),
            format!("--architectures={}", self.architecture),
            "--aptopt=Acquire::Retries \"3\"".to_owned(),
        ];
        if !self.include.is_empty() {
            let names: Vec<_> = self.include.iter().map(PackageName::as_str).collect();
            argv.push(format!("--include={}", names.join(",")));
        }
        argv.push(self.suite.to_string());
        argv.push(system.display().to_string());
        let sources = apt_sources::read(Path::new("/etc/apt"), self.suite.as_str())
            .map_err(BootstrapError::Sources)?;
        if let Some(sources) = sources {
            let path = scratch.join("machine.sources");
            fs::write(&path, sources).map_err(at(&path))?;
            argv.push(path.display().to_string());
        }

        let reader = duct::cmd("mmdebstrap", &argv)
            .env("SOURCE_DATE_EPOCH", EPOCH.to_string())
            .env("LC_ALL", "C.UTF-8")
            .stdin_null()
            .stderr_to_stdout()
            .unchecked()
            .reader()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => BootstrapError::NoMmdebstrap,
                _ => BootstrapError::Run(error),
            })?;
        let mut tail = VecDeque::with_capacity(TAIL_LINES);
        let mut lines = BufReader::new(&reader);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .map_err(BootstrapError::Run)?
            > 0
        {
            let text = escape(line.trim_ascii_end());
            line.clear();
            if tail.len() == TAIL_LINES {
                tail.pop_front();
            }
            tail.push_back(text.clone());
            on_event(BuildEvent::Output { line: text });
        }
        let how = match reader.try_wait().map_err(BootstrapError::Run)? {
            Some(output) if output.status.success() => return Ok(()),
            Some(output) => format!("ended with {}", output.status),
            None => "closed its output without ending".to_owned(),
        };
        Err(BootstrapError::Failed {
            command: format!("mmdebstrap {}", argv.join(" ")),
            how,
            tail: Vec::from(tail).join("\n"),
        })
    }
}

fn layer_name(digest: &str) -> String {
    let hex = hex_of(digest);
    format!("layer-{}.tar", hex.get(..16).unwrap_or(hex))
}

fn at(path: &Path) -> impl Fn(io::Error) -> BootstrapError {
    move |source| BootstrapError::Cache {
        path: path.to_owned(),
        source,
    }
}
