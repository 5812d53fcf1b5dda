//! What an engine says about itself to [`EngineInfo`]; pure.

use std::collections::BTreeMap;

use lazaret_protocol::Control;
use serde::Deserialize;

use crate::{
    Capabilities, Endpoint, EngineError, EngineInfo, EngineKind, Locality, Pausing, UserNamespace,
};

/// The oldest API that will do: private cgroup namespaces (CON-22) came with 1.41
/// (Docker 20.10).
pub(super) const OLDEST_API: (u32, u32) = (1, 41);

/// The oldest Podman that will do: `keep-id:uid=…` came with 4.3.
const OLDEST_PODMAN: [u32; 3] = [4, 3, 0];

/// Versions below these are known to be escapable (CON-26; docs/design/threats.md has the CVEs).
/// Distributions backport, so they are warned about and not refused.
const DOCKER_FLOOR: [u32; 3] = [29, 5, 1];
const DESKTOP_FLOOR: [u32; 3] = [4, 44, 3];
const PODMAN_FLOOR: [u32; 3] = [5, 7, 1];
const RUNC_FLOOR: [u32; 3] = [1, 2, 8];
const RUNC_13_FLOOR: [u32; 3] = [1, 3, 3];

/// How Podman names itself among its parts.
const PODMAN_ENGINE: &str = "Podman Engine";

/// `GET /version`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Version {
    version: String,
    api_version: String,
    #[serde(rename = "MinAPIVersion")]
    min_api_version: String,
    arch: String,
    platform: Platform,
    components: Option<Vec<Component>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Platform {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Component {
    name: String,
    version: String,
}

/// `GET /info`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Info {
    #[serde(rename = "OSType")]
    os_type: String,
    cgroup_version: String,
    default_runtime: String,
    memory_limit: bool,
    pids_limit: bool,
    cpu_cfs_quota: bool,
    #[serde(rename = "NCPU")]
    cores: u32,
    security_options: Option<Vec<String>>,
}

/// `GET /libpod/info`, Podman's own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodmanInfo {
    host: PodmanHost,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodmanHost {
    arch: String,
    cgroup_version: String,
    cgroup_controllers: Option<Vec<String>>,
    oci_runtime: OciRuntime,
    security: PodmanSecurity,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OciRuntime {
    name: String,
    version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodmanSecurity {
    apparmor_enabled: bool,
    rootless: bool,
    seccomp_enabled: bool,
    selinux_enabled: bool,
}

impl Version {
    /// Reads the head of an answer, which says what matters before an engine is probed;
    /// `None` where neither Docker nor Podman has written it.
    pub(super) fn of_head(told: &BTreeMap<String, String>) -> Option<Self> {
        let api_version = told.get("api-version")?.clone();
        if let Some(version) = told.get("libpod-api-version") {
            let engine = Component {
                name: PODMAN_ENGINE.to_owned(),
                version: version.clone(),
            };
            return Some(Self {
                version: version.clone(),
                api_version,
                components: Some(vec![engine]),
                ..Self::default()
            });
        }
        // `Docker/20.10.24 (linux)`
        let server = told.get("server")?.strip_prefix("Docker/")?;
        Some(Self {
            version: server.split(' ').next()?.to_owned(),
            api_version,
            ..Self::default()
        })
    }

    /// The version of the program.
    pub(super) fn number(&self) -> &str {
        &self.version
    }

    /// Which program this is.
    pub(super) fn kind(&self) -> EngineKind {
        match self.component(PODMAN_ENGINE) {
            Some(_) => EngineKind::Podman,
            None => EngineKind::Docker,
        }
    }

    /// Returns the version of the API to speak: the newest that both sides know.
    pub(super) fn negotiate(
        &self,
        newest: (u32, u32),
        endpoint: &Endpoint,
    ) -> Result<String, EngineError> {
        let too_old = |found: String, needed| EngineError::TooOld {
            endpoint: endpoint.to_string(),
            found,
            needed,
        };
        let Some(theirs) = api_version(&self.api_version) else {
            return Err(EngineError::Lost {
                verb: "negotiate",
                message: format!("{:?} is no API version", self.api_version),
            });
        };
        if theirs < OLDEST_API {
            return Err(too_old(format!("API {}", self.api_version), "API 1.41"));
        }
        if self.kind() == EngineKind::Podman && numbers(&self.version) < Some(OLDEST_PODMAN) {
            return Err(too_old(format!("Podman {}", self.version), "Podman 4.3"));
        }
        let negotiated = theirs.min(newest);
        match api_version(&self.min_api_version) {
            Some(oldest) if oldest > negotiated => Err(EngineError::Lost {
                verb: "negotiate",
                message: format!(
                    "it speaks API {} at the oldest, lazaret {}.{} at the newest",
                    self.min_api_version, newest.0, newest.1
                ),
            }),
            _ => Ok(format!("{}.{}", negotiated.0, negotiated.1)),
        }
    }

    fn component(&self, name: &str) -> Option<&Component> {
        self.components
            .iter()
            .flatten()
            .find(|component| component.name == name)
    }
}

/// Puts the answers together.
pub(super) fn engine_info(
    endpoint: &Endpoint,
    negotiated: &str,
    version: &Version,
    info: &Info,
    podman: Option<&PodmanInfo>,
) -> EngineInfo {
    let kind = version.kind();
    let security: Vec<&str> = info
        .security_options
        .iter()
        .flatten()
        .map(|option| option.split(',').next().unwrap_or_default())
        .collect();
    let says = |name: &str| security.contains(&name);
    let host = podman.map(|podman| &podman.host);
    let rootless = host.map_or(says("name=rootless"), |host| host.security.rootless);
    let user_namespace = match rootless || says("name=userns") {
        true => UserNamespace::Mapped,
        false => UserNamespace::Host,
    };
    let mut unenforceable = Vec::new();
    if !host.map_or(says("name=seccomp"), |host| host.security.seccomp_enabled) {
        unenforceable.push(Control::Seccomp);
    }
    let cgroup_version = match host {
        Some(host) => host.cgroup_version.trim_start_matches('v').to_owned(),
        None => info.cgroup_version.clone(),
    };
    EngineInfo {
        kind,
        version: version.version.clone(),
        api_version: Some(negotiated.to_owned()),
        endpoint: endpoint.to_string(),
        rootless,
        user_namespace,
        cores: (info.cores > 0).then_some(info.cores),
        architecture: host
            .map(|host| &host.arch)
            .filter(|arch| !arch.is_empty())
            .unwrap_or(&version.arch)
            .clone(),
        capabilities: Capabilities {
            // On cgroup v1 only root has a freezer (Podman 4.3: "can not pause containers on
            // rootless containers with cgroup V1").
            pausing: match rootless && cgroup_version == "1" {
                true => Pausing::Signals,
                false => Pausing::Freezer,
            },
            locality: locality(endpoint),
            ..Capabilities::SHARED_KERNEL
        },
        cgroup_version,
        runtime: runtime(version, info, host),
        nofile_hard: None,
        nproc_hard: None,
        unenforceable,
        not_applicable: not_applicable(info, host, &security),
        warnings: warnings(endpoint, version, info, host, user_namespace),
    }
}

/// Returns the controls that this host has no means for, with the reason.
fn not_applicable(
    info: &Info,
    host: Option<&PodmanHost>,
    security: &[&str],
) -> BTreeMap<Control, String> {
    let mut missing = BTreeMap::new();
    let has = |controller: &str, docker: bool| match host {
        Some(host) => host
            .cgroup_controllers
            .iter()
            .flatten()
            .any(|name| name == controller),
        None => docker,
    };
    let cgroup = host.map_or(info.cgroup_version.as_str(), |host| &host.cgroup_version);
    let cgroup = cgroup.trim_start_matches('v');
    let reason = |controller: &str| {
        format!("the engine may not use the {controller} controller (cgroup v{cgroup})")
    };
    if !has("memory", info.memory_limit) {
        missing.insert(Control::Memory, reason("memory"));
    }
    if !has("pids", info.pids_limit) {
        missing.insert(Control::Pids, reason("pids"));
    }
    if !has("cpu", info.cpu_cfs_quota) {
        missing.insert(Control::ProcessLimits, reason("cpu"));
    }
    let confined = match host {
        Some(host) => host.security.apparmor_enabled || host.security.selinux_enabled,
        None => security.contains(&"name=apparmor") || security.contains(&"name=selinux"),
    };
    if !confined {
        missing.insert(
            Control::LsmLabel,
            "the host has no AppArmor or SELinux in force".to_owned(),
        );
    }
    missing
}

/// Returns the OCI runtime with its version where one is told.
fn runtime(version: &Version, info: &Info, host: Option<&PodmanHost>) -> String {
    match host {
        // `runc version 1.1.5+ds1\ncommit: …`
        Some(host) => {
            let line = host.oci_runtime.version.lines().next().unwrap_or_default();
            match line.split_once(" version ") {
                Some((name, version)) => format!("{name} {version}"),
                None => host.oci_runtime.name.clone(),
            }
        }
        None => match version.component(&info.default_runtime) {
            Some(component) => format!("{} {}", component.name, component.version),
            None => info.default_runtime.clone(),
        },
    }
}

fn locality(endpoint: &Endpoint) -> Locality {
    match endpoint {
        Endpoint::Unix(_) => Locality::Local,
        Endpoint::Tcp(_) | Endpoint::Tls(_) | Endpoint::Ssh(_) => Locality::Remote,
    }
}

/// Whether an architecture, in Docker's words, is another one than this program's. One that an
/// engine does not name is none.
fn is_other_architecture(architecture: &str) -> bool {
    let own = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    !architecture.is_empty() && architecture != own
}

fn warnings(
    endpoint: &Endpoint,
    version: &Version,
    info: &Info,
    host: Option<&PodmanHost>,
    user_namespace: UserNamespace,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if endpoint.is_open_to_the_network() {
        warnings.push(
            "its API is reached over plain TCP: between here and there everyone can read the \
             project and give orders to the engine; use ssh:// or TLS"
                .to_owned(),
        );
    }
    let there = host.map_or(&*version.arch, |host| &*host.arch);
    if locality(endpoint) == Locality::Remote && is_other_architecture(there) {
        warnings.push(format!(
            "its machine is {there}, and this lazaret's images are for {}: they run there only if \
             it emulates that",
            std::env::consts::ARCH
        ));
    }
    let mut floor = |what: &str, found: &str, floor: [u32; 3]| {
        if numbers(found).is_some_and(|found| found < floor) {
            let [major, minor, patch] = floor;
            warnings.push(format!(
                "CON-26: {what} {found} is older than {major}.{minor}.{patch}, the first without \
                 known escapes; unless your distribution has patched it, upgrade"
            ));
        }
    };
    match version.kind() {
        EngineKind::Podman => floor("Podman", &version.version, PODMAN_FLOOR),
        _ => match version.platform.name.strip_prefix("Docker Desktop ") {
            // The Engine inside comes with it.
            Some(desktop) => floor(
                "Docker Desktop",
                desktop.split(' ').next().unwrap_or_default(),
                DESKTOP_FLOOR,
            ),
            None => floor("Docker", &version.version, DOCKER_FLOOR),
        },
    }
    let runtime = runtime(version, info, host);
    if let Some(runc) = runtime.strip_prefix("runc ") {
        let line = match numbers(runc) {
            Some([1, 3, _]) => RUNC_13_FLOOR,
            _ => RUNC_FLOOR,
        };
        floor("runc", runc, line);
    }
    if user_namespace == UserNamespace::Host {
        warnings.push(
            "CON-14: uid 0 inside is uid 0 outside; a rootless engine or userns-remap would map it"
                .to_owned(),
        );
    }
    if !info.os_type.is_empty() && info.os_type != "linux" {
        warnings.push(format!("its containers are {}, not linux", info.os_type));
    }
    warnings
}

/// Parses `1.41`.
fn api_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Takes the first three numbers out of `20.10.24+dfsg1`.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let version = version.trim_start_matches('v');
    let mut numbers = version.split('.').map(|part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part.get(..digits)?.parse().ok()
    });
    let major: u32 = numbers.next()??;
    let mut next = || numbers.next().flatten().unwrap_or_default();
    Some([major, next(), next()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint::Unix("/x.sock".into())
    }

    fn version(json: &str) -> Version {
        serde_json::from_str(json).unwrap()
    }

    const DOCKER: &str = r#"{"Version":"20.10.24+dfsg1","ApiVersion":"1.41","MinAPIVersion":"1.12",
        "Arch":"amd64","Platform":{"Name":""},"Components":[{"Name":"Engine","Version":"20.10.24+dfsg1"},
        {"Name":"runc","Version":"1.1.5+ds1"}]}"#;
    const PODMAN: &str = r#"{"Version":"4.3.1","ApiVersion":"1.41","MinAPIVersion":"1.24",
        "Arch":"amd64","Components":[{"Name":"Podman Engine","Version":"4.3.1"}]}"#;

    #[test]
    fn flt_19_the_newest_api_of_both_sides_is_spoken_and_an_old_one_refused() {
        let negotiate = |theirs: &str, oldest: &str| {
            let json = format!(r#"{{"ApiVersion":"{theirs}","MinAPIVersion":"{oldest}"}}"#);
            match version(&json).negotiate((1, 52), &endpoint()) {
                Ok(negotiated) => negotiated,
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(negotiate("1.41", "1.12"), "1.41");
        assert_eq!(negotiate("1.60", "1.44"), "1.52");
        assert_eq!(
            negotiate("1.40", "1.12"),
            "unix:///x.sock speaks API 1.40, lazaret needs API 1.41 or newer"
        );
        assert_eq!(
            negotiate("1.60", "1.55"),
            "negotiate: lost the engine: it speaks API 1.55 at the oldest, lazaret 1.52 at the newest"
        );
        assert_eq!(
            negotiate("newest", "1.1"),
            "negotiate: lost the engine: \"newest\" is no API version"
        );
        let old = PODMAN.replace("4.3.1", "4.2.0");
        let error = version(&old).negotiate((1, 52), &endpoint()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unix:///x.sock speaks Podman 4.2.0, lazaret needs Podman 4.3 or newer"
        );
    }

    #[test]
    fn docker_is_described() {
        let info: Info = serde_json::from_str(
            r#"{"OSType":"linux","CgroupVersion":"1","DefaultRuntime":"runc","MemoryLimit":true,
            "PidsLimit":true,"CpuCfsQuota":true,"SecurityOptions":["name=seccomp,profile=default"]}"#,
        )
        .unwrap();
        let found = engine_info(&endpoint(), "1.41", &version(DOCKER), &info, None);
        assert_eq!(found.kind, EngineKind::Docker);
        assert_eq!(found.runtime, "runc 1.1.5+ds1");
        assert_eq!(found.user_namespace, UserNamespace::Host);
        assert_eq!(found.unenforceable, []);
        assert_eq!(
            found.not_applicable.keys().copied().collect::<Vec<_>>(),
            [Control::LsmLabel]
        );
        insta::assert_snapshot!(found.warnings.join("\n"), @"
        CON-26: Docker 20.10.24+dfsg1 is older than 29.5.1, the first without known escapes; unless your distribution has patched it, upgrade
        CON-26: runc 1.1.5+ds1 is older than 1.2.8, the first without known escapes; unless your distribution has patched it, upgrade
        CON-14: uid 0 inside is uid 0 outside; a rootless engine or userns-remap would map it
        ");
    }

    #[test]
    fn rootless_podman_on_cgroup_v1_has_no_means_for_limits() {
        let podman: PodmanInfo = serde_json::from_str(
            r#"{"host":{"arch":"amd64","cgroupVersion":"v1","cgroupControllers":[],
            "ociRuntime":{"name":"runc","version":"runc version 1.1.5+ds1\ncommit: x"},
            "security":{"rootless":true,"seccompEnabled":true}}}"#,
        )
        .unwrap();
        let found = engine_info(
            &endpoint(),
            "1.41",
            &version(PODMAN),
            &Info::default(),
            Some(&podman),
        );
        assert_eq!(found.kind, EngineKind::Podman);
        assert!(found.rootless);
        assert_eq!(found.user_namespace, UserNamespace::Mapped);
        assert_eq!(found.runtime, "runc 1.1.5+ds1");
        assert_eq!(found.unenforceable, []);
        insta::assert_snapshot!(
            found.not_applicable.iter().map(|(control, reason)| format!("{control}: {reason}")).collect::<Vec<_>>().join("\n"), @"
        CON-13 LSM label: the host has no AppArmor or SELinux in force
        CON-15 pids limit: the engine may not use the pids controller (cgroup v1)
        CON-16 memory limit: the engine may not use the memory controller (cgroup v1)
        CON-17 cpu and process limits: the engine may not use the cpu controller (cgroup v1)
        ");
    }

    #[test]
    fn an_engine_is_known_by_the_head_of_its_answers() {
        let head = |lines: &[(&str, &str)]| {
            let lines = lines.iter();
            lines
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let podman = head(&[("api-version", "1.41"), ("libpod-api-version", "4.3.1")]);
        let podman = Version::of_head(&podman).unwrap();
        assert_eq!(podman.kind(), EngineKind::Podman);
        assert_eq!(podman.negotiate((1, 44), &endpoint()).unwrap(), "1.41");
        let told = version(PODMAN);
        let info = |version: &Version| {
            let podman = PodmanInfo::default();
            engine_info(
                &endpoint(),
                "1.41",
                version,
                &Info::default(),
                Some(&podman),
            )
            .version
        };
        assert_eq!(info(&podman), info(&told));

        let old = head(&[("api-version", "1.40"), ("libpod-api-version", "4.2.0")]);
        Version::of_head(&old)
            .unwrap()
            .negotiate((1, 44), &endpoint())
            .unwrap_err();

        let docker = [
            ("api-version", "1.41"),
            ("server", "Docker/20.10.24+dfsg1 (linux)"),
        ];
        let docker = Version::of_head(&head(&docker)).unwrap();
        assert_eq!(docker.kind(), EngineKind::Docker);
        assert_eq!(docker.number(), version(DOCKER).number());
        assert_eq!(docker.negotiate((1, 44), &endpoint()).unwrap(), "1.41");

        for other in [
            head(&[("libpod-api-version", "4.3.1")]),
            head(&[("server", "Docker/20.10.24 (linux)")]),
            head(&[("api-version", "1.41"), ("server", "proxy/1.0")]),
        ] {
            assert!(Version::of_head(&other).is_none());
        }
    }

    #[test]
    fn net_25_plain_tcp_to_another_machine_is_warned_of() {
        for (endpoint, expected) in [
            ("tcp://build.lan:2375", true),
            ("tcp://127.0.0.1:2375", false),
            ("https://build.lan:2376", false),
            ("ssh://build.lan", false),
        ] {
            let endpoint = endpoint.parse().unwrap();
            let (version, info) = (version(DOCKER), Info::default());
            let found = engine_info(&endpoint, "1.41", &version, &info, None);
            let is_warned = |warning: &String| warning.contains("plain TCP");
            assert_eq!(
                found.warnings.iter().any(is_warned),
                expected,
                "{endpoint}: {:?}",
                found.warnings
            );
        }
    }

    #[test]
    fn a_far_machine_of_another_architecture_is_warned_of() {
        for (endpoint, architecture, expected) in [
            ("ssh://build", "riscv64", true),
            ("unix:///x.sock", "riscv64", false),
            ("ssh://build", "", false),
        ] {
            let text = DOCKER.replace(r#""Arch":"amd64""#, &format!(r#""Arch":"{architecture}""#));
            let version = version(&text);
            assert_eq!(version.arch, architecture);
            let endpoint = endpoint.parse().unwrap();
            let found = engine_info(&endpoint, "1.41", &version, &Info::default(), None);
            let is_warned = |warning: &String| warning.contains("emulates");
            assert_eq!(
                found.warnings.iter().any(is_warned),
                expected,
                "{endpoint} {architecture}: {:?}",
                found.warnings
            );
        }
    }

    #[test]
    fn con_26_floors_compare_numbers() {
        assert_eq!(numbers("20.10.24+dfsg1"), Some([20, 10, 24]));
        assert_eq!(numbers("5.7.1-dev"), Some([5, 7, 1]));
        assert_eq!(numbers("1.3"), Some([1, 3, 0]));
        assert_eq!(numbers("master"), None);
        let desktop = DOCKER.replace(r#""Name":"""#, r#""Name":"Docker Desktop 4.44.2 (202017)""#);
        let found = engine_info(
            &endpoint(),
            "1.41",
            &version(&desktop),
            &Info::default(),
            None,
        );
        assert!(
            found
                .warnings
                .iter()
                .any(|warning| warning.starts_with("CON-26: Docker Desktop 4.44.2 "))
        );
        assert!(
            !found
                .warnings
                .iter()
                .any(|warning| warning.starts_with("CON-26: Docker 20"))
        );
    }
}
