//! Appending, and what is found of damage.

use std::fs;
use std::io::Write as _;

use super::event::AuditEvent;
use super::verify::{Damage, DamageKind};
use super::*;

struct Scene {
    dir: tempfile::TempDir,
    log: AuditLog,
}

impl Scene {
    /// A log of so many entries.
    fn of(count: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("locks")).unwrap();
        let log = AuditLog::of(dir.path());
        let scene = Self { dir, log };
        (0..count).for_each(|_| scene.append());
        scene
    }

    fn append(&self) {
        self.append_as(Durability::Synced);
    }

    fn append_as(&self, durability: Durability) {
        let session = "shop".parse().unwrap();
        self.log
            .append(&session, AuditEvent::Removed, durability)
            .unwrap();
    }

    fn text(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("audit.jsonl")).unwrap()
    }

    fn write(&self, text: &[u8]) {
        fs::write(self.dir.path().join("audit.jsonl"), text).unwrap();
    }

    /// The whole entries, and what is wrong after them.
    #[track_caller]
    fn is(&self, entries: usize, damage: Option<DamageKind>) {
        let verified = self.log.verify().unwrap();
        assert_eq!(verified.entries.len(), entries, "{:?}", verified.damage);
        assert_eq!(verified.damage.map(|damage| damage.what), damage);
    }
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

#[test]
fn entries_are_numbered_and_chained() {
    let scene = Scene::of(3);
    let verified = scene.log.verify().unwrap();
    let numbers: Vec<u64> = verified.entries.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(verified.entries[0].prev, line::FIRST);
    assert_eq!(verified.damage, None);
    Scene::of(0).is(0, None);
}

/// Every byte of a line, replaced by another one.
#[test]
fn a_byte_that_was_changed_is_named() {
    let scene = Scene::of(3);
    let whole = scene.text();
    let [first, second, _] = &lines(&whole)[..] else {
        panic!("three lines");
    };
    let (body, digits) = line::split(second.trim_ascii_end()).unwrap();
    let hash = body.len() + 9..body.len() + 9 + digits.len();
    for at in 0..second.len() - 1 {
        let mut text = whole.clone();
        let was = std::mem::replace(&mut text[first.len() + at], b'~');
        scene.write(&text);
        let column = at + 1;
        // Of what is neither hashed nor the hash, only the line can be told.
        let what = match at < body.len() || hash.contains(&at) {
            true => DamageKind::Byte { column, was },
            false => DamageKind::Changed,
        };
        let damage = scene.log.verify().unwrap().damage;
        assert_eq!(damage, Some(Damage { line: 2, what }));
    }
    scene.write(&whole);
    scene.is(3, None);
}

#[test]
fn lines_that_were_removed_moved_or_added_are_missed() {
    let scene = Scene::of(4);
    let all = lines(&scene.text());
    let text =
        |order: &[usize]| -> Vec<u8> { order.iter().flat_map(|line| all[*line].clone()).collect() };
    for (order, entries, damage) in [
        (&[0, 1, 3][..], 2, DamageKind::OutOfOrder),
        (&[1, 2, 3], 0, DamageKind::OutOfOrder),
        (&[0, 2, 1, 3], 1, DamageKind::OutOfOrder),
        (&[0, 1, 1, 2, 3], 2, DamageKind::OutOfOrder),
        (&[0, 1, 2], 3, DamageKind::CutOff),
        (&[0], 1, DamageKind::CutOff),
        (&[], 0, DamageKind::CutOff),
    ] {
        scene.write(&text(order));
        scene.is(entries, Some(damage));
    }
}

/// After a power cut the head may name an older line than the last, and never a newer one.
#[test]
fn the_head_names_the_last_synced_line() {
    let scene = Scene::of(2);
    let head = scene.log.head().unwrap();
    (0..3).for_each(|_| scene.append_as(Durability::Written));
    assert_eq!(scene.log.head().unwrap(), head);
    scene.is(5, None);
    let all = lines(&scene.text());
    scene.write(&all[..3].concat());
    scene.is(3, None);
    scene.append();
    scene.is(4, None);
    assert_eq!(scene.log.head().unwrap().n, 4);
}

/// A whole chain in the place of the one that the head knows.
#[test]
fn another_chain_is_no_log_of_this_head() {
    let scene = Scene::of(2);
    scene.write(&Scene::of(2).text());
    scene.is(1, Some(DamageKind::Changed));
}

/// What a process leaves that is killed while it appends: a part of a line, or a line that the
/// head does not know.
#[test]
fn a_kill_at_any_byte_of_an_append_is_no_damage() {
    let scene = Scene::of(2);
    let head = fs::read(scene.dir.path().join("audit.head")).unwrap();
    let before = scene.text();
    scene.append();
    let after = scene.text();
    for end in before.len()..=after.len() {
        fs::write(scene.dir.path().join("audit.head"), &head).unwrap();
        scene.write(&after[..end]);
        let whole = if end == after.len() { 3 } else { 2 };
        scene.is(whole, None);
        scene.append();
        scene.is(whole + 1, None);
    }
}

#[test]
fn what_follows_damage_does_not_hide_it() {
    let scene = Scene::of(2);
    let text = scene.text();
    scene.write(&text[..text.len() - 40]);
    scene.append();
    let verified = scene.log.verify().unwrap();
    assert_eq!(verified.damage.map(|damage| damage.line), Some(2));
    // A whole line that no append of ours made.
    let scene = Scene::of(2);
    let forged = lines(&scene.text())[1].clone();
    let path = scene.dir.path().join("audit.jsonl");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&forged).unwrap();
    scene.append();
    let verified = scene.log.verify().unwrap();
    assert_eq!(verified.damage.map(|damage| damage.line), Some(3));
}

#[test]
fn two_processes_lose_nothing() {
    let scene = Scene::of(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| scene.append()));
        }
    });
    scene.is(100, None);
}
