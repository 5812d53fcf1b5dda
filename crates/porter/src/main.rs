//! `porter`: the one program of lazaret inside containers.
//!
//! `porter init` is PID 1; every other verb comes by the engine's exec or through PID 1, and so
//! inherits the container's hardening. The program is static, has one thread except where a
//! survey lists and hashes and where `gateway`, `relay`, `dial` and `deflated` carry bytes, and its
//! exit codes are 0, 1 for a failed verb, [`exit::FAILED`], and those of the command it runs.

mod command;
mod compressed;
mod credentials;
mod files;
mod filter;
mod freeze;
mod home;
mod layer;
mod mail;
mod network;
mod pid1;
mod probe;
mod processes;
mod protect;
mod seat;
mod syscall;
mod verify_protection;

use std::io::Write as _;
use std::process::ExitCode;

use lazaret_protocol::{Verb, exit};

use crate::command::{exec, stop};
use crate::files::{copy, empty, export, receive, spill, update, usage};
use crate::pid1::init;
use crate::seat::rejoin;

fn main() -> ExitCode {
    if let Err(error) = filter::install() {
        report_error(&format!("filter: {error}"));
        return ExitCode::from(exit::FAILED);
    }
    match Verb::parse(std::env::args_os().skip(1)) {
        Ok(verb) => act(verb),
        Err(error) => {
            report_error(&error.to_string());
            ExitCode::from(exit::FAILED)
        }
    }
}

fn act(verb: Verb) -> ExitCode {
    match verb {
        Verb::Compressed(verb) => compressed::run(|| act(*verb)),
        Verb::Copy { from, to } => copy::run(&from, &to),
        Verb::Dial { port } => network::dial(port),
        Verb::Empty { root } => empty::run(&root),
        Verb::Export { root } => export::run(&root),
        Verb::Gateway { directory } => network::gateway(&directory),
        Verb::Freeze => freeze::freeze(),
        Verb::Home { home } => home::run(&home),
        Verb::Init => init::run(),
        Verb::Layer { root, only, argv } => layer::run(&root, &only, &argv),
        Verb::Credentials { home } => credentials::run(&home),
        Verb::Mail { home, most } => mail::run(&home, most),
        Verb::Probe { limits, request } => probe::run(&limits, *request),
        Verb::Protect { root } => protect::protect(&root),
        Verb::Receive { root } => receive::run(&root),
        Verb::Relay { routes } => network::relay(&routes),
        Verb::Rejoin => rejoin::run(),
        Verb::Release { root } => protect::release(&root),
        Verb::Run(command) => exec::run(command),
        Verb::Seat(command) => seat::run(command),
        Verb::Stop { grace } => stop::run(grace),
        Verb::Spill { directory, name } => spill::run(&directory, &name),
        Verb::VerifyProtection { root } => verify_protection::run(&root),
        Verb::Unfreeze => freeze::unfreeze(),
        Verb::Update { root, mode } => update::run(&root, mode),
        Verb::Usage { root, more } => usage::run(&root, &more),
    }
}

/// Ends a verb that moves files: 0, or one line on stderr and [`exit::FAILED`].
fn exit_with<E: std::fmt::Display>(verb: &str, outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report_error(&format!("{verb}: {error}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Writes an error to stderr, and ignores a failure to do so.
fn report_error(message: &str) {
    let _unheard = writeln!(std::io::stderr(), "porter: {message}");
}
