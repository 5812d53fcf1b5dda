//! The declarations that come with lazaret.

use std::path::Path;

use lazaret_image_builder::{Base, Catalog, Lock};

fn images() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../images"))
}

#[test]
fn every_declaration_is_built_in() {
    let mut declared: Vec<String> = std::fs::read_dir(images())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    declared.sort();
    let catalog = Catalog::embedded().unwrap();
    let built_in: Vec<_> = catalog
        .recipes()
        .iter()
        .map(|recipe| recipe.name.as_str())
        .collect();
    assert_eq!(built_in, declared);
}

#[test]
fn every_lock_tells_of_what_is_declared() {
    for recipe in Catalog::embedded().unwrap().recipes() {
        let Base::Debootstrap { suite, include } = &recipe.base else {
            continue;
        };
        let path = images().join(recipe.name.as_str()).join("lock.toml");
        let lock = Lock::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(lock.suite, suite.as_str());
        for package in include {
            assert!(
                lock.packages.contains_key(package.as_str()),
                "{package} is not in the lock"
            );
        }
    }
}
