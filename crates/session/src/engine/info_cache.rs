//! `EngineInfoCache`: a cache of what engines answer to a probe.
//!
//! Podman runs three programs to answer a probe, which adds 0.2 s to every start on an idle
//! machine; Docker runs two. The answer of an engine on this machine is a cache hit for a day, as
//! long as its version is the same and the machine was not restarted. After a hit, the launcher
//! probes again while the command runs.
//!
//! A stale answer can't open a container: every control is proven from inside before a command
//! starts (P12), and a start that fails drops the answer. It can leave out a limit for one run,
//! that the engine could not set the last time and can now.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lazaret_runtime::{Engine, EngineInfo, InfoCache, ServerVersion};
use lazaret_tree::Digest;
use serde::{Deserialize, Serialize};

use crate::store::file::{private_dir, replace};

/// How long an answer is valid.
const TRUSTED: Duration = Duration::from_secs(24 * 60 * 60);

/// Changes whenever the machine is started (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A directory of answers.
#[derive(Debug, Clone)]
pub struct EngineInfoCache {
    dir: PathBuf,
    /// `None` if the system has no boot id: then nothing is kept.
    boot: Option<String>,
}

/// What an engine said.
#[derive(Debug, Serialize, Deserialize)]
struct CachedInfo {
    boot: String,
    at: SystemTime,
    #[serde(rename = "greeting")]
    server_version: ServerVersion,
    info: EngineInfo,
}

impl EngineInfoCache {
    /// One that keeps its files in a directory, which need not exist.
    pub fn at(dir: PathBuf) -> Self {
        Self {
            dir,
            boot: fs::read_to_string(BOOT_ID).ok(),
        }
    }

    /// Forgets what an engine of this version said.
    fn forget(&self, server_version: &ServerVersion) {
        // What is not there is forgotten.
        drop(fs::remove_file(self.file(server_version)));
    }

    fn file(&self, server_version: &ServerVersion) -> PathBuf {
        let name = Digest::of(server_version.endpoint.as_bytes()).to_hex();
        self.dir.join(format!("{name}.json"))
    }
}

/// What a run goes by without having asked.
#[derive(Debug, Clone)]
pub struct CacheHit<'a> {
    /// Where it was remembered.
    pub cache: &'a EngineInfoCache,
    /// Under what.
    pub server_version: ServerVersion,
}

impl CacheHit<'_> {
    /// Lets the next run ask.
    pub fn forget(&self) {
        self.cache.forget(&self.server_version);
    }

    /// Asks for the next run.
    pub fn ask_again(&self, engine: &dyn Engine) {
        match engine.probe() {
            Ok(info) => self.cache.keep(&self.server_version, &info),
            Err(_) => self.forget(),
        }
    }
}

impl InfoCache for EngineInfoCache {
    fn recall(&self, server_version: &ServerVersion) -> Option<EngineInfo> {
        let text = fs::read(self.file(server_version)).ok()?;
        let cached: CachedInfo = serde_json::from_slice(&text).ok()?;
        // A clock that was set back makes it older than it can be.
        let is_fresh = cached.at.elapsed().is_ok_and(|age| age < TRUSTED);
        let is_same =
            cached.server_version == *server_version && Some(&cached.boot) == self.boot.as_ref();
        (is_fresh && is_same).then_some(cached.info)
    }

    fn keep(&self, server_version: &ServerVersion, info: &EngineInfo) {
        // The boot id says nothing about another machine.
        let Some(boot) = self.boot.clone().filter(|_| server_version.is_here()) else {
            return;
        };
        let cached = CachedInfo {
            boot,
            at: SystemTime::now(),
            server_version: server_version.clone(),
            info: info.clone(),
        };
        // It is asked again where this fails.
        drop(private_dir(&self.dir));
        let write = |out: &mut dyn std::io::Write| Ok(serde_json::to_writer(out, &cached)?);
        drop(replace(&self.file(server_version), write));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lazaret_protocol::Control;
    use lazaret_runtime::fake::FakeEngine;

    use super::*;

    fn info() -> EngineInfo {
        EngineInfo {
            not_applicable: BTreeMap::from([(Control::Pids, "no cgroup".to_owned())]),
            unenforceable: vec![Control::Seccomp],
            ..FakeEngine::new().probe().unwrap()
        }
    }

    fn server_version(endpoint: &str, version: &str) -> ServerVersion {
        ServerVersion {
            endpoint: endpoint.to_owned(),
            version: version.to_owned(),
            api_version: "1.41".to_owned(),
        }
    }

    #[test]
    fn what_was_said_is_recalled_under_the_same_greeting_only() {
        let dir = tempfile::tempdir().unwrap();
        let cache = EngineInfoCache::at(dir.path().join("new/engines"));
        let here = server_version("unix:///run/podman.sock", "4.3.1");
        assert_eq!(cache.recall(&here), None);
        cache.keep(&here, &info());
        assert_eq!(cache.recall(&here), Some(info()));
        assert_eq!(
            cache.recall(&server_version("unix:///run/podman.sock", "4.3.2")),
            None
        );
        assert_eq!(
            cache.recall(&server_version("unix:///run/other.sock", "4.3.1")),
            None
        );
        let rebooted = EngineInfoCache {
            boot: Some("another".to_owned()),
            ..cache.clone()
        };
        assert_eq!(rebooted.recall(&here), None);
        cache.forget(&here);
        assert_eq!(cache.recall(&here), None);
    }

    #[test]
    fn what_is_old_damaged_or_elsewhere_is_asked_again() {
        let dir = tempfile::tempdir().unwrap();
        let cache = EngineInfoCache::at(dir.path().to_path_buf());
        let elsewhere = server_version("tcp://10.0.0.1:2375", "4.3.1");
        cache.keep(&elsewhere, &info());
        assert_eq!(cache.recall(&elsewhere), None);
        let here = server_version("unix:///run/podman.sock", "4.3.1");
        for at in [
            SystemTime::now() - TRUSTED,
            SystemTime::now() + Duration::from_secs(60),
        ] {
            let cached = CachedInfo {
                boot: cache.boot.clone().unwrap(),
                at,
                server_version: here.clone(),
                info: info(),
            };
            fs::write(cache.file(&here), serde_json::to_vec(&cached).unwrap()).unwrap();
            assert_eq!(cache.recall(&here), None);
        }
        cache.keep(&here, &info());
        let text = fs::read(cache.file(&here)).unwrap();
        for length in 0..text.len() {
            fs::write(cache.file(&here), &text[..length]).unwrap();
            assert_eq!(cache.recall(&here), None, "{length}");
        }
    }
}
