//! A login that no broker can serve: lent, renewed inside, kept by lazaret alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::agent::{outside, search};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::watch::wait_until;

scenarios! {
    "login/is-lent-and-renewed" => net_17_net_20_net_22_a_login_is_lent;
}

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(120);

const PROFILE: &str = "image = \"base\"\n[network]\nmode = \"allowlist\"\n\
    allow = [\"login.test:443\"]\n[files.tool-login]\nfrom = \"~/.tool/login.json\"\n\
    to = \"~/.tool/login.json\"\n";

fn canary(ctx: &Ctx, which: &str) -> String {
    format!("canary-{which}-{}-0123456789", ctx.engine())
}

fn log_in(ctx: &Ctx, token: &str) -> Result<(), String> {
    let path = ctx.home().join(".tool/login.json");
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(&path, format!("{{\"refreshToken\":\"{token}\"}}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
    };
    write().map_err(|error| format!("the login: {error}"))
}

fn net_17_net_20_net_22_a_login_is_lent(ctx: &Ctx) -> Result<(), String> {
    let (first, second) = (canary(ctx, "first"), canary(ctx, "second"));
    log_in(ctx, &first)?;
    ctx.profile("lent", PROFILE);
    let project = ctx.workspace("project", "f a \"a\\n\"");
    // No token stands here: what is run is in the engine's books.
    let script = r#"
        cd ~/.tool; stat -c 'it has %a %u %F' login.json
        grep -c 'canary-fi[r]st' login.json; cat login.json
        grep -rlsI 'canary-fi[r]st' /workspace /egress /etc /run /tmp | sed 's/^/leak /'
        tr '\0' '\n' < /proc/self/environ | grep -c 'canary-fi[r]st' | sed 's/^/environ /'
        echo ready
        until test -e /workspace/go; do sleep 0.1; done
        sed 's/canary-first/canary-'sec''ond'/' login.json > new && mv new login.json
        until test -e /tmp/end; do sleep 0.1; done; cat login.json; echo over
    "#;
    let running = ctx
        .script("run lent -w project --name one -- bash -c", script)
        .start()?;
    running.wait_until("it has its login", LIMIT, || {
        running.stdout_so_far().contains("ready")
    })?;
    let leaks = outside(&ctx.engine().socket(), &ctx.state(), &first)?;
    expect_eq("where the login is outside", &leaks, &[""; 0])?;
    ctx.ok("run lent -w project --name two -- true")?
        .expect_text("session one uses the login tool-login as well")?;
    fs::write(project.join("go"), "").map_err(|error| error.to_string())?;
    ctx.ok("sync one")?;
    renewed(ctx, &second)?;
    ctx.tell("end")?;
    let output = running.wait()?.expect_code(0)?;
    let said = &output.stdout;
    for wanted in ["it has 400 1000 regular file", "\n1\n", "environ 0", "over"] {
        expect(&format!("{wanted:?} in {said}"), || said.contains(wanted))?;
    }
    expect_eq(
        "logins that were shown",
        &said
            .matches("{\"refreshToken\":\"[secret tool-login]\"}")
            .count(),
        &2,
    )?;
    expect(&format!("a leak: {said}"), || {
        !said.contains("leak") && !said.contains("canary")
    })?;
    let output = output.expect_text("the login tool-login was renewed inside")?;
    expect("no token in what was said", || {
        !output.stderr.contains("canary")
    })?;
    kept_by_lazaret_alone(ctx, &first, &second)?;
    lent_again(ctx, "second")?;
    log_in(ctx, &canary(ctx, "third"))?;
    lent_again(ctx, "third")?;
    renewed_in_a_setup_step(ctx)
}

/// A step that renews it and prints it: its log, and the command's output, have no token.
fn renewed_in_a_setup_step(ctx: &Ctx) -> Result<(), String> {
    let step = "sed 's/canary-third/canary-'fo''urth'/' ~/.tool/login.json > ~/new; \
                mv ~/new ~/.tool/login.json; until test -e /tmp/shown; do sleep 0.1; done; \
                cat ~/.tool/login.json";
    let step = serde_json::to_string(step).map_err(|error| error.to_string())?;
    let setup = format!("[[setup]]\nrun = [\"sh\", \"-c\", {step}]\n");
    ctx.profile("lent", &format!("{PROFILE}{setup}"));
    let run = "run lent -w project --name step --keep -- cat /home/agent/.tool/login.json";
    let running = ctx.call(run).start()?;
    renewed(ctx, &canary(ctx, "fourth"))?;
    ctx.tell("shown")?;
    let ended = running.wait()?.output();
    let logged = ctx.ok("logs step --setup 1")?;
    for told in [ended.stdout, logged.stdout] {
        let scrubbed = "{\"refreshToken\":\"[secret tool-login]\"}\n";
        expect_eq("what is shown", &told.as_str(), &scrubbed)?;
    }
    ctx.ok("rm step --force").map(drop)
}

/// Waits until lazaret has kept a login that was renewed inside.
fn renewed(ctx: &Ctx, login: &str) -> Result<(), String> {
    wait_until("the renewed login is kept", || {
        let mut found = Vec::new();
        search(&ctx.state(), login, &mut found)?;
        Ok(!found.is_empty())
    })
}

/// The user's own file is as it was, and the renewed one is in one place.
fn kept_by_lazaret_alone(ctx: &Ctx, first: &str, second: &str) -> Result<(), String> {
    let own = fs::read_to_string(ctx.home().join(".tool/login.json"));
    expect("the user's own is as it was", || {
        own.is_ok_and(|own| own.contains(first))
    })?;
    let mut found = Vec::new();
    search(&ctx.state(), first, &mut found)?;
    expect_eq(
        "files with the first login",
        &found,
        &Vec::<std::path::PathBuf>::new(),
    )?;
    search(&ctx.state(), second, &mut found)?;
    let [renewed] = &found[..] else {
        return Err(format!("the second login is in {found:?}"));
    };
    let mode = fs::metadata(renewed).map_err(|error| error.to_string())?;
    expect_eq("its mode", &(mode.permissions().mode() & 0o777), &0o600)
}

fn lent_again(ctx: &Ctx, which: &str) -> Result<(), String> {
    let script = "sed -n 's/.*canary-\\([a-z]*\\).*/it is the \\1/p' ~/.tool/login.json";
    ctx.lazaret(&[
        "run", "lent", "-w", "project", "--name", which, "--", "sh", "-c", script,
    ])?
    .expect_code(0)?
    .expect_text(&format!("it is the {which}"))?;
    Ok(())
}
