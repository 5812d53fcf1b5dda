//! What kills the mailbox, and what it must withstand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_protocol::{FileTime, MailEntry, OutBox};
use lazaret_validator::{HandedKind, Mark};

use super::*;
use crate::mail::index::{MOST_A_MINUTE, MOST_TASKS, MOST_WAITING};
use crate::mail::roster::{Rank, RosterEntry};

/// Kills the mailbox after a number of steps; none at 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault(Arc<AtomicUsize>);

impl Fault {
    fn after(&self, steps: usize) {
        self.0.store(steps, Ordering::SeqCst);
    }

    pub(super) fn step(&self) -> Result<(), MailboxError> {
        let left = self.0.load(Ordering::SeqCst);
        self.0.store(left.saturating_sub(1), Ordering::SeqCst);
        match left == 1 {
            true => Err(std::io::Error::other("killed"))
                .at("step")
                .map_err(Into::into),
            false => Ok(()),
        }
    }
}

/// What lies inside, as the porter would tell it.
#[derive(Default)]
struct Inside {
    files: BTreeMap<MailId, MailEntry>,
    made: u64,
}

impl Inside {
    fn write(&mut self, out_box: OutBox, name: &str, text: &str) {
        self.made += 1;
        let id = MailId {
            out_box,
            name: name.as_bytes().to_vec(),
            ino: self.made,
            changed: FileTime {
                seconds: 1,
                nanos: 0,
            },
        };
        self.files
            .insert(id, MailEntry::File(text.as_bytes().to_vec()));
    }

    fn message(&mut self, name: &str, text: &str) {
        let text = format!("{{\"type\":\"message\",\"to\":\"a@g.us\",\"text\":\"{text}\"}}");
        self.write(OutBox::Messages, name, &text);
    }

    fn task(&mut self, name: &str, text: &str) {
        self.write(OutBox::Tasks, name, text);
    }

    fn found(&self) -> MailFound {
        let all = self.files.iter();
        MailFound(all.map(|(id, entry)| (id.clone(), entry.clone())).collect())
    }

    /// Does a look, as `exchange` does. Each removal is a step.
    fn look(&mut self, mailbox: &Mailbox, roster: &Roster, now: u64) -> Result<(), MailboxError> {
        let orders = mailbox.take(roster, &self.found(), &HandedOut::default(), now)?;
        for id in &orders.remove {
            self.files.remove(id);
            mailbox.fault.step()?;
        }
        mailbox.removed(&roster.own.group, &orders.remove)
    }
}

fn entry(group: &str, level: Rank) -> RosterEntry {
    RosterEntry {
        group: group.to_owned(),
        level,
        folder: None,
        chats: vec![format!("{group}@g.us")],
        project: "/p".to_owned(),
    }
}

fn member() -> Roster {
    Roster {
        own: entry("a", Rank::Member),
        others: vec![entry("boss", Rank::Main)],
    }
}

fn main() -> Roster {
    Roster {
        own: entry("boss", Rank::Main),
        others: vec![entry("a", Rank::Member)],
    }
}

fn texts(mailbox: &Mailbox) -> Vec<String> {
    let waiting = mailbox.waiting_of("a").unwrap();
    let text = |one: Accepted| match one.mail {
        crate::mail::message::Mail::Message { text, .. } => text,
        other => format!("{other:?}"),
    };
    waiting.into_iter().map(text).collect()
}

fn reasons(mailbox: &Mailbox, group: &str) -> Vec<String> {
    let mut locked = mailbox.lock().unwrap();
    let refused = &locked.index.of(group).refused;
    refused.iter().map(|one| one.reason.clone()).collect()
}

#[test]
fn mail_04_killed_after_every_step_nothing_is_lost_or_doubled() {
    let mut steps = 1;
    loop {
        let dir = tempfile::tempdir().unwrap();
        let mut inside = Inside::default();
        let roster = member();
        for name in ["1.json", "2.json", "3.json"] {
            inside.message(name, name);
        }
        let mailbox = Mailbox::open(dir.path()).unwrap();
        mailbox.fault.after(steps);
        let killed = inside.look(&mailbox, &roster, 0).is_err();
        // Another process goes on, and the command wrote one more meanwhile.
        inside.message("4.json", "4.json");
        let mailbox = Mailbox::open(dir.path()).unwrap();
        inside.look(&mailbox, &roster, 1).unwrap();
        assert_eq!(
            texts(&mailbox),
            ["1.json", "2.json", "3.json", "4.json"],
            "{steps}"
        );
        assert!(inside.files.is_empty(), "{steps}");
        // Settling it is killed as well, wherever.
        let ids: BTreeSet<u64> = mailbox
            .waiting_of("a")
            .unwrap()
            .iter()
            .map(|one| one.id)
            .collect();
        mailbox.fault.after(1);
        mailbox.settle("a", &ids).unwrap_err();
        let mailbox = Mailbox::open(dir.path()).unwrap();
        mailbox.settle("a", &ids).unwrap();
        inside.look(&mailbox, &roster, 2).unwrap();
        assert_eq!(texts(&mailbox), [""; 0], "{steps}");
        assert_eq!(list_dir(&dir.path().join("mail/waiting")).unwrap().len(), 0);
        if !killed {
            // Three files, the index, three removals, the index.
            assert_eq!(steps, 9);
            return;
        }
        steps += 1;
    }
}

#[test]
fn what_is_settled_before_it_is_removed_inside_does_not_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(dir.path()).unwrap();
    let mut inside = Inside::default();
    inside.message("1.json", "one");
    mailbox
        .take(&member(), &inside.found(), &HandedOut::default(), 0)
        .unwrap();
    mailbox.settle("a", &BTreeSet::from([1])).unwrap();
    inside.look(&mailbox, &member(), 0).unwrap();
    assert_eq!(texts(&mailbox), [""; 0]);
    // The same once more is another message.
    inside.message("1.json", "one");
    inside.look(&mailbox, &member(), 0).unwrap();
    assert_eq!(texts(&mailbox), ["one"]);
}

#[test]
fn half_a_file_has_a_second_chance() {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(dir.path()).unwrap();
    let mut inside = Inside::default();
    inside.write(OutBox::Messages, "1.json", "{\"type\":\"mess");
    inside.write(OutBox::Messages, "2.json", "{\"type\":\"mess");
    inside.look(&mailbox, &member(), 0).unwrap();
    assert_eq!(inside.files.len(), 2);
    assert_eq!(reasons(&mailbox, "a"), [""; 0]);
    inside.files.retain(|id, _| id.name != b"1.json");
    inside.message("1.json", "whole");
    inside.look(&mailbox, &member(), 0).unwrap();
    assert_eq!(texts(&mailbox), ["whole"]);
    assert_eq!(reasons(&mailbox, "a"), ["syntax"]);
    assert!(inside.files.is_empty());
}

#[test]
fn there_are_a_hundred_a_minute_and_a_thousand_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(dir.path()).unwrap();
    let mut inside = Inside::default();
    let count = MOST_WAITING + 150;
    for number in 0..count {
        inside.message(&format!("{number:05}.json"), "x");
    }
    let most = MOST_A_MINUTE as usize;
    inside.look(&mailbox, &member(), 1000).unwrap();
    inside.look(&mailbox, &member(), 1059).unwrap();
    assert_eq!(texts(&mailbox).len(), most);
    for minute in 1..20 {
        inside
            .look(&mailbox, &member(), 1000 + 60 * minute)
            .unwrap();
    }
    assert_eq!(texts(&mailbox).len(), MOST_WAITING);
    // What has no room stays inside.
    assert_eq!(inside.files.len(), count - MOST_WAITING);
    mailbox
        .settle("a", &(1..=MOST_WAITING as u64).collect())
        .unwrap();
    inside.look(&mailbox, &member(), 9000).unwrap();
    assert_eq!(texts(&mailbox).len(), most);
}

#[test]
fn mail_05_a_member_changes_its_own_tasks_only() {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(dir.path()).unwrap();
    let mut inside = Inside::default();
    let schedule = |id: &str, more: &str| {
        format!(
            "{{\"type\":\"schedule\",\"id\":\"{id}\",\"when\":{{\"every\":60}},\"prompt\":\"p\"{more}}}"
        )
    };
    inside.task("1.json", &schedule("t", ""));
    inside.task("2.json", &schedule("u", ",\"group\":\"a\""));
    inside.look(&mailbox, &main(), 0).unwrap();
    // Main has made one for itself and one for the member.
    for (name, text) in [
        ("1.json", "{\"type\":\"cancel\",\"id\":\"t\"}"),
        (
            "2.json",
            "{\"type\":\"cancel\",\"id\":\"t\",\"group\":\"boss\"}",
        ),
        ("3.json", &*schedule("v", ",\"group\":\"boss\"")),
        ("4.json", "{\"type\":\"pause\",\"id\":\"u\"}"),
    ] {
        inside.task(name, text);
    }
    inside.message("5.json", "x");
    inside.write(
        OutBox::Messages,
        "6.json",
        "{\"type\":\"message\",\"to\":\"boss@g.us\",\"text\":\"\"}",
    );
    inside.look(&mailbox, &member(), 0).unwrap();
    assert_eq!(reasons(&mailbox, "a"), ["chat", "task", "group", "group"]);
    let locked = mailbox.lock().unwrap();
    let snapshot = |roster: &Roster| {
        let files = snapshot::files(&locked.index, roster);
        files
            .into_iter()
            .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
            .collect::<Vec<_>>()
    };
    let [tasks, groups, rejected] = &snapshot(&member())[..] else {
        panic!("three files");
    };
    assert_eq!(
        tasks,
        "{\"cut\":false,\"tasks\":[{\"group\":\"a\",\"id\":\"u\",\"prompt\":\"p\",\
         \"state\":\"paused\",\"when\":{\"every\":60}}]}"
    );
    assert!(!groups.contains("boss"), "{groups}");
    assert!(rejected.contains("messages/6.json"), "{rejected}");
    let [tasks, groups, _] = &snapshot(&main())[..] else {
        panic!("three files");
    };
    assert!(
        tasks.contains("\"boss\"") && tasks.contains("\"a\""),
        "{tasks}"
    );
    assert!(groups.contains("a@g.us"), "{groups}");
}

#[test]
fn mail_06_a_login_that_was_lent_is_not_sent() {
    let token = "sk-ant-oat01-0123456789abcdef";
    let marks = |kind| Mark::all(kind, "claude-login", token.as_bytes());
    let login: HandedOut = marks(HandedKind::Login).into_iter().collect();
    let placeholder: HandedOut = marks(HandedKind::Placeholder).into_iter().collect();
    let escaped = token.replace('-', "\\u002d");
    for (text, handed, expected) in [
        (token, &login, &["login"][..]),
        (&escaped, &login, &["login"]),
        (&token[1..], &login, &[]),
        (token, &placeholder, &[]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open(dir.path()).unwrap();
        let mut inside = Inside::default();
        inside.message("1.json", text);
        let found = inside.found();
        let orders = mailbox.take(&member(), &found, handed, 0).unwrap();
        assert_eq!(orders.remove.len(), 1, "{text}");
        assert_eq!(reasons(&mailbox, "a"), expected, "{text}");
        assert_eq!(texts(&mailbox).len(), 1 - expected.len(), "{text}");
    }
}

#[test]
fn tasks_are_bounded_and_end() {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(dir.path()).unwrap();
    let mut inside = Inside::default();
    let task = |id: usize, when: &str| {
        format!("{{\"type\":\"schedule\",\"id\":\"{id}\",\"when\":{when},\"prompt\":\"\"}}")
    };
    for id in 0..=MOST_TASKS {
        inside.task(
            &format!("{id:03}.json"),
            &task(id, "{\"at\":\"1970-01-01T01:00:00Z\"}"),
        );
    }
    inside.look(&mailbox, &member(), 0).unwrap();
    inside.look(&mailbox, &member(), 60).unwrap();
    assert_eq!(reasons(&mailbox, "a"), ["full"]);
    inside.look(&mailbox, &member(), 3601).unwrap();
    assert!(mailbox.lock().unwrap().index.of("a").tasks.is_empty());
}

#[test]
fn only_what_was_given_to_a_group_is_settled_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(dir.path()).unwrap();
    let mut inside = Inside::default();
    inside.message("1.json", "one");
    inside.look(&mailbox, &member(), 0).unwrap();
    let settle = |group: &str, id: u64| mailbox.settle(group, &BTreeSet::from([id])).unwrap();
    assert_eq!(settle("boss", 1), [1]);
    assert_eq!(settle("a", 2), [2]);
    assert!(!mailbox.forget("a").unwrap());
    assert_eq!(settle("a", 1), [0; 0]);
    // Once more is the same.
    assert_eq!(settle("a", 1), [0; 0]);
    assert!(mailbox.forget("a").unwrap());
}
