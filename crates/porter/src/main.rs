//! `porter`: the one program of lazaret inside containers.
//!
//! `porter init` is PID 1; every other verb comes by the engine's exec or through PID 1, and so
//! inherits the container's hardening. The program is static, has one thread except where a
//! survey lists and hashes and where `gateway`, `relay`, `dial` and `deflated` carry bytes, and its
//! exit codes are 0, 1 for a failed verb, [`exit::FAILED`], and those of the command it runs.

mod arriving;
mod clock;
mod deadline;
mod deflated;
mod dial;
mod door;
mod empty;
mod export;
mod gateway;
mod guard;
mod hold;
mod init;
mod layer;
mod lend;
mod lifts;
mod limit;
mod oom;
mod poised;
mod probe;
mod receive;
mod relay;
mod root;
mod run;
mod sealed;
mod send;
mod spawn;
mod status;
mod still;
mod survey;
mod syscall;
mod update;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use lazaret_protocol::exit;

fn main() -> ExitCode {
    act(std::env::args_os().skip(1))
}

/// Runs a verb.
fn act(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let verb = arguments.next().unwrap_or_default();
    match verb.to_str() {
        Some("deflated") => deflated::run(arguments, |rest| act(rest.into_iter())),
        Some("dial") => dial::run(arguments),
        Some("empty") => empty::run(arguments),
        Some("export") => export::run(arguments),
        Some("gateway") => gateway::run(arguments),
        Some("hold") => hold::run(arguments),
        Some("init") => init::run(),
        Some("layer") => layer::run(arguments),
        Some("lend") => lend::run(arguments),
        Some("probe") => probe::run(arguments),
        Some("protect") => guard::protect(arguments),
        Some("receive") => receive::run(arguments),
        Some("relay") => relay::run(arguments),
        Some("release") => guard::release(arguments),
        Some("run") => run::run(arguments),
        Some("sealed") => sealed::run(arguments),
        Some("thaw") => hold::thaw(),
        Some("update") => update::run(arguments),
        _ => {
            complain(
                "usage: porter deflated|dial|empty|export|gateway|hold|init|layer|lend|probe|protect|receive|\
                 relay|release|run|sealed|thaw|update",
            );
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Ends a verb that moves files: 0, or one line on stderr and [`exit::FAILED`].
fn settle<E: std::fmt::Display>(verb: &str, outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{verb}: {error}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Says why on stderr; there is nobody to tell when that fails.
fn complain(message: &str) {
    let _unheard = writeln!(std::io::stderr(), "porter: {message}");
}
