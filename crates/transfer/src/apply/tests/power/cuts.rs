//! Power cuts at every event, and what recovery makes of them.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use lazaret_tests::Random;

use super::disk::{Disk, Pending};
use super::{Event, Recorder};
use crate::WorkspaceDir;
use crate::apply::recover::recover_with;
use crate::apply::tests::attributes::dressed;
use crate::apply::tests::faulty::Op;
use crate::apply::tests::{Able, Fault, Faulty, Scene, Snapshot, snapshot};
use crate::apply::undo::{Direction, undo_or_redo};
use crate::apply::{Recovered, UndoError};

/// Small, and yet: a replaced file, a removed directory with a file, a directory in
/// place of a file, a file in place of a directory, a link, something new in new
/// directories.
const BEFORE: &str = r#"
    f a "old"
    f gone/x "x"
    f to-dir "f"
    f to-file/y "y"
    l link -> a
"#;
const AFTER: &str = r#"
    f a "new contents"
    f to-dir/inner/leaf "leaf"
    f to-file "now a file"
    l link -> to-file
    x new/run "run"
    d new/void/
"#;

/// What has attributes and an access control list, of what there is of it.
const DRESSED: &[&str] = &["a", "gone", "gone/x"];

/// One recorded story, and the trees that may be found after it.
struct Story {
    scene: Scene,
    start: Disk,
    events: Vec<Event>,
    old: Snapshot,
    new: Snapshot,
    /// How many events are not cut.
    from: usize,
    /// Every how many events the power is cut.
    stride: usize,
    /// From this many events on, the caller was told that it is done.
    told: usize,
}

/// A cut after which a promise is broken.
#[derive(Debug)]
struct Broken {
    cut: usize,
    how: String,
}

impl Story {
    /// An apply.
    fn apply(before: &str, after: &str, able: Able) -> Self {
        let scene = dressed(Scene::new(before, after), DRESSED);
        let old = scene.snapshot();
        let recorder = Arc::new(Recorder::new(scene.home.path()));
        let ops = Faulty::none().able(able).recorded(&recorder);
        scene.apply_on(Arc::new(ops)).unwrap();
        Self::told(scene, &recorder, old)
    }

    /// An undo, or a redo, of an apply.
    fn turn(before: &str, after: &str, which: Direction) -> Self {
        let scene = dressed(Scene::new(before, after), DRESSED);
        // From the start: the journals speak of inodes by the recorder's numbers.
        let recorder = Arc::new(Recorder::new(scene.home.path()));
        let ops = || Arc::new(Faulty::none().recorded(&recorder));
        scene.apply_on(ops()).unwrap();
        if which == Direction::Redo {
            scene.turn_on(ops(), Direction::Undo).unwrap();
        }
        let old = scene.snapshot();
        let from = recorder.finish().1.len();
        scene.turn_on(ops(), which).unwrap();
        let story = Self::told(scene, &recorder, old);
        Self { from, ..story }
    }

    /// An apply that was killed at its `at`-th operation, and the recovery of that.
    fn recovery(before: &str, after: &str, at: usize) -> Option<(Op, Self)> {
        let scene = dressed(Scene::new(before, after), DRESSED);
        let old = scene.snapshot();
        let recorder = Arc::new(Recorder::new(scene.home.path()));
        let ops = Arc::new(Faulty::new(Fault::Kill, at).recorded(&recorder));
        let _killed = scene.apply_on(Arc::clone(&ops) as _);
        let failed = ops.failed()?;
        let ops = Faulty::none().recorded(&recorder);
        drop(recover_with(&ops, &scene.journal()).unwrap());
        let mut story = Self::told(scene, &recorder, old);
        if story.new == story.old {
            // Taken back. A caller that was told so may still find either tree after a
            // power cut, never a third one.
            story.new = expected(before, after);
            story.told = usize::MAX;
        }
        Some((failed, story))
    }

    fn told(scene: Scene, recorder: &Recorder, old: Snapshot) -> Self {
        let (start, events) = recorder.finish();
        Self {
            new: scene.snapshot(),
            from: 0,
            stride: 1,
            told: events.len(),
            scene,
            start,
            events,
            old,
        }
    }

    fn journal(&self) -> PathBuf {
        self.scene.journal()
    }

    /// Cuts the power after each event, as if the sync at `ignored` were not there, and
    /// stops at the first promise that is broken. Returns how many disks were tried.
    fn cut_everywhere(&self, budget: usize, ignored: Option<usize>) -> Result<usize, Broken> {
        let mut random = Random::new(2026);
        let mut seen = HashSet::new();
        let cuts = ignored.unwrap_or(self.from)..=self.events.len();
        for cut in cuts.rev().step_by(self.stride) {
            let pending = Pending::after(&self.start, &self.events[..cut], ignored);
            let told = cut >= self.told;
            for disk in pending.outcomes(budget, &mut random) {
                if !seen.insert((disk.clone(), told)) {
                    continue;
                }
                self.check(&disk, told).map_err(|how| Broken { cut, how })?;
            }
        }
        Ok(seen.len())
    }

    /// Builds one disk, recovers it, and looks.
    fn check(&self, disk: &Disk, told: bool) -> Result<(), String> {
        let nodes = disk.build(self.scene.home.path());
        let recorder = Arc::new(Recorder::of(disk, nodes));
        let ops = Faulty::none().recorded(&recorder);
        let recovered = recover_with(&ops, &self.journal()).map_err(|error| error.to_string())?;
        let tree = snapshot(&self.scene.path());
        let is_new = match (tree == self.old, tree == self.new) {
            (_, true) => true,
            (true, false) => false,
            (false, false) => return Err(format!("{recovered:?}, and neither tree: {tree:?}")),
        };
        match &recovered {
            Recovered::Completed if !is_new => return Err("completed, and the old tree".into()),
            Recovered::RolledBack { not_restored } if !not_restored.is_empty() => {
                return Err(format!("left alone: {not_restored:?}"));
            }
            Recovered::RolledBack { .. } if is_new => {
                return Err("rolled back, and the new tree".into());
            }
            _ if told && !is_new => return Err("done, and yet the old tree".into()),
            _ => {}
        }
        match recover_with(&ops, &self.journal()) {
            Ok(Recovered::Nothing) => {}
            other => return Err(format!("a second recovery: {other:?}")),
        }
        self.check_undo(&recorder, is_new)
    }

    /// What was kept for the undo is as durable as what was applied.
    fn check_undo(&self, recorder: &Arc<Recorder>, is_new: bool) -> Result<(), String> {
        let workspace = WorkspaceDir::open_ambient(&self.scene.path()).unwrap();
        let ops = || Arc::new(Faulty::none().recorded(recorder));
        let way = |which| undo_or_redo(ops(), &self.journal(), &workspace, which);
        match (way(Direction::Undo), is_new) {
            (Ok(_), _) | (Err(UndoError::Nothing { .. }), false) => {}
            (Err(UndoError::AlreadyUndone), _) => drop(
                way(Direction::Redo)
                    .map_err(|error| format!("the redo after recovery: {error}"))?,
            ),
            (Err(error), _) => return Err(format!("the undo after recovery: {error}")),
        }
        let tree = snapshot(&self.scene.path());
        match (tree == self.old, tree == self.new) {
            (false, false) => Err(format!("the undo made neither tree: {tree:?}")),
            _ => Ok(()),
        }
    }

    /// The places of all syncs, and what they are of.
    fn syncs(&self) -> Vec<(usize, String)> {
        let events = self.events.iter().enumerate();
        events
            .filter_map(|(index, event)| match event {
                Event::Sync { what, .. } => Some((index, what.clone())),
                Event::SyncAll { side } => Some((index, format!("all of the {side:?} side"))),
                _ => None,
            })
            .collect()
    }
}

fn expected(before: &str, after: &str) -> Snapshot {
    let scene = dressed(Scene::new(before, after), DRESSED);
    scene.apply().unwrap();
    scene.snapshot()
}

#[track_caller]
fn holds(story: &Story, budget: usize) -> usize {
    match story.cut_everywhere(budget, None) {
        Ok(disks) => disks,
        Err(broken) => panic!(
            "cut after {} of {} events ({:?}): {}",
            broken.cut,
            story.events.len(),
            story.events[..broken.cut].last(),
            broken.how
        ),
    }
}

#[test]
fn app_11_power_cut_at_every_event_of_an_apply() {
    let disks = holds(&Story::apply(BEFORE, AFTER, Able::All), 48);
    assert!(disks > 1000, "{disks}");
}

#[test]
fn app_11_power_cut_at_every_event_of_an_undo_and_a_redo() {
    for which in [Direction::Undo, Direction::Redo] {
        let disks = holds(&Story::turn(BEFORE, AFTER, which), 32);
        assert!(disks > 1000, "{which:?} {disks}");
    }
}

#[test]
fn app_11_power_cut_where_names_can_not_be_exchanged() {
    for able in [Able::NoExchange, Able::NoNoReplace, Able::NoOldDirs] {
        let disks = holds(&Story::apply(BEFORE, AFTER, able), 16);
        assert!(disks > 400, "{able:?} {disks}");
    }
}

/// More files than are synced one by one: `syncfs`, on each side.
#[test]
fn app_11_power_cut_of_many_files() {
    let many = |content: &str| -> String {
        (0..70)
            .map(|n| format!("f many/{n} \"{content}\"\n"))
            .collect()
    };
    let story = Story {
        stride: 7,
        ..Story::apply(&many("old"), &many("new"), Able::All)
    };
    let together = |(_, what): &(usize, String)| what.starts_with("all");
    assert_eq!(story.syncs().into_iter().filter(together).count(), 2);
    let disks = holds(&story, 2);
    assert!(disks > 100, "{disks}");
    for (at, what) in story.syncs().into_iter().filter(together) {
        story.cut_everywhere(2, Some(at)).expect_err(&what);
    }
}

/// The kernel still has what the disk has not, when a recovery starts.
#[test]
fn app_11_power_cut_during_the_recovery_of_a_killed_apply() {
    let (mut stories, mut disks) = (0, 0);
    for at in 60.. {
        let Some((failed, story)) = Story::recovery(BEFORE, AFTER, at) else {
            break;
        };
        // Just before each sync the two differ most.
        if failed == Op::Sync || at % 17 == 0 {
            disks += holds(&story, 6);
            stories += 1;
        }
    }
    assert!(stories > 15 && disks > 1000, "{stories} {disks}");
}

/// The model is strong enough to miss a sync, and no sync is there for nothing.
#[test]
fn app_11_every_sync_of_an_apply_is_missed_when_it_is_left_out() {
    let story = Story::apply(BEFORE, AFTER, Able::All);
    let syncs = story.syncs();
    let not_missed: Vec<&str> = syncs
        .iter()
        .filter(|(at, _)| story.cut_everywhere(16, Some(*at)).is_ok())
        .map(|(_, what)| what.as_str())
        .collect();
    // New directories, for the sake of their modes: those that get an entry of their own
    // are synced again at the end, with their modes. And the very last sync, of the
    // journal that says that nothing is left to do: without it that is done once more.
    assert_eq!(not_missed, ["5", "8", "9", "apply"]);
    assert_eq!(syncs.len() - not_missed.len(), 29);
}
