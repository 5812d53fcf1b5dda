//! Who may come, and how often the command is asked to end.

use lazaret_protocol::usage::Amount;
use lazaret_protocol::verb::CommandStdin;

use super::*;
use crate::cancel::CancelLevel;

fn hub(dir: &std::path::Path) -> (Hub, Cancel) {
    of(dir, CommandStdin::Empty)
}

/// Of a command that reads, and has ended.
fn reading(dir: &std::path::Path) -> (Hub, Cancel) {
    of(dir, CommandStdin::Kept)
}

fn of(dir: &std::path::Path, stdin: CommandStdin) -> (Hub, Cancel) {
    with(dir, Streams::Pipes(stdin))
}

fn with(dir: &std::path::Path, streams: Streams) -> (Hub, Cancel) {
    let cancel = Cancel::new();
    let hub = Hub::new(Begun {
        streams,
        typed: mpsc::sync_channel(1).0,
        journal: Journal::open(&crate::store::SessionDir::at(dir)),
        limits: Limits {
            disk: DiskLimits {
                bytes: 1000,
                inodes: 100,
            },
            idle: None,
            life: None,
        },
        cancel: cancel.clone(),
        prefix: ']',
    });
    (hub, cancel)
}

const ENDED: Happening = Happening::RunEnded {
    exit_code: 0,
    timed_out: false,
    stays: true,
};

#[test]
fn a_command_is_asked_once_to_end() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, cancel) = hub(temp.path());
    hub.stop(StopCause::Asked);
    hub.stop(StopCause::Idle);
    assert_eq!(cancel.level(), Some(CancelLevel::Asked));
}

#[test]
fn a_stop_after_the_command_asks_nothing_of_what_follows() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, cancel) = hub(temp.path());
    hub.command_ended(ENDED);
    hub.stop(StopCause::Asked);
    assert_eq!(cancel.level(), None);
    assert!(hub.await_stop(Duration::ZERO));
}

#[test]
fn a_session_that_ends_takes_no_client_and_tells_who_listens() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, _cancel) = hub(temp.path());
    hub.stop(StopCause::Asked);
    let attach = Attach {
        mode: AttachMode::Drive,
        size: None,
        report: false,
    };
    let refused = hub.attach(&attach).expect_err("too late");
    assert_eq!(refused.code, RefusalCode::Ending);
    hub.exec_begins(Role::Any).expect_err("too late");
    hub.listen(&[]).expect("its end is what it waits for");
}

#[test]
fn a_look_of_lazarets_own_is_no_use() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, _cancel) = hub(temp.path());
    let began = hub.lock().quiet_since;
    hub.exec_begins(Role::Porter).unwrap();
    hub.exec_ended(Role::Porter);
    assert_eq!(hub.lock().quiet_since, began);
    hub.exec_begins(Role::Any).unwrap();
    assert!(hub.lock().quiet_since > began);
}

#[test]
fn many_look_at_a_command_without_a_terminal() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, _cancel) = hub(temp.path());
    let attach = Attach {
        mode: AttachMode::Drive,
        size: None,
        report: false,
    };
    for _ in 0..MOST_CLIENTS {
        hub.attach(&attach).expect("there is no seat to take");
    }
    let refused = hub.attach(&attach).expect_err("too many");
    assert_eq!(refused.code, RefusalCode::Busy);
}

#[test]
fn what_is_typed_at_the_end_does_not_cost_the_last_words() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, _cancel) = reading(temp.path());
    let attach = Attach {
        mode: AttachMode::Follow,
        size: None,
        report: true,
    };
    let client = hub.attach(&attach).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| hub.finish(Exit::of_process(7), b"{}"));
        let (mut written, mut is_heard) = (Vec::new(), true);
        while let super::super::client::Next::Bytes(bytes) = client.next() {
            is_heard &= hub.type_in(&client, Typed::Keys(vec![0]));
            written.extend(bytes);
        }
        client.gone();
        assert!(is_heard, "it would be hung up on");
        let mut input = &written[..];
        let mut kinds = Vec::new();
        while let Some(frame) = Frame::read_from(&mut input).unwrap() {
            kinds.push(frame.kind);
        }
        assert_eq!(kinds.last_chunk(), Some(&[Kind::Report, Kind::Exit]));
    });
}

#[test]
fn con_28_a_full_session_runs_nothing_more_until_there_is_room() {
    let temp = tempfile::tempdir().unwrap();
    let (hub, cancel) = hub(temp.path());
    let used = Amount {
        bytes: 1001,
        inodes: 1,
    };
    let excess = (hub.disk_limits()).exceeded(used).unwrap();
    hub.disk(DiskState::Counted(used));
    hub.disk(DiskState::Full(excess));
    let status = hub.status();
    assert_eq!(status.state, KeeperState::Paused);
    assert_eq!(
        status.disk,
        Stored {
            used: Some(1001),
            limit: 1000
        }
    );
    assert_eq!(
        hub.exec_begins(Role::Any).unwrap_err().code,
        RefusalCode::Paused
    );

    hub.disk(DiskState::Released);
    assert_eq!(hub.status().state, KeeperState::Running);
    hub.exec_begins(Role::Any).unwrap();

    hub.disk(DiskState::Full(excess));
    hub.disk(DiskState::StaysFull);
    assert_eq!(hub.status().state, KeeperState::Ending);
    assert_eq!(cancel.level(), Some(CancelLevel::Asked));
}

/// What a terminal of 8 columns and 2 rows shows that is sent what a client is, to the end.
fn seen(client: &Client) -> String {
    let cells = |count| std::num::NonZeroU16::new(count).unwrap();
    let mut terminal = vt100::Parser::new(cells(2), cells(8), 0);
    while let super::super::client::Next::Bytes(bytes) = client.next() {
        let frame = Frame::read_from(&mut &*bytes).unwrap().unwrap();
        if (frame.kind, frame.channel) == (Kind::Data, Channel::Screen) {
            terminal.process(&frame.payload);
        }
    }
    client.gone();
    terminal.screen().contents()
}

#[test]
fn a_watcher_of_another_size_is_drawn_for() {
    let temp = tempfile::tempdir().unwrap();
    let size = |columns, rows| TerminalSize { columns, rows };
    let (hub, _cancel) = with(temp.path(), Streams::Terminal(size(20, 4)));
    let watch = |columns, rows| {
        let attach = Attach {
            mode: AttachMode::Watch,
            size: Some(size(columns, rows).into()),
            report: false,
        };
        hub.attach(&attach).unwrap()
    };
    let (small, resized) = (watch(8, 2), watch(20, 4));
    hub.output(Channel::Stdout, b"first line of many\r\nsecond\r\nthird");
    let smaller = Typed::Resize(size(8, 2));
    assert!(hub.type_in(&resized, smaller), "it may be resized");
    let keys = Typed::Keys(b"q".to_vec());
    assert!(!hub.type_in(&small, keys), "it may not type");
    hub.output(Channel::Stdout, b"\x1b[1;1H1");
    std::thread::scope(|scope| {
        scope.spawn(|| hub.finish(Exit::of_process(0), b""));
        for client in [&small, &resized] {
            assert_eq!(seen(client), "1irst li\nsecond");
        }
    });
}

#[test]
fn a_watcher_is_drawn_for_once_the_driver_has_another_size() {
    let temp = tempfile::tempdir().unwrap();
    let size = |columns, rows| TerminalSize { columns, rows };
    let (hub, _cancel) = with(temp.path(), Streams::Terminal(size(8, 2)));
    let attach = |mode| {
        let attach = Attach {
            mode,
            size: Some(size(8, 2).into()),
            report: false,
        };
        hub.attach(&attach).unwrap()
    };
    let (driver, watcher) = (attach(AttachMode::Drive), attach(AttachMode::Watch));
    hub.output(Channel::Stdout, b"one");
    assert!(hub.type_in(&driver, Typed::Resize(size(30, 5))));
    hub.output(Channel::Stdout, b", and a line that is longer");
    hub.detach(&driver);
    std::thread::scope(|scope| {
        scope.spawn(|| hub.finish(Exit::of_process(0), b""));
        assert_eq!(seen(&watcher), "one, and");
    });
}
