//! `group`: chats with a folder, a home and a session each.

use std::fs;

use serde_json::Value;

use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::{Call, Ended};

scenarios! {
    any engine;
    "group/folders" => folders;
    "group/edits" => edits;
}

/// An agent that runs what the request says, and answers with what that printed.
const AGENT: &str = r#"
read -r line
script=${line#*\"run\":\"}
script=${script%%\"\}*}
printed=$(eval "$script" 2>&1 | tr '\n"\\' ';  ')
echo "---LAZARET_OUTPUT_START:$LAZARET_ASK_NONCE---"
echo "{\"said\":\"$printed\"}"
echo "---LAZARET_OUTPUT_END:$LAZARET_ASK_NONCE---"
"#;

/// A project with the folders of three groups.
pub(super) fn project(ctx: &Ctx, profile: &str) -> Result<(), String> {
    ctx.workspace(
        "bot",
        "f secret \"s\\n\"\nd groups\nd groups/a\nf groups/a/own \"a\\n\"\nd groups/b\n\
         f groups/b/own \"b\\n\"\nd groups/global\nf groups/global/memo \"m\\n\"\n",
    );
    let script = serde_json::to_string(AGENT).map_err(|error| error.to_string())?;
    let toml = format!("image = \"base\"\ncommand = [\"bash\", \"-c\", {script}]\n{profile}");
    ctx.profile("nova", &toml);
    ctx.ok(&[
        "group",
        "add",
        "boss",
        "--level",
        "main",
        "--profile",
        "nova",
        "--project",
        "bot",
    ])?;
    for (name, chat) in [("a", "a@g.us"), ("b", "b@g.us")] {
        let folder = format!("groups/{name}");
        ctx.ok(&[
            "group",
            "add",
            name,
            "--level",
            "member",
            "--profile",
            "nova",
            "--project",
            "bot",
            "--folder",
            &folder,
            "--shared",
            "groups/global",
            "--chat",
            chat,
        ])?;
    }
    Ok(())
}

/// Has a group run a script, and returns what that printed.
pub(super) fn said(ctx: &Ctx, group: &str, script: &str) -> Result<String, String> {
    let answer = asked(ctx, group, script)?.expect_code(0)?.json()?;
    Ok(answer["said"].as_str().unwrap_or_default().to_owned())
}

pub(super) fn asked(ctx: &Ctx, group: &str, script: &str) -> Result<Ended, String> {
    call(ctx, group, script)?.run()
}

/// Returns the call that has a group run a script.
pub(super) fn call(ctx: &Ctx, group: &str, script: &str) -> Result<Call, String> {
    let file = ctx.home().join(format!("{group}.json"));
    let request = format!("{{\"run\":\"{script}\"}}");
    fs::write(&file, request).map_err(|error| error.to_string())?;
    let read = format!("exec \"$@\" < '{}'", file.display());
    let shell = ["sh", "-c", &read, "sh"].map(str::to_owned).to_vec();
    Ok(ctx.call(&["ask", group]).behind(shell))
}

/// Removes the sessions of groups.
pub(super) fn end(ctx: &Ctx, groups: &[&str]) -> Result<(), String> {
    for group in groups {
        let session = format!("group-{group}");
        ctx.lazaret(&["stop", &session])?.output();
        ctx.ok(&["rm", "--force", &session])?;
    }
    Ok(())
}

fn folders(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    // A member has its folder, and reads what is shared.
    let seen = said(
        ctx,
        "a",
        "cd /workspace; find . -type f; cat $LAZARET_FOLDER/own; pwd",
    )?;
    let expected = "./groups/a/own;./groups/global/memo;a;/workspace;";
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.split(';').map(str::to_owned).collect();
        lines.sort();
        lines
    };
    expect_eq("what a sees", &sorted(&seen), &sorted(expected))?;
    let begun = said(ctx, "a", "pwd; echo $LAZARET_GROUP $LAZARET_SHARED")?;
    expect_eq(
        "where a begins",
        &begun.as_str(),
        &"/workspace/groups/a;a /workspace/groups/global;",
    )?;
    let denied = said(
        ctx,
        "a",
        "echo x > /workspace/groups/global/memo || echo no; echo x > /workspace/new || echo no; \
         mkdir /workspace/groups/b || echo no",
    )?;
    expect_eq("it writes nowhere else", &denied.matches("no;").count(), &3)?;
    // Main has everything; each has a home of its own, that stays.
    let seen = said(
        ctx,
        "boss",
        "cat /workspace/secret /workspace/groups/b/own; pwd",
    )?;
    expect_eq("what main sees", &seen.as_str(), &"s;b;/workspace;")?;
    said(ctx, "a", "echo mine > ~/note; echo new > own")?;
    expect_eq(
        "b has its own home",
        &said(ctx, "b", "ls ~/note || echo none")?.contains("none"),
        &true,
    )?;
    let stopped = ctx.lazaret(&["stop", "group-a"])?.output();
    expect("it stops", || [0, 120].contains(&stopped.code))?;
    expect_eq(
        "a finds its home again",
        &said(ctx, "a", "cat ~/note own")?.as_str(),
        &"mine;new;",
    )?;
    // What is taken into a member's copy is never more.
    ctx.lazaret(&["stop", "group-a"])?.output();
    for verb in [
        &[
            "run", "nova", "-w", "bot", "--name", "group-a", "--keep", "--", "true",
        ][..],
        &["start", "group-a", "--", "true"],
    ] {
        let refused = ctx.lazaret(verb)?.output();
        expect("it is refused", || refused.code == 1 || refused.code == 125)?;
        refused.expect_text("has the folder groups/a of its project alone")?;
    }
    // By the session's name it would lack what the group says.
    let by_name = asked(ctx, "group-a", "true")?.output();
    by_name.expect_text("is the session of group a")?;
    end(ctx, &["a", "b", "boss"])
}

fn edits(ctx: &Ctx) -> Result<(), String> {
    project(ctx, "")?;
    let file = ctx.config().join("groups.toml");
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    fs::write(&file, format!("# mine\n{text}")).map_err(|error| error.to_string())?;
    ctx.ok(&[
        "group",
        "set",
        "a",
        "--limit",
        "timeout=10m",
        "--chat",
        "c@g.us",
    ])?;
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    expect("the comment stays", || text.starts_with("# mine\n"))?;
    let shown = ctx.run_json("--json group show a")?;
    expect_eq(
        "its limit",
        &shown["limits"]["timeout"],
        &Value::from("10m"),
    )?;
    expect_eq("its chat", &shown["chats"][0], &Value::from("c@g.us"))?;
    let base = ["--level", "member", "--profile", "nova", "--project", "bot"];
    for (name, more, said) in [
        ("c", &["--folder", "groups/a/in"][..], "overlap"),
        ("c", &["--folder", "groups"], "overlap"),
        (
            "c",
            &["--folder", "groups/c", "--shared", "groups/b"],
            "overlaps",
        ),
        (
            "c",
            &["--folder", "groups/c", "--shared", "groups"],
            "overlaps",
        ),
        (
            "c",
            &["--folder", "groups/c", "--chat", "b@g.us"],
            "the same chat",
        ),
        ("c", &["--folder", "../c"], "no path in the project"),
        ("c", &["--folder", "groups/none"], "does not exist"),
        (
            "c",
            &["--folder", "groups/global", "--network", "open"],
            "overlaps",
        ),
        ("c", &[], "--folder is missing"),
        ("C", &["--folder", "groups/c"], "name of a group"),
        ("ack", &["--folder", "groups/c"], "name of a group"),
        ("base", &["--folder", "groups/c"], "name of a profile"),
        ("a", &["--folder", "groups/c"], "there is a group a already"),
    ] {
        let mut call = vec!["group", "add", name];
        call.extend(base);
        call.extend(more);
        let refused = ctx.lazaret(&call)?.output();
        expect(&format!("{more:?} is refused"), || refused.code != 0)?;
        refused.expect_text(said)?;
    }
    let refused = ctx.lazaret(&["group", "set", "a", "--network", "open"])?;
    refused
        .expect_code(125)?
        .expect_text("looser than the profile's")?;
    let after = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    expect_eq("nothing of it is written", &after, &text)?;
    let listed = ctx.run_json("--json group ls")?;
    expect_eq(
        "three are listed",
        &listed.as_array().map(Vec::len),
        &Some(3),
    )?;
    ctx.ok(&["group", "rm", "b"])?;
    asked(ctx, "b", "true")?
        .output()
        .expect_text("there is no profile")?;
    Ok(())
}
