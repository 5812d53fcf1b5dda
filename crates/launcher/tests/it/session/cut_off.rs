//! An undo or a redo that is killed at every operation, and then every verb (APP-26).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_session::store::Store;
use lazaret_session::store::record::Phase;
use lazaret_session::store::unfinished::Unfinished;
use lazaret_transfer::crash::{Died, killed_at};
use lazaret_transfer::{Attempt, HistoryState, WorkspaceDir, history_state};

use super::verbs::{Kept, kept};
use super::world::EDITS;

/// Every verb that reads, changes or removes what an unfinished journal is about.
const REFUSED: [&str; 9] = [
    "prune --yes --older-than 0s",
    "rm --force shop",
    "discard shop --yes",
    "apply shop --yes",
    "undo shop",
    "undo shop --redo",
    "sync shop",
    "run base --name shop -w WORKSPACE -- true",
    "run base --name other -w WORKSPACE -- true",
];

/// A session whose apply is killed on its way back, or on its way there again.
struct Scene {
    kept: Kept,
    attempt: Attempt,
    /// Of how many verbs one is tried on each state of the disk, in turn.
    one_of: usize,
    /// The workspace before and after that.
    ends: [String; 2],
}

impl Scene {
    fn new(kept: Kept, apply: &str, attempt: Attempt) -> Self {
        let before = kept.world.workspace();
        kept.does(apply);
        let mut ends = [kept.world.workspace(), before];
        if attempt == Attempt::Redo {
            kept.does("undo shop");
            ends.reverse();
        }
        assert_eq!(kept.world.workspace(), ends[0]);
        Self {
            kept,
            attempt,
            one_of: 1,
            ends,
        }
    }

    /// Tries one of so many verbs on each state of the disk, in turn: each is tried on all of
    /// them by the undo.
    fn one_of(self, one_of: usize) -> Self {
        Self { one_of, ..self }
    }

    fn state(&self) -> HistoryState {
        let journal = self.kept.world.path("state/sessions/shop/apply/1");
        history_state(&journal).unwrap().unwrap()
    }

    fn kill_at(&self, at: usize) -> Died {
        let workspace = WorkspaceDir::open_ambient(&self.kept.world.path("workspace")).unwrap();
        let journal = self.kept.world.path("state/sessions/shop/apply/1");
        killed_at(at, self.attempt, &journal, &workspace)
    }

    /// Everything on the disk that counts, with its journals; without the names that a turn
    /// makes up.
    fn on_disk(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        visit(&self.kept.world.path("workspace"), &mut found);
        visit(
            &self.kept.world.path("state/sessions/shop/apply"),
            &mut found,
        );
        let root = self.kept.world.root.path().display().to_string();
        found.iter().map(|line| line.replace(&root, "")).collect()
    }

    /// Asserts that every verb refuses, says what to do, and leaves all as it is.
    fn every_verb_refuses(&self, at: usize) {
        let disk = self.on_disk();
        let workspace = self.kept.world.path("workspace").display().to_string();
        for verb in REFUSED.iter().skip(at % self.one_of).step_by(self.one_of) {
            let said = self.kept.env.run(&verb.replace("WORKSPACE", &workspace));
            // The engine that prune asks for the rest is away here.
            let code = if verb.starts_with("prune") { 125 } else { 1 };
            assert_eq!(said.code, code, "{at} {verb}: {said}");
            let hint = "`lazaret recover shop`";
            assert!(said.stderr.contains(hint), "{at} {verb}: {said}");
            assert_eq!(self.on_disk(), disk, "{at} {verb}");
        }
        let listed = self.kept.env.run("ls --json").json();
        assert_eq!(listed[0]["state"], "broken", "{at}");
        let what = match self.attempt {
            Attempt::Undo => "undo",
            _ => "redo",
        };
        assert_eq!(listed[0]["unfinished"], what, "{at}");
        for verb in ["ls", "show shop"].iter().skip(at % 2).step_by(2) {
            let said = self.kept.env.run(verb);
            assert_eq!(said.code, 0, "{said}");
            assert!(said.stdout.contains("broken"), "{at} {verb}: {said}");
            let hint = "`lazaret recover shop`";
            assert!(said.stderr.contains(hint), "{at} {verb}: {said}");
        }
    }

    /// Asserts that nothing is left to recover, and that the journals have the word, also where
    /// a record was never written.
    fn is_settled(&self, at: usize) {
        let again = self.kept.env.run("recover");
        assert!(again.stderr.contains("nothing to recover"), "{at}: {again}");
        let listed = self.kept.env.run("ls --json").json();
        let word = match (self.kept.world.phase(), self.state()) {
            (Some(Phase::Settled), HistoryState::Applied) => "applied",
            (Some(Phase::Settled), _) => "undone",
            _ => "kept",
        };
        assert_eq!(listed[0]["state"], word, "{at}");
    }

    /// Recovers without a name, and asserts that what is said is so.
    fn recover(&self, at: usize) {
        let said = self.kept.env.run("recover");
        assert_eq!(said.code, 0, "{at}: {said}");
        let tree = self.kept.world.workspace();
        let what = match self.attempt {
            Attempt::Undo => "shop: its undo was cut off",
            _ => "shop: its redo was cut off",
        };
        assert!(said.stderr.contains(what), "{at}: {said}");
        let is_after = |tree: &str| tree.contains("src/new.rs");
        let words = match is_after(&tree) {
            true => "the workspace is as the apply left it",
            false => "the workspace is as it was before the apply",
        };
        assert!(said.stderr.contains(words), "{at}: {said}");
        let state = match is_after(&tree) {
            true => HistoryState::Applied,
            false => HistoryState::Undone,
        };
        assert_eq!(self.state(), state, "{at}");
        assert!(self.ends.contains(&tree), "{at}: {tree}");
        let record = self.kept.world.record().unwrap();
        let undone = u32::from(state == HistoryState::Undone);
        assert_eq!(record.undone, vec![1; undone as usize], "{at}");
    }
}

/// Kills a turn at its first operation, at its second, and so on. Many operations change
/// nothing: what is on the disk is what a verb meets, so each meets each such state once.
fn killed_everywhere(make: impl Fn() -> Scene) {
    let mut scene = make();
    let (mut seen, mut cut, mut mixed, mut completed) = (BTreeSet::new(), 0, 0, 0);
    for at in 0.. {
        assert_eq!(scene.kept.world.workspace(), scene.ends[0], "{at}");
        let died = scene.kill_at(at);
        let is_new = seen.insert(scene.on_disk());
        if let HistoryState::Unfinished(attempt) = scene.state() {
            assert_eq!((attempt, died), (scene.attempt, Died::Killed), "{at}");
            cut += 1;
            let tree = scene.kept.world.workspace();
            mixed += usize::from(!scene.ends.contains(&tree));
            if is_new {
                scene.every_verb_refuses(at);
            }
            scene.recover(at);
        }
        if is_new {
            scene.is_settled(at);
        }
        if died == Died::Finished {
            break;
        }
        // A turn more in its chain would be more operations to count.
        if scene.kept.world.workspace() == scene.ends[1] {
            scene = make();
            completed += 1;
        }
    }
    assert!(
        cut > 40 && mixed > 0 && completed > 2 && seen.len() > 10,
        "{cut} {mixed} {completed} {}",
        seen.len()
    );
}

#[test]
fn app_26_every_verb_after_an_undo_that_was_killed_at_every_operation() {
    killed_everywhere(|| Scene::new(kept(EDITS), "apply shop --yes", Attempt::Undo));
}

#[test]
fn app_26_every_verb_after_a_redo_that_was_killed_at_every_operation() {
    let make = || Scene::new(kept(EDITS), "apply shop --yes", Attempt::Redo);
    killed_everywhere(|| make().one_of(3));
}

/// The same where other changes of the session wait.
#[test]
fn app_26_every_verb_after_an_undo_of_a_part_that_was_killed_at_every_operation() {
    let apply = "apply shop src/new.rs --yes";
    killed_everywhere(|| Scene::new(kept(EDITS), apply, Attempt::Undo).one_of(3));
}

/// A workspace that lies in the half changed one, or around it, is half changed too.
#[test]
fn app_26_a_workspace_in_or_around_the_half_changed_one_is_refused() {
    let scene = Scene::new(kept(EDITS), "apply shop --yes", Attempt::Undo);
    let is_cut = |state| matches!(state, HistoryState::Unfinished(_));
    let at = (0..).find(|at| {
        let _died = scene.kill_at(*at);
        is_cut(scene.state())
    });
    let root = scene.kept.world.root.path();
    // A workspace may not hold the state directory.
    let state = tempfile::tempdir().unwrap();
    let elsewhere = state.path().join("lazaret");
    std::fs::rename(root.join("state"), &elsewhere).unwrap();
    let link = scene.kept.env.path("xdg/lazaret");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    for place in [root, &root.join("workspace/src")] {
        let place = place.display();
        let said = scene.kept.env.run(&format!("run base -w {place} -- true"));
        assert_eq!(said.code, 1, "{at:?}: {said}");
        assert!(said.stderr.contains("`lazaret recover shop`"), "{said}");
    }
    let elsewhere = scene.kept.env.path("work").display().to_string();
    let said = scene
        .kept
        .env
        .run(&format!("run base -w {elsewhere} -- true"));
    assert!(!said.stderr.contains("recover"), "{said}");
}

/// A journal that can't be read is not known to be finished: it stays, and so does all else.
#[test]
fn app_26_a_journal_that_can_not_be_read_is_never_removed() {
    let scene = Scene::new(kept(EDITS), "apply shop --yes", Attempt::Undo);
    let journal = scene.kept.world.path("state/sessions/shop/apply/1/journal");
    for text in [
        "",
        "lazaret-journal 2\nphase\tdone\n",
        "lazaret-journal 1\n",
    ] {
        fs::write(&journal, text).unwrap();
        for verb in ["rm --force shop", "undo shop", "discard shop --yes"] {
            let said = scene.kept.env.run(verb);
            assert_eq!(said.code, 1, "{verb}: {said}");
            assert!(said.stderr.contains("`lazaret recover shop`"), "{said}");
        }
        let said = scene.kept.env.run("recover");
        assert_eq!(said.code, 125, "{said}");
        assert!(said.stderr.contains("it was left as it is"), "{said}");
        assert_eq!(fs::read_to_string(&journal).unwrap(), text);
    }
}

/// While its launcher is at work, its journal is none that was cut off.
#[test]
fn app_26_a_journal_of_a_launcher_at_work_is_left_to_it() {
    let scene = Scene::new(kept(EDITS), "apply shop --yes", Attempt::Undo);
    let world = &scene.kept.world;
    let session = world.lock().unwrap();
    for at in 0.. {
        let _died = scene.kill_at(at);
        if scene.state() == HistoryState::Unfinished(Attempt::Undo) {
            break;
        }
    }
    let workspace = WorkspaceDir::open_ambient(&world.path("workspace")).unwrap();
    let found = |store: &Store| store.unfinished_on(&workspace).unwrap();
    assert_eq!(found(&world.store), None);
    let listed = scene.kept.env.run("ls --json").json();
    assert_eq!(listed[0]["state"], "in_use");
    assert_eq!(listed[0]["live"], true);
    drop(session);
    // A child that another test is starting has the lock, too, until it runs its program.
    let until = Instant::now() + Duration::from_secs(60);
    while found(&world.store).is_none() && Instant::now() < until {
        thread::yield_now();
    }
    assert_eq!(found(&world.store), Some((world.id(), Unfinished::Undo)));
}

/// `ls` and `show` print the same state (FLT-31).
#[test]
fn flt_31_a_session_that_runs_is_shown_as_running_and_rm_says_in_use() {
    let kept = kept(EDITS);
    let mut session = kept.world.lock().unwrap();
    for (phase, word, json) in [
        (Phase::Preparing, "starting", "starting"),
        (Phase::Syncing, "syncing", "syncing"),
        (Phase::Running, "running", "running"),
        (Phase::Stopped, "collecting", "collecting"),
        (Phase::Applying, "applying", "applying"),
        (Phase::Collected, "in use", "in_use"),
    ] {
        session.update(|record| record.phase = phase).unwrap();
        let shown = kept.env.run("show shop");
        assert!(
            shown.stdout.contains(&format!("state      {word}\n")),
            "{shown}"
        );
        let listed = kept.env.run("ls");
        assert!(listed.stdout.contains(&format!("  {word}  ")), "{listed}");
        let rows = [
            kept.env.run("ls --json").json()[0].clone(),
            kept.env.run("show shop --json").json(),
        ];
        for row in rows {
            assert_eq!(row["state"], json);
            assert_eq!(row["live"], true);
        }
        for verb in ["rm shop", "rm --force shop", "rm shop shop"] {
            let said = kept.env.run(verb);
            assert_eq!(said.code, 1, "{said}");
            assert!(said.stderr.contains("in use by another lazaret"), "{said}");
        }
    }
    session
        .update(|record| record.phase = Phase::Running)
        .unwrap();
    drop(session);
    let shown = kept.env.run("show shop");
    assert!(shown.stdout.contains("state      broken\n"), "{shown}");
}

/// Lists a directory: kinds, names, and the contents of files. The names that a turn makes up
/// are left out, and so are the bytes of journals, which hold them.
fn visit(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let shown = path.display().to_string();
        let name = match shown.split_once("/.lazaret-") {
            Some((above, below)) => format!("{above}/.lazaret{}", &below[16..]),
            None => shown,
        };
        let content = match (kind.is_file(), name.contains("/journal")) {
            (true, false) => fs::read(&path).unwrap(),
            (true, true) => {
                let bytes = fs::read(&path).unwrap();
                let head = String::from_utf8_lossy(&bytes).into_owned();
                let phase = head.lines().nth(1).unwrap_or_default();
                phase.as_bytes().to_vec()
            }
            (false, _) => Vec::new(),
        };
        found.insert(format!(
            "{name} {kind:?} {}",
            String::from_utf8_lossy(&content)
        ));
        if kind.is_dir() {
            visit(&path, found);
        }
    }
}
