//! The builder against a store of images.

use std::sync::Arc;

use insta::assert_snapshot;
use lazaret_image_builder::{BuildError, BuiltImage, Catalog, ImageState};

use crate::store::{Loading, Store, Yard};

/// The first bytes of a program for amd64, and then something of its own.
pub(crate) fn program(tail: &str) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(18, 0);
    bytes.extend([62, 0]);
    bytes.extend(tail.as_bytes());
    bytes
}

fn yard<'a>(store: &'a Store, porter: &'a [u8]) -> Yard<'a> {
    let engine = Arc::new(store.clone());
    Yard::new(engine, porter, store.cache())
}

fn ensure(store: &Store, porter: &[u8]) -> Result<BuiltImage, BuildError> {
    yard(store, porter).builder().ensure("porter", &mut |_| {})
}

fn state(store: &Store, porter: &[u8]) -> ImageState {
    yard(store, porter)
        .builder()
        .status("porter")
        .unwrap()
        .state
}

#[test]
fn an_image_is_built_once() {
    let (store, porter) = (Store::new(), program("1"));
    assert_eq!(state(&store, &porter), ImageState::Missing);
    let built = ensure(&store, &porter).unwrap();
    assert!(!built.reused);
    assert_eq!(built.pinned.reference().as_str(), built.id);
    assert_eq!(state(&store, &porter), ImageState::Current);

    let again = ensure(&store, &porter).unwrap();
    assert_eq!(
        again,
        BuiltImage {
            reused: true,
            ..built
        }
    );
    assert_eq!(store.loads().len(), 1);
}

#[test]
fn two_engines_get_the_same_bytes() {
    let porter = program("1");
    let [one, other] = [Store::new(), Store::new()];
    assert_eq!(
        ensure(&one, &porter).unwrap(),
        ensure(&other, &porter).unwrap()
    );
    assert_eq!(one.loads(), other.loads());
}

#[test]
fn another_porter_is_another_image() {
    let store = Store::new();
    let old = ensure(&store, &program("1")).unwrap();
    assert_eq!(state(&store, &program("2")), ImageState::Stale);
    let new = ensure(&store, &program("2")).unwrap();
    assert_ne!(old.reference, new.reference);
    assert_ne!(old.id, new.id);
}

#[test]
fn con_25_a_tag_that_was_moved_is_restored() {
    let (store, porter) = (Store::new(), program("1"));
    let built = ensure(&store, &porter).unwrap();
    store.tamper(&built.reference, |image| {
        image.entrypoint = vec!["/bin/evil".to_owned()];
        image.id = format!("sha256:{}", "e".repeat(64));
    });
    assert_eq!(ensure(&store, &porter).unwrap(), built);
}

#[test]
fn con_25_flt_20_an_engine_that_stores_something_else_is_found_out() {
    let mut store = Store::new();
    store.loading = Loading::Mangling;
    let error = ensure(&store, &program("1")).unwrap_err();
    assert!(matches!(error, BuildError::Mangled { .. }), "{error}");
}

#[test]
fn a_load_that_breaks_off_moves_no_tag() {
    let mut store = Store::new();
    store.loading = Loading::Breaking;
    let error = ensure(&store, &program("1")).unwrap_err();
    assert_snapshot!(error, @"build image porter: load image: the engine refused: no space left on device");
    assert_eq!(state(&store, &program("1")), ImageState::Missing);
}

#[test]
fn flt_20_what_can_not_run_there_is_not_built() {
    let mut store = Store::new();
    store.architecture = "arm64";
    assert_snapshot!(ensure(&store, &program("1")).unwrap_err(), @"build image porter: the engine runs arm64 programs, the porter is for amd64");
    assert_snapshot!(ensure(&store, b"").unwrap_err(), @"this lazaret was built without its porter; build it with `cargo xtask`");
    assert_snapshot!(ensure(&store, b"#!/bin/sh").unwrap_err(), @"the porter is not a 64-bit ELF program for amd64 or arm64");
    assert_eq!(store.loads().len(), 0);
}

#[test]
fn an_unknown_image_is_answered_with_the_known_ones() {
    let store = Store::new();
    let error = yard(&store, &program("1"))
        .builder()
        .ensure("bsae", &mut |_| {})
        .unwrap_err();
    assert_snapshot!(error, @r#"no image named "bsae" is declared; there are: base, claude, claude-acp, codex, dev, go, node, porter, postgres, python, redis, rust"#);
}

#[test]
fn every_declared_image_is_listed() {
    let (store, porter) = (Store::new(), program("1"));
    ensure(&store, &porter).unwrap();
    let listed: Vec<_> = yard(&store, &porter)
        .builder()
        .list()
        .unwrap()
        .into_iter()
        .map(|image| (image.name, image.status.state))
        .collect();
    let there: Vec<_> = listed
        .iter()
        .filter(|(_, state)| *state != ImageState::Missing)
        .map(|(name, state)| (name.as_str(), *state))
        .collect();
    assert_eq!(there, [("porter", ImageState::Current)]);
    assert_eq!(listed.len(), Catalog::embedded().unwrap().images().len());
}
