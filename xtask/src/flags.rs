//! The command line of `cargo xtask`.

use std::ffi::OsString;
use std::path::PathBuf;

xflags::xflags! {
    /// The commands of this repository. Any other verb is one of lazaret's own and goes to it.
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

        /// Everything: engines, fmt, clippy, tidy, all tests, images, the matrix.
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

        /// Look for bytes that break a property, guided by coverage (libFuzzer; needs g++).
        cmd fuzz {
            /// Targets, one after the other; all when there is none.
            repeated target: String
            /// Minutes for all of them together. Ten when it is not given.
            optional --minutes count: u64
            /// Print the names of the targets, and end.
            optional --list
        }

        /// Package a static lazaret with all it needs: one tar.gz in `target/dist`.
        cmd dist {}

        /// Measure copying and starting beside what others do in the same run, as ratios
        /// beside their targets; with `gate` how fast changes are judged and applied, with
        /// `net` what the gateway costs, with `image` what builds take that have little to
        /// do, and how large images are; with `judge` which hostile paths the rules warn of
        /// and which real commits they stop.
        cmd bench {
            /// What to measure: `copy`, `gate`, `image`, `judge` or `net`. `copy` when it is not
            /// given.
            optional suite: String
            /// For `judge`: the directory with `hostile-paths.tsv` and `real-commits.jsonl`.
            /// `../shared/corpus` when it is not given.
            optional corpus: PathBuf
            /// For `judge`: also print what is missed, and what stops which commit.
            optional -v,--list
            /// For `judge`: print the figures as JSON.
            optional --json
            /// Two rounds without the large tree.
            optional --quick
            /// Rounds that count. Three when it is not given.
            optional --rounds count: usize
            /// Engine: docker, podman or podman-rootless; may be repeated. All that answer
            /// when there is none.
            repeated --engine name: String
            /// A row, by its name; may be repeated. All when there is none.
            repeated --only row: String
            /// Write all figures to this file, as JSON; `target/bench/report.json` when it is
            /// not given.
            optional --report file: PathBuf
        }

        /// Draw `docs/review.svg` from the program itself. Needs an engine and tmux.
        cmd picture {}

        /// Check the rules of this repository that no compiler checks.
        cmd tidy {
            /// Print the import circles between files with the lines that make them, and end.
            optional --cycles
            /// Remove files from the list of allowed circles that are in none any more.
            optional --shrink
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

        /// Run lazaret itself: `lazaret VERB...`; a verb that is none of these goes there as well.
        cmd lazaret {
            /// Passed on as they are.
            repeated arguments: OsString
        }
    }
}

/// Commands of this program, which it parses itself.
const OWN: [&str; 9] = [
    "setup",
    "porter",
    "test",
    "test-matrix",
    "fuzz",
    "dist",
    "bench",
    "picture",
    "tidy",
];
/// Commands whose arguments are lazaret's.
const PASSED_ON: [&str; 3] = ["image", "run", "lazaret"];

/// Puts a `--` before the arguments that are not ours to parse, and `lazaret` before a
/// verb that we do not know.
pub(crate) fn separate(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(verb) = arguments.first().and_then(|verb| verb.to_str()) else {
        return arguments;
    };
    if verb == "help" {
        arguments[0] = "--help".into();
        return arguments;
    }
    if verb.starts_with('-') || OWN.contains(&verb) {
        return arguments;
    }
    if !PASSED_ON.contains(&verb) {
        arguments.insert(0, "lazaret".into());
    }
    arguments.insert(1, "--".into());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let parsed = Xtask::from_vec(separate(typed.split(' ').map(OsString::from).collect()));
        assert_eq!(
            format!("{:?}", parsed.expect("parses").subcommand),
            expected
        );
    }

    #[test]
    fn product_verbs_reach_lazaret_as_typed() {
        check(
            "diff NAME --json",
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
}
