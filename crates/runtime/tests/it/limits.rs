//! The limits as the command meets them: what the probe may not try.

use std::time::{Duration, Instant};

use lazaret_protocol::Control;
use lazaret_runtime::UserNamespace;

use crate::station::{MIB, Running, Station};

/// Runs `check` in a healthy container on each engine.
fn inside(check: impl Fn(&Running<'_>)) {
    for station in Station::all() {
        station.with(&station.hardened(), |container| check(container));
    }
}

fn counts(running: &Running<'_>, control: Control) -> bool {
    !running
        .station
        .detected
        .info
        .not_applicable
        .contains_key(&control)
}

#[test]
fn con_07_08_a_full_tmpfs_is_full() {
    inside(|container| {
        for (path, mib) in [
            ("/tmp/f", 8),
            ("/home/agent/f", 8),
            ("/var/tmp/f", 8),
            ("/dev/shm/f", 4),
        ] {
            let filled = container.guest(&["fill", path]);
            assert_eq!(
                filled.stdout,
                format!(
                    "{} bytes, then Os {{ code: 28, kind: StorageFull, \
                     message: \"No space left on device\" }}",
                    mib * MIB
                ),
                "{} {path}: {filled:?}",
                container.station.name
            );
        }
    });
}

#[test]
fn con_07_a_program_in_a_tmpfs_is_not_executed() {
    inside(|container| {
        let written = container.guest(&["write", "/tmp/x", "#!/lazaret/guest\n"]);
        assert_eq!(written.code, 0, "{written:?}");
        let refused = container.run(&["/tmp/x"]);
        assert_eq!(refused.code, 126, "{refused:?}");
        assert_eq!(
            refused.stderr,
            "porter: can't run `/tmp/x`: Permission denied (os error 13)\n"
        );
    });
}

#[test]
fn con_15_a_fork_bomb_meets_the_limit() {
    inside(|container| {
        let bomb = container.guest(&["children", "200"]);
        // Where nothing counts the container's processes, the count of the user's does.
        assert!(
            counts(container, Control::Pids)
                || container.station.detected.info.user_namespace == UserNamespace::Mapped
        );
        let (children, reason) = bomb.stdout.split_once(" children, then ").unwrap();
        let children: u32 = children.parse().unwrap();
        assert!((1..64).contains(&children), "{bomb:?}");
        assert!(reason.contains("code: 11"), "{bomb:?}");
        // And the container answers as before.
        assert_eq!(container.guest(&["exit", "7"]).code, 7);
    });
}

#[test]
fn con_16_too_much_memory_ends_the_command_alone() {
    inside(|container| {
        let greedy = container.guest(&["allocate", "268435456"]);
        match counts(container, Control::Memory) {
            true => assert_eq!(greedy.code, 137, "{greedy:?}"),
            false => assert!(greedy.stdout.ends_with("then refused"), "{greedy:?}"),
        }
        assert_eq!(container.guest(&["exit", "7"]).code, 7);
    });
}

#[test]
fn con_17_files_and_their_size_are_limited() {
    inside(|container| {
        let many = container.guest(&["files", "1000"]);
        let (count, reason) = many.stdout.split_once(" files, then ").unwrap();
        assert_eq!(count, "253", "{many:?}");
        assert!(reason.contains("code: 24"), "{many:?}");
        // SIGXFSZ has its default action: a signal that was ignored would be an error.
        let large = container.guest(&["fill", "/workspace/f"]);
        assert_eq!(large.code, 128 + 25, "{large:?}");
    });
}

#[test]
fn con_12_a_command_that_is_not_there_is_127() {
    inside(|container| {
        let absent = container.run(&["/no/such\u{1b}[2J"]);
        assert_eq!(absent.code, 127, "{absent:?}");
        assert_eq!(
            absent.stderr,
            "porter: can't run `/no/such\\u{1b}[2J`: No such file or directory (os error 2)\n"
        );
        let refused = container.run(&["/etc"]);
        assert_eq!(refused.code, 126, "{refused:?}");
    });
}

/// Waits until PID 1 can be reached: before, it has not blocked signals, and the kernel drops
/// a SIGTERM to an init process without a handler (`man 7 pid_namespaces`).
fn await_init(container: &Running<'_>) {
    let engine = &container.station.detected.engine;
    let name = &container.spec.spec().name;
    let give_up = Instant::now() + Duration::from_secs(60);
    while engine
        .init_channel(name)
        .is_none_or(|channel| channel.connect().is_err())
    {
        assert!(Instant::now() < give_up, "PID 1 can't be reached");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn flt_15_a_stop_ends_the_container_at_once() {
    inside(|container| {
        let engine = &container.station.detected.engine;
        let name = &container.spec.spec().name;
        await_init(container);
        engine
            .stop_container(name, Duration::from_secs(30))
            .unwrap();
        // PID 1 ends by itself: SIGKILL after the grace would be 137.
        let state = engine.container(name).unwrap().unwrap().state;
        assert!(
            matches!(
                state,
                lazaret_runtime::ContainerState::Exited { code: 0, .. }
            ),
            "{state:?}"
        );
    });
}
