//! `cargo xtask run PROFILE [WORKSPACE]`: from a fresh clone to a running session.
//!
//! An engine, the porter, `lazaret`, the images that the profile needs; then this process
//! becomes `lazaret run`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::engines::machine::Machine;
use crate::engines::ping;
use crate::flags;
use crate::passthrough::become_lazaret;
use crate::project::{self, Porter};
use crate::section::Section;
use crate::setup::{self, Consent};

/// Variables by which a caller names an engine of their own.
const ENGINE_VARIABLES: [&str; 4] = [
    "LAZARET_ENGINE",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "CONTAINER_HOST",
];

impl flags::Run {
    pub(crate) fn run(self, sh: &Shell) -> Result<Infallible> {
        let line = RunLine::parse(self.arguments);
        if !line.wants_help() {
            engine(sh, &line)?;
        }
        let lazaret = {
            let _section = Section::new(sh, "build lazaret and its porter");
            Porter::build(sh)?.build_lazaret(sh)?
        };
        if let Some(profile) = line.profile() {
            let _section = Section::new(sh, "images");
            build_images(sh, &lazaret, profile, line.value_of("--engine"))?;
        }
        become_lazaret(sh, &lazaret, &line.arguments())
    }
}

/// Builds the porter's image and the one that the profile names; quick when they are fresh.
/// Stdout is kept free: it belongs to `lazaret run`.
fn build_images(
    sh: &Shell,
    lazaret: &Path,
    profile: &OsString,
    engine: Option<OsString>,
) -> Result<()> {
    let shown = cmd!(sh, "{lazaret} profile show {profile} --json")
        .quiet()
        .read()?;
    let shown: serde_json::Value = serde_json::from_str(&shown).context("the shown profile")?;
    let mut build = cmd!(sh, "{lazaret} image build porter");
    if let Some(image) = shown["image"].as_str()
        && project::root().join("images").join(image).is_dir()
    {
        build = build.arg(image);
    }
    if let Some(engine) = engine {
        build = build.arg("--engine").arg(engine);
    }
    build
        .quiet()
        .ignore_stdout()
        .run()
        .context("build the images")
}

/// Sets the machine up where no engine answers and none was named.
fn engine(sh: &Shell, line: &RunLine) -> Result<()> {
    let named = line.value_of("--engine").is_some()
        || ENGINE_VARIABLES
            .iter()
            .any(|name| sh.var_os(name).is_some());
    let machine = Machine::inspect(sh)?;
    let mut sockets = vec![machine.docker_socket(), machine.podman_socket()];
    sockets.extend(machine.rootless_socket());
    match named || sockets.iter().any(|socket| ping::answers(socket)) {
        true => Ok(()),
        false => setup::up(sh, line.consent),
    }
}

/// `run`'s command line, taken apart only as far as xtask is concerned.
#[derive(Debug)]
struct RunLine {
    consent: Consent,
    /// Before `--`, without `--yes`, the workspace turned into `--workspace`.
    own: Vec<OsString>,
    /// `--` and the command.
    command: Vec<OsString>,
}

impl RunLine {
    /// The workspace is the argument right after the profile, if it is no flag.
    fn parse(mut arguments: Vec<OsString>) -> Self {
        let end = arguments.iter().position(|argument| argument == "--");
        let command = arguments.split_off(end.unwrap_or(arguments.len()));
        let before = arguments.len();
        arguments.retain(|argument| argument != "--yes");
        let consent = match arguments.len() < before {
            true => Consent::Given,
            false => Consent::Ask,
        };
        let positional = |index: usize| {
            arguments
                .get(index)
                .is_some_and(|argument| !argument.as_encoded_bytes().starts_with(b"-"))
        };
        if positional(0) && positional(1) {
            arguments.insert(1, "--workspace".into());
        }
        Self {
            consent,
            own: arguments,
            command,
        }
    }

    fn wants_help(&self) -> bool {
        self.own
            .iter()
            .any(|argument| argument == "--help" || argument == "-h")
    }

    /// The profile, where it is the first argument.
    fn profile(&self) -> Option<&OsString> {
        let first = self.own.first()?;
        (!first.as_encoded_bytes().starts_with(b"-") && !self.wants_help()).then_some(first)
    }

    /// The value of `--flag VALUE` or `--flag=VALUE`.
    fn value_of(&self, flag: &str) -> Option<OsString> {
        let mut arguments = self.own.iter();
        while let Some(argument) = arguments.next() {
            if argument == flag {
                return arguments.next().cloned();
            }
            let inline = argument
                .to_str()
                .and_then(|text| text.strip_prefix(flag)?.strip_prefix('='));
            if let Some(value) = inline {
                return Some(value.into());
            }
        }
        None
    }

    fn arguments(&self) -> Vec<OsString> {
        let verb = std::iter::once(OsString::from("run"));
        verb.chain(self.own.iter().cloned())
            .chain(self.command.iter().cloned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(typed: &str) -> RunLine {
        RunLine::parse(typed.split_whitespace().map(OsString::from).collect())
    }

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let line: Vec<String> = parse(typed)
            .arguments()
            .into_iter()
            .map(|argument| argument.into_string().expect("text"))
            .collect();
        assert_eq!(line.join(" "), expected);
    }

    #[test]
    fn the_argument_after_the_profile_is_the_workspace() {
        check("demo", "run demo");
        check("demo --yes", "run demo");
        check("--yes demo dir", "run demo --workspace dir");
        check(
            "base dir -- make test",
            "run base --workspace dir -- make test",
        );
        check("base -- make --yes", "run base -- make --yes");
        check("base -w dir --apply auto", "run base -w dir --apply auto");
        check("--apply auto base", "run --apply auto base");
    }

    #[test]
    fn consent_and_engine_are_read_before_the_command_only() {
        assert_eq!(parse("base --yes").consent, Consent::Given);
        assert_eq!(parse("base -- --yes").consent, Consent::Ask);
        assert_eq!(
            parse("base --engine podman").value_of("--engine"),
            Some("podman".into())
        );
        assert_eq!(
            parse("base --engine=podman").value_of("--engine"),
            Some("podman".into())
        );
        assert_eq!(parse("base -- --engine x").value_of("--engine"), None);
    }
}
