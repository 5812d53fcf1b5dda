//! Who may come, and how often the command is asked to end.

use lazaret_protocol::verb::CommandStdin;

use super::*;
use crate::cancel::CancelLevel;

fn hub(dir: &std::path::Path) -> (Hub, Cancel) {
    let cancel = Cancel::new();
    let hub = Hub::new(Begun {
        streams: Streams::Pipes(CommandStdin::Empty),
        typed: mpsc::sync_channel(1).0,
        journal: Journal::open(&crate::store::SessionDir::at(dir)),
        limits: Limits {
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
