//! Product verbs: built by cargo, then this process becomes `lazaret`, so that terminal,
//! signals, working directory and exit code are its own.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use xshell::Shell;

use crate::flags;
use crate::project::{Porter, root};

impl flags::Lazaret {
    pub(crate) fn run(self, sh: &Shell) -> Result<Infallible> {
        let lazaret = Porter::build(sh)?.build_lazaret(sh)?;
        become_lazaret(sh, &lazaret, &self.arguments)
    }
}

impl flags::Image {
    /// Verbs of `image` are lazaret's own. Names alone mean `build`, with the locks of this
    /// repository written anew; nothing means `ls`.
    pub(crate) fn run(self, sh: &Shell) -> Result<Infallible> {
        let lazaret = Porter::build(sh)?.build_lazaret(sh)?;
        let locks = root().join("images");
        become_lazaret(sh, &lazaret, &image_arguments(self.arguments, &locks))
    }
}

/// Replaces this process; returns only to say why it could not.
pub(crate) fn become_lazaret(
    sh: &Shell,
    lazaret: &Path,
    arguments: &[OsString],
) -> Result<Infallible> {
    let mut command = Command::from(sh.cmd(lazaret).args(arguments));
    // xshell works in the repository; lazaret works where the caller stands.
    command.current_dir(std::env::current_dir()?);
    Err(command.exec()).with_context(|| format!("run `{}`", lazaret.display()))
}

const IMAGE_VERBS: [&str; 7] = ["build", "ls", "verify", "sbom", "rm", "prune", "help"];

fn image_arguments(arguments: Vec<OsString>, locks: &Path) -> Vec<OsString> {
    let first = arguments.first().and_then(|first| first.to_str());
    let own = first.is_some_and(|first| IMAGE_VERBS.contains(&first) || first.starts_with("-h"));
    let names = |argument: &OsString| argument == "--all" || !is_flag(argument);
    let mut line = vec![OsString::from("image")];
    match arguments.iter().any(names) {
        _ if own => {}
        true => line.extend(["build".into(), "--locks".into(), locks.into()]),
        false => line.push("ls".into()),
    }
    line.extend(arguments);
    line
}

fn is_flag(argument: &OsString) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let typed = typed.split_whitespace().map(OsString::from).collect();
        let line: Vec<String> = image_arguments(typed, Path::new("images"))
            .into_iter()
            .map(|argument| argument.into_string().expect("text"))
            .collect();
        assert_eq!(line.join(" "), expected);
    }

    #[test]
    fn names_alone_are_built_and_none_are_listed() {
        check("", "image ls");
        check("--json", "image ls --json");
        check("base porter", "image build --locks images base porter");
        check("dev --json", "image build --locks images dev --json");
        check("--all", "image build --locks images --all");
        check("ls --json", "image ls --json");
        check("build base", "image build base");
        check("verify base", "image verify base");
    }
}
