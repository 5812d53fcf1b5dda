//! `Bootstrap`: a Debian system as a cached layer, made once for all engines.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lazaret_tree::Digest;

use crate::archive::{Layer, LayerSource};
use crate::layer::LayerDigest;
use crate::lock::{FORMAT, Lock, LockError, installed_packages};
use crate::rootfs::{self, TidyError};
use crate::slot::{CacheError, Guard, Held, Slot, at, hex_of};
use crate::{BUILDER_VERSION, BuildEvent, PackageName, Suite};

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
        /// A file that every system has, or a package that was asked for.
        missing: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
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
    /// The mmdebstrap to run, by name or path.
    pub(crate) program: &'a str,
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

    /// Returns the layer if it is in the cache and whole.
    pub(crate) fn cached(&self) -> Option<Cached> {
        let key = self.key();
        let slot = self.slot(&key);
        let Held { record, age } = slot.held()?;
        let lock = Lock::parse(&record).ok()?;
        let path = slot.layer(&lock.layer);
        let is_whole = fs::metadata(&path).ok()?.len() == lock.bytes;
        is_whole.then_some(Cached { path, lock, age })
    }

    /// Returns the layer, making it when it is not in the cache or older than `max_age`.
    ///
    /// # Errors
    /// Names the step, with the last lines of the program's output.
    pub(crate) fn ensure(
        &self,
        max_age: Option<Duration>,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Cached, BootstrapError> {
        let key = self.key();
        let slot = self.slot(&key);
        let guard = slot.lock(|| {
            on_event(BuildEvent::WaitingForOther {
                image: self.image.to_owned(),
            });
        })?;
        let cached = self.cached();
        if let Some(cached) = &cached
            && (max_age.is_none_or(|max_age| cached.age <= max_age) || slot.tried_lately())
        {
            return Ok(cached.clone());
        }
        match (self.make(slot, &guard, on_event), cached) {
            (Err(error), Some(old)) => {
                slot.note_try()?;
                let (image, reason) = (self.image.to_owned(), error.to_string());
                on_event(BuildEvent::KeptOld { image, reason });
                Ok(old)
            }
            (result, _) => result,
        }
    }

    fn slot<'s>(&'s self, key: &'s str) -> Slot<'s> {
        let cache = self.cache;
        Slot { cache, key }
    }

    fn make(
        &self,
        slot: Slot<'_>,
        guard: &Guard,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<Cached, BootstrapError> {
        let scratch = slot.scratch(guard)?;
        on_event(BuildEvent::Bootstrapping {
            image: self.image.to_owned(),
            suite: self.suite.to_string(),
        });
        let system_path = scratch.path().join("system.tar");
        self.install(scratch.path(), &system_path, on_event)?;

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
        slot.commit(scratch.path(), &fresh, &digest, &lock.to_toml()?)?;
        self.cached()
            .ok_or_else(|| incomplete("readable record in the cache"))
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
                return Err(incomplete(missing));
            }
        }
        let status = found.get(STATUS).ok_or_else(|| incomplete(STATUS))?;
        let packages = installed_packages(&String::from_utf8_lossy(status), self.architecture);
        let is_absent = |package: &&PackageName| !packages.contains_key(package.as_str());
        if let Some(package) = self.include.iter().find(is_absent) {
            return Err(incomplete(&format!("package {package}")));
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
}

fn incomplete(missing: &str) -> BootstrapError {
    BootstrapError::Incomplete {
        missing: missing.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mmdebstrap");

    /// A program in mmdebstrap's place, and a cache for what it makes.
    struct Stage {
        dir: tempfile::TempDir,
        suite: Suite,
        include: Vec<PackageName>,
    }

    /// Ends like an installation that went well. `$system` is the tar to write.
    const GOOD: &str = r"
mkdir -p root/etc root/var/lib/dpkg
echo root:x:0:0:root:/root:/bin/sh > root/etc/passwd
echo root:x:0: > root/etc/group
printf 'Package: git\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n' > root/var/lib/dpkg/status
tar -C root -cf $system .
";

    impl Stage {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().unwrap(),
                suite: "bookworm".parse().unwrap(),
                include: vec!["git".parse().unwrap()],
            }
        }

        /// Runs a build with the shell script `body` as mmdebstrap; what it says and how it ends.
        fn build(
            &self,
            body: &str,
            max_age: Option<Duration>,
        ) -> (Vec<BuildEvent>, Result<Cached, String>) {
            let cache = self.dir.path().join("cache");
            fs::write(
                self.dir.path().join("script"),
                format!("rm -rf root\n{body}"),
            )
            .unwrap();
            let bootstrap = Bootstrap {
                image: "base",
                suite: &self.suite,
                include: &self.include,
                architecture: "amd64",
                cache: &cache,
                program: STAND_IN,
            };
            let mut events = Vec::new();
            let result = bootstrap.ensure(max_age, &mut |event| {
                // A child that another test is just forking may hold the guard for a moment.
                if !matches!(event, BuildEvent::WaitingForOther { .. }) {
                    events.push(event);
                }
            });
            let result = result.map_err(|error| {
                let text = error.to_string().replace(STAND_IN, "mmdebstrap");
                match text.split_once(" --mode") {
                    Some((start, rest)) => {
                        format!("{start} …`{}", rest.split_once('`').unwrap().1)
                    }
                    None => text,
                }
            });
            (events, result)
        }

        fn leftovers(&self) -> Vec<String> {
            let cache = fs::read_dir(self.dir.path().join("cache")).unwrap();
            cache
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.contains(".new-"))
                .collect()
        }
    }

    #[test]
    fn a_system_is_made_once() {
        let stage = Stage::new();
        let (events, made) = stage.build(GOOD, None);
        let made = made.unwrap();
        assert!(
            matches!(
                events.as_slice(),
                [BuildEvent::Bootstrapping { .. }, BuildEvent::Tidying { .. }]
            ),
            "{events:?}"
        );
        assert_eq!(made.lock.packages["git"], "1");
        let (events, again) = stage.build("exit 1", None);
        assert_eq!((events, again.unwrap().path), (Vec::new(), made.path));
        assert_eq!(stage.leftovers(), [""; 0]);
    }

    #[test]
    fn a_failure_shows_the_last_lines_and_leaves_nothing() {
        let stage = Stage::new();
        let (_, result) = stage.build(
            "echo half > $system; seq 20; printf 'E: no \\033[1mspace\\n' >&2; exit 3",
            None,
        );
        insta::assert_snapshot!(result.unwrap_err(), @r"
        bootstrap Debian: `mmdebstrap …` ended with exit status: 3; its last lines:
        7
        8
        9
        10
        11
        12
        13
        14
        15
        16
        17
        18
        19
        20
        E: no \u{1b}[1mspace
        ");
        assert_eq!(stage.leftovers(), [""; 0]);
        assert!(
            stage.build("exit 1", None).1.is_err(),
            "a failed build must not be found in the cache"
        );
    }

    #[test]
    fn a_system_that_lacks_what_was_asked_for_is_not_used() {
        let stage = Stage::new();
        let (_, result) = stage.build(&GOOD.replace("Package: git", "Package: make"), None);
        insta::assert_snapshot!(result.unwrap_err(), @"bootstrap Debian: the system has no package git");
        let (_, result) = stage.build(&GOOD.replace("root/etc/group", "root/etc/groups"), None);
        insta::assert_snapshot!(result.unwrap_err(), @"bootstrap Debian: the system has no etc/group");
        let (_, result) = stage.build("head -c 700 /dev/zero | tr '\\0' x > $system", None);
        assert!(result.is_err());
    }

    #[test]
    fn an_old_system_is_replaced_or_else_kept() {
        let stage = Stage::new();
        let old = stage.build(GOOD, None).1.unwrap();
        let now = Some(Duration::ZERO);
        let (_, new) = stage.build(&GOOD.replace("Version: 1", "Version: 2"), now);
        let new = new.unwrap();
        assert_eq!(new.lock.packages["git"], "2");
        assert!(!old.path.exists());

        let (events, kept) = stage.build("exit 1", now);
        assert_eq!(kept.unwrap().path, new.path);
        assert!(
            matches!(events.last(), Some(BuildEvent::KeptOld { .. })),
            "{events:?}"
        );
        // And then leaves it alone for a while.
        assert_eq!(stage.build("exit 1", now).0, []);
    }

    #[test]
    fn a_missing_program_says_what_to_install() {
        let stage = Stage::new();
        let bootstrap = Bootstrap {
            image: "base",
            suite: &stage.suite,
            include: &[],
            architecture: "amd64",
            cache: stage.dir.path(),
            program: "/nowhere/mmdebstrap",
        };
        let error = bootstrap.ensure(None, &mut |_| {}).unwrap_err();
        insta::assert_snapshot!(error, @"bootstrap Debian: mmdebstrap is not installed; install it (`apt-get install mmdebstrap`, as root) or run `cargo xtask setup`");
    }
}
