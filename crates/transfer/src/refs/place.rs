//! Which files of a repository say where it stands, and which repositories there are.

use std::collections::BTreeSet;

use lazaret_tree::{RelPath, RelPathBuf};

use crate::VolumeState;

/// Lists the repositories in a volume: `.git`, and below `.git/modules` each directory that has
/// a `HEAD`, unless it is a part of another one. In path order.
pub(super) fn repositories(volume: &VolumeState) -> Vec<RelPathBuf> {
    let Ok(git) = RelPath::new(".git") else {
        return Vec::new();
    };
    let mut heads: Vec<&RelPath> = Vec::new();
    if let Ok(modules) = RelPath::new(".git/modules") {
        let held = volume.below(modules).map(|(path, _)| path);
        let others = volume.unsupported_below(modules);
        let others = others.filter_map(|(name, _)| RelPath::from_bytes(name).ok());
        heads.extend(held.chain(others).filter(|path| path.file_name() == "HEAD"));
    }
    let dirs = heads.into_iter().filter_map(RelPath::parent);
    let dirs = dirs.filter(|dir| dir.as_str() != ".git/modules");
    let mut dirs: Vec<&RelPath> = dirs.collect();
    // What lies further up decides about what lies below it.
    dirs.sort_by_key(|dir| (dir.components().count(), *dir));
    let mut found = BTreeSet::from([git]);
    for dir in dirs {
        let is_part = |above: &RelPath| {
            let inside = dir.as_str().get(above.as_str().len() + 1..);
            let first = inside.and_then(|inside| inside.split('/').next());
            first != Some("modules")
        };
        let mut above = dir.ancestors().filter(|above| found.contains(above));
        if above.all(|above| !is_part(above)) {
            found.insert(dir);
        }
    }
    found.into_iter().map(ToOwned::to_owned).collect()
}
