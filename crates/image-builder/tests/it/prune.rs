//! What `prune` takes, and from whom.

use std::path::Path;
use std::sync::Arc;

use lazaret_image_builder::{Removed, Sweep};

use crate::build::program;
use crate::store::{Loading, Store, Yard};

/// An installation: a state of its own, and the cache of all.
fn installation<'a>(store: &'a Store, porter: &'a [u8], state: &Path) -> Yard<'a> {
    let mut yard = Yard::new(Arc::new(store.clone()), porter, store.cache());
    yard.installed = state.join("images");
    yard
}

fn build(yard: &Yard<'_>) -> String {
    let built = yard.builder().ensure("porter", &mut |_| {}).unwrap();
    built.reference.to_string()
}

fn prune(yard: &Yard<'_>, sweep: Sweep) -> Vec<String> {
    let removed = yard.builder().prune(sweep).unwrap();
    let images = removed.into_iter().map(|one| match one {
        Removed::Image { reference, .. } => reference,
        other => panic!("{other:?}"),
    });
    images.collect()
}

#[test]
fn only_what_this_installation_made_goes() {
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let (mine, theirs) = (state.path().join("mine"), state.path().join("theirs"));
    let (old, new) = (program("1"), program("2"));
    let stale = build(&installation(&store, &old, &mine));
    let current = build(&installation(&store, &new, &mine));
    let foreign = build(&installation(&store, &program("3"), &theirs));

    let mine = installation(&store, &new, &mine);
    assert_eq!(prune(&mine, Sweep::DryRun), std::slice::from_ref(&stale));
    assert_eq!(store.tags().len(), 3, "a dry run removes nothing");
    assert_eq!(prune(&mine, Sweep::Remove), [stale]);
    let mut left = vec![current, foreign.clone()];
    left.sort();
    assert_eq!(store.tags(), left);
    assert_eq!(prune(&mine, Sweep::Remove), [""; 0]);

    let theirs = installation(&store, &old, &theirs);
    assert_eq!(prune(&theirs, Sweep::Remove), [foreign]);
}

#[test]
fn what_was_only_used_is_not_taken() {
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let (mine, theirs) = (state.path().join("mine"), state.path().join("theirs"));
    let (old, new) = (program("1"), program("2"));
    let built = build(&installation(&store, &old, &mine));
    assert_eq!(built, build(&installation(&store, &old, &theirs)));
    assert_eq!(
        prune(&installation(&store, &new, &theirs), Sweep::Remove),
        [""; 0]
    );
    assert_eq!(
        prune(&installation(&store, &new, &mine), Sweep::Remove),
        [built]
    );
}

#[test]
fn a_killed_builds_candidate_goes_and_a_running_ones_stays() {
    let mut store = Store::new();
    store.loading = Loading::Keeping;
    let state = tempfile::tempdir().unwrap();
    let porter = program("1");
    let mine = installation(&store, &porter, state.path());
    build(&mine);
    let half: Vec<_> = store
        .tags()
        .into_iter()
        .filter(|tag| tag.starts_with("localhost/lazaret/candidate:porter-"))
        .collect();
    assert_eq!(half.len(), 1, "the store kept it, as a killed build would");

    let guard = std::fs::File::create(store.cache().join("candidate-porter.guard")).unwrap();
    guard.lock().unwrap();
    assert_eq!(prune(&mine, Sweep::Remove), [""; 0]);
    drop(guard);
    assert_eq!(prune(&mine, Sweep::Remove), half);
}
