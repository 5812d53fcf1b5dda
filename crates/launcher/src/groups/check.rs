//! Groups that would reach each other are refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lazaret_tree::RelPath;

use super::Group;

/// Why two groups are not apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Clash {
    /// Two folders are the same, or one holds the other.
    #[error("the folders of the groups {0} and {1} overlap")]
    Folders(String, String),
    /// What is shared with one holds the folder of a group, or lies in it.
    #[error("what is shared with group {0} overlaps with the folder of group {1}")]
    Shared(String, String),
    /// Two have the same chat.
    #[error("the groups {0} and {1} have the same chat")]
    Chats(String, String),
}

/// Checks that no group has a path or a chat of another one. Letters of both cases count as the
/// same: on some file systems they are.
pub(super) fn apart(groups: &BTreeMap<String, Group>) -> Result<(), Clash> {
    let all: Vec<&Group> = groups.values().collect();
    for (at, one) in all.iter().enumerate() {
        let names = |other: &Group| (one.name.clone(), other.name.clone());
        for other in all.iter().skip(at + 1) {
            let (a, b) = names(other);
            if let (Some(mine), Some(its)) = (folder(one), folder(other))
                && overlap(&mine, &its)
            {
                return Err(Clash::Folders(a, b));
            }
            if one.chats.iter().any(|chat| other.chats.contains(chat)) {
                return Err(Clash::Chats(a, b));
            }
        }
        for shared in &one.shared {
            let shared = place(&one.project, shared);
            for other in &all {
                if folder(other).is_some_and(|folder| overlap(&folder, &shared)) {
                    let (a, b) = names(other);
                    return Err(Clash::Shared(a, b));
                }
            }
        }
    }
    Ok(())
}

fn folder(group: &Group) -> Option<PathBuf> {
    Some(place(&group.project, group.folder.as_ref()?))
}

fn place(project: &Path, path: &RelPath) -> PathBuf {
    let place = project.join(path.as_str());
    PathBuf::from(place.to_string_lossy().to_lowercase())
}

/// Whether one holds the other, or is it.
fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
