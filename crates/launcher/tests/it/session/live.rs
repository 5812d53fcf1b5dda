//! Looking at a session while its command runs: whatever fails, the command goes on.

use std::io::Read as _;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lazaret_launcher::failure::{Failure, FailureKind};
use lazaret_runtime::fake::Verb;
use lazaret_runtime::{ContainerState, Engine as _};
use lazaret_session::cancel::Cancel;
use lazaret_session::context::SessionContext;
use lazaret_session::live::pause::StalePauseWatch;
use lazaret_session::live::pause_lock::PauseLock;
use lazaret_session::live::view::{LiveSnapshot, LiveView};
use lazaret_session::live::views::{self, SweepScope, sweep};
use lazaret_session::store::SessionDir;
use lazaret_session::store::record::Phase;
use lazaret_tests::tree_text;
use lazaret_tree::diff;

use super::flaky::{At, Fault, Kind};
use super::world::{EDITS, World, answer_survey};

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
            drop(runs.cycle());
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

    /// Whether the command runs, or does once its launcher has looked after it.
    #[track_caller]
    fn goes_on(&self, fault: Fault) {
        self.world.engine.order(None);
        let record = self.world.record().unwrap();
        let mut pause_watch = StalePauseWatch::new(&self.dir(), &record);
        pause_watch.look(&self.world.engine.fake);
        assert_eq!(self.state(), Some(ContainerState::Running), "{fault:?}");
        if self.dir().file("paused").exists() {
            // The pause that was asked for may still come.
            let agent = record.agent();
            self.world.engine.fake.pause_container(&agent).unwrap();
            pause_watch.look(&self.world.engine.fake);
            assert_eq!(self.state(), Some(ContainerState::Running), "{fault:?}");
            assert!(!self.dir().file("paused").exists(), "{fault:?}");
        }
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
    let LiveSnapshot::Seen(seen) = look else {
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
        LiveSnapshot::Seen(_)
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
                    matches!(looked, Ok(LiveSnapshot::Seen(_))),
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
    assert_eq!(running.state(), Some(ContainerState::Running));
    drop(cx);
    // The launcher's own collection needs an answer.
    running.world.on("survey", answer_survey);
    running.end();
}

/// A process that is killed during a pause leaves the command paused. So does one that is itself
/// stopped: then the pause is as long as it may be.
#[test]
fn flt_09_the_launcher_lets_a_forgotten_command_go_on() {
    let running = Running::new();
    let record = running.world.record().unwrap();
    let mut pause_watch = StalePauseWatch::new(&running.dir(), &record);
    let pause = || {
        std::fs::write(running.dir().file("paused"), "").unwrap();
        running
            .world
            .engine
            .fake
            .pause_container(&record.agent())
            .unwrap();
    };
    let turn = PauseLock::try_take(&running.dir()).unwrap().unwrap();
    pause();
    pause_watch.look(&running.world.engine.fake);
    assert_eq!(
        running.state(),
        Some(ContainerState::Paused),
        "the pause lock is held"
    );
    drop(turn);
    pause_watch.look(&running.world.engine.fake);
    assert_eq!(running.state(), Some(ContainerState::Running));
    // The launcher of the session looks by itself.
    let goes_on = || {
        for _ in 0..600 {
            if running.state() == Some(ContainerState::Running) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    };
    pause();
    assert!(goes_on());
    // Its owner was killed, and the engine does later what he had asked for.
    std::fs::write(running.dir().file("paused"), "").unwrap();
    pause_watch.look(&running.world.engine.fake);
    (running.world.engine.fake.pause_container(&record.agent())).unwrap();
    assert!(goes_on());
    running.end();
}
