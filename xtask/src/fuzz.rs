//! `cargo xtask fuzz`: the targets of `fuzz/`, for as long as one likes; and for a minute.
//!
//! The long run is libFuzzer's, with the coverage that rustc's own LLVM counts, on the
//! stable toolchain: the flags are those of cargo-fuzz without a sanitizer, which safe Rust
//! has little use for. The short one needs neither libFuzzer nor a C++ compiler.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::flags;
use crate::project::{Porter, WHOLE_WORKSPACE, host_triple, target_dir};
use crate::section::Section;
use crate::steps::children_time;

/// Seconds for each target in `cargo xtask test`.
const BRIEFLY: u64 = 6;

/// Seconds after which one input counts as a hang, and megabytes that none may need.
const TIMEOUT: &str = "10";
const MEMORY: &str = "1024";

/// Flags for coverage: counters at each edge, and what is compared with what.
const COVERAGE: [&str; 8] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cforce-frame-pointers=yes",
];

impl flags::Fuzz {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let known = cmd!(sh, "cargo run --quiet --package lazaret-fuzz -- --list")
            .quiet()
            .read()?;
        let known: Vec<&str> = known.lines().collect();
        if self.list {
            known.iter().for_each(|name| println!("{name}"));
            return Ok(());
        }
        if let Some(name) = self
            .target
            .iter()
            .find(|name| !known.contains(&name.as_str()))
        {
            bail!("no target is named {name}; there are {}", known.join(", "));
        }
        let targets: Vec<&str> = match self.target.is_empty() {
            true => known,
            false => self.target.iter().map(String::as_str).collect(),
        };
        let home = target_dir(sh).join("fuzz");
        let program = build(sh, &home)?;
        let corpus = home.join("corpus");
        cmd!(
            sh,
            "cargo run --quiet --package lazaret-fuzz -- --seeds {corpus}"
        )
        .quiet()
        .run()?;
        let seconds = (self.minutes.unwrap_or(10) * 60 / targets.len() as u64).max(1);
        let mut drives = Vec::new();
        for target in targets {
            let _section = Section::new(sh, &format!("fuzz {target} for {seconds} s"));
            drives.push(drive(sh, &home, &program, target, seconds)?);
        }
        println!("{}", table(&drives));
        let broken = drives.iter().filter(|drive| drive.found == Found::Broken);
        let broken: Vec<&str> = broken.map(|drive| drive.target.as_str()).collect();
        match broken.is_empty() {
            true => Ok(()),
            false => bail!(
                "broken: {}; the inputs are in {}",
                broken.join(", "),
                home.join("artifacts").display()
            ),
        }
    }
}

/// What came of one target's run.
struct Drive {
    target: String,
    /// Processor time of the run, its own and the kernel's for it.
    processor: Duration,
    /// How many inputs were tried, as libFuzzer counts them.
    inputs: u64,
    found: Found,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Broken,
}

/// What was really spent, and what was found.
fn table(drives: &[Drive]) -> String {
    let minutes = |time: Duration| format!("{:.2}", time.as_secs_f64() / 60.0);
    let mut text =
        String::from("| target | CPU minutes | inputs | found |\n| --- | --- | --- | --- |\n");
    for drive in drives {
        let found = match drive.found {
            Found::Nothing => "nothing",
            Found::Broken => "an input that breaks it",
        };
        text.push_str(&format!(
            "| `{}` | {} | {} | {found} |\n",
            drive.target,
            minutes(drive.processor),
            drive.inputs
        ));
    }
    let all = drives.iter().map(|drive| drive.processor).sum();
    text + &format!("{} CPU minutes in all", minutes(all))
}

/// A few seconds for each target, on the corpus first.
pub(crate) fn briefly(sh: &Shell, porter: &Porter) -> Result<()> {
    porter
        .cargo(sh, &["build", "--quiet", "--bin", "lazaret-fuzz"])
        .args(WHOLE_WORKSPACE)
        .run()
        .context("build the targets")?;
    let driver = target_dir(sh).join("debug/lazaret-fuzz");
    let seconds = BRIEFLY.to_string();
    let artifacts = target_dir(sh).join("fuzz/artifacts");
    cmd!(sh, "{driver} --seconds {seconds} --artifacts {artifacts}")
        .run()
        .context("some bytes break a property")
}

/// Builds the program with libFuzzer, in a target directory of its own: other flags.
fn build(sh: &Shell, home: &Path) -> Result<std::path::PathBuf> {
    let triple = host_triple(sh)?;
    let build = home.join("build");
    cmd!(
        sh,
        "cargo build --quiet --package lazaret-fuzz --bin lazaret-fuzz --profile fuzz --target {triple} --target-dir {build}"
    )
    .quiet()
    .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\x1f"))
    .run()
    .context("build the targets with libFuzzer (g++ is needed)")?;
    Ok(build.join(triple).join("fuzz/lazaret-fuzz"))
}

/// One target, for so long.
fn drive(sh: &Shell, home: &Path, program: &Path, target: &str, seconds: u64) -> Result<Drive> {
    let kept = home.join("corpus").join(target);
    let artifacts = home.join("artifacts").join(target);
    let links = home.join("bin");
    for dir in [&kept, &artifacts, &links] {
        std::fs::create_dir_all(dir)?;
    }
    // The program knows by its name what it is to run.
    let named = links.join(target);
    if named.is_symlink() {
        std::fs::remove_file(&named)?;
    }
    std::os::unix::fs::symlink(program, &named)?;
    let mut run = cmd!(sh, "{named} {kept}");
    let own = format!("fuzz/corpus/{target}");
    if sh.path_exists(&own) {
        run = run.arg(own);
    }
    let run = run.args([
        format!("-max_total_time={seconds}"),
        format!("-artifact_prefix={}/", artifacts.display()),
        format!("-timeout={TIMEOUT}"),
        format!("-rss_limit_mb={MEMORY}"),
        "-max_len=16384".to_owned(),
        "-use_value_profile=1".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    let before = children_time()?;
    let done = run.ignore_status().output()?;
    let processor = children_time()?.saturating_sub(before);
    let log = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = log.lines().collect();
    // The last words: how many runs, how much was reached; or what broke.
    let tail = lines.len().saturating_sub(14);
    lines[tail..].iter().for_each(|line| println!("{line}"));
    let inputs = lines.iter().find_map(|line| {
        let count = line.strip_prefix("stat::number_of_executed_units:")?;
        count.trim().parse().ok()
    });
    Ok(Drive {
        target: target.to_owned(),
        processor,
        inputs: inputs.unwrap_or(0),
        found: match done.status.success() {
            true => Found::Nothing,
            false => Found::Broken,
        },
    })
}
