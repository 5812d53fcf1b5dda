//! `cargo xtask fuzz`: a short drive of the targets of `fuzz/` on stable Rust, blind to
//! coverage. The long run is `cargo fuzz run TARGET`.

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::flags;
use crate::project::{Porter, WHOLE_WORKSPACE, target_dir};

/// Seconds for each target.
const SECONDS: u64 = 6;

impl flags::Fuzz {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        self.run_with(sh, &Porter::build_dev(sh)?)
    }

    /// Replays the corpus, then changes it.
    pub(crate) fn run_with(self, sh: &Shell, porter: &Porter) -> Result<()> {
        porter
            .cargo(sh, &["build", "--quiet", "--bin", "lazaret-fuzz"])
            .args(WHOLE_WORKSPACE)
            .quiet()
            .run()
            .context("build the targets")?;
        let driver = target_dir(sh).join("debug/lazaret-fuzz");
        if self.list {
            return Ok(cmd!(sh, "{driver} --list").quiet().run()?);
        }
        let targets = self.target;
        let seconds = self.seconds.unwrap_or(SECONDS).to_string();
        let artifacts = target_dir(sh).join("fuzz/artifacts");
        cmd!(
            sh,
            "{driver} {targets...} --seconds {seconds} --artifacts {artifacts}"
        )
        .run()
        .context("some bytes break a property")
    }
}
