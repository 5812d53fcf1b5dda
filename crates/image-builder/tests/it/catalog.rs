//! The declarations that come with lazaret.

use std::path::Path;

use lazaret_image_builder::{Base, Catalog, ImageLock, PackageName};

fn images() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../images"))
}

#[test]
fn every_declaration_is_built_in() {
    let mut declared: Vec<String> = std::fs::read_dir(images())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "components")
        .collect();
    declared.sort();
    let catalog = Catalog::embedded().unwrap();
    let built_in: Vec<_> = catalog
        .images()
        .iter()
        .map(|spec| spec.name.as_str())
        .collect();
    assert_eq!(built_in, declared);
}

#[test]
fn every_component_is_built_in() {
    let catalog = Catalog::embedded().unwrap();
    for entry in std::fs::read_dir(images().join("components")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            catalog.component(&name.parse().unwrap()).is_some(),
            "{name}"
        );
    }
}

/// What a lock must hold: a layer for the base, and one for each component, in order.
#[test]
fn every_lock_tells_of_what_is_declared() {
    let catalog = Catalog::embedded().unwrap();
    for spec in catalog.images() {
        if spec.base == Base::Scratch {
            continue;
        }
        let path = images().join(spec.name.as_str()).join("lock.toml");
        let lock = ImageLock::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(lock.image, spec.name.as_str());
        let mut expected = Vec::new();
        let mut below = Some(spec);
        while let Some(spec) = below {
            let components = spec.components.iter().rev();
            expected.extend(components.map(|choice| choice.component.to_string()));
            below = match &spec.base {
                Base::Image(name) => catalog.get(name.as_str()),
                _ => None,
            };
        }
        expected.push("debian".to_owned());
        expected.reverse();
        let locked: Vec<_> = lock.layer.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(locked, expected, "{}", spec.name);
        for layer in &lock.layer {
            assert!(
                layer.version.contains(|digit: char| digit.is_ascii_digit())
                    || layer.name == "debian"
            );
        }
        for choice in &spec.components {
            let component = catalog.component(&choice.component).unwrap();
            let packages = component.packages.iter().chain(&choice.packages);
            let locked = |package: &PackageName| {
                lock.layer
                    .iter()
                    .any(|layer| layer.packages.contains_key(package.as_str()))
            };
            for package in packages {
                assert!(
                    locked(package),
                    "{package} is not in the lock of {}",
                    spec.name
                );
            }
        }
    }
}
