//! One pack with everything that a copy needs.

use std::path::Path;

use super::borrowed_repository::BorrowedRepository;
use crate::failure::Failure;

/// What a pack holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackContents {
    /// What the commit reaches.
    Commit,
    /// That, and what the user's index names.
    CommitAndIndex,
}

impl PackContents {
    fn words(self) -> &'static str {
        match self {
            Self::Commit => "pack the commit",
            Self::CommitAndIndex => "pack HEAD and the index",
        }
    }
}

/// Writes one pack, with its index, to the directory `objects/pack` of `repository`. History ends
/// where the borrowed repository's `shallow` says. Without a commit, the pack holds what the user's
/// index names.
///
/// # Errors
/// If an object is missing.
pub(super) fn write(
    borrowed: &BorrowedRepository<'_>,
    repository: &Path,
    contents: PackContents,
    commit: Option<&str>,
) -> Result<(), Failure> {
    let pack = repository.join("objects/pack/pack");
    let pack = pack.to_string_lossy();
    // Deltas that the source has are used again, and none is looked for: the pack lives as
    // long as a session, and time is what is short.
    let mut arguments = vec![
        "-c",
        "pack.writeBitmaps=false",
        "-c",
        "pack.compression=1",
        "pack-objects",
        "--quiet",
        "--revs",
        "--window=0",
        "--delta-base-offset",
    ];
    if contents == PackContents::CommitAndIndex {
        arguments.push("--indexed-objects");
    }
    arguments.push(&pack);
    let tip = commit.map_or(String::new(), |commit| format!("{commit}\n"));
    let packed = borrowed.git(&arguments, &tip)?;
    packed.text(contents.words())?;
    Ok(())
}
