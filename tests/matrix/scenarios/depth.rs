//! Volumes that are deeper than any engine removes (CON-28).

use rustix::process::Signal;

use crate::api::{self, Object};
use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "limits/volume-of-any-depth" => |ctx| con_28_removed(ctx, discarded);
    "limits/volume-of-any-depth-after-a-run" => |ctx| con_28_removed(ctx, settled);
    "limits/volume-of-any-depth-by-rm" => |ctx| con_28_removed(ctx, killed);
    "limits/volume-of-any-depth-by-prune" => |ctx| con_28_removed(ctx, orphaned);
}

/// Nests 30,000 directories in `$1`, more than an engine has descriptors; one of them can't be
/// entered, one is sticky.
const NEST: &str = r#"
    my ($top) = @ARGV;
    chdir $top or die "chdir: $!";
    for my $level (1 .. 30000) {
        mkdir "d" or die "mkdir $level: $!";
        chdir "d" or die "chdir $level: $!";
        open my $file, ">", "f" or die "open $level: $!" if $level % 1000 == 0;
        chmod 01777, "." if $level == 100;
        if ($level == 20000) { mkdir "closed"; mkdir "closed/in"; chmod 0, "closed" }
    }
    print "nested\n";
"#;

/// A shell command that nests directories in `dir`, which is made by `make`.
fn script(make: &str, dir: &str) -> String {
    format!("{make}; perl -e '{NEST}' {dir} && sync")
}

/// Runs a scenario, and removes what is left of its volumes if it fails: no engine can.
fn con_28_removed(ctx: &Ctx, scenario: fn(&Ctx) -> Result<(), String>) -> Result<(), String> {
    ctx.workspace("project", "f a \"a\\n\"");
    let socket = ctx.engine().socket();
    let outcome = scenario(ctx);
    for object in ctx.objects()? {
        if let Object::Volume { name } = &object {
            let place = api::mountpoint(&socket, name)?;
            let emptied = duct::cmd!("find", place, "-mindepth", "1", "-delete").run();
            emptied.map_err(|error| format!("empty {object}: {error}"))?;
        }
    }
    outcome?;
    expect("the engine still answers", || api::answers(&socket))
}

fn nothing_left(ctx: &Ctx) -> Result<(), String> {
    expect_eq("what is on the engine", &ctx.objects()?, &Vec::new())
}

/// The survey sees that the tree is too deep; the change is held back, and then discarded.
fn discarded(ctx: &Ctx) -> Result<(), String> {
    let script = script("echo b > a; mkdir deep", "deep");
    let arguments = ["run", "base", "-w", "project", "--name", "s"];
    let rest = ["--apply", "never", "--json", "--", "sh", "-c", &script];
    let ran = ctx.lazaret(&[&arguments[..], &rest].concat())?;
    let report = ran.json()?;
    let findings = report["findings"].to_string();
    expect("the depth is a finding", || findings.contains("path."))?;
    ctx.ok("discard s --yes")?;
    nothing_left(ctx)
}

/// No survey looks into a cache: the run ends well, and its volume goes.
fn settled(ctx: &Ctx) -> Result<(), String> {
    let tag = "Signature: 8a477f597d28d172789f06886806bc55";
    let make = format!("echo b > a; mkdir cache; echo \"{tag}\" > cache/CACHEDIR.TAG");
    let script = script(&make, "cache");
    let arguments = ["run", "base", "-w", "project", "--apply", "auto"];
    ctx.lazaret(&[&arguments[..], &["--", "sh", "-c", &script]].concat())?
        .expect_code(0)?;
    nothing_left(ctx)
}

/// Leaves a session behind whose launcher was killed.
fn leave(ctx: &Ctx) -> Result<(), String> {
    let script = format!("{}; sleep 600", script("mkdir deep", "deep"));
    let lazaret = ctx
        .script("run base -w project --name s", &script)
        .start()?;
    lazaret.until_said("nested")?;
    lazaret.signal_keeper(Signal::KILL)?;
    lazaret.ends()?;
    Ok(())
}

fn killed(ctx: &Ctx) -> Result<(), String> {
    leave(ctx)?;
    ctx.ok("rm --force s")?;
    nothing_left(ctx)
}

/// The session's directory is gone: what it had on the engine belongs to none.
fn orphaned(ctx: &Ctx) -> Result<(), String> {
    leave(ctx)?;
    let session = ctx.state().join("sessions/s");
    std::fs::remove_dir_all(session).map_err(|error| error.to_string())?;
    ctx.ok("prune --yes --older-than 0s")?;
    nothing_left(ctx)
}
