//! The command line of `cargo xtask bench`.

use std::path::PathBuf;

xflags::xflags! {
    /// Measure copying and starting beside what others do in the same run, as ratios
    /// beside their targets; with `gate` how fast changes are judged and applied, with
    /// `net` what the gateway costs, with `live` what sessions cost that go on, with `far`
    /// copying over ssh, with `scale` many runs at once, with `judge` which hostile paths the
    /// rules warn of and which real commits they stop.
    cmd bench {
        /// What to measure: `copy`, `far`, `gate`, `judge`, `live`, `net` or `scale`. `copy` when it is not given.
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
        /// For `live`: sessions that sleep; 100 when it is not given. For `scale`: runs at
        /// once; 1, 8, 24, 48 and 100 in turn when it is not given.
        optional --sessions count: usize
        /// Engine: docker, podman or podman-rootless; may be repeated. All that answer
        /// when there is none.
        repeated --engine name: String
        /// A row, by its name; may be repeated. All when there is none.
        repeated --only row: String
        /// Write all figures to this file, as JSON; `target/bench/report.json` when it is
        /// not given.
        optional --report file: PathBuf
    }
}
