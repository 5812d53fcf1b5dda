//! `--with-ignored`.

use lazaret_gate::ignored::IgnoredFiles;

/// Whether new files that git ignores are offered.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct WithIgnored {
    /// Take new files that git ignores too, which otherwise stay in the copy
    #[arg(long)]
    with_ignored: bool,
}

impl WithIgnored {
    /// Returns what becomes of such files.
    pub(crate) fn files(self) -> IgnoredFiles {
        match self.with_ignored {
            true => IgnoredFiles::Offered,
            false => IgnoredFiles::Stay,
        }
    }
}
