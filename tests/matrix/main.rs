//! The matrix: every scenario on every engine, with real containers.
//!
//! Run by `cargo xtask test-matrix`, which builds `lazaret` and passes its path in
//! `LAZARET_BIN`. An engine that was named and does not answer fails all the same as a
//! scenario that does; nothing is skipped.

#![expect(
    clippy::print_stdout,
    reason = "this program is a test runner: the terminal is its output"
)]

mod api;
mod cluster;
mod ctx;
mod engine;
mod far_machine;
mod flaky;
mod forwarder;
mod lazaret;
mod line_client;
mod mcp_client;
mod options;
mod private_engine;
mod report;
mod runner;
mod scenarios;
mod screens;
mod soak;
mod terminal;
mod unshared;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, and only here"
)]
fn main() -> ExitCode {
    let Some(bin) = std::env::var_os("LAZARET_BIN") else {
        println!("LAZARET_BIN is not set: run `cargo xtask test-matrix`");
        return ExitCode::FAILURE;
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let below = |variable, default| {
        let set = std::env::var_os(variable).filter(|value| !value.is_empty());
        set.map_or_else(|| home.join(default), PathBuf::from)
    };
    let setup = runner::Setup {
        bin: PathBuf::from(bin),
        path,
        cargo_home: below("CARGO_HOME", ".cargo"),
        rustup_home: below("RUSTUP_HOME", ".rustup"),
        state_home: below("XDG_STATE_HOME", ".local/state"),
    };
    engine::CLUSTER.get_or_init(|| setup.state_home.join("lazaret/kubernetes"));
    let mut arguments = std::env::args().skip(1).peekable();
    let verb = arguments.next_if(|argument| ["soak", "screens"].contains(&argument.as_str()));
    let outcome = match verb.as_deref() {
        Some("soak") => soak::run(arguments, &setup),
        Some(_) => screens::run(arguments, &setup),
        None => {
            options::Options::parse(arguments).and_then(|options| runner::run(&options, &setup))
        }
    };
    match outcome {
        Ok(runner::Outcome::Green) => ExitCode::SUCCESS,
        Ok(runner::Outcome::Red) => ExitCode::FAILURE,
        Err(message) => {
            println!("error: {message}");
            ExitCode::from(2)
        }
    }
}
