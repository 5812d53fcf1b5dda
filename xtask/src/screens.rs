//! `cargo xtask screens`: builds `lazaret`, then takes pictures of what a user sees.
//!
//! What is pictured is in `tests/matrix/screens`.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use xshell::Shell;

use crate::flags;
use crate::project::{Porter, root};
use crate::test_matrix::run_matrix;

/// Where the pictures lie.
const FOLDER: &str = "docs/screens";

impl flags::Screens {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let porter = Porter::build(sh)?;
        let mut line: Vec<OsString> = vec!["screens".into(), "--into".into()];
        line.push(root().join(FOLDER).into());
        if let Some(engine) = self.engine {
            line.extend(["--engine".into(), engine.into()]);
        }
        run_matrix(sh, &porter, line).context("the pictures are not taken")
    }
}
