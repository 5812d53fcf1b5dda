//! The host's limit of inotify instances, which an agent shares with a user of the host.

use std::fs;
use std::path::Path;

use lazaret_runtime::{EngineInfo, Locality, UserNamespace};

/// Where Linux says how many instances each user may have (`man 7 inotify`).
const SETTING: &str = "/proc/sys/fs/inotify/max_user_instances";

/// From here on an agent needs far more processes than a session may have.
const PLENTY: u64 = 65_536;

/// Reads the limit of this machine; `None` where there is none.
pub(super) fn limit() -> Option<u64> {
    read(Path::new(SETTING))
}

fn read(setting: &Path) -> Option<u64> {
    fs::read_to_string(setting).ok()?.trim().parse().ok()
}

/// Returns what to do if the containers of an engine share the limit of this machine (CON-29).
///
/// The kernel counts the instances of a container against its uid or, in a user namespace,
/// against the user who made that, too (`man 7 user_namespaces`). No container limit exists.
pub(super) fn advice(engine: &EngineInfo, limit: u64) -> Option<String> {
    if limit >= PLENTY || engine.capabilities.locality != Locality::Local {
        return None;
    }
    let user = match (engine.rootless, engine.user_namespace) {
        (true, _) => "the user who runs the engine",
        (false, UserNamespace::Host) => "the host's uid 1000",
        (false, UserNamespace::Mapped) => "root",
    };
    Some(format!(
        "An agent can take all {limit} inotify instances of {user}; an editor or a file watcher \
         of that user then fails with \"too many open files\". Raise the limit with `sudo sysctl \
         fs.inotify.max_user_instances={PLENTY}`."
    ))
}

#[cfg(test)]
mod tests {
    use lazaret_runtime::fake::FakeEngine;
    use lazaret_runtime::{Capabilities, Engine as _};

    use super::*;

    fn engine(rootless: bool, user_namespace: UserNamespace) -> EngineInfo {
        EngineInfo {
            rootless,
            user_namespace,
            ..FakeEngine::new().probe().unwrap()
        }
    }

    #[test]
    fn con_29_doctor_says_whose_inotify_instances_an_agent_can_take() {
        let rootful = engine(false, UserNamespace::Host);
        insta::assert_snapshot!(advice(&rootful, 128).unwrap(), @r#"An agent can take all 128 inotify instances of the host's uid 1000; an editor or a file watcher of that user then fails with "too many open files". Raise the limit with `sudo sysctl fs.inotify.max_user_instances=65536`."#);
        let whose = |engine: &EngineInfo| {
            let text = advice(engine, 128).unwrap();
            let (_, rest) = text.split_once("instances of ").unwrap();
            rest.split_once(';').unwrap().0.to_owned()
        };
        let rootless = engine(true, UserNamespace::Mapped);
        assert_eq!(whose(&rootless), "the user who runs the engine");
        assert_eq!(whose(&engine(false, UserNamespace::Mapped)), "root");
    }

    #[test]
    fn con_29_nothing_is_said_where_the_limit_is_high_or_another_machines() {
        let rootful = engine(false, UserNamespace::Host);
        assert_eq!(advice(&rootful, PLENTY), None);
        for locality in [Locality::Remote, Locality::VirtualMachine] {
            let capabilities = Capabilities {
                locality,
                ..Capabilities::SHARED_KERNEL
            };
            let elsewhere = EngineInfo {
                capabilities,
                ..rootful.clone()
            };
            assert_eq!(advice(&elsewhere, 128), None);
        }
    }

    #[test]
    fn con_29_the_limit_is_read_from_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let setting = dir.path().join("max_user_instances");
        assert_eq!(read(&setting), None);
        fs::write(&setting, "128\n").unwrap();
        assert_eq!(read(&setting), Some(128));
    }
}
