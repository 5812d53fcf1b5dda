//! Withholding some changes without breaking the others.

use std::collections::BTreeMap;

use lazaret_transfer::{Change, Entry, RelPath};

use crate::{Withheld, WithheldReason};

/// Splits changes (in path order) into those that may be applied and those that
/// are withheld, given why each is withheld by itself.
///
/// What is withheld takes others along: nothing can be created below a directory
/// that is not, and a directory can't go while something in it stays.
pub(crate) fn split(
    changes: Vec<Change>,
    mut reasons: Vec<Option<WithheldReason>>,
) -> (Vec<Change>, Vec<Withheld>) {
    debug_assert_eq!(changes.len(), reasons.len());
    let index: BTreeMap<&RelPath, usize> = changes
        .iter()
        .enumerate()
        .map(|(i, change)| (&*change.path, i))
        .collect();
    // Downwards, parents first: below a withheld directory, whatever it was to become.
    for (i, change) in changes.iter().enumerate() {
        if reasons[i].is_some() {
            continue;
        }
        let above = change
            .path
            .ancestors()
            .find(|path| index.get(path).is_some_and(|&j| reasons[j].is_some()));
        if let Some(above) = above {
            reasons[i] = Some(WithheldReason::Below(above.to_owned()));
        }
    }
    // Upwards, children first: a directory in which a withheld change keeps an entry.
    for (i, change) in changes.iter().enumerate().rev() {
        if reasons[i].is_none() || change.before.is_none() {
            continue;
        }
        for above in change.path.ancestors() {
            let Some(&j) = index.get(above) else { continue };
            if changes[j].before == Some(Entry::Dir) && reasons[j].is_none() {
                reasons[j] = Some(WithheldReason::Keeps(change.path.clone()));
            }
        }
    }
    let mut apply = Vec::new();
    let mut withheld = Vec::new();
    for (change, reason) in changes.into_iter().zip(reasons) {
        match reason {
            None => apply.push(change),
            Some(reason) => withheld.push(Withheld { change, reason }),
        }
    }
    (apply, withheld)
}
