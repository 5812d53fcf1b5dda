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
    let cancel = Cancel::new();
    let hub = Hub::new(Begun {
        streams: Streams::Pipes(stdin),
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
    hub.exec_begins().expect_err("too late");
    hub.listen(&[]).expect("its end is what it waits for");
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
    assert_eq!(hub.exec_begins().unwrap_err().code, RefusalCode::Paused);

    hub.disk(DiskState::Released);
    assert_eq!(hub.status().state, KeeperState::Running);
    hub.exec_begins().unwrap();

    hub.disk(DiskState::Full(excess));
    hub.disk(DiskState::StaysFull);
    assert_eq!(hub.status().state, KeeperState::Ending);
    assert_eq!(cancel.level(), Some(CancelLevel::Asked));
}
