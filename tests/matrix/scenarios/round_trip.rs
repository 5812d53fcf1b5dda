//! In, changed by a command, and back.

use lazaret_tests::tree_text;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "round-trip/nothing-changes" => nothing_changes;
    "round-trip/edit-add-delete" => edit_add_delete;
    "round-trip/exit-code-of-the-command" => exit_code;
    "round-trip/names" => names;
    "round-trip/names-that-stay-out" => names_that_stay_out;
    "round-trip/modes-links-empty-directories" => modes_links_empty_directories;
}

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
    let output = ctx.ok("run base -w project --apply auto --json -- true")?;
    expect_eq("outcome", &output.json()?["outcome"], "nothing")?;
    ctx.tree_is(&workspace, &before)
}

fn edit_add_delete(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace("project", TREE);
    let script =
        "printf more >> README.md && mkdir new && printf x > new/file && rm src/main.c latest";
    let output = ctx.exits(0, "run base -w project --apply auto --json", script)?;
    expect_eq("outcome", &output.json()?["outcome"], "applied")?;
    ctx.tree_is(
        &workspace,
        r##"
f README.md "# Sample\nmore"
x build.sh "#!/bin/sh\nexit 0\n"
d empty/
f new/file "x"
d src/
"##
        .trim_start(),
    )
}

fn exit_code(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let output = ctx.exits(7, "run base -w project --apply auto --json", "exit 7")?;
    expect_eq("exit_code", &output.json()?["exit_code"].as_i64(), &Some(7))
}

/// A change that holds a warning: kept, and applied after a yes.
fn kept_then_applied(ctx: &Ctx, script: &str) -> Result<(), String> {
    ctx.exits(120, "run base -w project --name s --apply auto", script)?;
    ctx.ok("apply s --yes")?;
    Ok(())
}

/// Whatever a name may be made of goes in, is changed, and comes back under the same name.
fn names(ctx: &Ctx) -> Result<(), String> {
    let names = [
        "plain",
        "with space",
        "  two before, two after  ",
        "it's \\\"quoted\\\"",
        "-rf",
        "--help",
        "$(touch x)`touch y`",
        "*?[a]",
        "#hash!",
        "\u{fc}ml\u{e4}ut",
        "\u{65e5}\u{672c}\u{8a9e}",
        "\u{1f980}",
        "e\u{301} decomposed",
        ".hidden",
        "...",
        "a=b,c;d&e|f",
        "%41",
        "~",
    ];
    let long = "l".repeat(255);
    let mut before = String::new();
    let mut after = String::new();
    for name in names.iter().copied().chain([long.as_str()]) {
        before.push_str(&format!("f \"dir/{name}\" \"1\"\n"));
        after.push_str(&format!(
            "f \"dir/{name}\" \"1x\"\nf \"new/{name}\" \"1\"\n"
        ));
    }
    let workspace = ctx.workspace("project", &before);
    let expected = ctx.workspace("expected", &after);
    // Some of them mean trouble elsewhere, which a person is to see first.
    kept_then_applied(
        ctx,
        "cp -r dir new; cd dir; for f in * .[!.]* ...; do printf x >> \"./$f\"; done",
    )?;
    ctx.tree_is(&workspace, &tree_text::dump(&expected))
}

/// Names that are no text or would steer a terminal stay out, are named, and are still
/// there when everything around them has changed.
fn names_that_stay_out(ctx: &Ctx) -> Result<(), String> {
    let odd = "f \"dir/bad\\xff\\xfe\" \"1\"\nf \"dir/clear\\e[2Jed\" \"2\"\nf \"dir/two\\nlines\" \"3\"\nf \"dir\\x07/in it\" \"4\"\n";
    let workspace = ctx.workspace("project", &format!("f dir/a \"a\"\n{odd}"));
    let expected = ctx.workspace("expected", &format!("f dir/b \"b\"\n{odd}"));
    let script = "test \"$(find . -mindepth 1 | sort | tr '\\n' ' ')\" = './dir ./dir/a ' && rm dir/a && printf b > dir/b";
    let output = ctx.exits(0, "run base -w project --apply auto", script)?;
    for name in ["bad", "clear", "two", "dir"] {
        let is_named = |line: &str| line.contains("left out") && line.contains(name);
        expect(&format!("{name} is named: {}", output.stderr), || {
            output.stderr.lines().any(is_named)
        })?;
    }
    expect("nothing steers the terminal", || {
        !output.stderr.contains(['\u{1b}', '\u{7}'])
    })?;
    ctx.tree_is(&workspace, &tree_text::dump(&expected))
}

/// Every kind of entry becomes every other kind, and what is not touched keeps its mode.
fn modes_links_empty_directories(ctx: &Ctx) -> Result<(), String> {
    let workspace = ctx.workspace(
        "project",
        r##"
        f same "1"
        m 440 same
        x tool "1"
        m 700 tool
        f plain "1"
        f private "1"
        m 600 private
        l kept -> same
        l moved -> same
        l dangling -> nowhere
        d empty
        d full/inner
        f file-to-dir "1"
        f dir-to-file/x "1"
        f file-to-link "1"
        l link-to-file -> same
        l link-to-dir -> full
        "##,
    );
    let script = "
        chmod -x tool; chmod +x plain; printf 2 >> private
        ln -sfn plain moved; rm dangling; ln -s still/nowhere dangling
        rmdir empty; mkdir -p new/empty; printf 1 > full/inner/f
        rm file-to-dir; mkdir file-to-dir; printf 2 > file-to-dir/f
        rm -r dir-to-file; printf 2 > dir-to-file
        rm file-to-link; ln -s tool file-to-link
        rm link-to-file; printf 2 > link-to-file
        rm link-to-dir; mkdir link-to-dir; ln -s ../same link-to-dir/up";
    kept_then_applied(ctx, script)?;
    ctx.tree_is(
        &workspace,
        r##"
l dangling -> still/nowhere
f dir-to-file "2"
f file-to-dir/f "2"
l file-to-link -> tool
f full/inner/f "1"
l kept -> same
l link-to-dir/up -> ../same
f link-to-file "2"
l moved -> plain
d new/empty/
x plain "1"
f private "12"
f same "1"
m 440 same
f tool "1"
"##
        .trim_start(),
    )?;
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = std::fs::metadata(workspace.join(name));
        metadata.map_or(0, |metadata| metadata.permissions().mode() & 0o7777)
    };
    expect_eq("a file that others may not read", &mode("private"), &0o600)
}
