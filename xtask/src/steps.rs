//! The steps of a command: a heading each, and how long each took, in `target/report/steps.json`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use xshell::Shell;

use crate::project::target_dir;
use crate::section::Section;

/// The steps that were run so far.
#[derive(Debug)]
pub(crate) struct Steps {
    file: PathBuf,
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    elapsed: Duration,
    /// Processor time of the step's programs: user and system.
    processor: Duration,
    passed: bool,
}

impl Steps {
    pub(crate) fn new(sh: &Shell) -> Self {
        Self {
            file: target_dir(sh).join("report/steps.json"),
            done: Vec::new(),
        }
    }

    /// Runs one step and writes its time down, also if it fails.
    pub(crate) fn run<T>(
        &mut self,
        sh: &Shell,
        name: &str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let before = children_time()?;
        let start = Instant::now();
        let result = {
            let _section = Section::new(sh, name);
            step()
        };
        self.done.push(Step {
            name: name.to_owned(),
            elapsed: start.elapsed(),
            processor: children_time()?.saturating_sub(before),
            passed: result.is_ok(),
        });
        self.write()?;
        result.with_context(|| format!("step `{name}`"))
    }

    /// Prints a table of all steps on stderr.
    pub(crate) fn print(&self) {
        eprintln!("\n   wall s    CPU s  step");
        let mut total = Step {
            name: "total".to_owned(),
            elapsed: Duration::ZERO,
            processor: Duration::ZERO,
            passed: true,
        };
        for step in &self.done {
            total.elapsed += step.elapsed;
            total.processor += step.processor;
            step.print();
        }
        total.print();
    }

    fn write(&self) -> Result<()> {
        let steps: Vec<Value> = self.done.iter().map(Step::json).collect();
        let text = format!("{:#}\n", json!({ "steps": steps }));
        let folder = self.file.parent().context("target/report")?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&self.file, text))
            .with_context(|| format!("cannot write {}", self.file.display()))
    }
}

impl Step {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "seconds": self.elapsed.as_secs_f64(),
            "cpu_seconds": self.processor.as_secs_f64(),
            "passed": self.passed,
        })
    }

    fn print(&self) {
        let [wall, processor] = [self.elapsed, self.processor].map(|time| time.as_secs_f64());
        eprintln!("{wall:9.1}{processor:9.1}  {}", self.name);
    }
}

/// Returns the processor time of all children that have ended (proc_pid_stat(5): `cutime` and
/// `cstime`, in hundredths of a second on every Linux); zero on a system without `/proc`.
fn children_time() -> Result<Duration> {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
        return Ok(Duration::ZERO);
    };
    // The name of the program, in parentheses, may hold anything.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("understand /proc/self/stat")?;
    let ticks = fields.split_ascii_whitespace().skip(13).take(2);
    let ticks = ticks.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(10 * ticks))
}
