//! What the command finds inside, seen from inside.

use serde_json::json;

use super::Scenario;
use crate::ctx::{Ctx, expect, expect_eq};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "isolation/who-and-where",
        run: who,
    },
    Scenario {
        name: "isolation/network",
        run: network,
    },
    Scenario {
        name: "isolation/root-file-system",
        run: root,
    },
    Scenario {
        name: "isolation/mounts-and-devices",
        run: mounts,
    },
    Scenario {
        name: "isolation/environment",
        run: environment,
    },
    Scenario {
        name: "isolation/the-workspace-alone",
        run: alone,
    },
    Scenario {
        name: "isolation/the-whole-project",
        run: whole,
    },
    Scenario {
        name: "isolation/command-not-found",
        run: not_found,
    },
];

const TREE: &str = "f a \"a\\n\"\nx dir/b \"b\\n\"";

/// Runs a script whose every line must succeed.
fn holds(ctx: &Ctx, script: &str) -> Result<String, String> {
    ctx.workspace("project", TREE);
    let script = format!("set -eux\n{script}");
    let output = ctx
        .lazaret(&[
            "run", "base", "-w", "project", "--apply", "auto", "--", "sh", "-c", &script,
        ])?
        .expect_code(0)?;
    Ok(output.stdout)
}

fn who(ctx: &Ctx) -> Result<(), String> {
    let script = r#"
        test "$(id -u):$(id -g)" = 1000:1000
        test "$(pwd)" = /workspace
        test "$(stat -c %u:%g a dir dir/b | sort -u)" = 1000:1000
        test "$(stat -c %a a)" = 644
        test "$(stat -c %a dir)" = 755
        test "$(stat -c %a dir/b)" = 755
        grep -q 'NoNewPrivs:.1' /proc/self/status
        grep -q 'CapEff:.0000000000000000' /proc/self/status
        grep -q 'CapBnd:.0000000000000000' /proc/self/status
        grep -q 'Seccomp:.2' /proc/self/status
        test "$(ulimit -c)" = 0
    "#;
    holds(ctx, script).map(drop)
}

fn network(ctx: &Ctx) -> Result<(), String> {
    let script = r#"
        test "$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')" = lo
        test "$(wc -l < /proc/net/route)" -le 1
        ! getent hosts example.org
        ! (exec 3<>/dev/tcp/1.1.1.1/80) 2>/dev/null
    "#;
    holds(ctx, script).map(drop)
}

fn root(ctx: &Ctx) -> Result<(), String> {
    let script = r#"
        ! touch /x
        ! touch /etc/x
        ! touch /usr/bin/x
        ! touch /lazaret/x
        ! mount -t tmpfs none /mnt
        ! unshare -U true
        touch /tmp/x "$HOME/x" /dev/shm/x
        test -z "$(find / -xdev -perm /6000 -type f)"
    "#;
    holds(ctx, script).map(drop)
}

fn mounts(ctx: &Ctx) -> Result<(), String> {
    let script = r#"
        test -z "$(find / -name '*.sock' -xdev 2>/dev/null)"
        test ! -e /dev/kvm
        test ! -e /dev/fuse
        ! mknod /tmp/n c 1 3
        ! cat /proc/kcore
        test ! -e /sys/firmware/efi/efivars || test -z "$(ls /sys/firmware)"
    "#;
    holds(ctx, script).map(drop)
}

fn environment(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let output = ctx
        .call(&[
            "run",
            "base",
            "-w",
            "project",
            "-e",
            "GIVEN=a=b,c",
            "--",
            "env",
        ])
        .env("SSH_AUTH_SOCK", "/canary")
        .env("API_TOKEN", "canary")
        .run()?
        .expect_code(0)?
        .expect_text("GIVEN=a=b,c")?
        .expect_text("LAZARET=1")?;
    let text = output.stdout;
    expect("nothing of the user's environment", || {
        !text.contains("canary")
    })
}

fn not_found(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let _missing = ctx
        .lazaret(&["run", "base", "-w", "project", "--", "no-such-program"])?
        .expect_code(127)?;
    let _denied = ctx
        .lazaret(&["run", "base", "-w", "project", "--", "/workspace/a"])?
        .expect_code(126)?;
    Ok(())
}

const PROJECT: &str = "
    f AGENTS.md \"be kind\\n\"
    f docs/guide \"g\\n\"
    f groups/one/mine \"m\\n\"
    f groups/two/secret \"canary\\n\"
    d .git
";

/// What lies beside a workspace or above it is not there.
fn alone(ctx: &Ctx) -> Result<(), String> {
    let project = ctx.workspace("project", PROJECT);
    let script = "set -eu; test \"$(pwd)\" = /workspace; test \"$(ls -A)\" = mine
        test ! -e ../AGENTS.md; ! grep -rq canary / --include=secret 2>/dev/null; echo n > new";
    let _ran = ctx
        .lazaret(&[
            "run",
            "base",
            "-w",
            "project/groups/one",
            "--apply",
            "auto",
            "--",
            "sh",
            "-c",
            script,
        ])?
        .expect_code(0)?;
    expect("its file is there", || {
        project.join("groups/one/new").exists()
    })
}

/// With the project, the command starts in its folder and reaches everything.
fn whole(ctx: &Ctx) -> Result<(), String> {
    let project = ctx.workspace("project", PROJECT);
    let text = "image = \"base\"\n[workspace]\ngit = \"none\"\nisolation = \"project\"\n\
        protect = [\"AGENTS.md\", \"groups/two\"]\n";
    ctx.profile("whole", text);
    let run = |more: &[&str], script: &str| {
        let start = ["run", "whole", "-w", "project/groups/one", "--json"];
        ctx.lazaret(&[&start, more, &["--", "sh", "-c", script]].concat())
    };
    let script = "set -eu; test \"$(pwd)\" = /workspace/groups/one; test -e mine
        grep -q kind ../../AGENTS.md; ! sh -c 'echo x > ../../AGENTS.md'; ! rm -r ../two
        ! touch ../two/new; ! mv ../../groups ../../away; echo n > new; echo g2 > ../../docs/guide";
    let keep = ["--name", "s", "--keep", "--apply", "auto"];
    let report = run(&keep, script)?.expect_code(0)?.json()?;
    expect_eq(
        "changes are named from the project's root",
        &report["changes"],
        &json!({ "added": ["groups/one/new"], "modified": ["docs/guide"], "deleted": [] }),
    )?;
    expect("they are there", || project.join("groups/one/new").exists())?;
    let edited = std::fs::write(project.join("groups/two/secret"), "changed\n");
    edited.map_err(|error| error.to_string())?;
    let _second = run(&keep, "grep -q changed ../two/secret")?.expect_code(0)?;
    let _gone = ctx.lazaret(&["rm", "--force", "s"])?.expect_code(0)?;
    let ignored = std::fs::write(project.join(".lazaretignore"), "/groups/one/\n");
    ignored.map_err(|error| error.to_string())?;
    let _left_out = run(&[], "true")?
        .expect_code(1)?
        .expect_text("groups/one is left out of what goes in")?;
    Ok(())
}
