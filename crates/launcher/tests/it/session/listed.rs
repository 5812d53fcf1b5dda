//! Which sessions `ls` lists, and in which order.

use lazaret_session::store::record::{KeepVolume, Outcome, Phase, Record};

use super::verb::Verb;
use super::world::World;

/// A session, so many seconds older than an hour, and what became of it.
struct Past {
    name: &'static str,
    age: u64,
    phase: Phase,
    outcome: Option<Outcome>,
    keep: KeepVolume,
}

fn past(name: &'static str, age: u64, phase: Phase, outcome: Option<Outcome>) -> Past {
    Past {
        name,
        age,
        phase,
        outcome,
        keep: KeepVolume::UntilSettled,
    }
}

/// Makes the records of these sessions from that of one that changed nothing, seconds ago.
fn sessions(all: impl IntoIterator<Item = Past>) -> World {
    let world = World::new();
    drop(world.run().unwrap());
    let first: Record = world.record().unwrap();
    for session in all {
        let mut record = first.clone();
        record.id = session.name.parse().unwrap();
        record.created = first.created - 3600 - session.age;
        record.phase = session.phase;
        record.outcome = session.outcome;
        record.keep = session.keep;
        drop(world.store.create(record).unwrap());
    }
    world
}

/// The first words of all lines that `ls` prints below its heading, and what it says.
fn listed(world: &World, arguments: &[&str]) -> (Vec<String>, String) {
    let ended = Verb::on(world).run(&[&["ls"], arguments].concat());
    let said = ended.said();
    assert_eq!(ended.code, 0, "{said}");
    let (_, rows) = said.split_once("WORKSPACE\n").unwrap_or(("", ""));
    let rows = rows.lines().filter(|row| row.contains(" min "));
    let names = rows.filter_map(|row| row.split_whitespace().next());
    (names.map(str::to_owned).collect(), said)
}

#[test]
fn what_is_settled_is_counted_and_the_newest_comes_first() {
    use Outcome::{Applied, Discarded, Undone};
    let copy = Past {
        keep: KeepVolume::Always,
        ..past("copy", 30, Phase::Settled, Some(Applied))
    };
    let world = sessions([
        past("applied", 10, Phase::Settled, Some(Applied)),
        past("waits", 50, Phase::Collected, None),
        past("thrown", 20, Phase::Settled, Some(Discarded)),
        past("undone", 40, Phase::Settled, Some(Undone)),
        copy,
    ]);
    let (names, said) = listed(&world, &[]);
    assert_eq!(names, ["copy", "undone", "waits"], "{said}");
    assert!(
        said.contains("3 settled sessions not listed: `lazaret ls --all`"),
        "{said}"
    );
    let (names, said) = listed(&world, &["--all"]);
    assert_eq!(
        names,
        ["applied", "thrown", "copy", "undone", "waits"],
        "{said}"
    );
    assert!(!said.contains("not listed"), "{said}");
}

#[test]
fn a_program_gets_all() {
    let world = sessions([past("applied", 10, Phase::Settled, Some(Outcome::Applied))]);
    let (_, said) = listed(&world, &["--json"]);
    assert!(said.contains("\"session\":\"applied\""), "{said}");
}
