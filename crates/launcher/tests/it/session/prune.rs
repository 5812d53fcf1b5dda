//! What `prune` takes, and what it leaves (APP-30).

use std::time::Duration;

use lazaret_runtime::SessionId;
use lazaret_runtime::fake::Verb;
use lazaret_session::lifecycle::prune::{Candidates, Names, Plan, Pruned, Retention};
use lazaret_session::store::moment::Moment;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_transfer::crash::{Died, killed_at};
use lazaret_transfer::{Attempt, HistoryState, WorkspaceDir, history_state};

use super::flaky::{At, Fault, Kind};
use super::verbs::kept;
use super::world::{BEFORE, EDITS, World, tree};

const DAY: u64 = 86_400;

/// So many seconds from now, by both clocks.
fn later(seconds: u64) -> Moment {
    let mut now = Moment::now();
    now.unix += seconds;
    if let Some(uptime) = &mut now.uptime {
        uptime.seconds += seconds;
    }
    now
}

fn plan(world: &World, now: Moment) -> Plan {
    let retention = Retention {
        older_than: Duration::from_secs(7 * DAY),
        captures_older_than: Duration::ZERO,
        now,
    };
    let candidates = Candidates::of(&world.store, &retention).unwrap();
    assert!(candidates.refused.is_empty(), "{:?}", candidates.refused);
    candidates.plan(&world.store, &world.engine.fake).unwrap()
}

/// The sessions themselves that would go.
fn going(world: &World, now: Moment) -> Vec<SessionId> {
    plan(world, now).names().sessions
}

fn prune(world: &World, now: Moment) -> Pruned {
    plan(world, now)
        .carry_out(&world.store, &world.engine)
        .unwrap()
}

#[test]
fn app_30_an_applied_session_stays_for_the_undo() {
    let kept = kept(EDITS);
    kept.does("apply shop --yes");
    let world = &kept.world;
    for young in [0, 1, 7 * DAY - 60] {
        let pruned = prune(world, later(young));
        assert_eq!(pruned.removed.sessions, [], "{young}");
        assert!(pruned.failed.is_empty(), "{:?}", pruned.failed);
    }
    // What is left of it in the engine went with the first: no undo needs that.
    assert_eq!(world.left(), [""; 0]);
    kept.does("undo shop");
    kept.does("undo shop --redo");
    assert_eq!(prune(world, later(7 * DAY)).removed.sessions, [world.id()]);
    assert_eq!(world.phase(), None);
}

/// A clock that was set back after the apply, and set right again, or set forward.
#[test]
fn app_30_a_clock_that_is_set_prunes_nothing_early() {
    let kept = kept(EDITS);
    kept.does("apply shop --yes");
    let world = &kept.world;
    let mut session = world.lock().unwrap();
    let mut then = Moment::now();
    then.unix -= 4_000 * DAY;
    session.update(|record| record.settled_at(then)).unwrap();
    drop(session);
    let created = world.record().unwrap().created;
    assert!(world.record().unwrap().settled().unwrap().unix >= created);
    let mut now = later(60);
    for wall in [now.unix - 9_000 * DAY, now.unix, now.unix + 9_000 * DAY] {
        now.unix = wall;
        assert!(going(world, now.clone()).is_empty(), "{wall}");
    }
    // Over a restart of the machine, the time at which the session was made is a bound.
    now.uptime = None;
    now.unix = created + 6 * DAY;
    assert!(going(world, now.clone()).is_empty());
    now.unix = created - 9_000 * DAY;
    assert!(going(world, now.clone()).is_empty());
    now.unix = created + 8 * DAY;
    assert!(!going(world, now).is_empty());
}

/// A record of an earlier lazaret says nothing of when: its file does.
#[test]
fn app_30_a_record_without_a_time_counts_from_when_it_was_written() {
    let kept = kept(EDITS);
    kept.does("apply shop --yes");
    let path = kept.world.path("state/sessions/shop/session.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(record.as_object_mut().unwrap().remove("settled").is_some());
    std::fs::write(&path, record.to_string()).unwrap();
    assert!(going(&kept.world, later(6 * DAY)).is_empty());
    assert!(!going(&kept.world, later(8 * DAY)).is_empty());
}

#[test]
fn app_30_work_that_was_undone_is_never_pruned_and_rm_asks_for_force() {
    let kept = kept(EDITS);
    kept.does("apply shop --yes");
    let applied = kept.world.workspace();
    kept.does("undo shop");
    let pruned = prune(&kept.world, later(9_000 * DAY));
    assert_eq!(pruned.removed.sessions, []);
    let said = kept.env.run("rm shop");
    assert_eq!(said.code, 1, "{said}");
    assert!(said.stderr.contains("undo --redo shop"), "{said}");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE]));
    kept.does("undo shop --redo");
    assert_eq!(kept.world.workspace(), applied);
    // From then on, it is kept as long as after an apply.
    assert!(going(&kept.world, later(6 * DAY)).is_empty());
}

/// Of two applies, one is undone: what that one did is in the session alone.
#[test]
fn app_30_work_that_was_undone_in_part_is_never_pruned() {
    let kept = kept(EDITS);
    kept.does("apply shop notes.txt --yes");
    kept.does("apply shop --yes");
    kept.does("undo shop");
    assert_eq!(kept.world.record().unwrap().outcome, Some(Outcome::Applied));
    assert!(going(&kept.world, later(9_000 * DAY)).is_empty());
}

/// The launcher is killed when its undo is done, and before its record says so.
#[test]
fn app_30_an_undo_of_which_only_the_record_does_not_know_is_never_pruned() {
    let kept = kept(EDITS);
    kept.does("apply shop --yes");
    let world = &kept.world;
    let workspace = WorkspaceDir::open_ambient(&world.path("workspace")).unwrap();
    let journal = world.path("state/sessions/shop/apply/1");
    let died = killed_at(usize::MAX, Attempt::Undo, &journal, &workspace);
    assert_eq!(died, Died::Finished);
    let state = history_state(&journal).unwrap();
    assert_eq!(state, Some(HistoryState::Undone));
    assert_eq!(world.record().unwrap().outcome, Some(Outcome::Applied));
    assert!(going(world, later(9_000 * DAY)).is_empty());
    kept.does("undo shop --redo");
}

#[test]
fn app_30_what_was_discarded_or_came_to_nothing_goes_at_once() {
    let kept = kept(EDITS);
    let mut session = kept.world.lock().unwrap();
    session
        .update(|record| {
            record.phase = Phase::Settled;
            record.outcome = Some(Outcome::Discarded);
            record.settled_at(Moment::now());
        })
        .unwrap();
    drop(session);
    assert_eq!(
        prune(&kept.world, later(0)).removed.sessions,
        [kept.world.id()]
    );
    assert_eq!(kept.world.left(), [""; 0]);
}

/// One whose volume can't be removed stays, with its name; the other goes.
#[test]
fn app_30_a_session_that_can_not_be_removed_stops_no_other() {
    let kept = kept(EDITS);
    let world = &kept.world;
    let mut session = world.lock().unwrap();
    session
        .update(|record| {
            record.phase = Phase::Settled;
            record.outcome = Some(Outcome::Discarded);
        })
        .unwrap();
    let mut other = session.record().clone();
    drop(session);
    for id in ["another", "zeta"] {
        other.id = id.parse().unwrap();
        drop(world.store.create(other.clone()).unwrap());
    }
    let volume = world.record().unwrap().volume().to_string();
    world.engine.order(Some(Fault {
        at: At::Every(Verb::RemoveVolume),
        kind: Kind::Refused,
    }));
    let pruned = prune(world, later(0));
    world.engine.order(None);
    let names: Vec<&str> = pruned
        .removed
        .sessions
        .iter()
        .map(|id| id.as_str())
        .collect();
    assert_eq!(names, ["another", "zeta"]);
    let failed: Vec<String> = pruned.failed.iter().map(|f| f.to_string()).collect();
    assert_eq!(failed, ["cannot remove all of session shop"]);
    assert_eq!(world.left(), [volume]);
    assert_eq!(world.phase(), Some(Phase::Settled));
    // And the next time it goes.
    assert_eq!(prune(world, later(0)).removed.sessions, [world.id()]);
    assert_eq!(world.left(), [""; 0]);
    assert_eq!(plan(world, later(0)).names(), Names::default());
}
