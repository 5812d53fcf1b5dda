//! `cargo xtask check`: what can be known of a change without engines, root or network.
//!
//! From the cheap to the dear. Every cargo call names the same packages, features and porter,
//! so that nothing is compiled twice.

use std::fs;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::flags;
use crate::project::{Porter, WHOLE_WORKSPACE, target_dir};
use crate::steps::Steps;

/// Tests of the porter that give files to root or make a process PID 1.
const NEED_ROOT: [&str; 3] = ["deadline::", "door::", "sealed::"];

/// Integration tests that pack and judge some hundred megabytes, to bound what memory that
/// takes. `cargo xtask test` runs them.
const SLOW: [&str; 2] = ["memory::p9_", "session::large::p9_"];

/// Where tests say that they were not carried out (`lazaret_tests::privilege`).
const NOT_RUN: &str = "report/not-run.txt";

/// When what tests print is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As it comes.
    Live,
    /// In one piece, for tests that run beside something else.
    AtEnd,
}

impl flags::Check {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let mut steps = Steps::new(sh);
        let result = self.run_steps(sh, &mut steps);
        steps.print();
        result
    }

    fn run_steps(self, sh: &Shell, steps: &mut Steps) -> Result<()> {
        let porter = self.run_until_tests(sh, steps, Porter::build_dev)?;
        steps.run(sh, "unit, snapshot and doc tests", || {
            tests(sh, &porter, Shown::Live)
        })
    }

    /// Runs the steps before the tests, and returns the porter that all is built with.
    pub(crate) fn run_until_tests(
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
        steps.run(sh, "tests, compiled", || {
            Ok(test(sh, &porter).arg("--no-run").quiet().run()?)
        })?;
        let codegen = flags::Codegen { check: !self.fix };
        steps.run(sh, "codegen", || codegen.run_with(sh, &porter))?;
        Ok(porter)
    }
}

/// Runs the tests of [`SLOW`], which a check leaves out.
pub(crate) fn slow_tests(sh: &Shell, porter: &Porter) -> Result<()> {
    let test = test(sh, porter).args(["--test", "it", "--"]).args(SLOW);
    run_shown(sh, test, Shown::AtEnd).context("the slow tests failed")
}

/// Runs all other tests without engines. Without root, those that need it run in a user
/// namespace.
pub(crate) fn tests(sh: &Shell, porter: &Porter, shown: Shown) -> Result<()> {
    // Some wait for seconds: with a thread for each core, cores would be idle.
    let threads = thread::available_parallelism()?.get() + 1;
    let _threads = sh.push_env("RUST_TEST_THREADS", threads.to_string());
    let not_run = target_dir(sh).join(NOT_RUN);
    drop(fs::remove_file(&not_run));
    let result = tests_by_privilege(sh, porter, shown);
    if let Ok(list) = fs::read_to_string(&not_run) {
        eprint!("not carried out:\n{list}");
    }
    result
}

fn tests_by_privilege(sh: &Shell, porter: &Porter, shown: Shown) -> Result<()> {
    let skip = |name: &&'static str| ["--skip", *name];
    let skips: Vec<&str> = SLOW.iter().flat_map(skip).collect();
    if rustix::process::geteuid().is_root() {
        return run_shown(sh, test(sh, porter).arg("--").args(skips), shown);
    }
    let skips = skips.into_iter().chain(NEED_ROOT.iter().flat_map(skip));
    run_shown(sh, test(sh, porter).arg("--").args(skips), shown)?;
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
    let outside = outside
        .args(inside.get_args())
        .env("LAZARET_PORTER", &porter.path)
        .env_remove("LAZARET_TEST_ENGINE");
    run_shown(sh, outside, shown)
}

fn run_shown(sh: &Shell, command: Cmd<'_>, shown: Shown) -> Result<()> {
    if shown == Shown::Live {
        return Ok(command.run()?);
    }
    // A file, not a pipe: a process that a test left behind would hold that open.
    let path = target_dir(sh).join("report/tests.txt");
    fs::create_dir_all(path.with_file_name(""))?;
    let file = fs::File::create(&path)?;
    let mut command = Command::from(command);
    let status = command.stdout(file.try_clone()?).stderr(file).status()?;
    eprint!("{}", String::from_utf8_lossy(&fs::read(&path)?));
    ensure!(status.success(), "tests failed");
    Ok(())
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
