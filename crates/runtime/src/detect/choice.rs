//! `EngineChoice`: which engine was asked for, by a name or an address.

use std::fmt;
use std::str::FromStr;

use super::{ChoiceError, Endpoint, KubernetesAddress};

/// Which engine to use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// The first one that answers.
    #[default]
    Auto,
    /// One by its name.
    Named(NamedEngine),
    /// Whatever listens at an address.
    Endpoint(Endpoint),
    /// A namespace of a Kubernetes cluster.
    Cluster(KubernetesAddress),
}

/// An engine by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedEngine {
    /// `docker`.
    Docker,
    /// `podman`: rootful where its socket may be used, else the user's own.
    Podman,
    /// `podman-rootless`: the user's own. For root, the one of the user that has a
    /// socket under `/run/user`.
    PodmanRootless,
    /// `apple`.
    Apple,
}

impl NamedEngine {
    /// All of them, in the order of detection.
    pub const ALL: [Self; 4] = [
        Self::Docker,
        Self::Podman,
        Self::PodmanRootless,
        Self::Apple,
    ];

    /// Returns the name as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::PodmanRootless => "podman-rootless",
            Self::Apple => "apple",
        }
    }
}

impl fmt::Display for NamedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Named(name) => name.fmt(f),
            Self::Endpoint(endpoint) => endpoint.fmt(f),
            Self::Cluster(address) => address.fmt(f),
        }
    }
}

impl FromStr for EngineChoice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if KubernetesAddress::is_meant_by(text) {
            return Ok(Self::Cluster(text.parse()?));
        }
        match NamedEngine::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
        {
            Some(name) => Ok(Self::Named(name)),
            None => match text.parse() {
                Ok(endpoint) => Ok(Self::Endpoint(endpoint)),
                Err(ChoiceError::NoAddress { text }) => Err(ChoiceError::Unknown { text }),
                Err(error) => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match text.parse::<EngineChoice>() {
            Ok(choice) => format!("{choice:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn choices_are_parsed_or_refused() {
        check("auto", "Auto");
        check("docker", "Named(Docker)");
        check("podman-rootless", "Named(PodmanRootless)");
        check("unix:///run/x.sock", r#"Endpoint(Unix("/run/x.sock"))"#);
        check("tcp://127.0.0.1:2375", r#"Endpoint(Tcp("127.0.0.1:2375"))"#);
        check(
            "k8s://c/n",
            r#"Cluster(KubernetesAddress { context: "c", namespace: "n", kubeconfig: [] })"#,
        );
        check(
            "k8s://c",
            r#""k8s://c" names no namespace of a cluster: expected k8s://CONTEXT/NAMESPACE"#,
        );
        check("tcp://[::1]:2375/", r#"Endpoint(Tcp("[::1]:2375"))"#);
        for wrong in [
            "",
            "Docker",
            "unix://relative",
            "unix:///",
            "tcp://host",
            "tcp://:1",
            "tcp://h:0",
        ] {
            assert!(
                matches!(
                    wrong.parse::<EngineChoice>(),
                    Err(ChoiceError::Unknown { .. })
                ),
                "{wrong:?}"
            );
        }
        check(
            "npipe:////./pipe/docker_engine",
            "\"npipe:////./pipe/docker_engine\": engines over a named pipe are not supported",
        );
    }
}
