//! What the audit log tells of a session.

use lazaret_session::audit::AuditLog;
use lazaret_session::audit::event::{Approver, AuditEvent};
use lazaret_session::store::record::Outcome;
use lazaret_tests::tree_text;

use super::verb::Verb;
use super::verbs::kept;
use super::world::{EDITS, World};

/// The entries of the log, in words.
fn told(world: &World) -> Vec<String> {
    let verified = AuditLog::of(world.store.path()).verify().unwrap();
    assert_eq!(verified.damage, None);
    let words = |event: &AuditEvent| match event {
        AuditEvent::Run { run, .. } => format!("run {run}"),
        AuditEvent::End { run, end } => format!("end {run}: {}", end.exit_code),
        AuditEvent::Approved(approval) => format!("approved by {:?}", approval.by),
        AuditEvent::Settled { outcome } => format!("{outcome:?}"),
        AuditEvent::Removed => "removed".to_owned(),
    };
    let entries = verified.entries.iter();
    entries.map(|entry| words(&entry.event)).collect()
}

#[test]
fn a_session_is_told_from_its_first_run_to_its_end() {
    let kept = kept(EDITS);
    let world = &kept.world;
    kept.does("apply shop --yes");
    kept.does("undo shop");
    kept.does("undo shop --redo");
    let told = told(world);
    assert_eq!(
        told,
        [
            "run 1",
            "end 1: 0",
            "approved by Beforehand",
            "Applied",
            "Undone",
            "Applied"
        ]
    );
    assert_eq!(Approver::Beforehand.words(), "--yes");
    assert_eq!(Outcome::Applied.as_str(), "applied");
}

#[test]
fn without_room_for_the_approval_nothing_is_applied() {
    let kept = kept(EDITS);
    let world = &kept.world;
    // Another process could not write it either.
    let log = world.store.path().join("audit.jsonl");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let before = tree_text::dump(&world.path("workspace"));
    let ended = Verb::on(world).run(&["apply", "shop", "--yes"]);
    let said = ended.said();
    assert_ne!(ended.code, 0, "{said}");
    assert!(said.contains("audit.jsonl"), "{said}");
    assert_eq!(tree_text::dump(&world.path("workspace")), before);
}

#[test]
fn damage_is_named_by_verify() {
    let kept = kept(EDITS);
    kept.does("apply shop --yes");
    let world = &kept.world;
    let ended = Verb::on(world).run(&["audit", "verify"]);
    assert!(
        ended.said().contains("4 entries, nothing changed"),
        "{}",
        ended.said()
    );
    let log = world.store.path().join("audit.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace("\"beforehand\"", "\"peforehand\"")).unwrap();
    let ended = Verb::on(world).run(&["audit", "verify"]);
    let said = ended.said();
    assert_ne!(ended.code, 0, "{said}");
    assert!(
        said.contains("line 3: byte ") && said.contains("it was `b`"),
        "{said}"
    );
    let ended = Verb::on(world).run(&["audit", "show"]);
    assert_eq!(ended.stdout.lines().count(), 2, "{}", ended.stdout);
}
