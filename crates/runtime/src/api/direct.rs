//! Starts a process through the first one of its container, where that is on this machine.

use std::sync::Arc;

use super::client::{Inner, Subject};
use super::objects::First;
use super::{CALL_LIMIT, objects};
use crate::{ContainerName, Endpoint, ExecSpec, FirstProcess, Process, Terminal};

/// Returns nothing where only the engine can: it may be on another machine, or ours is not to
/// look into its containers.
pub(super) fn start(inner: &Arc<Inner>, name: &ContainerName, spec: &ExecSpec) -> Option<Process> {
    if !matches!(inner.endpoint(), Endpoint::Unix(_)) || spec.terminal != Terminal::None {
        return None;
    }
    let first = |First { pid, id }| FirstProcess::of_container(pid, &id).ok();
    // Who looked it up asked for its state; its mounts tell whether the process is still its.
    if let Some(first) = inner.ran(name.as_str()).and_then(first) {
        return first.start(spec).ok();
    }
    let subject = Subject {
        verb: "inspect container",
        what: "container",
        name: name.as_str(),
    };
    let path = format!("/containers/{name}/json");
    let container = inner.call(CALL_LIMIT, inner.get::<objects::Container>(subject, &path));
    let container = container.ok()?;
    first(container.first_process())?.start(spec).ok()
}
