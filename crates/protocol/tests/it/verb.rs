//! Verbs, written by the host and read by the porter.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use lazaret_protocol::testing::probe_request;
use lazaret_protocol::verb::{BootstrapCommand, CommandStdin};
use lazaret_protocol::{
    Control, IdMapping, Placement, PortRoute, Resource, RunCommand, SeatCommand, Seated,
    TerminalSize, Ulimit, UpdateMode, Verb, WhenAbandoned,
};

fn verbs() -> Vec<Verb> {
    let text = str::to_owned;
    let root = || text("/workspace/a b");
    let limit = |resource| Ulimit { resource, limit: 7 };
    let command = |bootstrap, timeout| RunCommand {
        limits: vec![limit(Resource::Core), limit(Resource::Nproc)],
        without: vec![Control::Pids, Control::Memory],
        timeout,
        bootstrap,
        same: timeout.map(|_| Placement::new([1, 2, 3, 4, 5, 6, 7, 8])),
        argv: vec![text("sh"), text("--"), text("")],
    };
    let run = |bootstrap, timeout| Verb::Run(command(bootstrap, timeout));
    let seat = |terminal, when_abandoned, grace| {
        Verb::Seat(SeatCommand {
            terminal,
            when_abandoned,
            grace,
            seated: Seated::Command(command(None, None)),
        })
    };
    let size = TerminalSize {
        columns: 120,
        rows: 65535,
    };
    let bootstrap = |request| {
        Some(BootstrapCommand {
            directory: root(),
            stdin: match request {
                Some(_) => CommandStdin::Kept,
                None => CommandStdin::Empty,
            },
            request,
        })
    };
    let update = |mode| Verb::Update { root: root(), mode };
    vec![
        Verb::Compressed(Box::new(Verb::Export { root: root() })),
        Verb::Copy {
            from: root(),
            to: text("/to"),
        },
        Verb::Dial { port: 8080 },
        Verb::Empty { root: root() },
        Verb::Export { root: root() },
        Verb::Gateway { directory: root() },
        Verb::Freeze,
        Verb::Init,
        Verb::Layer {
            root: text("/"),
            only: vec![text("/usr"), text("/opt")],
            argv: vec![text("/bin/sh"), text("-ec"), text("true")],
        },
        Verb::Credentials { home: root() },
        Verb::Probe {
            limits: vec![limit(Resource::Fsize)],
            request: Box::new(probe_request(IdMapping::Host)),
        },
        Verb::Protect { root: root() },
        Verb::Receive { root: root() },
        Verb::Relay {
            routes: vec![PortRoute {
                port: 3128,
                socket: text("/run/a=b"),
            }],
        },
        Verb::Release { root: root() },
        Verb::Home { home: root() },
        run(None, None),
        run(bootstrap(None), Some(Duration::from_millis(60_000))),
        run(
            bootstrap(Some(Box::new(probe_request(IdMapping::Mapped)))),
            None,
        ),
        seat(None, WhenAbandoned::End, None),
        seat(Some(size), WhenAbandoned::Leave, None),
        seat(None, WhenAbandoned::End, Some(Duration::from_secs(3600))),
        Verb::Rejoin,
        Verb::Seat(SeatCommand {
            terminal: None,
            when_abandoned: WhenAbandoned::Leave,
            grace: None,
            seated: Seated::Message,
        }),
        Verb::VerifyProtection { root: root() },
        Verb::Stop {
            grace: Duration::from_millis(15_000),
        },
        Verb::Spill {
            directory: "/tmp/lazaret".to_owned(),
            name: "7.out".to_owned(),
        },
        Verb::Unfreeze,
        update(UpdateMode::Surveyed),
        update(UpdateMode::Prefetched),
        Verb::Usage {
            root: root(),
            more: Vec::new(),
        },
        Verb::Usage {
            root: root(),
            more: vec!["/volumes/1".to_owned(), "/volumes/2".to_owned()],
        },
    ]
}

#[test]
fn every_verb_is_read_as_it_was_written() {
    let names: BTreeSet<&str> = verbs().iter().map(Verb::name).collect();
    assert_eq!(names.len(), 25);
    for verb in verbs() {
        let argv = verb.to_argv().into_iter().map(OsString::from);
        assert_eq!(Verb::parse(argv), Ok(verb));
    }
}

#[test]
fn arguments_of_no_verb_are_refused_with_the_right_ones() {
    let refused = |line: &str| {
        let arguments = line.split_whitespace().map(OsString::from);
        Verb::parse(arguments).map_err(|error| error.to_string())
    };
    for verb in verbs() {
        let mut argv = verb.to_argv();
        let takes_any_number = matches!(
            verb,
            Verb::Run(_)
                | Verb::Seat(SeatCommand {
                    seated: Seated::Command(_),
                    ..
                })
                | Verb::Layer { .. }
                | Verb::Usage { .. }
        );
        if !takes_any_number {
            argv.push("more".to_owned());
            let error = Verb::parse(argv.into_iter().map(OsString::from));
            error.expect_err("one too many");
        }
    }
    for (line, message) in [
        ("dial", "no port; usage: porter dial PORT"),
        (
            "dial x",
            "port: expected a number, found `x`; usage: porter dial PORT",
        ),
        ("hold on", "unexpected argument `on`; usage: porter hold"),
    ] {
        assert_eq!(refused(line), Err(message.to_owned()));
    }
    for line in [
        "",
        "fly",
        "deflated",
        "deflated deflated hold",
        "relay",
        "relay 1:x",
        "run sh",
        "run --",
        "run --limit core -- sh",
        "run --without CON-99 -- sh",
        "run --expect uid=1 -- sh",
        "run --stdin -- sh",
        "run --same mnt=1 -- sh",
        "seat",
        "seat sh",
        "seat run sh",
        "seat --terminal 80x24",
        "seat --terminal 80 run -- sh",
        "seat --terminal 80x+24 run -- sh",
        "seat --terminal 80x65536 run -- sh",
        "seat --leave seat run -- sh",
        "seat --grace run -- sh",
        "seat --grace 0.5 run -- sh",
        "seat --grace -1 run -- sh",
        "layer / --only",
        "update / --soon",
        "usage",
        "probe",
    ] {
        refused(line).expect_err("no verb");
    }
}

#[test]
fn a_seat_is_put_around_a_checked_command_only() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let around = |line| SeatCommand::around(&words(line));
    let seat = around("/porter run --without CON-15 -- sh -c").map(Verb::Seat);
    assert_eq!(
        seat.map(|seat| seat.to_argv().join(" ")).as_deref(),
        Some("seat run --without CON-15 -- sh -c")
    );
    for line in [
        "",
        "sh",
        "/bin/sh -c true",
        "/porter export /",
        "/porter run sh",
    ] {
        assert_eq!(around(line), None, "{line}");
    }
}
