//! Withholding some changes without breaking the others.

use std::sync::Arc;

use lazaret_transfer::{Change, Entry, RelPath};

use crate::{Withheld, WithheldReason};

/// Splits changes (in path order) into those that may be applied and those that
/// are withheld, given why each is withheld by itself.
///
/// What is withheld takes others along: nothing can be created below a directory
/// that is not, and a directory can't go while something in it stays.
pub fn split(
    changes: Vec<Arc<Change>>,
    mut reasons: Vec<Option<WithheldReason>>,
) -> (Vec<Arc<Change>>, Vec<Withheld>) {
    debug_assert_eq!(changes.len(), reasons.len());
    if reasons.iter().all(Option::is_none) {
        return (changes, Vec::new());
    }
    // Downwards, parents first: below a withheld entry, whatever it was to become. What
    // lies below a path follows it at once, so a stack of paths knows where we are.
    let mut above: Vec<&RelPath> = Vec::new();
    for (change, reason) in changes.iter().zip(&mut reasons) {
        while above
            .pop_if(|path| !change.path.starts_with(path))
            .is_some()
        {}
        if reason.is_none() {
            let Some(nearest) = above.last() else {
                continue;
            };
            *reason = Some(WithheldReason::Below((*nearest).to_owned()));
        }
        above.push(&change.path);
    }
    // Upwards, children first: a directory in which a withheld change keeps an entry.
    for (i, change) in changes.iter().enumerate().rev() {
        if reasons[i].is_none() || change.before.is_none() {
            continue;
        }
        for above in change.path.ancestors() {
            let found = changes[..i].binary_search_by(|other| (*other.path).cmp(above));
            let Ok(j) = found else { continue };
            if changes[j].before == Some(Entry::Dir) && reasons[j].is_none() {
                reasons[j] = Some(WithheldReason::Keeps(change.path.clone()));
            }
        }
    }
    let held = reasons.iter().flatten().count();
    let mut apply = Vec::with_capacity(changes.len() - held);
    let mut withheld = Vec::with_capacity(held);
    for (change, reason) in changes.into_iter().zip(reasons) {
        match reason {
            None => apply.push(change),
            Some(reason) => withheld.push(Withheld {
                path: change.path.clone(),
                reason,
            }),
        }
    }
    (apply, withheld)
}
