//! The command line of `cargo xtask`.

use std::ffi::OsString;
use std::path::PathBuf;

xflags::xflags! {
    /// The commands of this repository. Verbs of lazaret itself: `cargo xtask lazaret VERB`.
    cmd xtask {
        /// Make a fresh Debian or Ubuntu machine ready: install and start Docker and Podman.
        cmd setup {
            /// Do it without asking.
            optional -y,--yes
            /// Say what would be done, and end.
            optional --dry-run
            /// End the engines that an earlier `setup` started, and nothing else; with `--kubernetes`
            /// the cluster, and no engine.
            optional --down
            /// Start a Kubernetes cluster instead, built from Debian 12's packages. Needs root.
            optional --kubernetes
            /// Nodes of the cluster: 1 or 2. 1 when it is not given.
            optional --nodes count: u32
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
            /// Engine: docker, podman or podman-rootless; may be repeated. All three when there is
            /// none. Or kubernetes: the cluster of `setup --kubernetes`.
            repeated --engine name: String
            /// Part of a scenario's name; may be repeated. All when there is none.
            repeated --scenario name: String
            /// Write JUnit XML and JSON here.
            optional --report directory: PathBuf
            /// Scenarios at a time. One more than there are cores when it is not given.
            optional --jobs count: usize
            /// Run what failed once more, by itself; what passes then is reported as flaky.
            optional --again
            /// A scenario that asks the same of each engine runs on one of them: the next in turn.
            optional --in-turn
            /// Print the names of the scenarios, and end.
            optional --list
        }

        /// Have sessions work on real engines while their parts are killed, in a random order.
        cmd soak {
            /// Engine: docker, podman or podman-rootless; may be repeated. All when there is none.
            repeated --engine name: String
            /// How long parts are killed. 30 when it is not given.
            optional --minutes count: u64
            /// Sessions on all engines together. 24 when it is not given.
            optional --sessions count: usize
            /// Repeats the choices of a soak that printed this number.
            optional --seed number: u64
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

        /// Build the pages as a book in `target/docs/book`, check its links, and run the commands
        /// of the tutorial.
        cmd docs {
            /// Engine that the tutorial runs on. docker when it is not given.
            optional --engine name: String
            /// Build and check, and run nothing.
            optional --no-run
        }

        /// Take the pictures of screens in `docs/screens`, at four widths, on a real engine.
        cmd screens {
            /// Engine: docker, podman or podman-rootless. docker when it is not given.
            optional --engine name: String
        }

        /// Measure lazaret beside what others do in the same run: `bench --help` lists the suites.
        cmd bench {
            /// As `cargo run --package lazaret-bench`.
            repeated arguments: OsString
        }

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

/// Commands whose arguments another program parses.
const PASSED_ON: [&str; 4] = ["image", "run", "lazaret", "bench"];

/// Puts a `--` before the arguments that another program parses.
pub(crate) fn separate(mut arguments: Vec<OsString>) -> Vec<OsString> {
    match arguments.first().and_then(|verb| verb.to_str()) {
        Some("help") => arguments[0] = "--help".into(),
        Some(verb) if PASSED_ON.contains(&verb) => arguments.insert(1, "--".into()),
        _ => {}
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(typed: &str) -> Vec<OsString> {
        typed.split(' ').map(OsString::from).collect()
    }

    #[track_caller]
    fn check(typed: &str, expected: &str) {
        let parsed = Xtask::from_vec(separate(words(typed))).expect("parses");
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
            "Setup(Setup { yes: true, dry_run: false, down: false, kubernetes: false, nodes: None })",
        );
    }

    #[test]
    fn a_verb_of_lazaret_is_none_of_this_program() {
        for typed in ["diff NAME", "tets"] {
            let error = Xtask::from_vec(separate(words(typed))).expect_err("no such verb");
            let verb = typed.split(' ').next().unwrap_or_default();
            assert!(error.to_string().contains(verb), "{error}");
        }
    }
}
