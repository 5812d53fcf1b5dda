//! Combined images: what their parts' declarations make of them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use insta::assert_snapshot;
use lazaret_image_builder::{Base, Catalog};

use crate::build::program;
use crate::store::{Store, Yard};

fn components(catalog: &Catalog, name: &str) -> Vec<String> {
    let spec = catalog.find(name).unwrap();
    let wanted = |choice: &lazaret_image_builder::ComponentRequest| {
        format!("{} of {}", choice.component, choice.image)
    };
    spec.components.iter().map(wanted).collect()
}

/// Reads images that are declared below a directory, by name and text.
fn own(dir: &Path, images: &[(&str, &str)]) -> Catalog {
    for (name, text) in images {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("image.toml"), text).unwrap();
    }
    Catalog::with_own(dir).unwrap()
}

#[test]
fn a_combined_image_has_the_components_of_its_parts() {
    let catalog = Catalog::embedded().unwrap();
    let combined = catalog.find("rust+claude").unwrap();
    assert_eq!(combined.name.as_str(), "claude+rust");
    assert_eq!(combined.base, Base::Image("base".parse().unwrap()));
    // `cc` builds on everything below it, so it comes first and has the layer that `rust` has.
    assert_eq!(
        components(&catalog, "claude+rust"),
        ["cc of rust", "claude of claude", "rust of rust"]
    );
    assert_eq!(
        catalog.find("claude+rust").unwrap(),
        catalog.find("rust+claude").unwrap()
    );
    // The base adds nothing, and what two parts have is there once.
    assert_eq!(
        components(&catalog, "base+rust"),
        ["cc of rust", "rust of rust"]
    );
    let dev = catalog.get("dev").unwrap().components.len();
    assert_eq!(components(&catalog, "claude+dev+rust").len(), dev);
}

#[test]
fn what_lies_between_an_image_and_its_base_comes_along() {
    let dir = tempfile::tempdir().unwrap();
    let shop = "description = 'x'\nbase = 'rust'\nverify = ['true']\n[components]\nnode = {}\n";
    let catalog = own(dir.path(), &[("shop", shop)]);
    let combined = catalog.find("shop+claude").unwrap();
    assert_eq!(combined.verify, ["true"]);
    assert_eq!(
        components(&catalog, "shop+claude"),
        [
            "cc of rust",
            "claude of claude",
            "rust of rust",
            "node of shop"
        ]
    );
}

#[test]
fn packages_of_parts_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let with = |packages: &str| {
        format!(
            "description = 'x'\nbase = 'base'\n[components]\napt = {{ packages = [{packages}] }}\n"
        )
    };
    let (one, other) = (with("'jq', 'bc'"), with("'jq', 'zip'"));
    let catalog = own(dir.path(), &[("one", &one), ("other", &other)]);
    let combined = catalog.find("one+other").unwrap();
    let packages: Vec<_> = combined.components[0]
        .packages
        .iter()
        .map(|package| package.as_str())
        .collect();
    assert_eq!(packages, ["bc", "jq", "zip"]);
}

#[test]
fn what_does_not_fit_names_the_two_images() {
    let dir = tempfile::tempdir().unwrap();
    let image = |rest: &str| format!("description = 'x'\nbase = 'base'\n{rest}");
    let catalog = own(
        dir.path(),
        &[
            (
                "alone",
                "description = 'x'\nbase.debootstrap.suite = 'trixie'\n",
            ),
            ("old", &image("[components]\nnode.version = '20'\n")),
            ("same", &image("[components]\nnode.version = '24'\n")),
            ("one", &image("[user]\nname = 'one'\n")),
            ("two", &image("[user]\nname = 'two'\n")),
        ],
    );
    let refusal = |name: &str| catalog.find(name).unwrap_err().to_string();
    assert_snapshot!(refusal("alone+rust"), @"cannot combine images alone and rust: alone starts from alone, rust from base");
    assert_snapshot!(refusal("node+old"), @"cannot combine images node and old: they want different versions or sources of component `node`");
    assert_snapshot!(refusal("one+two"), @"cannot combine images one and two: they declare different `[user]`s");
    assert!(
        refusal("rust+rsut").starts_with("no image named \"rsut\" is declared; there are: alone, ")
    );
    // The version that the component has by itself is the same one.
    assert_eq!(components(&catalog, "node+same"), ["node of node"]);
}

#[test]
fn a_combined_image_is_listed_when_a_profile_asks_for_it() {
    let (store, porter) = (Store::new(), program("1"));
    let engine = Arc::new(store.clone());
    let yard = Yard::new(engine, &porter, store.cache());
    let mut catalog = Catalog::embedded().unwrap();
    for name in ["rust+claude", "rust", "rust+nothing"] {
        catalog.ask_for(name);
    }
    let mut builder = yard.builder();
    builder.catalog = &catalog;
    let listed = builder.list().unwrap();
    let combined: Vec<_> = listed
        .iter()
        .filter(|image| image.name.contains('+'))
        .map(|image| (image.name.as_str(), image.reference.as_str()))
        .collect();
    let [(name, reference)] = combined[..] else {
        panic!("{combined:?}")
    };
    assert_eq!(name, "claude+rust");
    assert!(
        reference.starts_with("localhost/lazaret/claude.rust:"),
        "{reference}"
    );
}
