//! `cargo xtask check`: what can be known of a change without engines, root or network.
//!
//! From the cheap to the dear. Every cargo call names the same packages, features and porter,
//! so that nothing is compiled twice.

use std::process::Command;

use anyhow::{Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::flags;
use crate::project::{Porter, WHOLE_WORKSPACE};
use crate::steps::Steps;

/// Tests of the porter that give files to root or make a process PID 1.
const NEED_ROOT: [&str; 3] = ["deadline::", "door::", "sealed::"];

/// Integration tests that pack and judge some hundred megabytes, to bound what memory that
/// takes. `cargo xtask test` runs them.
const SLOW: [&str; 2] = ["memory::p9_", "session::large::p9_"];

impl flags::Check {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let mut steps = Steps::new(sh);
        let result = self.run_steps(sh, &mut steps, Porter::build_dev);
        steps.print();
        result.map(drop)
    }

    /// Runs the steps and returns the porter that the tests were built with.
    pub(crate) fn run_steps(
        self,
        sh: &Shell,
        steps: &mut Steps,
        build_porter: impl FnOnce(&Shell) -> Result<Porter>,
    ) -> Result<Porter> {
        steps.run(sh, "fmt", || {
            let check: &[&str] = if self.fix { &[] } else { &["--check"] };
            Ok(cmd!(sh, "cargo fmt --all {check...}").run()?)
        })?;
        let tidy = flags::Tidy { cycles: false };
        steps.run(sh, "tidy", || tidy.run(sh))?;
        steps.run(sh, "deny", || deny(sh))?;
        let porter = steps.run(sh, "porter", || build_porter(sh))?;
        steps.run(sh, "clippy", || clippy(sh, &porter))?;
        let codegen = flags::Codegen { check: !self.fix };
        steps.run(sh, "codegen", || codegen.run_with(sh, &porter))?;
        steps.run(sh, "unit, snapshot and doc tests", || tests(sh, &porter))?;
        Ok(porter)
    }
}

/// Runs the tests of [`SLOW`], which a check leaves out, and prints in one piece what they say.
pub(crate) fn slow_tests(sh: &Shell, porter: &Porter) -> Result<()> {
    let test = test(sh, porter).args(["--test", "it", "--"]).args(SLOW);
    let ended = test.ignore_status().quiet().output()?;
    for said in [ended.stdout, ended.stderr] {
        eprint!("{}", String::from_utf8_lossy(&said));
    }
    ensure!(ended.status.success(), "the slow tests failed");
    Ok(())
}

/// Runs all other tests without engines. Without root, those that need it run in a user
/// namespace.
fn tests(sh: &Shell, porter: &Porter) -> Result<()> {
    let skip = |name: &&'static str| ["--skip", *name];
    let skips: Vec<&str> = SLOW.iter().flat_map(skip).collect();
    if rustix::process::geteuid().is_root() {
        return Ok(test(sh, porter).arg("--").args(skips).run()?);
    }
    let skips = skips.into_iter().chain(NEED_ROOT.iter().flat_map(skip));
    test(sh, porter).arg("--").args(skips).run()?;
    let namespace = ["--user", "--map-auto", "--map-root-user"];
    let possible = cmd!(sh, "unshare {namespace...} --pid --fork true").quiet();
    if possible.ignore_stderr().run().is_err() {
        eprintln!(
            "not run: {} of the porter need root, or a user namespace with mapped ids",
            NEED_ROOT.join(", ")
        );
        return Ok(());
    }
    let inside = Command::from(
        test(sh, porter)
            .args(["--test", "it", "--"])
            .args(NEED_ROOT),
    );
    let outside = sh.cmd("unshare").args(namespace).arg(inside.get_program());
    Ok(outside
        .args(inside.get_args())
        .env("LAZARET_PORTER", &porter.path)
        .env_remove("LAZARET_TEST_ENGINE")
        .run()?)
}

fn test<'a>(sh: &'a Shell, porter: &Porter) -> Cmd<'a> {
    let test = porter.cargo(sh, &["test", "--quiet", "--no-fail-fast"]);
    test.args(WHOLE_WORKSPACE).env_remove("LAZARET_TEST_ENGINE")
}

fn clippy(sh: &Shell, porter: &Porter) -> Result<()> {
    // `test = false` keeps the matrix out of `--all-targets`.
    for targets in [&["--all-targets"][..], &["--test", "matrix"]] {
        porter
            .cargo(sh, &["clippy", "--quiet"])
            .args(WHOLE_WORKSPACE)
            .args(targets)
            .args(["--", "-D", "warnings"])
            .run()?;
    }
    Ok(())
}

/// Judges dependencies by `deny.toml`, without the network: advisories are a job of the
/// workflows.
fn deny(sh: &Shell) -> Result<()> {
    let installed = cmd!(sh, "cargo deny --version").quiet().ignore_stderr();
    if installed.ignore_stdout().run().is_err() {
        eprintln!("not run: cargo-deny is not installed (`cargo install --locked cargo-deny`)");
        return Ok(());
    }
    Ok(cmd!(sh, "cargo deny --offline check bans licenses sources").run()?)
}
