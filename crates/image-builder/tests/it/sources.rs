//! What is said of a component that no source gives.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use insta::assert_snapshot;
use lazaret_image_builder::{BuildEvent, Catalog, ImageState};

use crate::build::program;
use crate::registry::{BASE, Sample};
use crate::store::{Store, Yard};

/// Builds an image of one component on a registry image; returns the error and the sources
/// that failed.
fn refusal(component: &str, choice: &str) -> (String, Vec<String>) {
    let own = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = own.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("components/tool.toml", component);
    let image =
        format!("description = 'x'\nbase.registry = '{BASE}'\n[components]\ntool = {choice}\n");
    write("mine/image.toml", &image);
    let mut store = Store::new();
    store.registry = BTreeMap::from([(BASE.to_owned(), Sample::new().legacy())]);
    let porter = program("1");
    let mut yard = Yard::new(Arc::new(store.clone()), &porter, store.cache());
    yard.catalog = Catalog::with_own(own.path()).unwrap();
    let mut failed = Vec::new();
    let error = yard
        .builder()
        .ensure("mine", &mut |event| {
            if let BuildEvent::SourceFailed { source, .. } = event {
                failed.push(source);
            }
        })
        .unwrap_err();
    let state = yard.builder().status("mine").unwrap().state;
    assert_eq!(state, ImageState::Missing, "no tag was moved");
    let shown = own.path().display().to_string();
    (error.to_string().replace(&shown, "<own>"), failed)
}

const TWO: &str = "description = 'x'\nversion = '16'\nverify = ['true']\n\
    [[source]]\nname = 'one'\ngives = '15'\ninstall = 'true'\n\
    [[source]]\nname = 'other'\ngives = '160'\ninstall = 'true'\n";

#[test]
fn a_source_that_has_another_version_is_passed_over() {
    let (error, failed) = refusal(TWO, "{}");
    assert_snapshot!(error, @"
    build image mine: <own>/mine/image.toml:4: no source gives `tool`:
    - one: it has version 15, wanted 16
    - other: it has version 160, wanted 16
    ");
    assert_eq!(failed, ["one", "other"]);
}

#[test]
fn what_an_image_asks_for_counts_and_a_prefix_may_fit() {
    // This engine runs no containers: a source that is tried ends there.
    let (error, _) = refusal(TWO, "{ version = '15.4', source = 'one' }");
    assert!(error.contains("one: the install step: "), "{error}");
    let (error, _) = refusal(TWO, "{ version = '15', source = 'one' }");
    assert!(error.contains("one: the install step: "), "{error}");
    let (error, _) = refusal(TWO, "{ version = '1', source = 'one' }");
    assert!(error.contains("wanted 1"), "{error}");
}
