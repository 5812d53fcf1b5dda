//! Why no engine can be used, and what to do: in particular where the user has chosen one.

use lazaret_runtime::{
    Candidate, ChoiceError, ClusterError, DecidedBy, DetectError, Endpoint, EngineError, SshAddress,
};

use super::{Failure, FailureKind};

/// What to do about an error of an engine.
pub(crate) fn engine_hint(error: &EngineError) -> Option<&'static str> {
    match error {
        EngineError::Timeout { .. } => Some(
            "It is there but does not answer: look at its log, restart it, or name another \
             engine with --engine.",
        ),
        EngineError::Unreachable { .. } => Some(
            "Start the engine, or name another one with --engine; `lazaret doctor` shows what was \
             tried.",
        ),
        EngineError::Choice(error) => choice_hint(error),
        EngineError::Cluster(error) => Some(cluster_hint(error)),
        EngineError::Denied { .. } => Some(
            "Use an engine of your own (rootless Podman needs no permission), or have an \
             administrator give you access to the socket; access to a rootful engine is as good \
             as root.",
        ),
        EngineError::TooOld { .. } => Some("Update the engine, or name another one with --engine."),
        EngineError::Lost { .. } => {
            Some("`lazaret ls` shows what is left of the session; `lazaret recover` takes it up.")
        }
        _ => None,
    }
}

/// What to do about what a cluster refused or lost.
fn cluster_hint(error: &ClusterError) -> &'static str {
    match error {
        ClusterError::NoContext { .. } => "`kubectl config get-contexts` lists the contexts.",
        ClusterError::Kubeconfig { .. } => "Name the file with KUBECONFIG.",
        ClusterError::NoNamespace { .. } => {
            "Name another namespace, or have an administrator create it: `kubectl create \
             namespace NAME`."
        }
        ClusterError::Unauthorized { .. } => {
            "Log in to the cluster again; `kubectl get pods` has to work."
        }
        ClusterError::MissingRights { .. } => {
            "Have an administrator bind the role of docs/how-to/kubernetes.md to you."
        }
        ClusterError::Forbidden { .. } => {
            "Have an administrator allow it; docs/how-to/kubernetes.md shows what is needed."
        }
        ClusterError::Quota { .. } => {
            "End sessions with `lazaret rm`, lower the profile's limits, or have the quota raised."
        }
        ClusterError::NoImage { .. } => {
            "Write the image to a file with `lazaret image export NAME --output FILE`, and import \
             it on each node: `ctr --namespace k8s.io images import FILE`."
        }
        ClusterError::Unschedulable { .. } => {
            "Lower the profile's limits, or wait until a node has room."
        }
        ClusterError::NotStarted { .. } => "`kubectl describe pod` shows what the node says.",
        ClusterError::Evicted { .. } | ClusterError::NodeLost { .. } => {
            "The files are still in the session's volume: `lazaret recover` collects them."
        }
        ClusterError::Changed { .. } => {
            "The cluster is too old for this field, or a webhook changes pods: have the namespace \
             exempted."
        }
        ClusterError::Name { .. } => "Give the session a name of letters, digits and `-`.",
    }
}

/// What to do about a choice that can't be used.
fn choice_hint(error: &ChoiceError) -> Option<&'static str> {
    match error {
        ChoiceError::NamedPipe { .. } => {
            Some("Type the engine's Unix socket: `--engine unix:///var/run/docker.sock`.")
        }
        ChoiceError::Context { source, .. } => choice_hint(source),
        ChoiceError::NoContext { .. } | ChoiceError::NoEndpoint { .. } => {
            Some("`docker context ls` lists the contexts.")
        }
        ChoiceError::TwoEngines { .. } => {
            Some("Unset one of them, or type `--engine docker` or `--engine podman`.")
        }
        ChoiceError::Unknown { .. }
        | ChoiceError::NoAddress { .. }
        | ChoiceError::NoNamespace { .. }
        | ChoiceError::Config { .. } => None,
    }
}

/// What must work for an engine of another machine.
fn remote_hint(endpoint: &str) -> Option<String> {
    match endpoint.parse().ok()? {
        Endpoint::Ssh(SshAddress {
            user,
            host,
            port,
            socket,
            ..
        }) => {
            let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
            let user = user.map(|user| format!("{user}@")).unwrap_or_default();
            let socket = match socket {
                Some(socket) => format!("the engine has to listen at {} there", socket.display()),
                None => "the engine has to listen at /var/run/docker.sock there, or add its \
                         socket to the address"
                    .to_owned(),
            };
            Some(format!(
                "`ssh {port}{user}{host} true` has to work without a question; {socket}."
            ))
        }
        Endpoint::Tls(_) => Some(
            "The certificates are `ca.pem`, `cert.pem` and `key.pem` in DOCKER_CERT_PATH, \
             ~/.docker or the context; the server's has to name the host as it is typed."
                .to_owned(),
        ),
        Endpoint::Unix(_) | Endpoint::Tcp(_) => None,
    }
}

/// How to take a choice back.
pub(crate) fn way_out(by: &DecidedBy) -> String {
    match by {
        DecidedBy::Flag => "Start that engine, or name another one with --engine; `lazaret \
                            doctor` without --engine shows which ones answer."
            .to_owned(),
        DecidedBy::Variable(name @ "LAZARET_ENGINE") => {
            format!(
                "Start that engine, correct {name}, or name another engine with --engine; \
                 `lazaret doctor` shows what was tried."
            )
        }
        DecidedBy::Variable("CONTAINER_HOST") => "Start that engine, `unset CONTAINER_HOST`, or \
                                                  type another engine's address: `--engine \
                                                  unix:///run/podman/podman.sock`."
            .to_owned(),
        DecidedBy::Variable(name) => format!(
            "Start that engine, `unset {name}`, or type another engine's address: `--engine \
             unix:///var/run/docker.sock`."
        ),
        DecidedBy::Config(_) => "Start that engine, correct the file, or name another engine with \
                                 --engine; `lazaret doctor` shows what was tried."
            .to_owned(),
        DecidedBy::CurrentContext(_) => "Start that engine, choose another context (`docker \
                                         context use default`), or type another engine's \
                                         address: `--engine unix:///var/run/docker.sock`."
            .to_owned(),
        DecidedBy::Record(_) => {
            "Start that engine; `lazaret doctor` shows which ones answer.".to_owned()
        }
        DecidedBy::Variables(..) => {
            "Unset one of them, or type `--engine docker` or `--engine podman`.".to_owned()
        }
        DecidedBy::Detected => "Install Docker or Podman and start it, or name an engine with \
                                --engine; `lazaret doctor` shows what was tried."
            .to_owned(),
    }
}

/// Says that what names an engine names none.
pub(crate) fn unusable(by: &DecidedBy, error: ChoiceError) -> Failure {
    let hint = choice_hint(&error);
    let kind = match by {
        DecidedBy::Flag => FailureKind::Usage,
        _ => FailureKind::Engine,
    };
    let failure = Failure::message(kind, format!("cannot use {}: {error}", engine_of(by)));
    let failure = match hint {
        Some(hint) => failure.hinted(hint),
        None => failure,
    };
    failure.hinted(way_out(by))
}

fn engine_of(by: &DecidedBy) -> String {
    match by {
        DecidedBy::Record(what) => format!("the engine of {what}"),
        DecidedBy::Variables(..) => "an engine".to_owned(),
        by => format!("the engine that {by} names"),
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let hint = engine_hint(&error);
        let failure = Self::new(FailureKind::Engine, error);
        match hint {
            Some(hint) => failure.hinted(hint),
            None => failure,
        }
    }
}

impl From<DetectError> for Failure {
    fn from(error: DetectError) -> Self {
        let (by, tried) = match error {
            DetectError::Chosen { by, tried } => (by, tried),
            DetectError::None { tried } => (DecidedBy::Detected, tried),
        };
        let mut text = match by {
            DecidedBy::Detected => "no container engine can be used".to_owned(),
            _ => format!("cannot use {}", engine_of(&by)),
        };
        let is_one = tried.len() == 1;
        let mut hints = Vec::new();
        for Candidate {
            endpoint,
            origin,
            result,
        } in tried
        {
            let Err(error) = result else {
                continue;
            };
            match is_one {
                true => text.push_str(&format!(": {error}")),
                false => text.push_str(&format!("\n{origin}: {error}")),
            }
            hints.extend(remote_hint(&endpoint));
            // Sockets that are not there are the normal case, and each says the same.
            if !matches!(error, EngineError::Unreachable { .. }) {
                hints.extend(Self::from(error).hints);
            }
        }
        if hints.is_empty() || by != DecidedBy::Detected {
            hints.push(way_out(&by));
        }
        hints.dedup();
        Self {
            hints,
            ..Self::message(FailureKind::Engine, text)
        }
    }
}
