//! `cargo xtask`: the commands of this repository.
//!
//! Glue only. No product crate is a dependency, so this builds in seconds. `run`, `image` and
//! `lazaret` pass their arguments on to the `lazaret` binary, which cargo builds first
//! (`passthrough`). The command line is in `flags`, one file holds one command. What is public
//! here is for `lazaret-bench`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool talks to its terminal"
)]

mod bench;
mod check;
mod codegen;
mod contract;
pub mod dist;
mod docs;
pub mod engines;
mod flags;
mod fuzz;
mod passthrough;
mod porter;
pub mod project;
mod run;
mod screens;
pub mod section;
mod setup;
mod soak;
mod steps;
mod test;
mod test_matrix;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

use xshell::Shell;

/// Runs the command that `arguments` name, without the program's own name.
pub fn main() -> ExitCode {
    match run(std::env::args_os().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<OsString>) -> anyhow::Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(project::root());
    let flags = match flags::Xtask::from_vec(flags::separate(arguments)) {
        Ok(flags) => flags,
        Err(error) => error.exit(),
    };
    match flags.subcommand {
        flags::XtaskCmd::Setup(command) => command.run(&sh),
        flags::XtaskCmd::Porter(command) => command.run(&sh),
        flags::XtaskCmd::Check(command) => command.run(&sh),
        flags::XtaskCmd::Codegen(command) => command.run(&sh),
        flags::XtaskCmd::Contract(command) => command.run(&sh),
        flags::XtaskCmd::Test(command) => command.run(&sh),
        flags::XtaskCmd::TestMatrix(command) => command.run(&sh),
        flags::XtaskCmd::Screens(command) => command.run(&sh),
        flags::XtaskCmd::Soak(command) => command.run(&sh),
        flags::XtaskCmd::Fuzz(command) => command.run(&sh),
        flags::XtaskCmd::Dist(command) => command.run(&sh),
        flags::XtaskCmd::Docs(command) => command.run(&sh),
        flags::XtaskCmd::Bench(command) => match command.run(&sh)? {},
        flags::XtaskCmd::Tidy(command) => command.run(&sh),
        flags::XtaskCmd::Image(command) => match command.run(&sh)? {},
        flags::XtaskCmd::Run(command) => match command.run(&sh)? {},
        flags::XtaskCmd::Lazaret(command) => match command.run(&sh)? {},
    }
}
