//! Volumes of a profile: `[[volumes]]`, `lazaret volume`, and what reaches which session.

use serde_json::json;

use crate::api;
use crate::ctx::{Ctx, expect_eq};

scenarios! {
    "volume/a-session-volume-is-kept" => kept;
    "volume/a-shared-volume-is-not-poisoned" => not_poisoned;
    "volume/a-fill-is-whole-or-nothing" => whole_or_nothing;
    "volume/a-filled-cache-builds-offline" => builds_offline;
}

const TREE: &str = "f a \"a\\n\"\n";

/// How many volumes of profiles there are: of sessions, copies, and shared ones.
fn volumes(ctx: &Ctx) -> Result<usize, String> {
    let is_of_profile = |object: &api::Object| {
        let name = object.to_string();
        matches!(object, api::Object::Volume { .. })
            && ["-v_", "-c_"].iter().any(|role| name.contains(role))
    };
    Ok(ctx
        .objects()?
        .iter()
        .filter(|object| is_of_profile(object))
        .count())
}

fn kept(ctx: &Ctx) -> Result<(), String> {
    ctx.profile(
        "tool",
        "image = \"base\"\nvolumes = [{ name = \"state\", target = \"/state\" }, \
         { name = \"tool\", target = \"/home/agent/.config/tool/x\" }]\n",
    );
    let workspace = ctx.workspace("project", TREE);
    ctx.workspace("other", TREE);
    // The parents of a volume in the home are the agent's, too.
    let first = "umask 077; echo one > /state/log; echo two > ~/.config/tool/x/log; \
        touch ~/.config/beside ~/.config/tool/beside; stat -c %u:%g /state ~/.config/tool/x";
    ctx.exits(0, "run tool -w project --name s --keep", first)?
        .expect_text("1000:1000\n1000:1000\n")?;
    ctx.tree_is(&workspace, TREE)?;
    let look = "cat /state/log ~/.config/tool/x/log; ls -A ~/.config";
    ctx.exits(0, "run tool -w project --name s", look)?
        .expect_text("one\ntwo\ntool\n")?;
    ctx.exits(
        0,
        "run tool -w other --name o",
        "ls -A /state ~/.config/tool/x",
    )?
    .expect_text("/state:\n")?;
    ctx.ok("rm o")?;
    ctx.ok("prune --yes")?;
    expect_eq("volumes", &volumes(ctx)?, &2)?;
    // A keeper that dies takes none along.
    ctx.exits(
        0,
        "start tool -w project --name s --keep --stay",
        "echo more >> /state/log",
    )?;
    ctx.ok("wait s --for idle")?;
    ctx.kill_keeper("s")?;
    ctx.ok("recover s")?;
    ctx.exits(0, "run tool -w project --name s", "cat /state/log")?
        .expect_text("one\nmore\n")?;
    ctx.ok("rm s")?;
    expect_eq("volumes", &volumes(ctx)?, &0)
}

/// A profile that has the shared volume `tools`.
fn profile(ctx: &Ctx, name: &str, access: &str) {
    let volume = format!(
        "{{ name = \"tools\", target = \"/tools\", scope = \"shared\", access = \"{access}\" }}"
    );
    ctx.profile(name, &format!("image = \"base\"\nvolumes = [{volume}]\n"));
}

fn fill(ctx: &Ctx, code: i32, script: &str) -> Result<(), String> {
    let line = "volume fill tools --from copies -w project";
    ctx.exits(code, line, script).map(drop)
}

/// Runs a script in a session of its own, and removes that.
fn once(ctx: &Ctx, profile: &str, script: &str) -> Result<String, String> {
    let ended = ctx.exits(0, &format!("run {profile} -w project --name once"), script)?;
    ctx.ok("rm once")?;
    Ok(ended.stdout)
}

/// A session may do to its copy what it likes, and nothing to what others see.
fn not_poisoned(ctx: &Ctx) -> Result<(), String> {
    profile(ctx, "copies", "copy");
    profile(ctx, "reads", "read-only");
    profile(ctx, "writes", "read-write");
    let workspace = ctx.workspace("project", TREE);
    ctx.exits(1, "run reads -w project", "true")?
        .expect_text("shared volume tools is empty")?;
    ctx.exits(125, "run writes -w project", "true")?
        .expect_text("no session may write to a shared volume")?;
    fill(
        ctx,
        0,
        "mkdir /tools/bin; echo good > /tools/bin/tool; echo b > a",
    )?;
    ctx.tree_is(&workspace, TREE)?;
    let listed = ctx.run_json("--json volume ls")?;
    let volume = &listed["volumes"][0];
    let said = [&volume["name"], &volume["profile"]];
    expect_eq("it is listed", &said, &[&json!("tools"), &json!("copies")])?;

    let plant = "echo evil > /tools/bin/tool; echo evil > /tools/bin/cc; mkdir /tools/evil; \
        ln -s /workspace /tools/way; cat /tools/bin/tool";
    let write = "for path in /tools/bin/tool /tools/planted; do \
        (echo evil > $path) 2> /dev/null || echo refused; done; \
        rm -r /tools/bin 2> /dev/null || echo refused; \
        mount -o remount,rw /tools 2> /dev/null || echo refused; cat /tools/bin/tool";
    expect_eq("a copy", &&*once(ctx, "copies", plant)?, &"evil\n")?;
    let refused = "refused\nrefused\nrefused\nrefused\ngood\n";
    expect_eq("the volume", &&*once(ctx, "reads", write)?, &refused)?;
    for profile in ["copies", "reads"] {
        let seen = once(ctx, profile, "cd /tools; find . | sort; cat bin/tool")?;
        expect_eq(profile, &&*seen, &".\n./bin\n./bin/tool\ngood\n")?;
    }
    // A kept session goes on with the copy that it changed.
    ctx.exits(0, "run copies -w project --name s --keep", plant)?;
    ctx.exits(
        0,
        "run copies -w project --name s --keep",
        "cat /tools/bin/cc",
    )?
    .expect_text("evil\n")?;
    expect_eq("volumes", &volumes(ctx)?, &2)?;
    ctx.ok("rm s")?;
    ctx.ok("volume rm tools")?;
    expect_eq("volumes", &volumes(ctx)?, &0)
}

fn whole_or_nothing(ctx: &Ctx) -> Result<(), String> {
    profile(ctx, "copies", "copy");
    profile(ctx, "reads", "read-only");
    ctx.workspace("project", TREE);
    fill(ctx, 0, "umask 077; echo one > /tools/one")?;
    fill(ctx, 3, "echo half > /tools/two; exit 3")?;
    let look = "cd /tools; ls; cat *";
    expect_eq("the first", &&*once(ctx, "reads", look)?, &"one\none\n")?;
    // A session that reads one keeps that until it ends.
    ctx.exits(0, "start reads -w project --name s --keep --stay", "true")?;
    ctx.ok("wait s --for idle")?;
    fill(ctx, 0, "cat /tools/one > /tools/two; rm /tools/one")?;
    ctx.ok("exec s -- cat /tools/one")?.expect_text("one\n")?;
    expect_eq("both", &&*once(ctx, "copies", look)?, &"two\none\n")?;
    expect_eq("volumes", &volumes(ctx)?, &2)?;
    ctx.ok("stop s")?;
    // What was replaced goes, what is shared stays.
    ctx.ok("prune --yes")?;
    expect_eq("volumes", &volumes(ctx)?, &1)?;
    ctx.exits(0, "start reads -w project --name s --keep --stay", "true")?;
    ctx.ok("wait s --for idle")?;
    ctx.fails("volume rm tools")?
        .expect_text("a session uses it")?;
    ctx.ok("stop s")?;
    ctx.ok("rm s")?;
    // A fill that is killed leaves what `recover` removes.
    let line = "volume fill tools --from copies -w project";
    let running = ctx
        .script(line, "echo half > /tools/half; touch /tmp/going; sleep 600")
        .start()?;
    crate::watch::wait_until("the command runs", || {
        Ok(ctx.asks(&["test", "-e", "/tmp/going"]).unwrap_or(false))
    })?;
    running.signal(rustix::process::Signal::KILL)?;
    drop(running.wait()?.output());
    ctx.ok("recover")?;
    let sessions = ctx.run_json("--json ls")?;
    expect_eq("sessions", &sessions.as_array().map_or(9, Vec::len), &1)?;
    let left = sessions[0]["session"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    ctx.ok(&["rm", "--force", "--no-capture", &left])?;
    ctx.ok("prune --yes")?;
    expect_eq("as before", &&*once(ctx, "reads", look)?, &"two\none\n")?;
    ctx.ok("volume rm tools")?;
    ctx.fails("volume rm tools")?
        .expect_text("no shared volume tools")
        .map(drop)
}

/// A program that needs what only the cache has.
const PROGRAM: &str = "f Makefile \"include $(CARGO_HOME)/registry/leaf.mk\\nall:\\n\\t@echo the answer is $(LEAF)\\n\"\n";

fn builds_offline(ctx: &Ctx) -> Result<(), String> {
    ctx.profile(
        "online",
        "image = \"base\"\nvolumes = [{ cache = \"cargo\", scope = \"shared\" }]\n",
    );
    ctx.profile("bare", "image = \"base\"\n");
    let workspace = ctx.workspace("project", PROGRAM);
    // A profile needs no such volume for its image and network to fill one.
    let fetch = "mkdir $CARGO_HOME/registry; echo LEAF = 42 > $CARGO_HOME/registry/leaf.mk";
    ctx.exits(0, "volume fill cargo --from bare -w project", fetch)?;
    ctx.tree_is(&workspace, PROGRAM)?;
    let bare = "run bare -w project --name bare";
    ctx.exits(2, bare, "CARGO_HOME=/caches/cargo make")?;
    ctx.exits(0, "run online -w project --name s", "make")?
        .expect_text("the answer is 42")?;
    ctx.ok("rm s bare")?;
    ctx.ok("volume rm cargo").map(drop)
}
