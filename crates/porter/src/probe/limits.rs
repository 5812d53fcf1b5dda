//! CON-15 to CON-17: how much of the machine the container may use.

use std::fs;

use lazaret_protocol::Ulimit;
use rustix::process::getrlimit;

use super::cgroup::{Controller, Limit};
use super::{Outcome, ProbeContext};
use crate::command::limits::of_kernel;

/// CON-15: `pids.max`.
pub(super) fn pids(scene: &ProbeContext) -> Outcome {
    let controller = Controller::find(&scene.mounts, "pids");
    at_most(
        "pids.max",
        controller.limit("pids.max", "pids.max"),
        scene.expected.pids,
    )
}

/// CON-16: memory, and no swap in addition to it.
pub(super) fn memory(scene: &ProbeContext) -> Outcome {
    let controller = Controller::find(&scene.mounts, "memory");
    let memory = controller.limit("memory.limit_in_bytes", "memory.max");
    let outcome = at_most("memory", memory, scene.expected.memory);
    let Outcome::Pass(detail) = outcome else {
        return outcome;
    };
    // v1 counts memory and swap together, v2 swap alone.
    let swap = controller.limit("memory.memsw.limit_in_bytes", "memory.swap.max");
    let allowed = match controller {
        Controller::V1(_) => scene.expected.memory,
        Controller::V2(_) | Controller::Absent => 0,
    };
    match swap {
        Limit::Of(bytes) if bytes <= allowed => Outcome::Pass(format!("{detail}, no swap")),
        Limit::Unknown | Limit::None if host_has_no_swap() => {
            Outcome::Pass(format!("{detail}, the host has no swap"))
        }
        Limit::Unknown => Outcome::Fail(format!(
            "{detail}, but the kernel does not count swap (boot with swapaccount=1)"
        )),
        other => Outcome::Fail(format!("{detail}, but swap is {other:?}")),
    }
}

/// CON-17: cpu, and the limits of each process.
pub(super) fn process(scene: &ProbeContext) -> Outcome {
    let complaints: Vec<String> = scene.expected.ulimits.iter().filter_map(ulimit).collect();
    if !complaints.is_empty() {
        return Outcome::Broken(complaints.join("; "));
    }
    // Engines round the period up or down by a few millionths.
    let slack = scene.expected.nano_cpus / 100;
    at_most(
        "billionths of a core",
        Controller::find(&scene.mounts, "cpu").nano_cpus(),
        scene.expected.nano_cpus + slack,
    )
}

fn ulimit(wanted: &Ulimit) -> Option<String> {
    let Ulimit { resource, limit } = *wanted;
    let found = getrlimit(of_kernel(resource));
    let within = |value: Option<u64>| value.is_some_and(|value| value <= limit);
    match within(found.current) && within(found.maximum) {
        true => None,
        false => {
            let found = found
                .maximum
                .map_or("unlimited".to_owned(), |found| found.to_string());
            Some(format!("{} {found}, not at most {limit}", resource.name()))
        }
    }
}

fn at_most(what: &str, found: Limit, limit: u64) -> Outcome {
    match found {
        Limit::Of(number) if number <= limit => Outcome::Pass(format!("{what} {number}")),
        Limit::Of(number) => Outcome::Fail(format!("{what} {number}, not at most {limit}")),
        Limit::None => Outcome::Fail(format!("{what} unlimited")),
        Limit::Unknown => Outcome::Fail(format!("{what} can't be read")),
    }
}

/// `/proc/swaps` is a header and one line per area.
fn host_has_no_swap() -> bool {
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() <= 1)
}
