//! `cargo xtask porter`: builds the static porter and prints its path.

use anyhow::Result;
use xshell::Shell;

use crate::flags;
use crate::project::Porter;

impl flags::Porter {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        println!("{}", Porter::build(sh)?.path.display());
        Ok(())
    }
}
