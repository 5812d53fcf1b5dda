//! Ctrl-C.

use std::time::Duration;

use lazaret_tests::tree_text;
use rustix::process::Signal;

use super::Scenario;
use crate::ctx::{Ctx, expect_eq};

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "interrupt/once-while-the-command-runs",
    run: once_while_the_command_runs,
}];

fn once_while_the_command_runs(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", "f a \"a\"");
    let script = "echo up and running; echo b > a; sleep 600";
    let lazaret = ctx.spawn(&[
        "run", "base", "-w", "project", "--name", "s", "--", "sh", "-c", script,
    ])?;
    lazaret.wait_until("the command runs", Duration::from_secs(120), || {
        lazaret.output_so_far().contains("up and running")
    })?;
    lazaret.signal(Signal::INT)?;
    let _output = lazaret.wait()?.expect_code(130)?;
    let _gone = ctx.lazaret(&["rm", "--force", "s"])?.expect_code(0)?;
    expect_eq(
        &format!("the workspace on {}", ctx.engine()),
        &tree_text::dump(&workspace),
        &"f a \"a\"\n".to_owned(),
    )
}
