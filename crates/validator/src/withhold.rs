//! Withholding some changes without breaking the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use lazaret_tree::{Change, Entry, Fate, MAX_DEPTH, Pair, RelPath, RelPathBuf, Renames};

use crate::{Withheld, WithheldReason};

/// Splits changes (in path order) into those that may be applied and those that
/// are withheld, given why each is withheld by itself.
///
/// What is withheld takes others along: nothing can be created below a directory
/// that is not, a directory can't go while something in it stays, and a file stays where it
/// is while the place that it was moved to is withheld (APP-27), unless it is one of those
/// that the user takes `alone`.
pub fn split(
    changes: Vec<Arc<Change>>,
    mut reasons: Vec<Option<WithheldReason>>,
    alone: &BTreeSet<RelPathBuf>,
) -> (Vec<Arc<Change>>, Vec<Withheld>) {
    debug_assert_eq!(changes.len(), reasons.len());
    if reasons.iter().all(Option::is_none) {
        return (changes, Vec::new());
    }
    spread(&changes, &mut reasons);
    hold_halves(&changes, &mut reasons, alone);
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

/// Withholds the deletion of every file or link that may have been moved to `place`, which was
/// not read: of all that arrives nowhere else.
pub(crate) fn hold_unexplained(
    changes: &[Arc<Change>],
    reasons: &mut [Option<WithheldReason>],
    place: &[u8],
    alone: &BTreeSet<RelPathBuf>,
) {
    let renames = Renames::of(changes);
    let explained: BTreeSet<usize> = renames.pairs().map(|pair| pair.from).collect();
    let place: Arc<[u8]> = place.into();
    for (index, (change, reason)) in changes.iter().zip(reasons).enumerate() {
        let Change {
            path,
            before,
            after,
        } = &**change;
        let is_gone = after.is_none() && !matches!(before, Some(Entry::Dir));
        if is_gone && !explained.contains(&index) && !alone.contains(path) {
            reason.get_or_insert_with(|| WithheldReason::Moved(Arc::clone(&place)));
        }
    }
}

/// Withholds what would be half a rename, and what depends on that.
fn hold_halves(
    changes: &[Arc<Change>],
    reasons: &mut [Option<WithheldReason>],
    alone: &BTreeSet<RelPathBuf>,
) {
    let renames = Renames::of(changes);
    if renames.is_empty() {
        return;
    }
    let moved = |to: usize| WithheldReason::Moved(changes[to].path.as_str().as_bytes().into());
    let fate = |change: &Arc<Change>, reason: &Option<WithheldReason>| match reason {
        Some(_) => Fate::Stays,
        None if alone.contains(&change.path) => Fate::Chosen,
        None => Fate::Happens,
    };
    // A directory that stays may withhold a place that something was moved to, and so on.
    for _ in 0..MAX_DEPTH {
        let fates = changes.iter().zip(&*reasons);
        let mut fates: Vec<Fate> = fates.map(|(change, reason)| fate(change, reason)).collect();
        let held = renames.hold(&mut fates);
        if held.is_empty() {
            return;
        }
        for Pair { from, to } in held {
            reasons[from].get_or_insert_with(|| moved(to));
        }
        spread(changes, reasons);
    }
    // There is no end to it: no rename of the batch happens.
    for Pair { from, to } in renames.pairs() {
        reasons[from].get_or_insert_with(|| moved(to));
    }
    spread(changes, reasons);
}

/// Withholds what can't happen without what is withheld.
fn spread(changes: &[Arc<Change>], reasons: &mut [Option<WithheldReason>]) {
    // Downwards, parents first: below a withheld entry, whatever it was to become. What
    // lies below a path follows it at once, so a stack of paths knows where we are.
    let mut above: Vec<&RelPath> = Vec::new();
    for (change, reason) in changes.iter().zip(&mut *reasons) {
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
}
