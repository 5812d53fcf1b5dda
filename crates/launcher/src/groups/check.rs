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
    /// An extra directory of one holds the folder of a group, or lies in it.
    #[error("an extra directory of group {0} overlaps with the folder of group {1}")]
    Extra(String, String),
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
        let reached = |path: &Path| {
            let holds = |other: &&&Group| folder(other).is_some_and(|other| overlap(&other, path));
            all.iter().find(holds).map(|other| names(other))
        };
        for shared in &one.shared {
            if let Some((a, b)) = reached(&place(&one.project, shared)) {
                return Err(Clash::Shared(a, b));
            }
        }
        for extra in &one.extra {
            if let Some((a, b)) = reached(&lower_case(&extra.path)) {
                return Err(Clash::Extra(a, b));
            }
        }
    }
    Ok(())
}

fn folder(group: &Group) -> Option<PathBuf> {
    Some(place(&group.project, group.folder.as_ref()?))
}

fn place(project: &Path, path: &RelPath) -> PathBuf {
    lower_case(&project.join(path.as_str()))
}

fn lower_case(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

/// Whether one holds the other, or is it.
fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
