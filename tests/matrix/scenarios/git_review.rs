//! Commits that a person looks at and lands after a run: at the question, and in the review.

use lazaret_tests::git_world::World;

use super::git::{profile, refs, surface};
use crate::ctx::{Ctx, expect, expect_eq};
use crate::lazaret::Running;
use crate::terminal::Person;

scenarios! {
    any engine;
    "git/commits-are-landed-at-the-question" => at_the_question;
    "git/commits-are-picked-in-the-review" => in_the_review;
}

/// Two branches, one of them the work, and a file that is not committed.
const SCRIPT: &str = "set -eu; git checkout -q -b fix; echo one > new; git add new; \
    git commit -qm 'add new'; git checkout -q -b draft main; git commit -q --allow-empty -m 'a draft'; \
    git checkout -q fix; echo two > open";

/// Runs [`SCRIPT`] for a person at a terminal.
fn run(ctx: &Ctx, world: &World, person: &Person) -> Result<Running, String> {
    profile(ctx, "full");
    let dir = world.path("main").display().to_string();
    let words = [
        "run", "full", "-w", &dir, "--name", "s", "--", "sh", "-c", SCRIPT,
    ];
    let call = ctx.call(&words).env("TERM", "xterm-256color");
    call.on_whole_terminal(person.terminal()?).start()
}

fn at_the_question(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    let before = surface(&world);
    let person = Person::sit_down(100, 30)?;
    let running = run(ctx, &world, &person)?;
    person.waits_for("Apply 2 changes")?;
    person.waits_for("[c]ommits")?;
    person.types("c\r")?;
    person.waits_for("branch fix -> lazaret/s/fix")?;
    person.waits_for("Put these 2 into your repository?")?;
    expect_eq("refs before the yes", &refs(&world), &String::new())?;
    person.types("y\r")?;
    person.waits_for("landed fix as lazaret/s/fix")?;
    // The files are asked about again, without the commits.
    person.waits_for("[p]ick [e]xport")?;
    expect_eq("the surface of the repository", &surface(&world), &before)?;
    person.types("y\r")?;
    running.wait()?.expect_code(0)?;
    expect("both branches are there", || {
        let refs = refs(&world);
        refs.contains("lazaret/s/fix") && refs.contains("lazaret/s/draft")
    })?;
    expect("the files were applied", || {
        world.path("main/open").is_file() && world.path("main/new").is_file()
    })?;
    expect("the terminal is given back", || {
        person.is_cooked() == Ok(true)
    })?;
    ctx.ok("rm s").map(drop)
}

fn in_the_review(ctx: &Ctx) -> Result<(), String> {
    let world = World::new();
    let person = Person::sit_down(100, 30)?;
    let running = run(ctx, &world, &person)?;
    person.waits_for("[r]eview")?;
    person.types("r\r")?;
    person.waits_for("lazaret review s")?;
    // The last row is the only commit of the last branch, and its branch stands above it.
    person.types("GA")?;
    person.waits_for("land 2 branches? [y=yes, n=no]")?;
    person.types("nk A")?;
    person.waits_for("you left it out")?;
    expect_eq("refs before the yes", &refs(&world), &String::new())?;
    person.types("y")?;
    running.wait()?.expect_code(120)?;
    expect("what was picked is there", || {
        let refs = refs(&world);
        refs.contains("lazaret/s/draft") && !refs.contains("lazaret/s/fix")
    })?;
    expect("the files were applied", || {
        world.path("main/open").is_file() && world.path("main/new").is_file()
    })?;
    ctx.ok("rm --force --no-capture s").map(drop)
}
