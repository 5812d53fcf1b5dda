//! `cargo xtask bench`: builds the benchmarks, which are a program of their own, so that no
//! other command waits for them.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::flags;

impl flags::Bench {
    pub(crate) fn run(self, sh: &Shell) -> Result<Infallible> {
        let arguments = self.arguments;
        let run = cmd!(
            sh,
            "cargo run --quiet --package lazaret-bench -- {arguments...}"
        );
        let mut command = Command::from(run);
        // xshell works in the repository; a path that is typed is relative to the caller.
        command.current_dir(std::env::current_dir()?);
        Err(command.exec()).context("run the benchmarks")
    }
}
