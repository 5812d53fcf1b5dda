//! What was moved, by the verbs of the gate: half a rename is never applied (APP-27), and
//! nothing is the end of a session (APP-29).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use insta::assert_snapshot;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::decision::{Decision, approve};
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_launcher::decide::case::open_case;
use lazaret_launcher::decide::settle::settle;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::record::Phase;
use lazaret_tests::tree_text;
use lazaret_tree::RelPath;

use super::verbs::{Kept, kept};
use super::world::{BEFORE, tree};

const WORKFLOW: &str = r#"
    - notes.txt
    f .github/workflows/notes.yml "one\ntwo\n"
    f src/new.rs "new\n"
"#;

#[test]
fn app_27_yes_applies_no_half_of_a_rename() {
    let kept = kept(WORKFLOW);
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 0
    --- stdout
      + .github  skipped: needs a change that is not applied
      + .github/workflows  skipped: needs a change that is not applied
      + .github/workflows/notes.yml  blocked
      - notes.txt  skipped: its new place is not applied
      + src/new.rs
    0 modified, 4 added, 1 deleted (+3 -2)
    block  suspect.ci  .github/workflows/notes.yml  continuous integration runs it with its secrets
    stays     notes.txt  was moved to .github/workflows/notes.yml, which is not applied
    [EOF]
    --- stderr
    applied 1 of 5 (0 modified, 1 added, 0 deleted), 4 left out
    hint: 4 more are blocked: `lazaret apply shop --allow PATH`, or `lazaret discard shop`.
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    let new = "f src/new.rs \"new\\n\"";
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, new]));
    assert_eq!(kept.world.phase(), Some(Phase::Collected));
    // Machines and reports are told why.
    assert_snapshot!(kept.run("--json diff shop"), @r#"
    exit 0
    --- stdout
    {"session":"shop","engine":"memory","exit_code":0,"timed_out":false,"oom_killed":false,"changes":{"added":[".github",".github/workflows",".github/workflows/notes.yml","src/new.rs"],"modified":[],"deleted":["notes.txt"]},"findings":[{"code":"suspect.ci","severity":"block","path":".github/workflows/notes.yml","line":null,"message":"continuous integration runs it with its secrets","hint":null,"allowed":false}],"conflicts":[],"moved":[{"path":"notes.txt","to":".github/workflows/notes.yml"}],"left_out":[],"commits":[],"outcome":"applied","undo":null,"phases":{}}
    [EOF]
    "#);
    kept.does("export shop --report report.json --patch shop.patch --html shop.html");
    let read = |name: &str| fs::read_to_string(kept.env.path("work").join(name)).unwrap();
    let report: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    let changes = report["changes"].as_array().unwrap();
    let held = changes
        .iter()
        .find(|change| change["path"] == "notes.txt")
        .unwrap();
    assert_eq!(held["state"], "moved");
    assert_eq!(held["because_of"], ".github/workflows/notes.yml");
    assert_eq!(held["applies"], false);
    let why = "stays, since the place that it was moved to is not applied: \
               .github/workflows/notes.yml";
    let patch = read("shop.patch");
    assert!(
        patch.contains(&format!("# left out: notes.txt: {why}")),
        "{patch}"
    );
    assert!(!patch.contains("a/notes.txt"), "{patch}");
    assert!(read("shop.html").contains("since the place that it was moved to is not applied"));
    // Nothing more can be applied as it is, and nothing of it is lost by trying.
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 1
    --- stdout
      + .github  skipped: needs a change that is not applied
      + .github/workflows  skipped: needs a change that is not applied
      + .github/workflows/notes.yml  blocked
      - notes.txt  skipped: its new place is not applied
    0 modified, 3 added, 1 deleted (+2 -2)
    1 more are in the workspace already
    block  suspect.ci  .github/workflows/notes.yml  continuous integration runs it with its secrets
    stays     notes.txt  was moved to .github/workflows/notes.yml, which is not applied
    [EOF]
    --- stderr
    error: nothing of session shop was applied
      caused by: findings need a review
    hint: Look with `lazaret diff shop`.
    [EOF]
    ");
    assert_eq!(kept.world.phase(), Some(Phase::Collected));
}

#[test]
fn app_27_who_names_the_old_place_has_it_removed() {
    let kept = kept(WORKFLOW);
    kept.does("apply shop notes.txt --yes");
    let workspace = kept.world.workspace();
    assert!(!workspace.contains("f notes.txt"), "{workspace}");
    // And who allows the new place has both halves.
    let other = self::kept(WORKFLOW);
    other.does("apply shop --yes --allow .github/workflows/notes.yml");
    let workspace = other.world.workspace();
    assert!(!workspace.contains("f notes.txt"), "{workspace}");
    assert!(workspace.contains("notes.yml"), "{workspace}");
}

/// Only the new place, or only the old one, is below what is named.
#[test]
fn app_27_a_path_above_one_half_is_no_word_for_it() {
    let kept = kept("- src/old.rs\nf lib/old.rs \"gone soon\\n\"\nf src/new.rs \"new\\n\"");
    assert_snapshot!(kept.run("apply shop src --yes"), @r"
    exit 0
    --- stdout
      + lib  left out
      + lib/old.rs  left out
      + src/new.rs
      - src/old.rs  skipped: its new place is not applied
    0 modified, 3 added, 1 deleted (+2 -1)
    stays     src/old.rs  was moved to lib/old.rs, which is not applied
    [EOF]
    --- stderr
    applied 1 of 4 (0 modified, 1 added, 0 deleted), 3 left out
    hint: 3 more wait in session shop: `lazaret apply shop`, or `lazaret discard shop`.
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    let new = "f src/new.rs \"new\\n\"";
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, new]));
    kept.does("apply shop lib --yes");
    kept.does("apply shop --yes");
    let moved = "- src/old.rs\nf lib/old.rs \"gone soon\\n\"";
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, new, moved]));
}

const MOVED: &str = r#"
    - notes.txt
    f moved.txt "one\nthree\n"
    f src/main.rs "fn main() { todo() }\n"
    - src/old.rs
"#;

/// What was collected is damaged: a bit, the end, or all of it.
#[test]
fn app_27_a_damaged_quarantine_applies_nothing() {
    type Damage = fn(&std::path::Path);
    let damages: [Damage; 4] = [
        |spool| {
            let mut bytes = fs::read(spool).unwrap();
            bytes[1] ^= 1;
            fs::write(spool, bytes).unwrap();
        },
        |spool| {
            fs::File::options()
                .write(true)
                .open(spool)
                .unwrap()
                .set_len(3)
                .unwrap()
        },
        |spool| fs::write(spool, b"").unwrap(),
        |spool| fs::remove_file(spool).unwrap(),
    ];
    for damage in damages {
        let kept = kept(MOVED);
        let quarantine = kept
            .world
            .store
            .find(&kept.world.id())
            .unwrap()
            .file("quarantine");
        for file in fs::read_dir(&quarantine).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if name.starts_with("spool-") {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
                damage(&path);
            }
        }
        let said = kept.run("apply shop --yes");
        assert!(!said.starts_with("exit 0"), "{said}");
        assert_eq!(kept.world.workspace(), tree(&[BEFORE]), "{said}");
        // What is in the volume is collected again.
        assert!(matches!(
            kept.world.phase(),
            Some(Phase::Rejected | Phase::Collected)
        ));
        if kept.world.phase() == Some(Phase::Rejected) {
            let said = kept.run("apply shop --yes");
            assert!(said.contains("lazaret recover shop"), "{said}");
            assert!(said.contains("content.unreadable"), "{said}");
        }
    }
}

#[test]
fn app_29_a_workspace_from_a_backup_is_gone_on_with() {
    let kept = kept("f notes.txt \"one\\nthree\\n\"");
    let (place, old) = (kept.world.path("workspace"), kept.world.path("lost"));
    fs::rename(&place, &old).unwrap();
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 1
    --- stderr
    error: the workspace $WORLD/workspace is gone
    hint: Put the directory that was copied in back, or go on with another one, such as one that was restored from a backup: `lazaret apply shop --workspace DIR`.
    [EOF]
    ");
    fs::create_dir(&place).unwrap();
    tree_text::build(BEFORE, &place);
    for verb in ["apply shop --yes", "diff shop", "review shop"] {
        let said = kept.run(verb);
        assert!(said.contains("is another directory now"), "{verb}: {said}");
        assert!(
            said.contains("lazaret apply shop --workspace DIR"),
            "{verb}: {said}"
        );
    }
    let at = place.display();
    assert_snapshot!(kept.run(&format!("apply shop --workspace {at} --yes")), @r"
    exit 0
    --- stdout
      ~ notes.txt
    1 modified, 0 added, 0 deleted (+1 -1)
    [EOF]
    --- stderr
    session shop goes on with $WORLD/workspace
    applied 1 of 1 (1 modified, 0 added, 0 deleted)
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    assert_eq!(
        kept.world.workspace(),
        tree(&[BEFORE, "f notes.txt \"one\\nthree\\n\""])
    );
    kept.does("undo shop");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE]));
}

/// What is there is compared with what was copied in, whatever directory it is.
#[test]
fn app_29_another_directory_is_no_leave_to_overwrite() {
    let kept = kept("f notes.txt \"one\\nthree\\n\"");
    let other = kept.world.path("other");
    fs::create_dir(&other).unwrap();
    tree_text::build("f notes.txt \"mine\\n\"", &other);
    let said = kept.run(&format!("apply shop --workspace {} --yes", other.display()));
    assert!(said.contains("conflict  notes.txt"), "{said}");
    assert_eq!(
        fs::read_to_string(other.join("notes.txt")).unwrap(),
        "mine\n"
    );
}

#[test]
fn app_29_a_renamed_file_keeps_its_mode_on_the_host() {
    let kept = kept("- notes.txt\nf docs/notes.md \"one\\ntwo\\n\"");
    let file = kept.world.path("workspace/notes.txt");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    kept.does("apply shop --yes");
    let moved = fs::metadata(kept.world.path("workspace/docs/notes.md")).unwrap();
    assert_eq!(moved.mode() & 0o7777, 0o600);
}

/// Names that look like those of a staging directory hold nothing else up.
#[test]
fn app_29_a_name_of_lazarets_own_holds_nothing_else_up() {
    let kept = kept("f .lazaret-0123456789abcdef/0 \"x\"\nf src/new.rs \"new\\n\"");
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 0
    --- stdout
      + .lazaret-0123456789abcdef  blocked
      + .lazaret-0123456789abcdef/0  blocked
      + src/new.rs
    0 modified, 3 added, 0 deleted (+2 -0)
    block  path.reserved  .lazaret-0123456789abcdef    lazaret keeps such names in the workspace's root for itself
    block  path.reserved  .lazaret-0123456789abcdef/0  lazaret keeps such names in the workspace's root for itself
    [EOF]
    --- stderr
    applied 1 of 3 (0 modified, 1 added, 0 deleted), 2 left out
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    let new = "f src/new.rs \"new\\n\"";
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, new]));
    assert_snapshot!(kept.run("apply shop --yes --allow .lazaret-0123456789abcdef/0"), @r"
    exit 1
    --- stderr
    error: session shop has nothing to decide on: it is applied
    [EOF]
    ");
}

/// Lines of a file, some of them other than their number.
fn lines(others: &[(usize, &str)]) -> String {
    let line = |n: usize| {
        let other = others.iter().find(|(at, _)| *at == n);
        other.map_or(n.to_string(), |(_, text)| (*text).to_owned())
    };
    (0..40).map(|n| format!("{}\n", line(n))).collect()
}

/// Applies one hunk of a file, as a review would.
fn apply_hunk(kept: &Kept, hunk: usize) {
    let world = &kept.world;
    let mut session = world.lock().unwrap();
    let case = open_case(&session, IgnoredFiles::Stay, &world.env).unwrap();
    let mut choices = Choices::all();
    let pick = Pick::Hunks(BTreeSet::from([hunk]));
    choices.pick(RelPath::new("notes.txt").unwrap(), pick);
    let plan = approve(case.propose(&choices).unwrap()).unwrap();
    let context = world.settling(VolumeDisposal::Keep);
    settle(
        &mut session,
        &case,
        &Decision::Apply(plan),
        context,
        &world.ui,
    )
    .unwrap();
}

#[test]
fn app_29_what_was_applied_of_a_file_is_no_conflict_later() {
    let (first, second, third) = (
        (5, "agent five"),
        (20, "agent twenty"),
        (35, "agent thirty"),
    );
    let made = lines(&[first, second, third]);
    let edits: &'static str = format!("f notes.txt {made:?}").leak();
    let kept = kept_with(&lines(&[]), edits);
    let notes = kept.world.path("workspace/notes.txt");
    let now = || fs::read_to_string(&notes).unwrap();
    apply_hunk(&kept, 0);
    assert_eq!(now(), lines(&[first]));
    // The very lines that were applied are edited, and one beside them.
    let mine = [(5, "mine five"), (6, "mine six")];
    fs::write(&notes, lines(&mine)).unwrap();
    apply_hunk(&kept, 0);
    assert_eq!(now(), lines(&[mine[0], mine[1], second]));
    // And once more.
    let mine = [(5, "mine five"), (6, "my six"), (20, "mine twenty")];
    fs::write(&notes, lines(&mine)).unwrap();
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 0
    --- stdout
      ~ notes.txt  merged with your edit
    1 modified, 0 added, 0 deleted (+1 -1)
    [EOF]
    --- stderr
    applied 1 of 1 (1 modified, 0 added, 0 deleted)
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    assert_eq!(now(), lines(&[mine[0], mine[1], mine[2], third]));
}

/// What was taken back is not what both have in common.
#[test]
fn app_29_what_was_undone_is_no_part_of_it() {
    let (first, second) = ((5, "agent five"), (30, "agent thirty"));
    let made = lines(&[first, second]);
    let edits: &'static str = format!("f notes.txt {made:?}").leak();
    let kept = kept_with(&lines(&[]), edits);
    let notes = kept.world.path("workspace/notes.txt");
    apply_hunk(&kept, 0);
    kept.does("undo shop");
    fs::write(&notes, lines(&[(5, "mine five")])).unwrap();
    let said = kept.run("apply shop --yes");
    assert!(said.contains("conflict  notes.txt"), "{said}");
}

/// A session of a workspace whose notes are these.
fn kept_with(notes: &str, edits: &'static str) -> Kept {
    let notes = format!("f notes.txt {notes:?}");
    super::verbs::kept_of(&notes, edits)
}
