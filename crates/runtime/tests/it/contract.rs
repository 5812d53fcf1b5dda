//! What every engine must keep: one suite for the one in memory and the real ones.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::time::Duration;

use lazaret_runtime::{
    Access, ContainerState, Detected, EngineError, ExecSpec, Privilege, Process, Role, Stdin,
    VolumeLease,
};

use crate::image::Recipe;

use crate::engine_fixture::{EngineFixture, LABEL, finish, output};

fn contract(detected: Detected) {
    let fixture = EngineFixture::new(detected);
    images(&fixture);
    volumes(&fixture);
    containers(&fixture);
    processes(&fixture);
    streams(&fixture);
    if !fixture.is_fake() {
        files(&fixture);
    }
}

fn images(fixture: &EngineFixture) {
    let engine = fixture.engine();
    let image = engine.image(&fixture.image()).unwrap().unwrap();
    assert!(image.id.starts_with("sha256:"), "{image:?}");
    assert!(
        image.tags.iter().any(|tag| tag.ends_with(&fixture.tag)),
        "{image:?}"
    );
    assert_eq!(image.labels.get(LABEL), Some(&fixture.prefix));
    assert_eq!(image.entrypoint, ["/lazaret/porter"]);
    assert_eq!(image.architecture, "amd64");
    let by_id = engine.image(&image.id.parse().unwrap()).unwrap().unwrap();
    assert_eq!(by_id, image);
    let listed = engine.images(LABEL).unwrap();
    assert!(listed.contains(&image), "{listed:?}");
    assert_eq!(
        engine
            .image(&"lazaret-test/no-such:1".parse().unwrap())
            .unwrap(),
        None
    );
    let gone = engine.remove_image(&"lazaret-test/no-such:1".parse().unwrap());
    assert!(
        matches!(gone, Err(EngineError::NotFound { what: "image", .. })),
        "{gone:?}"
    );

    // A reader that fails half-way fails the load, with the reader's own cause.
    let archive = fixture.recipe(&[]).archive();
    let half = archive.len() / 2;
    let mut reader = archive[..half].chain(Failing);
    match engine.load_image(&mut reader) {
        Err(EngineError::Stream { source, .. }) => {
            assert_eq!(source.to_string(), "the disk is on fire")
        }
        other => panic!("{other:?}"),
    }
    // What is no archive is refused.
    engine.load_image(&mut [0x5a; 4096].as_slice()).unwrap_err();
    let still = engine.image(&fixture.image()).unwrap();
    assert_eq!(still, Some(image));
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is on fire"))
    }
}

fn volumes(fixture: &EngineFixture) {
    let engine = fixture.engine();
    let name = fixture.volume_name("flt-13");
    let lease = VolumeLease::create(engine, &name, &fixture.labels()).unwrap();
    let find = || {
        let volumes = engine.volumes(LABEL).unwrap();
        volumes.into_iter().find(|volume| volume.name == name)
    };
    assert_eq!(find().map(|volume| volume.labels), Some(fixture.labels()));
    assert_eq!(engine.volumes("io.lazaret.no-such").unwrap(), []);

    // FLT-13: a name that is taken is never reused, and never removed.
    let again = engine.create_volume(&name, &fixture.labels());
    assert!(
        matches!(again, Err(EngineError::AlreadyExists { .. })),
        "{again:?}"
    );
    VolumeLease::create(engine, &name, &BTreeMap::new()).unwrap_err();
    assert!(find().is_some());

    // In use by a container that was never started.
    let container = fixture
        .create_with(&fixture.spec("holder", Some((&name, Access::ReadWrite))))
        .unwrap();
    let used = engine.remove_volume(&name);
    assert!(
        matches!(used, Err(EngineError::InUse { what: "volume", .. })),
        "{used:?}"
    );
    container.release().unwrap();
    lease.release().unwrap();
    assert_eq!(find(), None);
    let gone = engine.remove_volume(&name);
    assert!(
        matches!(gone, Err(EngineError::NotFound { what: "volume", .. })),
        "{gone:?}"
    );
}

fn containers(fixture: &EngineFixture) {
    let engine = fixture.engine();
    let lease = fixture.create("life");
    let name = lease.name().clone();
    assert_eq!(fixture.state(&name), Some(ContainerState::Created));
    let twice = fixture.create_with(&fixture.spec("life", None));
    assert!(
        matches!(
            twice,
            Err(EngineError::AlreadyExists {
                what: "container",
                ..
            })
        ),
        "{twice:?}"
    );

    engine.start_container(&name).unwrap();
    engine.start_container(&name).unwrap();
    assert_eq!(fixture.state(&name), Some(ContainerState::Running));
    if fixture.pauses() {
        engine.pause_container(&name).unwrap();
        assert_eq!(fixture.state(&name), Some(ContainerState::Paused));
        engine.unpause_container(&name).unwrap();
    } else {
        engine.pause_container(&name).unwrap_err();
    }
    engine.unpause_container(&name).unwrap_err();
    let listed = engine.containers(LABEL).unwrap();
    let found = listed
        .iter()
        .find(|container| container.name == name)
        .unwrap();
    assert_eq!(found.state, ContainerState::Running);
    assert_eq!(found.labels.get(LABEL), Some(&fixture.prefix));

    // FLT-15: SIGTERM is ignored, SIGKILL comes after the grace.
    engine.signal_container(&name, 15).unwrap();
    engine
        .stop_container(&name, Duration::from_secs(1))
        .unwrap();
    assert_eq!(fixture.ended(&name), 137);
    engine
        .stop_container(&name, Duration::from_secs(1))
        .unwrap();
    engine.signal_container(&name, 9).unwrap_err();
    lease.release().unwrap();
    assert_eq!(fixture.state(&name), None);
    engine.remove_container(&name).unwrap();

    // Removal kills what runs, paused or not.
    let suffixes = if fixture.pauses() {
        ["removed", "paused"].as_slice()
    } else {
        &["removed"]
    };
    for &suffix in suffixes {
        let lease = fixture.create(suffix);
        engine.start_container(lease.name()).unwrap();
        if suffix == "paused" {
            engine.pause_container(lease.name()).unwrap();
        }
        let name = lease.name().clone();
        lease.release().unwrap();
        assert_eq!(fixture.state(&name), None, "{suffix}");
    }

    // Nothing is created on the way: no image is pulled, no volume made up.
    let mut spec = fixture.spec("missing", None);
    spec.image = "lazaret-test/no-such:1".parse().unwrap();
    let missing = fixture.create_with(&spec);
    assert!(
        matches!(missing, Err(EngineError::NotFound { what: "image", .. })),
        "{missing:?}"
    );
    let volume = fixture.volume_name("no-such");
    let missing = fixture.create_with(&fixture.spec("missing", Some((&volume, Access::ReadOnly))));
    assert!(
        matches!(missing, Err(EngineError::NotFound { what: "volume", .. })),
        "{missing:?}"
    );
    assert_eq!(fixture.state(&fixture.container_name("missing")), None);
    for missing in [
        engine.start_container(&fixture.container_name("missing")),
        engine.stop_container(&fixture.container_name("missing"), Duration::ZERO),
        engine.pause_container(&fixture.container_name("missing")),
        engine.signal_container(&fixture.container_name("missing"), 9),
    ] {
        assert!(
            matches!(
                missing,
                Err(EngineError::NotFound {
                    what: "container",
                    ..
                })
            ),
            "{missing:?}"
        );
    }

    // CON-25: an image's own volume is refused.
    let tag = format!("{}-volume", fixture.tag);
    let recipe = Recipe {
        tag: &tag,
        ..fixture.recipe(&["/surprise"])
    };
    engine.load_image(&mut recipe.archive().as_slice()).unwrap();
    let mut spec = fixture.spec("surprise", None);
    spec.image = recipe.image_ref();
    let refused = fixture.create_with(&spec);
    engine.remove_image(&recipe.image_ref()).unwrap();
    assert!(
        matches!(refused, Err(EngineError::SurpriseVolume { .. })),
        "{refused:?}"
    );
}

fn processes(fixture: &EngineFixture) {
    let engine = fixture.engine();
    let lease = fixture.create("exec");
    let name = lease.name();
    let spec = ExecSpec::new(vec!["/lazaret/porter".to_owned()], Stdin::Closed);
    engine.exec(name, &spec).unwrap_err();
    let missing = engine.exec(&fixture.container_name("missing"), &spec);
    assert!(
        matches!(
            missing,
            Err(EngineError::NotFound {
                what: "container",
                ..
            })
        ),
        "{missing:?}"
    );
    engine.start_container(name).unwrap();

    let (out, errors, code) = output(fixture.exec(name, Stdin::Closed, &["both", "3"]));
    assert_eq!(out, "out 0\nout 1\nout 2\n");
    assert_eq!(errors, "err 0\nerr 1\nerr 2\n");
    assert_eq!(code, 3);
    assert_eq!(
        output(fixture.exec(name, Stdin::Closed, &["exit", "117"])).2,
        117
    );
    assert_eq!(
        output(fixture.exec(name, Stdin::Closed, &["cat"])),
        (String::new(), String::new(), 0)
    );

    // Bytes arrive as they are, even those that look like a frame's header.
    let raw = fixture.exec(name, Stdin::Piped, &["raw"]);
    let (out, errors, code) = finish(raw);
    assert_eq!(
        (out.as_slice(), errors.len(), code),
        (b"\x01\x00\x00\x00\xff\xff\xff\xff!".as_slice(), 0, 0)
    );

    // A container that ends takes its processes with it: no reader hangs.
    let process = fixture.exec(name, Stdin::Piped, &["cat"]);
    engine.signal_container(name, 9).unwrap();
    let Process {
        stdin,
        mut stdout,
        control,
        ..
    } = process;
    let mut bytes = Vec::new();
    let read = stdout.read_to_end(&mut bytes);
    let code = control.wait();
    assert!(read.is_err() == code.is_err(), "{read:?} {code:?}");
    if let Ok(code) = code {
        assert_ne!(code, 0);
    }
    drop(stdin);
    lease.release().unwrap();
}

fn streams(fixture: &EngineFixture) {
    let lease = fixture.create("streams");
    let name = lease.name();
    fixture.engine().start_container(name).unwrap();

    // A process that knows its input's end by itself needs no end of file.
    let mut process = fixture.exec(name, Stdin::Piped, &["take", "3000000"]);
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(&vec![7; 3_000_000]).unwrap();
    assert_eq!(output(process).0, "took 3000000");
    drop(stdin);

    // And dropping stdin is one.
    let mut process = fixture.exec(name, Stdin::Piped, &["count"]);
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(&vec![7; 1_000_000]).unwrap();
    drop(stdin);
    assert_eq!(output(process).0, "counted 1000000");

    // Both ways at once, more than every buffer on the way holds.
    let bytes: Vec<u8> = (0..20_000_000u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let mut process = fixture.exec(name, Stdin::Piped, &["cat"]);
    let mut stdin = process.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let (out, errors, code) = finish(process);
    writer.join().unwrap().unwrap();
    assert!(out == bytes, "{} of {} bytes", out.len(), bytes.len());
    assert_eq!((errors.len(), code), (0, 0));

    // A reader that goes away does not stop the process or the wait.
    let Process {
        stdout,
        stderr,
        control,
        ..
    } = fixture.exec(name, Stdin::Closed, &["zeros", "5000000"]);
    drop((stdout, stderr));
    control.wait().unwrap();
    lease.release().unwrap();
}

/// What the one in memory has not: files on a volume.
fn files(fixture: &EngineFixture) {
    let engine = fixture.engine();
    let volume = fixture.volume_name("files");
    let lease = VolumeLease::create(engine, &volume, &fixture.labels()).unwrap();
    let agent = fixture
        .create_with(&fixture.spec("writer", Some((&volume, Access::ReadWrite))))
        .unwrap();
    engine.start_container(agent.name()).unwrap();
    let write = fixture.exec(
        agent.name(),
        Stdin::Closed,
        &["write", "/workspace/a", "text"],
    );
    assert_eq!(output(write), (String::new(), String::new(), 0));
    agent.release().unwrap();

    let mut spec = fixture.spec("reader", Some((&volume, Access::ReadOnly)));
    spec.role = Role::Exporter;
    spec.privilege = Privilege::ReadEverything;
    let exporter = fixture.create_with(&spec).unwrap();
    engine.start_container(exporter.name()).unwrap();
    let read = fixture.exec(exporter.name(), Stdin::Closed, &["read", "/workspace/a"]);
    assert_eq!(output(read), ("text".to_owned(), String::new(), 0));
    let write = fixture.exec(
        exporter.name(),
        Stdin::Closed,
        &["write", "/workspace/b", "text"],
    );
    let (_, errors, code) = output(write);
    assert!(
        errors.contains("Read-only file system") && code == 1,
        "{errors}"
    );
    exporter.release().unwrap();
    lease.release().unwrap();
}

#[test]
fn contract_in_memory() {
    contract(crate::engines::fake());
}

#[test]
fn contract_on_the_named_engines() {
    let _turn = crate::engines::turn();
    for (_name, detected) in crate::engines::real() {
        contract(detected);
    }
}
