//! Stores through a shared mapping: the one change that need not move a file's times.

use std::fs;
use std::path::Path;

use crate::ctx::{Ctx, expect, expect_eq};

scenarios! {
    "live/stores-into-a-mapping-are-seen" => stores;
}

/// Stores `a`, then after each file that appears the next letter, all into one mapping.
const STORES: &str = "import mmap, os, time
open('m', 'wb').write(b'.\\n')
m = mmap.mmap(os.open('m', os.O_RDWR), 2)
m[0:1] = b'a'
print('a', flush=True)
for word, letter in (('first', b'b'), ('second', b'c')):
    while not os.path.exists(word): time.sleep(0.02)
    m[0:1] = letter
    print(letter.decode(), flush=True)
";

/// Stores into a mapping of its own.
const AGAIN: &str = "import mmap, os
m = mmap.mmap(os.open('m', os.O_RDWR), 2)
m[0:1] = b'd'
";

fn arguments(script: &str) -> [&str; 13] {
    [
        "run", "python", "-w", "project", "--name", "s", "--keep", "--apply", "auto", "--",
        "python3", "-c", script,
    ]
}

fn shows(ctx: &Ctx, letter: &str) -> Result<(), String> {
    let shown = ctx.ok("diff s")?;
    expect(&format!("{letter} is seen"), || {
        shown.stdout.contains(&format!("+{letter}\n"))
    })
}

fn send(ctx: &Ctx, workspace: &Path, word: &str) -> Result<(), String> {
    fs::write(workspace.join(word), "").map_err(|error| error.to_string())?;
    ctx.ok("sync s")?;
    Ok(())
}

fn stores(ctx: &Ctx) -> Result<(), String> {
    ctx.ok("image build python")?;
    let workspace = ctx.workspace("project", "f a \"a\\n\"");
    let running = ctx.spawn(&arguments(STORES))?;
    running.until_said("a\n")?;
    shows(ctx, "a")?;
    send(ctx, &workspace, "first")?;
    running.until_said("b\n")?;
    shows(ctx, "b")?;
    send(ctx, &workspace, "second")?;
    running.wait()?.expect_code(0)?;
    let text =
        |name: &str| fs::read_to_string(workspace.join(name)).map_err(|error| error.to_string());
    expect_eq("the last store came out", &text("m")?.as_str(), &"c\n")?;
    // The process that had mapped it is gone, and its page may still be dirty.
    ctx.lazaret(&arguments(AGAIN))?.expect_code(0)?;
    expect_eq("a store of the next command", &text("m")?.as_str(), &"d\n")?;
    ctx.ok("rm --force s")?;
    Ok(())
}
