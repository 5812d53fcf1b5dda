//! The command line of `cargo xtask`.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

xflags::xflags! {
    /// The commands of this repository. Verbs of lazaret itself: `cargo xtask lazaret VERB`.
    cmd xtask {
        /// Make a fresh Debian or Ubuntu machine ready: install and start Docker and Podman.
        cmd setup {
            /// Do it without asking.
            optional -y,--yes
            /// Say what would be done, and end.
            optional --dry-run
            /// End the engines that an earlier `setup` started, and nothing else.
            optional --down
        }

        /// Build the static porter and print its path.
        cmd porter {}

        /// Check a change without engines, root or network: format, tidy, clippy, generated pages,
        /// tests, dependencies.
        cmd check {
            /// Format the code and write the generated pages anew before the checks.
            optional --fix
        }

        /// Write the pages that lazaret generates: `docs/cli.md` and `docs/rules.md`.
        cmd codegen {
            /// Write nothing; fail if a page is out of date.
            optional --check
        }

        /// Run the tests that need an engine: the contract, the weakened containers, real images.
        /// An engine that is named and absent fails.
        cmd contract {
            /// Engine: docker, podman or podman-rootless; may be repeated. All when there is none.
            repeated --engine name: String
        }

        /// Everything: the check, then engines, their contract, a short fuzz, images, the matrix.
        cmd test {
            /// Set engines up without asking.
            optional -y,--yes
            /// Write the matrix' JUnit XML and JSON here.
            optional --report directory: PathBuf
        }

        /// Run scenarios on real engines. An engine that is named and absent fails.
        cmd test-matrix {
            /// Engine: docker, podman or podman-rootless; may be repeated. All when there is none.
            repeated --engine name: String
            /// Part of a scenario's name; may be repeated. All when there is none.
            repeated --scenario name: String
            /// Write JUnit XML and JSON here.
            optional --report directory: PathBuf
            /// Scenarios at a time. Two when it is not given.
            optional --jobs count: usize
            /// Run what failed once more, by itself; what passes then is reported as flaky.
            optional --again
            /// Print the names of the scenarios, and end.
            optional --list
        }

        /// Look for bytes that break a property, for seconds; `cargo fuzz run TARGET` looks longer.
        cmd fuzz {
            /// Targets, one after the other; all when there is none.
            repeated target: String
            /// Seconds for each target. Six when it is not given.
            optional --seconds count: u64
            /// Print the names of the targets, and end.
            optional --list
        }

        /// Package a static lazaret with all it needs: one tar.gz in `target/dist`.
        cmd dist {}

        /// Measure lazaret beside what others do in the same run: `bench --help` lists the suites.
        cmd bench {
            /// As `cargo run --package lazaret-bench`.
            repeated arguments: OsString
        }

        /// Draw `docs/review.svg` from the program itself. Needs an engine and tmux.
        cmd picture {}

        /// Check the rules of this repository that no compiler checks.
        cmd tidy {
            /// Print the import circles between files with the lines that make them, and end.
            optional --cycles
        }

        /// List images, or build and verify those that are named and write their locks:
        /// `image [NAME...]`; or any `lazaret image` verb.
        cmd image {
            /// Names of images, or a verb of `lazaret image`.
            repeated arguments: OsString
        }

        /// Build what is stale, then run: `run PROFILE [WORKSPACE] [--yes] [LAZARET FLAGS] [-- CMD...]`.
        cmd run {
            /// As `lazaret run`, with the workspace as second argument.
            repeated arguments: OsString
        }

        /// Run lazaret itself: `lazaret VERB...`.
        cmd lazaret {
            /// Passed on as they are.
            repeated arguments: OsString
        }
    }
}

/// Commands of this program, which it parses itself.
const OWN: [&str; 11] = [
    "setup",
    "porter",
    "check",
    "codegen",
    "contract",
    "test",
    "test-matrix",
    "fuzz",
    "dist",
    "picture",
    "tidy",
];
/// Commands whose arguments another program parses.
const PASSED_ON: [&str; 4] = ["image", "run", "lazaret", "bench"];

/// Puts a `--` before the arguments that another program parses.
///
/// # Errors
/// An unknown verb; the message suggests a known one.
pub(crate) fn separate(mut arguments: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(verb) = arguments.first().map(|verb| verb.to_string_lossy()) else {
        return Ok(arguments);
    };
    match verb.as_ref() {
        "help" => arguments[0] = "--help".into(),
        verb if PASSED_ON.contains(&verb) => arguments.insert(1, "--".into()),
        verb if verb.starts_with('-') || OWN.contains(&verb) => {}
        verb => bail!("cannot run `{verb}`: no such command\n{}", hint(verb)),
    }
    Ok(arguments)
}

/// Names the closest command, or where all are listed.
fn hint(typed: &str) -> String {
    let known = OWN.iter().chain(&PASSED_ON);
    let closest = known
        .map(|name| (edits(typed, name), name))
        .min()
        .filter(|(edits, name)| *edits <= 2 && *edits < name.len());
    let own = match closest {
        Some((_, name)) => format!("hint: type `cargo xtask {name}`"),
        None => "hint: `cargo xtask help` lists the commands".to_owned(),
    };
    format!("{own}; for a verb of lazaret type `cargo xtask lazaret {typed}`")
}

/// Returns the Levenshtein distance of two words, in bytes.
fn edits(left: &str, right: &str) -> usize {
    let mut row = Vec::from_iter(0..=right.len());
    for (line, byte) in left.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, other) in right.bytes().enumerate() {
            let replaced = diagonal + usize::from(byte != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(typed: &str) -> Vec<OsString> {
        typed.split(' ').map(OsString::from).collect()
    }

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let arguments = separate(words(typed)).expect("a known verb");
        let parsed = Xtask::from_vec(arguments).expect("parses");
        assert_eq!(format!("{:?}", parsed.subcommand), expected);
    }

    #[test]
    fn arguments_of_lazaret_reach_it_as_typed() {
        check(
            "lazaret diff NAME --json",
            r#"Lazaret(Lazaret { arguments: ["diff", "NAME", "--json"] })"#,
        );
        check(
            "lazaret ls -- x",
            r#"Lazaret(Lazaret { arguments: ["ls", "--", "x"] })"#,
        );
        check(
            "run demo --yes -- a -b",
            r#"Run(Run { arguments: ["demo", "--yes", "--", "a", "-b"] })"#,
        );
        check("image --help", r#"Image(Image { arguments: ["--help"] })"#);
        check(
            "setup --yes",
            "Setup(Setup { yes: true, dry_run: false, down: false })",
        );
    }

    #[track_caller]
    fn refused(typed: &str, suggestion: &str) {
        let error = separate(words(typed)).expect_err("no such verb");
        assert!(error.to_string().contains(suggestion), "{error}");
    }

    #[test]
    fn an_unknown_verb_is_an_error_with_a_suggestion() {
        refused("tets", "type `cargo xtask test`");
        refused("chekc --fix", "type `cargo xtask check`");
        refused("testmatrix", "type `cargo xtask test-matrix`");
        refused("diff NAME", "type `cargo xtask lazaret diff`");
        refused("frobnicate", "`cargo xtask help` lists the commands");
    }

    #[test]
    fn every_command_is_known_to_the_separation() {
        let help = Xtask::HELP_;
        for verb in OWN.iter().chain(&PASSED_ON) {
            assert!(help.contains(verb), "{verb}");
        }
    }
}
