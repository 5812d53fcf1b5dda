//! What an engine's refusals mean: HTTP status and bollard's errors to [`EngineError`].

use std::error::Error;
use std::io;

use crate::{Endpoint, EngineError};

/// Sorts a failed connection.
pub(super) fn unreachable(endpoint: &Endpoint, source: io::Error) -> EngineError {
    let endpoint = endpoint.to_string();
    match source.kind() {
        io::ErrorKind::PermissionDenied => EngineError::Denied { endpoint, source },
        _ => EngineError::Unreachable { endpoint, source },
    }
}

/// Sorts a refusal by what was asked. `message` is kept as it is.
pub(super) fn refusal(
    verb: &'static str,
    what: &'static str,
    name: &str,
    status: u16,
    message: String,
) -> EngineError {
    // Podman 4 answers 500 where Docker has a status of its own; its words are all there is.
    let says = |words: &[&str]| {
        let message = message.to_ascii_lowercase();
        words.iter().any(|word| message.contains(word))
    };
    let name = || name.to_owned();
    match (verb, status) {
        // The container's name is taken, or its image is missing.
        ("create container", 404) => EngineError::NotFound {
            what: "image",
            name: name(),
        },
        ("create container", 409 | 500) if says(&["already in use", "already exists"]) => {
            EngineError::AlreadyExists { what, name: name() }
        }
        ("create volume", 409) => EngineError::AlreadyExists { what, name: name() },
        (_, 404) => EngineError::NotFound { what, name: name() },
        // One that was removed between two steps of Podman's own answer.
        ("inspect container", 500) if says(&["no such container"]) => {
            EngineError::NotFound { what, name: name() }
        }
        ("remove volume", 409) => EngineError::InUse { what, name: name() },
        ("remove volume" | "remove image", 409 | 500)
            if says(&["being used", "in use", "is using", "used by"]) =>
        {
            EngineError::InUse { what, name: name() }
        }
        _ => EngineError::Refused {
            verb,
            status,
            message,
        },
    }
}

/// Tells whether an engine refused only because something ended or went while it looked.
///
/// Podman 4.3 reads the control group of a container's first process by its id, which may have
/// ended by then (podman#16383), and looks at each image of its list, one of which may have been
/// removed.
pub(super) fn is_momentary(message: &str) -> bool {
    let process_ended = message.contains("/proc/") && message.contains("/cgroup: no such");
    process_ended || message.contains("image not known")
}

/// Sorts what bollard says.
pub(super) fn bollard(
    verb: &'static str,
    what: &'static str,
    name: &str,
    endpoint: &Endpoint,
    error: bollard::errors::Error,
) -> EngineError {
    use bollard::errors::Error as Bollard;
    match error {
        Bollard::DockerResponseServerError {
            status_code,
            message,
        } => refusal(verb, what, name, status_code, message),
        Bollard::DockerStreamError { error } => EngineError::Refused {
            verb,
            status: 200,
            message: error,
        },
        // Our transport's own (`super::transport`): it could not connect.
        Bollard::IOError { err } => match err.downcast::<NoConnection>() {
            Ok(NoConnection(source)) => unreachable(endpoint, source),
            Err(error) => EngineError::Lost {
                verb,
                message: chain(&error),
            },
        },
        other => EngineError::Lost {
            verb,
            message: chain(&other),
        },
    }
}

/// Marks a failed connection on its way through bollard.
#[derive(Debug, thiserror::Error)]
#[error("no connection")]
pub(super) struct NoConnection(#[source] pub(super) io::Error);

/// Joins an error with its causes.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(verb: &'static str, status: u16, message: &str, expected: &str) {
        let found = refusal(verb, "thing", "n", status, message.to_owned());
        assert_eq!(found.to_string(), expected);
    }

    #[test]
    fn a_status_becomes_what_it_means_for_the_verb() {
        check(
            "create container",
            404,
            "No such image: x",
            "no such image: n",
        );
        check(
            "create container",
            409,
            "Conflict. The container name \"/n\" is already in use by container \"c\".",
            "a thing named n exists already",
        );
        check(
            "create container",
            500,
            "creating container storage: the container name \"n\" is already in use by 1",
            "a thing named n exists already",
        );
        check(
            "start container",
            404,
            "No such container",
            "no such thing: n",
        );
        check(
            "inspect container",
            500,
            "container 77 does not exist in database: no such container",
            "no such thing: n",
        );
        check(
            "remove volume",
            409,
            "volume is in use - [c]",
            "thing n is in use",
        );
        check(
            "remove volume",
            500,
            "volume n is being used by the following container(s): c",
            "thing n is in use",
        );
        check(
            "create container",
            500,
            "no space left on device\u{1b}[2J",
            "create container: the engine refused: no space left on device\u{1b}[2J",
        );
    }

    #[test]
    fn flt_19_a_missing_socket_and_a_forbidden_one_are_told_apart() {
        let endpoint = Endpoint::Unix("/x.sock".into());
        let error = unreachable(&endpoint, io::ErrorKind::NotFound.into());
        assert_eq!(
            error.to_string(),
            "no engine answers at unix:///x.sock: entity not found"
        );
        let error = unreachable(&endpoint, io::ErrorKind::PermissionDenied.into());
        assert_eq!(
            error.to_string(),
            "no permission to use unix:///x.sock: permission denied"
        );
    }
}
