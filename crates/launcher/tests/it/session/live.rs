//! Looking at a session while its command runs: whatever fails, the command goes on.

use std::io::{self, Read as _, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lazaret_launcher::failure::{Failure, FailureKind};
use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::fake::Verb;
use lazaret_runtime::{ContainerState, Engine as _};
use lazaret_session::cancel::Cancel;
use lazaret_session::context::SessionContext;
use lazaret_session::keeper::limits::Limits;
use lazaret_session::keeper::live::LiveContainer;
use lazaret_session::keeper::{AfterCommand, FirstClient, Keeper, KeeperOptions};
use lazaret_session::lifecycle::command_io::CommandIo;
use lazaret_session::lifecycle::disk_limits::DiskLimits;
use lazaret_session::live::remote_pause::RemoteTurn;
use lazaret_session::live::view::{LiveSnapshot, LiveView};
use lazaret_session::live::views::{self, SweepScope, sweep};
use lazaret_session::store::SessionDir;
use lazaret_session::store::record::{KeepVolume, Phase};
use lazaret_tests::tree_text;
use lazaret_tree::diff;

use super::flaky::{At, Fault, Kind};
use super::world::{EDITS, World, answer_survey};

/// A session that clients can come to. What its command prints goes nowhere.
#[derive(Debug)]
struct Reachable(Keeper);

impl Reachable {
    fn new() -> Self {
        let options = KeeperOptions {
            terminal: None,
            stdin: CommandStdin::Empty,
            after: AfterCommand::End,
            first: FirstClient::None,
            limits: Limits {
                idle: None,
                life: None,
                disk: DiskLimits {
                    bytes: u64::MAX,
                    inodes: u64::MAX,
                },
            },
            prefix: ']',
        };
        Self(Keeper::new(options, Cancel::new(), Box::new(|_, _| Ok(()))))
    }
}

impl CommandIo for Reachable {
    fn stdout(&self) -> Box<dyn Write + Send> {
        Box::new(io::sink())
    }

    fn stderr(&self) -> Box<dyn Write + Send> {
        Box::new(io::sink())
    }

    fn reachable(&self, dir: &SessionDir, live: LiveContainer) -> io::Result<()> {
        self.0.reachable(dir, live)
    }
}

/// A command that has made [`EDITS`], and goes on until it is told to end.
struct Running {
    world: Arc<World>,
    end: Sender<()>,
    ended: Receiver<()>,
}

impl Running {
    fn new() -> Self {
        let world = World::new();
        let (up, is_up) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (ended, has_ended) = mpsc::channel();
        let ends = Mutex::new(ends);
        world.command(move |volume, _| {
            tree_text::build(EDITS, volume);
            up.send(()).unwrap();
            // An end of the test is one too.
            let _end = ends.lock().unwrap().recv();
            0
        });
        let world = Arc::new(world);
        let runs = Arc::clone(&world);
        thread::spawn(move || {
            let io = Reachable::new();
            drop(runs.cycle_with(None, KeepVolume::UntilSettled, &io));
            let _heard = ended.send(());
        });
        is_up.recv_timeout(Duration::from_secs(60)).unwrap();
        Self {
            world,
            end,
            ended: has_ended,
        }
    }

    fn dir(&self) -> SessionDir {
        self.world.store.find(&self.world.id()).unwrap()
    }

    /// Looks once, with a viewer of its own.
    fn look(&self) -> Result<LiveSnapshot, Failure> {
        self.look_from(&self.world.cx())
    }

    fn look_from(&self, cx: &SessionContext<'_>) -> Result<LiveSnapshot, Failure> {
        let record = self.world.record().unwrap();
        Ok(LiveView::open(cx, self.dir(), record, self.world.image())?.snapshot()?)
    }

    fn state(&self) -> Option<ContainerState> {
        let agent = self.world.record().unwrap().agent();
        let container = self.world.engine.fake.container(&agent).unwrap();
        container.map(|container| container.state)
    }

    /// Waits until the command is not paused any more.
    #[track_caller]
    fn goes_on(&self, after: impl std::fmt::Debug) {
        self.world.engine.order(None);
        let goes_on = (0..3000).any(|_| {
            let is_paused = self.state() == Some(ContainerState::Paused);
            if is_paused {
                thread::sleep(Duration::from_millis(20));
            }
            !is_paused
        });
        assert!(goes_on, "{after:?}");
    }

    fn end(self) {
        self.end.send(()).unwrap();
        self.ended.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(self.world.phase(), Some(Phase::Collected));
        assert!(!self.world.left().iter().any(|name| name.contains("-view-")));
    }
}

/// The changed paths of a look.
#[track_caller]
fn seen(running: &Running, look: LiveSnapshot) -> Vec<String> {
    let LiveSnapshot::Taken(seen) = look else {
        panic!("{look:?}");
    };
    let cx = running.world.cx();
    let record = running.world.record().unwrap();
    let live_view = LiveView::open(&cx, running.dir(), record, running.world.image()).unwrap();
    let changes = diff(live_view.baseline(), &seen.found.unwrap().tree);
    changes
        .iter()
        .map(|change| change.path.to_string())
        .collect()
}

#[test]
fn a_look_shows_what_is_changed_and_leaves_nothing_behind() {
    let running = Running::new();
    let look = running.look().unwrap();
    assert_eq!(
        seen(&running, look),
        ["notes.txt", "src/new.rs", "src/old.rs"]
    );
    assert_eq!(running.state(), Some(ContainerState::Running));
    assert!(
        !running
            .world
            .left()
            .iter()
            .any(|name| name.contains("-view-"))
    );
    assert!(
        views::dead(&running.dir(), &running.world.record().unwrap())
            .unwrap()
            .is_empty()
    );
    running.end();
}

#[test]
fn a_second_look_at_an_unchanged_volume_does_not_pause() {
    let running = Running::new();
    let cx = running.world.cx();
    let record = running.world.record().unwrap();
    let mut live_view = LiveView::open(&cx, running.dir(), record, running.world.image()).unwrap();
    assert!(matches!(
        live_view.snapshot().unwrap(),
        LiveSnapshot::Taken(_)
    ));
    // The engine would refuse a pause from now on.
    running.world.engine.order(Some(Fault {
        at: At::Verb(Verb::PauseContainer, 1),
        kind: Kind::Refused,
    }));
    assert!(matches!(live_view.snapshot().unwrap(), LiveSnapshot::Same));
    assert!(!running.world.engine.met());
    drop(live_view);
    drop(cx);
    running.end();
}

/// runc gives up to freeze processes that make others all the time.
#[test]
fn a_pause_that_the_engine_refused_is_asked_for_again() {
    let running = Running::new();
    running.world.engine.order(Some(Fault {
        at: At::Verb(Verb::PauseContainer, 1),
        kind: Kind::Refused,
    }));
    let looked = running.look();
    assert!(matches!(looked, Ok(LiveSnapshot::Taken(_))), "{looked:?}");
    assert!(running.world.engine.met());
    running.end();
}

/// Each call to the engine fails in each way; and the engine dies at each call.
#[test]
fn flt_09_whatever_fails_while_looking_the_command_goes_on() {
    let running = Running::new();
    let kinds = [Kind::Refused, Kind::Lost, Kind::AnswerLost, Kind::Died];
    let mut met = 0;
    for kind in kinds {
        for nth in 1.. {
            let fault = Fault {
                at: At::Call(nth),
                kind,
            };
            running.world.engine.order(Some(fault));
            let looked = running.look();
            if !running.world.engine.met() {
                assert!(
                    matches!(looked, Ok(LiveSnapshot::Taken(_))),
                    "{fault:?}: {looked:?}"
                );
                break;
            }
            met += 1;
            running.goes_on(fault);
        }
        // What could not be removed while the engine was away is found by the next one.
        running.world.engine.order(None);
        let record = running.world.record().unwrap();
        sweep(
            &running.world.engine.fake,
            &running.dir(),
            &record,
            SweepScope::Dead,
        )
        .unwrap();
    }
    assert!(met > 35, "{met} faults");
    running.end();
}

#[test]
fn flt_08_ctrl_c_while_looking_lets_the_command_go_on() {
    let running = Running::new();
    let cancel = Cancel::new();
    let raised = cancel.clone();
    let fake = running.world.engine.fake.clone();
    let agent = running.world.record().unwrap().agent();
    running.world.on("survey", move |_, call| {
        // The launcher asks once it wants the answer. The first survey is before the pause, and
        // fails.
        call.stdin.read_exact(&mut [0])?;
        if fake.container(&agent).unwrap().unwrap().state == ContainerState::Paused {
            raised.raise();
            call.sleep();
        }
        Ok(137)
    });
    let cx = SessionContext {
        cancel: &cancel,
        ..running.world.cx()
    };
    let failure = running.look_from(&cx).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Interrupted);
    running.goes_on("Ctrl-C");
    drop(cx);
    // The launcher's own collection needs an answer.
    running.world.on("survey", answer_survey);
    running.end();
}

#[track_caller]
fn take<'a>(dir: &SessionDir, cancel: &'a Cancel) -> RemoteTurn<'a> {
    let turn = RemoteTurn::take(dir, cancel).unwrap();
    turn.expect("the command runs")
}

/// What a client that is killed leaves is a connection that ends.
#[test]
fn flt_09_the_command_goes_on_when_a_client_dies() {
    let running = Running::new();
    let cancel = Cancel::new();
    let turn = take(&running.dir(), &cancel);
    assert!(turn.pause().unwrap().is_some());
    assert_eq!(running.state(), Some(ContainerState::Paused));
    drop(turn);
    running.goes_on("the client is gone");
    // It has released its turn as well.
    let turn = take(&running.dir(), &cancel);
    let paused = turn.pause().unwrap().unwrap();
    paused.end().unwrap();
    assert_eq!(running.state(), Some(ContainerState::Running));
    drop(turn);
    running.end();
}

#[test]
fn flt_12_one_client_at_a_time_has_the_turn() {
    let running = Running::new();
    let (dir, cancel) = (running.dir(), Cancel::new());
    let first = take(&dir, &cancel);
    let (took, taken) = mpsc::channel();
    thread::scope(|scope| {
        let (dir, cancel) = (&dir, &cancel);
        scope.spawn(move || {
            let _second = take(dir, cancel);
            took.send(()).unwrap();
        });
        assert!(first.pause().unwrap().is_some());
        taken.try_recv().unwrap_err();
        drop(first);
        taken.recv_timeout(Duration::from_secs(60)).unwrap();
    });
    running.goes_on("the first client is gone");
    running.end();
}

/// A command that is told to end must hear that, also while a client has paused it.
#[test]
fn flt_09_the_end_of_the_command_ends_a_pause() {
    let running = Running::new();
    let cancel = Cancel::new();
    let turn = take(&running.dir(), &cancel);
    let paused = turn.pause().unwrap().unwrap();
    running.world.cancel.raise();
    running.goes_on("the command is being ended");
    paused.end().unwrap_err();
    drop(turn);
    running.end();
}
