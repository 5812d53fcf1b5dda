//! Homes that are kept: history stays, settings and programs are put back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "home/config-put-back" => config_put_back;
    "home/hostile" => hostile;
    "home/lent-credential-is-not-kept" => lent_credential;
}

const TREE: &str = "f settings.json \"mine\\n\"";

const PROFILE: &str = "image = \"base\"\n[home]\nkeep = \"session\"\n\
    seed = [\"~/.claude/settings.json\"]\nmemory = [\"~/.claude/CLAUDE.md\"]\n";

/// Writes a file of the user's.
fn own(ctx: &Ctx, path: &str, text: &str, mode: u32) -> Result<(), String> {
    let path = ctx.home().join(path);
    let write = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
    };
    write().map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the paths that wait for a review.
fn put_back(ctx: &Ctx) -> Result<BTreeSet<String>, String> {
    let review = ctx.run_json(&["--json", "home", "review", "s"])?;
    let all = review["put_back"].as_array().cloned().unwrap_or_default();
    let path = |one: &Value| one["path"].as_str().unwrap_or_default().to_owned();
    Ok(all.iter().map(path).collect())
}

fn config_put_back(ctx: &Ctx) -> Result<(), String> {
    own(ctx, ".claude/settings.json", "{\"model\": \"m\"}\n", 0o644)?;
    ctx.profile("kept", PROFILE);
    ctx.workspace("project", TREE);
    let run = "run kept -w project --name s";
    let plant = r#"
        cat ~/.claude/settings.json
        echo evil > ~/.claude/settings.json
        mkdir -p ~/.claude/hooks ~/.local/bin
        echo evil > ~/.claude/hooks/stop.sh
        echo '{"numStartups": 7, "mcpServers": {"evil": {"command": "sh"}}}' > ~/.claude.json
        printf '#!/bin/sh\necho the tool ran\n' > ~/.local/bin/tool
        chmod +x ~/.local/bin/tool
        echo evil > ~/.bashrc
        echo first turn > ~/.claude/history.jsonl
        echo remembered > ~/.claude/CLAUDE.md
    "#;
    let planted = ctx.exits(0, run, plant)?;
    planted.expect_text("{\"model\": \"m\"}")?;
    let look = r#"
        cat ~/.claude/settings.json ~/.claude/history.jsonl ~/.claude/CLAUDE.md
        grep -c numStartups ~/.claude.json
        grep -c mcpServers ~/.claude.json
        ls -A ~/.claude/hooks ~/.local/bin
        test -e ~/.bashrc && echo a bashrc
        ~/.local/bin/tool
        true
    "#;
    let second = ctx.exits(0, run, look)?;
    let seen = "{\"model\": \"m\"}\nfirst turn\nremembered\n1\n0\n";
    expect("what the second command finds", || {
        second.stdout.starts_with(seen)
    })?;
    let second = second.expect_text("put back in the home: 5 settings and programs")?;
    expect("no program and no start file", || {
        !second.stdout.contains("ran") && !second.stdout.contains("bashrc")
    })?;
    let expected = [
        ".bashrc",
        ".claude.json",
        ".claude/hooks/stop.sh",
        ".claude/settings.json",
        ".local/bin/tool",
    ];
    let expected: BTreeSet<String> = expected.map(str::to_owned).into();
    expect_eq("what waits for a review", &put_back(ctx)?, &expected)?;
    ctx.ok("home review s")?
        .expect_text("~/.local/bin/tool  added")?
        .expect_text("+echo the tool ran")?
        .expect_text("-{\"model\": \"m\"}")?
        .expect_text("\"mcpServers\"")?;
    ctx.ok("home ls")?.expect_text("kept")?;
    allowed(ctx, run)?;
    ctx.fails("home reset s")?.expect_text("without a yes")?;
    ctx.ok("home reset s --yes")?;
    let fresh = "cat ~/.claude/settings.json; ls -A ~ | wc -l";
    let fresh = ctx.exits(0, run, fresh)?;
    expect_eq("a fresh home", &&*fresh.stdout, &"{\"model\": \"m\"}\n1\n")?;
    ctx.ok("rm s").map(drop)
}

/// What is allowed stays, and no other content in its place.
fn allowed(ctx: &Ctx, run: &str) -> Result<(), String> {
    ctx.fails("home allow s ~/.local/bin/other")?
        .expect_text("nothing was put back at ~/.local/bin/other")?;
    ctx.ok("home allow s ~/.local/bin/tool")?;
    let change = "~/.local/bin/tool; echo 'echo another' >> ~/.local/bin/tool";
    for _ in 0..2 {
        let third = ctx.exits(0, run, change)?;
        expect_eq("the tool", &&*third.stdout, &"the tool ran\n")?;
    }
    expect("the other content waits for a review", || {
        put_back(ctx).is_ok_and(|paths| paths.contains(".local/bin/tool"))
    })
}

fn hostile(ctx: &Ctx) -> Result<(), String> {
    own(ctx, ".claude/settings.json", "{}\n", 0o644)?;
    ctx.profile("kept", PROFILE);
    ctx.workspace("project", TREE);
    let run = "run kept -w project --name s";
    let plant = r#"
        rm -rf ~/.claude && ln -s /workspace ~/.claude
        mkfifo ~/.bashrc
        ln -s /etc/passwd ~/.zshrc
        truncate -s 100M ~/.gitconfig
        mkdir -p ~/.profile/a && echo x > ~/.profile/a/b
        mkdir -p ~/.cargo/bin && touch ~/.cargo/bin/$(printf '\377')
        mkdir ~/.codex && echo 'model = "evil"' > ~/.codex/config.toml
        chmod 000 ~/.codex/config.toml ~/.codex
        mkdir ~/bin && for n in $(seq 3000); do echo > ~/bin/$n; done
        mkdir -p ~/.local/bin && cd ~/.local/bin && for n in $(seq 60); do mkdir d && cd d; done
        echo evil > ~/.lazaret-set-aside
        chmod 500 ~/.local
    "#;
    ctx.exits(0, run, plant)?;
    let look = r#"
        for path in .bashrc .zshrc .gitconfig .profile .codex/config.toml .cargo/bin bin .local/bin
        do test -e ~/$path -o -L ~/$path && echo left: $path; done
        cat ~/.claude/settings.json /workspace/settings.json
        ls -A ~/.lazaret-set-aside | wc -l
    "#;
    let second = ctx.exits(0, run, look)?;
    expect_eq("what is left", &&*second.stdout, &"{}\nmine\n5\n")?;
    let paths = put_back(ctx)?;
    for path in [
        ".bashrc",
        ".cargo/bin",
        ".claude",
        ".codex/config.toml",
        ".gitconfig",
        ".local/bin",
        ".profile",
        ".zshrc",
        "bin",
    ] {
        expect(&format!("{path} in {paths:?}"), || paths.contains(path))?;
    }
    ctx.ok("home review s")?
        .expect_text("it led to /etc/passwd")?;
    for path in ["~/.zshrc", "~/.gitconfig", "~/bin"] {
        ctx.fails(&["home", "allow", "s", path])?
            .expect_text("cannot allow")?;
    }
    let again = ctx.exits(0, run, "true")?;
    expect("nothing is put back twice", || {
        !again.stderr.contains("put back in the home")
    })?;
    ctx.ok("rm s").map(drop)
}

fn lent_credential(ctx: &Ctx) -> Result<(), String> {
    own(ctx, ".tool/login.json", "{\"token\": \"canary\"}\n", 0o600)?;
    let home = "image = \"base\"\nhome.keep = \"session\"\n";
    ctx.profile("plain", home);
    ctx.profile(
        "lent",
        &format!(
            "{home}[network]\nmode = \"allowlist\"\nallow = [\"login.test:443\"]\n\
             [files.tool-login]\nfrom = \"~/.tool/login.json\"\nto = \"~/.tool/login.json\"\n"
        ),
    );
    ctx.workspace("project", TREE);
    let has = "grep -c canary ~/.tool/login.json; ls -A ~/.tool; echo history >> ~/history";
    ctx.exits(0, "run lent -w project --name s", has)?
        .expect_text("1\nlogin.json\n")?;
    expect_eq("files that may still lie there", &lent(ctx)?, &0)?;
    ctx.ok("start lent -w project --name k --stay -- true")?;
    ctx.ok("wait k --for idle")?;
    ctx.kill_keeper("k")?;
    ctx.ok("recover k")?;
    for session in ["s", "k"] {
        let line = format!("run plain -w project --name {session}");
        let looks = "test -e ~/.tool/login.json && echo it has the login; cat ~/history; true";
        let second = ctx.exits(0, &line, looks)?;
        expect(&format!("no login in {}", second.stdout), || {
            !second.stdout.contains("login")
        })?;
    }
    // It is lent again, in place of one that the command left there.
    let change = "mkdir -p ~/.tool/login.json/a";
    ctx.exits(0, "run plain -w project --name s", change)?;
    ctx.exits(0, "run lent -w project --name s", has)?
        .expect_text("1\nlogin.json\n")?;
    ctx.ok("rm s")?;
    ctx.ok("rm k").map(drop)
}

/// How many lent files may still lie in the home of a session.
fn lent(ctx: &Ctx) -> Result<usize, String> {
    let path = ctx.state().join("sessions/s/home/state.json");
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let state: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(state["lent"].as_array().map_or(0, Vec::len))
}
