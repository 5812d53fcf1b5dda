//! `cargo xtask soak`: builds `lazaret`, then kills parts of working sessions for a while.
//!
//! The soak is in `tests/matrix/soak`.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use xshell::Shell;

use crate::flags;
use crate::project::Porter;
use crate::test_matrix::run_matrix;

impl flags::Soak {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let porter = Porter::build(sh)?;
        run_matrix(sh, &porter, self.arguments()).context("the soak is not green")
    }

    fn arguments(self) -> Vec<OsString> {
        let mut line = vec!["soak".into()];
        let mut add = |flag: &str, value: String| line.extend([flag.into(), value.into()]);
        for engine in self.engine {
            add("--engine", engine);
        }
        for (flag, value) in [
            ("--minutes", self.minutes),
            ("--sessions", self.sessions.map(|count| count as u64)),
            ("--seed", self.seed),
        ] {
            if let Some(value) = value {
                add(flag, value.to_string());
            }
        }
        line
    }
}
