//! The builder on the engines that `LAZARET_TEST_ENGINE` names, separated by commas.
//! One that is named and does not answer is a failure.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lazaret_image_builder::{BuildEvent, Catalog, ImageState};
use lazaret_runtime::{Engine, EngineKind, EngineRequest, Environment, detect};

use crate::build::program;
use crate::mini_registry::MiniRegistry;
use crate::registry::spec;
use crate::store::Yard;

#[expect(
    clippy::disallowed_methods,
    reason = "a test binary has no other way to be told"
)]
fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

fn engines() -> Vec<(String, Arc<dyn Engine>)> {
    let Some(names) = environment("LAZARET_TEST_ENGINE") else {
        return Vec::new();
    };
    let surroundings = Environment {
        xdg_runtime_dir: environment("XDG_RUNTIME_DIR").map(PathBuf::from),
        home: environment("HOME").map(PathBuf::from),
        path: environment("PATH"),
        uid: rustix::process::geteuid().as_raw(),
        root: PathBuf::from("/"),
        ..Environment::default()
    };
    names
        .into_string()
        .unwrap()
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| {
            let detected = detect(&EngineRequest::flag(name.parse().unwrap()), &surroundings);
            (
                name.to_owned(),
                detected
                    .unwrap_or_else(|error| panic!("{name}: {error:?}"))
                    .engine,
            )
        })
        .collect()
}

#[test]
fn the_same_images_on_every_engine() {
    // A porter of this run's own: nothing that is there already can be found by mistake.
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    let porter = program(&format!("{} {}", std::process::id(), now.as_nanos()));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("images");
    let mut ids = Vec::new();
    for (name, engine) in engines() {
        for image in ["porter", "base"] {
            let yard = Yard::new(Arc::clone(&engine), &porter, &cache);
            let builder = yard.builder();
            assert_ne!(builder.status(image).unwrap().state, ImageState::Current);
            let built = builder.ensure(image, &mut |_| {}).unwrap();
            assert!(!built.reused, "{name}");

            let again = builder
                .ensure(image, &mut |event| panic!("{name}: {event:?}"))
                .unwrap();
            assert!(again.reused && again.id == built.id, "{name}: {again:?}");

            let status = builder.status(image).unwrap();
            assert_eq!(status.state, ImageState::Current, "{name}");
            engine.remove_image(&built.reference).unwrap();
            assert_ne!(builder.status(image).unwrap().state, ImageState::Current);
            ids.push((image, built.id, name.clone()));
        }
    }
    for (image, id, name) in &ids {
        let first = ids.iter().find(|(other, ..)| other == image).unwrap();
        assert_eq!(
            &first.1, id,
            "{image} differs between {} and {name}",
            first.2
        );
    }
}

#[test]
fn a_second_bootstrap_gives_the_same_layer() {
    let Some((_, engine)) = engines().into_iter().next() else {
        return;
    };
    let porter = program("");
    let scratch = tempfile::tempdir().unwrap();
    let layer = |cache: &Path| {
        let yard = Yard::new(Arc::clone(&engine), &porter, cache);
        let builder = yard.builder();
        let mut bootstraps = 0;
        let built = builder
            .ensure("base", &mut |event| {
                bootstraps += usize::from(matches!(event, BuildEvent::Bootstrapping { .. }));
            })
            .unwrap();
        engine.remove_image(&built.reference).unwrap();
        (builder.lock("base").unwrap().unwrap(), built.id, bootstraps)
    };
    let (lock, id, bootstraps) = layer(&scratch.path().join("one"));
    assert_eq!(bootstraps, 1);
    assert_eq!((lock, id, 1), layer(&scratch.path().join("other")));
}

/// On Docker alone: it takes a registry on loopback without TLS, Podman would have
/// to be told in its own configuration.
#[test]
fn con_25_a_base_is_pulled_by_its_digest() {
    for (name, engine) in engines() {
        if engine.probe().unwrap().kind != EngineKind::Docker {
            continue;
        }
        let registry = MiniRegistry::start(&[
            ("etc/passwd", b"root:x:0:0::/root:/bin/sh\n"),
            ("bin/tool", b"tool"),
        ]);
        let porter = program("");
        let cache = tempfile::tempdir().unwrap();
        let yard = Yard::new(Arc::clone(&engine), &porter, cache.path());
        let builder = yard.builder();
        let mut pulls = 0;
        let built = builder
            .ensure_spec(&spec(&registry.reference), &mut |event| {
                pulls += usize::from(matches!(event, BuildEvent::Pulling { .. }));
            })
            .unwrap();
        assert_eq!(pulls, 1);
        let image = engine.image(&built.reference).unwrap().unwrap();
        assert_eq!(image.volumes, [""; 0], "{name}");
        for reference in [built.reference.clone(), registry.reference.parse().unwrap()] {
            engine.remove_image(&reference).unwrap();
        }
        // A digest that the registry does not have.
        let (repository, _) = registry.reference.split_once('@').unwrap();
        let other = format!("{repository}@sha256:{}", "0".repeat(64));
        assert!(builder.ensure_spec(&spec(&other), &mut |_| {}).is_err());
    }
}

/// The porter is real here, so that a container starts; the base has nothing but an account.
#[test]
fn a_base_without_a_shell_is_said_to_have_none() {
    for (name, engine) in engines() {
        if engine.probe().unwrap().kind != EngineKind::Docker {
            continue;
        }
        let porter = environment("LAZARET_PORTER").expect("the static porter's path");
        let porter = std::fs::read(porter).unwrap();
        let registry = MiniRegistry::start(&[("etc/passwd", b"root:x:0:0::/root:/bin/sh\n")]);
        let own = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = own.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "components/tool.toml",
            "description = 'x'\nverify = ['true']\n[[source]]\nname = 'script'\ninstall = 'true'\n",
        );
        let base = &registry.reference;
        let image =
            format!("description = 'x'\nbase.registry = '{base}'\n[components]\ntool = {{}}\n");
        write("mine/image.toml", &image);
        let cache = tempfile::tempdir().unwrap();
        let mut yard = Yard::new(Arc::clone(&engine), &porter, cache.path());
        yard.catalog = Catalog::with_own(own.path()).unwrap();
        let error = yard.builder().ensure("mine", &mut |_| {}).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("no source gives `tool`"), "{name}: {text}");
        assert!(text.contains("/bin/sh"), "{name}: {text}");
        assert_eq!(
            yard.builder().status("mine").unwrap().state,
            ImageState::Missing
        );
        engine.remove_image(&base.parse().unwrap()).unwrap();
    }
}
