//! What is pictured: lines that a user types, in a world of sessions.

use std::os::unix::fs::symlink;
use std::{fs, io};

use lazaret_tests::tree_text;

use crate::ctx::Ctx;
use crate::lazaret::{Call, Line};
use crate::terminal::Person;

/// Where the state is, below the home.
const STATE: &str = ".local/state";

/// A picture at each width.
#[derive(Debug)]
pub(super) struct Shot {
    /// The first part of the file's name.
    pub(super) name: &'static str,
    pub(super) rows: u16,
    /// What `lazaret` is called with; `{columns}` is the width.
    pub(super) line: &'static [&'static str],
    pub(super) prompt: Prompt,
    pub(super) steps: &'static [Step],
    pub(super) end: End,
}

/// Whether the line stands above what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prompt {
    Shown,
    /// The screen is the program's.
    Hidden,
}

/// What is waited for, and typed then.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) shows: &'static str,
    pub(super) then: &'static str,
}

/// How the call ends, and when the picture is taken.
#[derive(Debug)]
pub(super) enum End {
    /// Afterwards.
    OfItself,
    /// Before these keys, when the screen shows this.
    By {
        shows: &'static str,
        keys: &'static str,
    },
}

pub(super) const SHOTS: &[Shot] = &[
    Shot {
        name: "help",
        rows: 250,
        line: &["-h"],
        prompt: Prompt::Shown,
        steps: &[],
        end: End::OfItself,
    },
    Shot {
        name: "ls",
        rows: 24,
        line: &["ls", "--all"],
        prompt: Prompt::Shown,
        steps: &[],
        end: End::OfItself,
    },
    Shot {
        name: "diff",
        rows: 60,
        line: &["diff", "rounding"],
        prompt: Prompt::Shown,
        steps: &[],
        end: End::OfItself,
    },
    Shot {
        name: "review",
        rows: 30,
        line: &["review", "rounding"],
        prompt: Prompt::Hidden,
        steps: &[Step {
            shows: "lazaret review rounding",
            then: "G\t",
        }],
        end: End::By {
            shows: "yours, from",
            keys: "q",
        },
    },
    Shot {
        name: "keys",
        rows: 44,
        line: &["review", "rounding"],
        prompt: Prompt::Hidden,
        steps: &[Step {
            shows: "lazaret review rounding",
            then: "?",
        }],
        end: End::By {
            shows: "Decide",
            keys: "qq",
        },
    },
    Shot {
        name: "attach",
        rows: 16,
        line: &["attach", "tests"],
        prompt: Prompt::Hidden,
        steps: &[],
        end: End::By {
            shows: "14 passed",
            keys: "\x1dd",
        },
    },
    Shot {
        name: "run",
        rows: 50,
        line: &[
            "run",
            "base",
            "--name",
            "sorting-{columns}",
            "--",
            "sh",
            "-c",
            SORTING,
        ],
        prompt: Prompt::Shown,
        steps: &[Step {
            shows: "[?]:",
            then: "?\r",
        }],
        end: End::By {
            shows: "nothing is lost",
            keys: "k\r",
        },
    },
];

/// The workspace.
const TREE: &str = r##"
    f Cargo.toml "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n"
    f README.md "# Shop\n\nPrices and baskets.\n"
    d src
    f src/lib.rs "pub mod basket;\npub mod price;\n"
    f src/basket.rs "pub fn total(prices: &[f64]) -> f64 {\n    prices.iter().sum()\n}\n"
    f src/price.rs "pub fn rounded(price: f64) -> f64 {\n    price.round()\n}\n"
"##;

/// A change that the user's own is in the way of, a new file, and a blocked one.
const ROUNDING: &str = "sed -i 's/price.round()/(price * 100.0).round() \\/ 100.0/' src/price.rs; \
    echo '- Prices have two digits.' >> README.md; mkdir .vscode; echo '{}' > .vscode/tasks.json";
/// What the user does meanwhile.
const OWN: &str = "pub fn rounded(price: f64) -> f64 {\n    price.floor()\n}\n";
const SORTING: &str = "mv src/basket.rs src/cart.rs; echo 'pub mod cart;' >> src/lib.rs";
const TESTS: &str = "PS1='tests> '; clear; cargo() { printf 'running 14 tests\\n\\n\\033[32mok\\033[0m: 14 passed\\n'; }";

/// A call in the workspace, whose state is below the home, as a user's.
pub(super) fn call(ctx: &Ctx, line: &(impl Line + ?Sized)) -> Call {
    let state = ctx.home().join(STATE).display().to_string();
    ctx.call_in(&ctx.home().join("shop"), line)
        .env("XDG_STATE_HOME", &state)
}

/// Makes the workspace and the sessions.
pub(super) fn prepare(ctx: &Ctx) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let (shop, state) = (ctx.home().join("shop"), ctx.home().join(STATE));
    fs::create_dir(&shop).map_err(failed)?;
    fs::create_dir(ctx.home().join(".local")).map_err(failed)?;
    let own = ctx.state();
    symlink(own.parent().unwrap_or(&own), state).map_err(failed)?;
    tree_text::build(TREE, &shop);
    let run = |code, name, rest: &[&str]| {
        let line = [&["run", "base", "--name", name][..], rest].concat();
        call(ctx, &line).run()?.expect_code(code).map(drop)
    };
    let keep = ["--apply", "never", "--", "sh", "-c", ROUNDING];
    run(120, "rounding", &keep)?;
    let apply = [
        "--apply",
        "auto",
        "--",
        "sh",
        "-c",
        "echo 'See docs.' >> README.md",
    ];
    run(0, "docs", &apply)?;
    fs::write(shop.join("src/price.rs"), OWN).map_err(failed)?;
    let person = Person::sit_down(100, 16)?;
    let line = [
        "run",
        "base",
        "--name",
        "tests",
        "--terminal",
        "--",
        "bash",
        "--norc",
        "-i",
    ];
    let running = call(ctx, &line)
        .env("TERM", "xterm-256color")
        .on_whole_terminal(person.terminal()?)
        .start()?;
    person.waits_for("bash-")?;
    person.types(&format!("{TESTS}\r"))?;
    person.waits_for("tests> ")?;
    person.types("cargo test\r")?;
    person.waits_for("14 passed")?;
    person.types("\x1dd")?;
    running.wait()?.expect_code(0).map(drop)
}

/// Removes the sessions.
pub(super) fn clean(ctx: &Ctx) -> Result<(), String> {
    let _running = ctx.lazaret("stop --kill tests")?;
    let listed = ctx.run_json("--json ls --all")?;
    for session in listed.as_array().into_iter().flatten() {
        let name = session["session"].as_str().unwrap_or_default();
        ctx.ok(&["rm", "--force", "--no-capture", name])?;
    }
    Ok(())
}
