//! `cargo xtask`: the commands of this repository.
//!
//! Glue only. No product crate is a dependency, so this builds in seconds;
//! product verbs are passed on to the `lazaret` binary, which cargo builds first
//! ([`passthrough`]). The command line is in [`flags`], one file holds one command.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool talks to its terminal"
)]

mod engines;
mod flags;
mod project;
mod section;
mod setup;

use std::process::ExitCode;

use xshell::Shell;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<std::ffi::OsString>) -> anyhow::Result<ExitCode> {
    let sh = Shell::new()?;
    sh.change_dir(project::root());
    let flags = match flags::Xtask::from_vec(arguments) {
        Ok(flags) => flags,
        Err(error) => error.exit(),
    };
    match flags.subcommand {
        flags::XtaskCmd::Setup(command) => command.run(&sh),
    }
    .map(|()| ExitCode::SUCCESS)
}
