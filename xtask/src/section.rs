//! Groups the output of a step and says how long it took.

use std::time::Instant;

/// One step of a command: a heading when it begins, the elapsed time when it is dropped.
/// On stderr: stdout may belong to the program that a command becomes in the end.
/// On GitHub Actions the step's output is folded.
#[must_use = "a section lasts until it is dropped"]
#[derive(Debug)]
pub struct Section {
    name: String,
    start: Instant,
    style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    GitHub,
}

impl Section {
    /// Prints the heading.
    pub fn new(sh: &xshell::Shell, name: &str) -> Self {
        let style = match sh.var_os("GITHUB_ACTIONS") {
            Some(_) => Style::GitHub,
            None => Style::Plain,
        };
        match style {
            Style::GitHub => eprintln!("::group::{name}"),
            Style::Plain => eprintln!("\n== {name}"),
        }
        Self {
            name: name.to_owned(),
            start: Instant::now(),
            style,
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        let seconds = self.start.elapsed().as_secs_f64();
        if self.style == Style::GitHub {
            eprintln!("::endgroup::");
        }
        eprintln!("== {}: {seconds:.1} s", self.name);
    }
}
