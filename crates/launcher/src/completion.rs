//! What a shell completes: verbs and options are clap's, names are those of what there is.
//!
//! The scripts of `lazaret completions` call lazaret back with [`VARIABLE`] set: names change all
//! the time.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::builder::StyledStr;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};
use lazaret_image_builder::Catalog;
use lazaret_session::store::Store;
use lazaret_session::store::status::Status;
use lazaret_validator::catalog;

use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::groups::Groups;
use crate::own_dirs;
use crate::profile;
use crate::ui::Streams;

/// Holds the name of the shell that asks.
const VARIABLE: &str = "LAZARET_COMPLETE";

/// The program, and the function in its scripts.
const NAME: &str = "lazaret";

/// Returns the script that has a shell ask.
///
/// # Errors
/// clap doesn't know the shell.
pub(crate) fn script(shell: Shell) -> Result<String, Failure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    completer(&shells, &shell.to_string())
        .and_then(|found| found.write_registration(VARIABLE, NAME, NAME, NAME, &mut script))
        .map_err(|error| Failure::new(FailureKind::Usage, error))?;
    if shell == Shell::Zsh {
        // Read by zsh as the function `_lazaret`, the script itself is the first question.
        script.extend(
            b"\nif [[ ${funcstack[1]} == _lazaret ]]; then\n    _clap_dynamic_completer_lazaret\nfi\n",
        );
    }
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Answers a shell that asks about the command line, on stdout; `None` if none asks.
///
/// Nothing is said of names that can't be read: a shell has no place for it.
pub(crate) fn answer(
    describe: fn() -> clap::Command,
    arguments: &[OsString],
    env: &Environment,
    streams: &mut Streams,
) -> Option<ExitCode> {
    let shell = env.text(VARIABLE)?;
    let typed = arguments.iter().skip_while(|word| *word != "--").skip(1);
    let mut command = with_names(describe(), env);
    command.build();
    let mut answer = Vec::new();
    let shells = Shells::builtins();
    let written = completer(&shells, shell).and_then(|shell| {
        shell.write_complete(
            &mut command,
            typed.cloned().collect(),
            Some(&env.cwd),
            &mut answer,
        )
    });
    let out = &mut streams.stdout;
    let shown = written.and_then(|()| out.write_all(&answer).and_then(|()| out.flush()));
    Some(match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::USAGE,
    })
}

fn completer<'a>(shells: &'a Shells<'_>, name: &str) -> io::Result<&'a dyn EnvCompleter> {
    let unknown = || io::Error::other(format!("there is no completion for the shell {name}"));
    shells.completer(name).ok_or_else(unknown)
}

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Sessions,
    Profiles,
    Groups,
    Images,
    Rules,
    /// Whom a question may go to.
    Targets,
}

/// Says what an argument names, by the verb that it belongs to, its name and its value's.
fn named(verb: &str, argument: &str, value: &str) -> Option<Named> {
    Some(match (verb, argument, value) {
        ("image", _, "NAME") | (_, "image", "NAME") | (_, "with", "IMAGE") => Named::Images,
        ("volume" | "init", _, "NAME") | (_, "service", _) => return None,
        (_, _, "NAME") => Named::Sessions,
        (_, _, "PROFILE") => Named::Profiles,
        (_, _, "GROUP") => Named::Groups,
        (_, _, "CODE") => Named::Rules,
        (_, _, "TARGET") => Named::Targets,
        _ => return None,
    })
}

/// Has each argument that names something complete with what there is.
fn with_names(command: clap::Command, env: &Environment) -> clap::Command {
    command.mut_subcommands(|found| {
        let verb = found.get_name().to_owned();
        in_verb(found, &verb, env)
    })
}

fn in_verb(command: clap::Command, verb: &str, env: &Environment) -> clap::Command {
    let command = command.mut_args(|argument| {
        let value = argument.get_value_names().and_then(|names| names.first());
        let value = value.map(ToString::to_string).unwrap_or_default();
        match named(verb, argument.get_id().as_str(), &value) {
            None => argument,
            Some(named) => {
                let env = env.clone();
                let candidates = move || candidates(named, &env).unwrap_or_default();
                argument.add(ArgValueCandidates::new(candidates))
            }
        }
    });
    command.mut_subcommands(|inner| in_verb(inner, verb, env))
}

fn candidates(named: Named, env: &Environment) -> Result<Vec<CompletionCandidate>, Failure> {
    own_dirs::check(env)?;
    let mut found = Vec::new();
    if matches!(named, Named::Sessions | Named::Targets) {
        found.extend(sessions(env)?);
    }
    if matches!(named, Named::Profiles | Named::Targets) {
        let profiles = profile::list(env)?.into_iter();
        found.extend(profiles.map(|listed| CompletionCandidate::new(listed.name)));
    }
    if matches!(named, Named::Groups | Named::Targets) {
        let groups = Groups::load(env)?;
        let names = groups.all().map(|group| group.name.to_string());
        found.extend(names.map(CompletionCandidate::new));
    }
    if named == Named::Images {
        let images = Catalog::with_own(&env.config_dir()?.join("images"))?;
        found.extend(images.names().map(CompletionCandidate::new));
    }
    if named == Named::Rules {
        found.extend(
            catalog()
                .iter()
                .map(|rule| CompletionCandidate::new(rule.code)),
        );
    }
    Ok(found)
}

/// Lists the sessions, the newest first, each with what becomes of it.
fn sessions(env: &Environment) -> Result<Vec<CompletionCandidate>, Failure> {
    let Some(store) = Store::open_if_there(&env.state_dir()?)? else {
        return Ok(Vec::new());
    };
    let mut sessions = Vec::new();
    for dir in store.list()? {
        if let Ok(record) = dir.record() {
            let state = Status::of(&store, &dir, &record).state.as_str();
            let candidate = CompletionCandidate::new(record.id.to_string());
            let candidate = candidate.help(Some(StyledStr::from(state)));
            sessions.push((Reverse(record.created), record.id, candidate));
        }
    }
    sessions.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(sessions
        .into_iter()
        .map(|(.., candidate)| candidate)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_argument_names_is_known_by_its_place() {
        for (verb, argument, value, expected) in [
            ("diff", "session", "NAME", Some(Named::Sessions)),
            ("run", "name", "NAME", Some(Named::Sessions)),
            ("run", "image", "NAME", Some(Named::Images)),
            ("run", "with", "IMAGE", Some(Named::Images)),
            ("image", "names", "NAME", Some(Named::Images)),
            ("volume", "name", "NAME", None),
            ("volume", "from", "PROFILE", Some(Named::Profiles)),
            ("logs", "service", "NAME", None),
            ("ask", "target", "TARGET", Some(Named::Targets)),
            ("mail", "group", "GROUP", Some(Named::Groups)),
            ("rules", "code", "CODE", Some(Named::Rules)),
            ("diff", "path", "PATH", None),
        ] {
            assert_eq!(named(verb, argument, value), expected, "{verb} {argument}");
        }
    }

    #[test]
    fn zsh_may_read_the_script_as_a_function() {
        let script = script(Shell::Zsh).unwrap();
        assert!(script.starts_with("#compdef lazaret\n"), "{script}");
        assert!(script.contains("funcstack[1]"), "{script}");
    }
}
