//! What the command finds inside, seen from inside.

use serde_json::json;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "isolation/who-and-where" => who;
    "isolation/network" => network;
    "isolation/root-file-system" => root;
    "isolation/mounts-and-devices" => mounts;
    "isolation/environment" => environment;
    "isolation/the-workspace-alone" => alone;
    "isolation/the-workspace-and-what-is-shared" => shared;
    "isolation/the-whole-project" => whole;
    "isolation/command-not-found" => not_found;
}

const TREE: &str = "f a \"a\\n\"\nx dir/b \"b\\n\"";

/// `no CMD…` ends the script unless the command fails: `set -e` never minds a line that
/// begins with `!`.
const NO: &str = r#"no() { if "$@" 2>/dev/null; then echo "not refused: $*" >&2; exit 9; fi; }"#;

/// Runs a script whose every line must succeed.
fn holds(ctx: &Ctx, script: &str) -> Result<String, String> {
    ctx.workspace("project", TREE);
    let script = format!("set -eux\n{NO}\n{script}");
    let output = ctx.exits(0, "run base -w project --apply auto", &script)?;
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
        no getent hosts example.org
        no timeout 5 bash -c 'exec 3<>/dev/tcp/1.1.1.1/80'
    "#;
    holds(ctx, script).map(drop)
}

fn root(ctx: &Ctx) -> Result<(), String> {
    let script = r#"
        no touch /x
        no touch /etc/x
        no touch /usr/bin/x
        no touch /lazaret/x
        no mount -t tmpfs none /mnt
        no unshare -U true
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
        no mknod /tmp/n c 1 3
        no cat /proc/kcore
        test ! -e /sys/firmware/efi/efivars || test -z "$(ls /sys/firmware)"
    "#;
    holds(ctx, script).map(drop)
}

fn environment(ctx: &Ctx) -> Result<(), String> {
    ctx.workspace("project", TREE);
    let output = ctx
        .call("run base -w project -e GIVEN=a=b,c -- env")
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
    ctx.lazaret("run base -w project -- no-such-program")?
        .expect_code(127)?;
    ctx.lazaret("run base -w project -- /workspace/a")?
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
        test ! -e ../AGENTS.md
        if grep -rq canary / --include=secret 2>/dev/null; then exit 9; fi; echo n > new";
    ctx.exits(0, "run base -w project/groups/one --apply auto", script)?;
    expect("its file is there", || {
        project.join("groups/one/new").exists()
    })
}

/// What the project shares can be read, and around it nothing can be made; the rest of the
/// project is not there.
fn shared(ctx: &Ctx) -> Result<(), String> {
    let project = ctx.workspace("project", PROJECT);
    let write = |name: &str, text: &str| {
        std::fs::write(project.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    write(
        "lazaret.toml",
        "[workspace]\nshare = [\"AGENTS.md\", \"docs/\"]\n",
    )?;
    // The workspace's own file widens nothing.
    write(
        "groups/one/lazaret.toml",
        "[workspace]\nshare = [\"groups/two\"]\n",
    )?;
    let run = |more: &[&str], script: &str| {
        let start = ["run", "base", "-w", "project/groups/one", "--json"];
        ctx.lazaret(&[&start, more, &["--", "sh", "-c", script]].concat())
    };
    let script = format!(
        "set -eu; {NO}
        test \"$(pwd)\" = /workspace/groups/one
        test \"$(ls -A /workspace | tr '\\n' ' ')\" = 'AGENTS.md docs groups '
        test \"$(ls -A /workspace/groups)\" = one
        no grep -rq canary / --include=secret
        grep -q kind ../../AGENTS.md; grep -q g ../../docs/guide
        for file in ../../AGENTS.md ../../docs/guide; do
            no sh -c \"echo x >> $file\"; no rm -f $file; no mv $file $file.away; no mv mine $file
        done
        for made in ../../new ../new ../two ../../docs/new; do no touch $made; no mkdir $made; done
        no mv ../../groups ../../away; no mv ../one ../else; no chmod 777 ../..
        echo n > new; mkdir deep; mv mine deep/mine"
    );
    let keep = ["--name", "s", "--keep", "--apply", "auto"];
    let report = run(&keep, &script)?.expect_code(0)?.json()?;
    expect_eq(
        "changes of the folder alone, named from the project's root",
        &report["changes"],
        &json!({ "added": ["groups/one/deep", "groups/one/deep/mine", "groups/one/new"],
            "modified": [], "deleted": ["groups/one/mine"] }),
    )?;
    expect("they are there", || {
        project.join("groups/one/deep/mine").exists()
    })?;
    write("AGENTS.md", "be kinder\n")?;
    write("groups/two/secret", "canary, changed\n")?;
    ctx.ok("sync s")?;
    let script = "grep -q kinder ../../AGENTS.md && ! rm -f ../../AGENTS.md && ! ls ../two";
    run(&keep, script)?.expect_code(0)?;
    ctx.ok("rm --force s")?;
    // What leads out of the project, or to what is not shared, is refused.
    for target in ["../../etc/passwd", "groups/two/secret"] {
        let linked = project.join("docs/link");
        let made = std::os::unix::fs::symlink(target, &linked);
        made.map_err(|error| error.to_string())?;
        run(&[], "true")?
            .expect_code(1)?
            .expect_text("which is not protected")?;
        std::fs::remove_file(&linked).map_err(|error| error.to_string())?;
    }
    Ok(())
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
    let script = format!(
        "set -eu; {NO}
        test \"$(pwd)\" = /workspace/groups/one; test -e mine
        grep -q kind ../../AGENTS.md; no sh -c 'echo x > ../../AGENTS.md'; no rm -r ../two
        no touch ../two/new; no mv ../../groups ../../away; echo n > new
        echo g2 > ../../docs/guide"
    );
    let keep = ["--name", "s", "--keep", "--apply", "auto"];
    let report = run(&keep, &script)?.expect_code(0)?.json()?;
    expect_eq(
        "changes are named from the project's root",
        &report["changes"],
        &json!({ "added": ["groups/one/new"], "modified": ["docs/guide"], "deleted": [] }),
    )?;
    expect("they are there", || project.join("groups/one/new").exists())?;
    let edited = std::fs::write(project.join("groups/two/secret"), "changed\n");
    edited.map_err(|error| error.to_string())?;
    run(&keep, "grep -q changed ../two/secret")?.expect_code(0)?;
    ctx.ok("rm --force s")?;
    let ignored = std::fs::write(project.join(".lazaretignore"), "/groups/one/\n");
    ignored.map_err(|error| error.to_string())?;
    run(&[], "true")?
        .expect_code(1)?
        .expect_text("groups/one is left out of what goes in")?;
    Ok(())
}
