//! Runs the commands of a page as its reader would, one after the other in one shell, and compares
//! what they print.
//!
//! Commands stand in blocks of the language `console`, behind `$ `; lines of theirs that follow
//! stand behind `> `. What is between a command and the next is what it prints; where nothing
//! stands, it may print anything. `…` within a line is any text, a line of `…` any lines. A command
//! that fails ends the run: a page writes `; echo $?` behind one that should.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::{Cmd, Shell, cmd};

/// Ends the output of a command; its exit code follows.
const END: &str = "--- end of a command:";
/// Any text, or any lines.
const ANY: &str = "…";

/// A page of the documentation.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// Its path, for messages.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Counted from 1.
    line: usize,
    command: String,
    expected: Vec<String>,
}

/// What the reader of a page has.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) sh: &'a Shell,
    /// A home, which is made and removed again.
    pub(super) home: PathBuf,
    pub(super) lazaret: &'a Path,
    pub(super) engine: &'a str,
}

impl Reader<'_> {
    /// Runs a page in the home, with a state of its own.
    ///
    /// # Errors
    /// The first command that fails or prints something else, by its line.
    pub(super) fn follow(&self, page: &Page<'_>) -> Result<()> {
        let home = &self.home;
        fs::create_dir(home).with_context(|| home.display().to_string())?;
        let done = self.type_all(page);
        if done.is_err() {
            self.remove_sessions()?;
        }
        fs::remove_dir_all(home).with_context(|| home.display().to_string())?;
        done
    }

    fn type_all(&self, page: &Page<'_>) -> Result<()> {
        let name = page.name;
        let steps = steps(page.text);
        if steps.is_empty() {
            bail!("{name}: no command stands in it");
        }
        let bash = cmd!(self.sh, "bash --noprofile --norc");
        let mut shell = Command::from(self.program(bash)?)
            .current_dir(&self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start bash")?;
        let mut input = shell.stdin.take().context("a stdin")?;
        let output = shell.stdout.take().context("a stdout")?;
        let mut lines = BufReader::new(output).lines();
        writeln!(input, "exec 2>&1")?;
        for step in steps {
            let Step {
                line,
                command,
                expected,
            } = step;
            println!("{name}:{line}: {command}");
            // The code is that of the command: nothing stands between.
            writeln!(
                input,
                "{{ {command}\n}} < /dev/null; printf '\\n%s %s\\n' '{END}' $?"
            )?;
            let mut printed = Vec::new();
            let code = loop {
                let Some(text) = lines.next().transpose()? else {
                    bail!("{name}:{line}: the shell has ended");
                };
                if let Some(code) = text.strip_prefix(END) {
                    break code.trim().to_owned();
                }
                printed.push(text);
            };
            // The line that was ended before the mark.
            if printed.last().is_some_and(String::is_empty) {
                printed.pop();
            }
            if code != "0" {
                bail!("{name}:{line}: exit code {code}:\n{}", printed.join("\n"));
            }
            if !expected.is_empty() && !matches(&expected, &printed) {
                let (expected, printed) = (expected.join("\n"), printed.join("\n"));
                bail!("{name}:{line}: expected:\n{expected}\nprinted:\n{printed}");
            }
        }
        drop(input);
        shell.wait()?;
        Ok(())
    }

    /// Gives a program what the reader's has.
    fn program<'c>(&self, program: Cmd<'c>) -> Result<Cmd<'c>> {
        let bin = self.lazaret.parent().context("the program's folder")?;
        let path = format!("{}:{}", bin.display(), self.sh.var("PATH")?);
        let program = program
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", path);
        let program = program
            .env("LANG", "C.UTF-8")
            .env("LAZARET_ENGINE", self.engine);
        // Where a rootless engine has its socket.
        Ok(match self.sh.var_os("XDG_RUNTIME_DIR") {
            Some(runtime) => program.env("XDG_RUNTIME_DIR", runtime),
            None => program,
        })
    }

    /// Removes what a page that failed has left on the engine.
    fn remove_sessions(&self) -> Result<()> {
        if !self.lazaret.is_file() {
            return Ok(());
        }
        let call = |arguments: &[&str]| {
            let call = self.sh.cmd(self.lazaret).args(arguments).quiet();
            self.program(call.ignore_status())
        };
        let listed = call(&["ls", "--all", "--json"])?.read()?;
        let sessions: Value = serde_json::from_str(&listed).context("the list of sessions")?;
        for session in sessions.as_array().into_iter().flatten() {
            if let Some(id) = session["session"].as_str() {
                call(&["stop", id])?.ignore_stdout().ignore_stderr().run()?;
                call(&["rm", "--force", id])?.ignore_stdout().run()?;
            }
        }
        Ok(())
    }
}

/// Reads the commands of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for (line, text) in (1..).zip(page.lines()) {
        if text.starts_with("```") {
            is_console = text == "```console";
        } else if !is_console {
        } else if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step {
                line,
                command: command.to_owned(),
                expected: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            match text.strip_prefix("> ") {
                Some(more) if step.expected.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                _ => step.expected.push(text.to_owned()),
            }
        }
    }
    steps
}

fn matches(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == ANY => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && matches(rest, others)),
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let line = line.trim_end();
    let Some((start, rest)) = expected.split_once(ANY) else {
        return expected == line;
    };
    let Some(mut line) = line.strip_prefix(start) else {
        return false;
    };
    let mut parts = rest.split(ANY).peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return line.ends_with(part);
        }
        match line.split_once(part) {
            Some((_, after)) => line = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\n```console\n$ cat > a <<'E'\n> one\n> E\n$ cat a\none\n```\n\n\
        ```toml\n$ no command\n```\n\n```console\n$ echo 1 two 3; echo 4; echo 5\n1 … 3\n…\n```\n";

    /// Runs a page in a home of the test's own.
    fn ran(home: &str, page: &str) -> Result<(), String> {
        let sh = Shell::new().map_err(|error| error.to_string())?;
        let reader = Reader {
            sh: &sh,
            home: std::env::temp_dir().join(format!("lazaret-docs-{}-{home}", std::process::id())),
            lazaret: Path::new("/none/lazaret"),
            engine: "none",
        };
        let page = Page {
            name: "page",
            text: page,
        };
        reader.follow(&page).map_err(|error| error.to_string())
    }

    #[test]
    fn a_page_is_run_in_one_shell() {
        assert_eq!(ran("shell", PAGE), Ok(()));
        assert_eq!(ran("shell", "```console\n$ cd /\n$ pwd\n/\n```"), Ok(()));
    }

    #[test]
    fn what_differs_is_named_by_its_line() {
        let cases = [
            ("$ echo 1\n2", "expected:\n2\nprinted:\n1"),
            ("$ echo 1; echo 2\n1", "expected:\n1\nprinted:\n1\n2"),
            ("$ true\n1", "expected:\n1\nprinted:\n"),
            ("$ echo 1\n1\n…\n2", "expected:\n1\n…\n2\nprinted:\n1"),
            (
                "$ echo no; exit_of() { return 3; }; exit_of",
                "exit code 3:\nno",
            ),
            ("$ exit 4", "the shell has ended"),
        ];
        for (block, why) in cases {
            let page = format!("\n```console\n{block}\n```\n");
            assert_eq!(
                ran("differs", &page),
                Err(format!("page:3: {why}")),
                "{block}"
            );
        }
    }

    #[test]
    fn a_page_without_commands_is_a_fault() {
        let why = Err("page: no command stands in it".to_owned());
        assert_eq!(ran("empty", "# A page\n\n    $ no block\n"), why);
    }

    #[test]
    fn a_mark_is_any_text_within_a_line() {
        for (expected, line, is_match) in [
            ("a…", "abc", true),
            ("a…c", "abc", true),
            ("a…c…e", "abcde", true),
            ("…", "", true),
            ("a…d", "abc", false),
            ("a…x…c", "abc", false),
            ("ab", "abc", false),
        ] {
            assert_eq!(line_matches(expected, line), is_match, "{expected} {line}");
        }
    }
}
