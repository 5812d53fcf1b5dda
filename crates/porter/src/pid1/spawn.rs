//! Becomes the process that came in at the [`door`](crate::pid1::channel): it reads a [`SpawnMessage`]
//! on its stdin.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;

use lazaret_protocol::exit;
use lazaret_protocol::filter;
use lazaret_protocol::init::SpawnMessage;

use crate::files::root;
use crate::syscall;

/// Why the process is still the porter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    /// It did not come, or makes no sense.
    #[error("the order: {0}")]
    Unheard(#[source] io::Error),
    /// A step of the preparation failed.
    #[error("{step}: {source}")]
    Prepare {
        step: &'static str,
        source: io::Error,
    },
    /// `execve` said no.
    #[error("can't become `{program}`: {source}")]
    Exec { program: String, source: io::Error },
}

/// Becomes what its stdin says; returns an exit code only when it did not.
pub(crate) fn start() -> u8 {
    syscall::reset_signals();
    match obey() {
        Ok(never) => match never {},
        Err(error) => {
            crate::report_error(&error.to_string());
            exit::FAILED
        }
    }
}

/// Takes the streams as its own, hears what it is to be, and becomes it.
///
/// # Errors
/// See [`SpawnError`]: it is still the porter then.
pub(crate) fn become_process(streams: &[OwnedFd; 3]) -> Result<Infallible, SpawnError> {
    let step = |step| move |source| SpawnError::Prepare { step, source };
    connect(streams).map_err(step("take the streams"))?;
    // As an engine starts it: no terminal of its parent's, and every signal as usual.
    rustix::process::setsid().map_err(|error| step("start a session")(error.into()))?;
    syscall::reset_signals();
    obey()
}

/// Hears what it is to be, and becomes it.
fn obey() -> Result<Infallible, SpawnError> {
    let step = |step| move |source| SpawnError::Prepare { step, source };
    let read = root::stdin().and_then(|mut stdin| SpawnMessage::read_from(&mut stdin));
    let message = read.map_err(SpawnError::Unheard)?;
    if !message.directory.is_empty() {
        let entered = rustix::process::chdir(&message.directory);
        entered.map_err(|error| step("enter the directory")(error.into()))?;
    }
    let environment = environment(&message, std::env::vars_os());
    let source = syscall::exec_with(&message.argv, &environment);
    let program = message.argv.first().map(|program| program.as_bytes());
    Err(SpawnError::Exec {
        program: lazaret_tree::escape(program.unwrap_or_default()),
        source,
    })
}

fn connect([stdin, stdout, stderr]: &[OwnedFd; 3]) -> io::Result<()> {
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    Ok(rustix::stdio::dup2_stderr(stderr)?)
}

/// What Kubernetes adds to the environment of every container: where its API server is.
const KUBERNETES: &[u8] = b"KUBERNETES_";

/// Returns the variables of the container with those of the message, which have the last word.
///
/// The word by which the engine has porters filter calls is not among them: what is started
/// inherits the filter.
fn environment(
    message: &SpawnMessage,
    containers: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<CString> {
    let mut all: BTreeMap<Vec<u8>, CString> = BTreeMap::new();
    let is_passed_on = |name: &OsString| {
        name != filter::VARIABLE && !name.as_encoded_bytes().starts_with(KUBERNETES)
    };
    let containers = containers.filter(|(name, _)| is_passed_on(name));
    let containers = containers.filter_map(|(mut variable, value)| {
        variable.push("=");
        variable.push(value);
        CString::new(variable.into_vec()).ok()
    });
    for variable in containers.chain(message.variables.iter().cloned()) {
        let bytes = variable.as_bytes();
        let name = bytes.split(|byte| *byte == b'=').next().unwrap_or(bytes);
        all.insert(name.to_vec(), variable);
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_last_word_on_a_variable() {
        let message = SpawnMessage {
            directory: CString::default(),
            argv: vec![c"/bin/a".to_owned()],
            variables: vec![c"K=message".to_owned(), c"EMPTY=".to_owned()],
        };
        let containers = [
            ("A", "1"),
            ("K", "container"),
            ("EMPTY", "no"),
            ("LAZARET_FILTER", "unix-sockets"),
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ];
        let containers = containers.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(
            environment(&message, containers.into_iter()),
            [c"A=1", c"EMPTY=", c"K=message"].map(CString::from)
        );
    }
}
