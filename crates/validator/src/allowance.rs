//! `Allowance`: a user's word that one blocked change may pass.

use lazaret_tree::{Change, Digest, RelPathBuf, finding_code};

use crate::codes;

/// Codes that no user can allow: there are no bytes to apply, no path that a transaction
/// would write, or the limits of the batch are at stake. A `.` at the end stands for every
/// code that begins so.
///
/// `.git` under any of its names never crosses, whatever is in it; `git.bare` and
/// `git.symlink` are about files outside of it.
const NEVER: &[&str] = &[
    codes::CONTENT_UNREADABLE.id,
    codes::GIT_ALIAS.id,
    codes::GIT_ALTERNATES.id,
    codes::GIT_CONFIG.id,
    codes::GIT_HOOK.id,
    codes::GIT_INFO.id,
    codes::GIT_MODULES.id,
    codes::GIT_NESTED.id,
    codes::GIT_REDIRECT.id,
    codes::GIT_SHALLOW.id,
    codes::GIT_WORKTREE.id,
    "limit.",
    finding_code::LINK_CONTROL.id,
    finding_code::LINK_EMPTY.id,
    finding_code::LINK_ENCODING.id,
    codes::LINK_GIT.id,
    finding_code::LINK_NUL.id,
    finding_code::LINK_TOO_LONG.id,
    finding_code::NAME_CONTROL.id,
    finding_code::NAME_ENCODING.id,
    codes::PATH_PROTECTED.id,
    codes::PATH_RESERVED.id,
    finding_code::PATH_TOO_DEEP.id,
    finding_code::PATH_TOO_LONG.id,
    "type.",
];

/// A user's word that one finding about one change does not hold it back.
///
/// It is for exactly this change: another one of the same path, or the same one after
/// either side of it became different, is not covered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allowance {
    /// The code of the finding.
    pub code: String,
    /// The path.
    pub path: RelPathBuf,
    /// [`fingerprint`] of the change.
    pub fingerprint: Digest,
}

impl Allowance {
    /// Allows what `code` says about `change`.
    pub fn of(change: &Change, code: &str) -> Self {
        Self {
            code: code.to_owned(),
            path: change.path.clone(),
            fingerprint: fingerprint(change),
        }
    }

    /// Whether it is about this finding of this change.
    pub(crate) fn covers(&self, change: &Change, code: &str) -> bool {
        self.code == code
            && self.path == change.path
            && is_allowable(code)
            && self.fingerprint == fingerprint(change)
    }
}

/// Whether a block finding with this code can be allowed at all.
pub fn is_allowable(code: &str) -> bool {
    !NEVER.iter().any(|never| match never.strip_suffix('.') {
        Some(_) => code.starts_with(never),
        None => code == *never,
    })
}

/// Hashes a change: its path and both sides of it.
pub fn fingerprint(change: &Change) -> Digest {
    crate::verdict::changes_digest([change])
}

#[cfg(test)]
mod tests {
    use super::{NEVER, is_allowable};
    use crate::catalog;

    /// A row that no code of the catalogue has, once a code was renamed, forbids nothing.
    #[test]
    fn every_row_is_about_a_code_of_the_catalogue() {
        for never in NEVER {
            let is_meant = |code: &str| match never.strip_suffix('.') {
                Some(_) => code.starts_with(never),
                None => code == *never,
            };
            let meant: Vec<_> = catalog()
                .iter()
                .filter(|entry| is_meant(entry.code))
                .collect();
            assert!(!meant.is_empty(), "{never}");
            assert!(
                meant.iter().all(|entry| !is_allowable(entry.code)),
                "{never}"
            );
        }
    }
}
