//! In, changed by a command, and back.

use lazaret_tests::tree_text;

use super::Scenario;
use crate::ctx::{Ctx, expect_eq};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "round-trip/nothing-changes",
        run: nothing_changes,
    },
    Scenario {
        name: "round-trip/edit-add-delete",
        run: edit_add_delete,
    },
    Scenario {
        name: "round-trip/exit-code-of-the-command",
        run: exit_code,
    },
];

const TREE: &str = r##"
    f README.md "# Sample\n"
    f src/main.c "int main(void) { return 0; }\n"
    x build.sh "#!/bin/sh\nexit 0\n"
    l latest -> src/main.c
    d empty
"##;

fn nothing_changes(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let before = tree_text::dump(&workspace);
    let output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--apply", "auto", "--json", "--", "true",
        ])?
        .expect_code(0)?;
    expect_eq(
        "outcome",
        &output.json()?["outcome"].as_str(),
        &Some("nothing"),
    )?;
    expect_eq("the workspace", &tree_text::dump(&workspace), &before)
}

fn edit_add_delete(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script =
        "printf more >> README.md && mkdir new && printf x > new/file && rm src/main.c latest";
    let output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--apply", "auto", "--json", "--", "sh", "-c", script,
        ])?
        .expect_code(0)?;
    expect_eq(
        "outcome",
        &output.json()?["outcome"].as_str(),
        &Some("applied"),
    )?;
    expect_eq(
        "the workspace",
        &tree_text::dump(&workspace),
        &r##"
f README.md "# Sample\nmore"
x build.sh "#!/bin/sh\nexit 0\n"
d empty/
f new/file "x"
d src/
"##
        .trim_start()
        .to_owned(),
    )
}

fn exit_code(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--apply", "auto", "--json", "--", "sh", "-c", "exit 7",
        ])?
        .expect_code(7)?;
    expect_eq("exit_code", &output.json()?["exit_code"].as_i64(), &Some(7))
}
