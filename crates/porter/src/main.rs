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

use std::io::Write as _;
use std::process::ExitCode;

use lazaret_protocol::{Verb, exit};

fn main() -> ExitCode {
    match Verb::parse(std::env::args_os().skip(1)) {
        Ok(verb) => act(verb),
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(exit::FAILED)
        }
    }
}

fn act(verb: Verb) -> ExitCode {
    match verb {
        Verb::Deflated(verb) => deflated::run(|| act(*verb)),
        Verb::Dial { port } => dial::run(port),
        Verb::Empty { root } => empty::run(&root),
        Verb::Export { root } => export::run(&root),
        Verb::Gateway { directory } => gateway::run(&directory),
        Verb::Hold => hold::run(),
        Verb::Init => init::run(),
        Verb::Layer { root, only, argv } => layer::run(&root, &only, &argv),
        Verb::Lend { home } => lend::run(&home),
        Verb::Probe { limits, request } => probe::run(&limits, *request),
        Verb::Protect { root } => guard::protect(&root),
        Verb::Receive { root } => receive::run(&root),
        Verb::Relay { routes } => relay::run(&routes),
        Verb::Release { root } => guard::release(&root),
        Verb::Run(command) => run::run(command),
        Verb::Sealed { root } => sealed::run(&root),
        Verb::Thaw => hold::thaw(),
        Verb::Update { root, mode } => update::run(&root, mode),
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

/// Writes an error to stderr, and ignores a failure to do so.
fn complain(message: &str) {
    let _unheard = writeln!(std::io::stderr(), "porter: {message}");
}
