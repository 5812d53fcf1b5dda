//! What was moved, and stays as a whole where its new place is not applied (APP-27).

use std::collections::BTreeSet;

use insta::assert_snapshot;
use lazaret_gate::choices::Pick;
use lazaret_gate::proposal::Pending;
use lazaret_tree::RelPath;
use lazaret_validator::Allowance;

use super::desk::{Desk, all, picks, shown};

/// A package is renamed, one of its files is empty.
const BEFORE: &str = r#"
    f pkg/__init__.py ""
    f pkg/a.py "a\n"
    f pkg/b.py "b\n"
    f notes "n\n"
"#;
const SESSION: &str = r#"
    - pkg
    f lib/__init__.py ""
    f lib/a.py "a\n"
    f lib/b.py "b\n"
    - notes
"#;

#[test]
fn app_27_what_is_left_out_leaves_the_old_place_alone() {
    let desk = Desk::new(BEFORE, SESSION, "");
    let case = desk.case();
    let one = case.propose(&picks(&[("lib/a.py", Pick::Leave)])).unwrap();
    assert_snapshot!(shown(&one), @r"
    lib: applies
    lib/__init__.py: applies
    lib/a.py: left out
    lib/b.py: applies
    notes: applies
    pkg: depends on pkg/a.py
    pkg/__init__.py: applies
    pkg/a.py: moved to lib/a.py
    pkg/b.py: applies
    ");
    let before = desk.workspace();
    let whole = picks(&[("lib", Pick::Leave), ("notes", Pick::Leave)]);
    let whole = case.propose(&whole).unwrap();
    assert_snapshot!(shown(&whole), @r"
    lib: left out
    lib/__init__.py: depends on lib
    lib/a.py: depends on lib
    lib/b.py: depends on lib
    notes: left out
    pkg: moved to lib
    pkg/__init__.py: moved to lib/__init__.py
    pkg/a.py: moved to lib/a.py
    pkg/b.py: moved to lib/b.py
    ");
    assert_eq!(whole.changes(), []);
    for item in whole.items() {
        assert_eq!(whole.pending(item), Pending::Choice, "{item:?}");
    }
    // The user may want just that.
    let alone = picks(&[("lib/a.py", Pick::Leave), ("pkg/a.py", Pick::Alone)]);
    let alone = case.propose(&alone).unwrap();
    assert_snapshot!(shown(&alone), @r"
    lib: applies
    lib/__init__.py: applies
    lib/a.py: left out
    lib/b.py: applies
    notes: applies
    pkg: applies
    pkg/__init__.py: applies
    pkg/a.py: applies
    pkg/b.py: applies
    ");
    assert_eq!(desk.workspace(), before);
    desk.apply(&case, alone).unwrap();
    assert_snapshot!(desk.workspace(), @r#"
    f lib/__init__.py ""
    f lib/b.py "b\n"
    "#);
    // Later, the rest: the new place, for what is gone already.
    let case = desk.case();
    desk.apply(&case, all(&case)).unwrap();
    assert_eq!(
        desk.workspace(),
        lazaret_tests::tree_text::dump(&desk.path("volume"))
    );
}

#[test]
fn app_27_a_conflict_at_the_new_place_leaves_the_old_one_alone() {
    let desk = Desk::new(BEFORE, SESSION, "f lib/a.py \"mine\\n\"");
    let case = desk.case();
    assert_snapshot!(shown(&all(&case)), @r"
    lib: already
    lib/__init__.py: applies
    lib/a.py: conflict: was created here too, with other contents
    lib/b.py: applies
    notes: applies
    pkg: depends on pkg/a.py
    pkg/__init__.py: applies
    pkg/a.py: moved to lib/a.py
    pkg/b.py: applies
    ");
    let theirs = case
        .propose(&picks(&[("lib/a.py", Pick::SessionVersion)]))
        .unwrap();
    assert_snapshot!(shown(&theirs), @r"
    lib: already
    lib/__init__.py: applies
    lib/a.py: applies (theirs)
    lib/b.py: applies
    notes: applies
    pkg: applies
    pkg/__init__.py: applies
    pkg/a.py: applies
    pkg/b.py: applies
    ");
    // A user who moved the file too has both halves already.
    let desk = Desk::new(BEFORE, SESSION, "- pkg/a.py\nf lib/a.py \"a\\n\"");
    assert_snapshot!(shown(&all(&desk.case())), @r"
    lib: already
    lib/__init__.py: applies
    lib/a.py: already
    lib/b.py: applies
    notes: applies
    pkg: applies
    pkg/__init__.py: applies
    pkg/a.py: already
    pkg/b.py: applies
    ");
}

#[test]
fn app_27_what_is_allowed_by_name_comes_with_its_old_place() {
    let session = "- notes\nf .envrc \"n\\n\"";
    let desk = Desk::new(BEFORE, session, "");
    let case = desk.case();
    let proposal = all(&case);
    assert_snapshot!(shown(&proposal), @r"
    .envrc: blocked: suspect.directory_env
    notes: moved to .envrc
    block suspect.directory_env .envrc: runs when a shell enters the directory
    warn suspect.secret .envrc: may hold a secret
    ");
    let pending = |path: &str| {
        let item = proposal.item(RelPath::new(path).unwrap()).unwrap();
        proposal.pending(item)
    };
    assert_eq!(
        (pending("notes"), pending(".envrc")),
        (Pending::Allowance, Pending::Allowance)
    );
    let mut choices = picks(&[]);
    let item = proposal.item(RelPath::new(".envrc").unwrap()).unwrap();
    choices.allow(Allowance::of(item.proposed(), "suspect.directory_env"));
    let proposal = case.propose(&choices).unwrap();
    desk.apply(&case, proposal).unwrap();
    assert!(!desk.path("workspace/notes").exists());
}

/// Some hunks of what a file was moved over are not the file.
#[test]
fn app_27_a_file_that_is_taken_in_part_leaves_the_old_place_alone() {
    let text = |name: &str| {
        let lines: String = (0..30).map(|n| format!("{n}\\n")).collect();
        lines
            .replace("\\n3\\n", &format!("\\n{name} 3\\n"))
            .replace("\\n25\\n", &format!("\\n{name} 25\\n"))
    };
    let before = format!("f new \"{}\"\nf old \"{}\"", text("new"), text("old"));
    let session = format!("- new\nf old \"{}\"", text("new"));
    let desk = Desk::new(&before, &session, "");
    let case = desk.case();
    let part = Pick::Hunks(BTreeSet::from([0]));
    let proposal = case.propose(&picks(&[("old", part.clone())])).unwrap();
    assert_snapshot!(shown(&proposal), @r"
    new: moved to old
    old: applies (hunks)
    ");
    let alone = case
        .propose(&picks(&[("old", part), ("new", Pick::Alone)]))
        .unwrap();
    assert_snapshot!(shown(&alone), @r"
    new: applies
    old: applies (hunks)
    ");
}
