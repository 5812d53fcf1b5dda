//! `EachLine`: the call of `lazaret run` that a line of `--each` stands for.

use std::ffi::{OsStr, OsString};

use lazaret_runtime::SessionId;

/// What stands for the line in a command.
const PLACE: &str = "{}";

/// Options of `--each` itself, and the one that it fills in; each has a value.
const OWN: [&str; 3] = ["--each", "--at-once", "--name"];

/// Flags that each call has, and may have once.
const FLAGS: [&str; 2] = ["--json", "--no-input"];

/// What was typed, without what is `--each`'s own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EachLine {
    options: Vec<OsString>,
    command: Vec<OsString>,
}

/// Returns the tasks of a file: its lines, without empty ones and those that begin with `#`.
pub(super) fn tasks_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

impl EachLine {
    /// Takes the arguments of the process, the program's own name first.
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let mut options = Vec::new();
        let mut rest = arguments.iter().skip(1);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                break;
            }
            match own_option(argument) {
                Some(Value::Next) => drop(rest.next()),
                Some(Value::Attached) => {}
                None if FLAGS.iter().any(|flag| argument == flag) => {}
                None => options.push(argument.clone()),
            }
        }
        Self {
            options,
            command: rest.cloned().collect(),
        }
    }

    /// Returns the arguments for one line.
    pub(super) fn call(&self, line: &str, name: Option<&SessionId>) -> Vec<OsString> {
        let mut call = self.options.clone();
        call.extend(FLAGS.map(OsString::from));
        call.extend(name.map(|name| OsString::from(format!("--name={name}"))));
        if self.command.is_empty() {
            call.push(format!("--prompt={line}").into());
            return call;
        }
        call.push("--".into());
        let is_placed = self
            .command
            .iter()
            .any(|word| word.to_string_lossy().contains(PLACE));
        call.extend(self.command.iter().map(|word| placed(word, line)));
        if !is_placed {
            call.push(line.into());
        }
        call
    }
}

/// Where the value of an option is.
enum Value {
    Next,
    Attached,
}

fn own_option(argument: &OsStr) -> Option<Value> {
    let text = argument.to_str()?;
    OWN.into_iter()
        .find_map(|name| match text.strip_prefix(name)? {
            "" => Some(Value::Next),
            rest => rest.starts_with('=').then_some(Value::Attached),
        })
}

/// A word that is not UTF-8 stays as it is.
fn placed(word: &OsStr, line: &str) -> OsString {
    match word.to_str() {
        Some(text) => text.replace(PLACE, line).into(),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_lines() {
        assert_eq!(
            tasks_of("one\r\n\n  # no task\n two words \n#\n"),
            ["one", "two words"]
        );
        assert!(tasks_of("\n#\n").is_empty());
    }

    #[track_caller]
    fn check(typed: &str, name: Option<&str>, expected: &str) {
        let arguments: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        let name: Option<SessionId> = name.map(|name| name.parse().unwrap());
        let call = EachLine::of(&arguments).call("-a b", name.as_ref());
        let call: Vec<&str> = call.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(call.join("|"), expected, "{typed}");
    }

    #[test]
    fn a_line_is_a_prompt_or_a_word_of_the_command() {
        check(
            "lazaret run claude --each tasks --at-once 2 -w d",
            None,
            "run|claude|-w|d|--json|--no-input|--prompt=-a b",
        );
        check(
            "lazaret --json --engine docker run base --each=tasks --name fix -- make -C {} x-{}",
            Some("fix-1"),
            "--engine|docker|run|base|--json|--no-input|--name=fix-1|--|make|-C|-a b|x--a b",
        );
        check(
            "lazaret run base --at-once=1 --each t -- test --each t",
            None,
            "run|base|--json|--no-input|--|test|--each|t|-a b",
        );
    }
}
