//! The repository is one thing.

use lazaret_transfer::AgentChanges::{Discard, Keep};

use super::kit::check;

const BEFORE: &str = r#"
    f .git/HEAD "ref: refs/heads/main"
    f .git/index i
    f .git/objects/ab/1 o
    f .git/refs/heads/main 1
    f a 1
"#;
/// The host committed and changed a file.
const COMMITTED: &str = r#"
    f .git/HEAD "ref: refs/heads/main"
    f .git/index j
    f .git/objects/ab/1 o
    f .git/objects/cd/2 o
    f .git/refs/heads/main 2
    f a 2
"#;

#[test]
fn the_hosts_repository_goes_in_when_the_copy_stands_still() {
    insta::assert_snapshot!(check(Keep, BEFORE, COMMITTED, BEFORE), @r"
    send .git/index
    send .git/objects/cd
    send .git/objects/cd/2
    send .git/refs/heads/main
    send a
    ");
    // Changes to index, logs, hooks and objects do not count as the agent's work.
    let dirty = format!(
        "{}\nf .git/ORIG_HEAD 1\nf .git/logs/HEAD 1\nf .git/objects/ee/3 o\nf .git/hooks/x 1",
        BEFORE.replace("index i", "index k")
    );
    insta::assert_snapshot!(check(Keep, BEFORE, COMMITTED, &dirty), @r"
    remove .git/ORIG_HEAD
    remove .git/hooks
    remove .git/hooks/x
    remove .git/logs
    remove .git/logs/HEAD
    remove .git/objects/ee
    remove .git/objects/ee/3
    send .git/index
    send .git/objects/cd
    send .git/objects/cd/2
    send .git/refs/heads/main
    send a
    ");
    insta::assert_snapshot!(check(Keep, BEFORE, "f a 1", BEFORE), @r"
    remove .git
    remove .git/HEAD
    remove .git/index
    remove .git/objects
    remove .git/objects/ab
    remove .git/objects/ab/1
    remove .git/refs
    remove .git/refs/heads
    remove .git/refs/heads/main
    ");
}

#[test]
fn the_copys_repository_stays_when_the_agent_commits() {
    let agent = BEFORE.replace("main 1", "main 3");
    insta::assert_snapshot!(check(Keep, BEFORE, BEFORE, &agent), @"agent Modified .git/refs/heads/main");
    insta::assert_snapshot!(check(Keep, BEFORE, COMMITTED, &agent), @r"
    send a
    both changed .git
    agent Modified .git/refs/heads/main
    ");
    // A host that only looked at its repository has not moved it.
    let looked = BEFORE.replace("index i", "index j");
    insta::assert_snapshot!(check(Keep, BEFORE, &looked, &agent), @"agent Modified .git/refs/heads/main");
    // Something odd where a ref should be is a move too.
    let odd = format!("{BEFORE}\np .git/refs/heads/x");
    insta::assert_snapshot!(check(Keep, BEFORE, COMMITTED, &odd), @r"
    send a
    both changed .git
    ");
    insta::assert_snapshot!(check(Keep, "f a 1", BEFORE, &agent), @r"
    both changed .git
    agent Added .git
    agent Added .git/HEAD
    agent Added .git/index
    agent Added .git/objects
    agent Added .git/objects/ab
    agent Added .git/objects/ab/1
    agent Added .git/refs
    agent Added .git/refs/heads
    agent Added .git/refs/heads/main
    ");
}

#[test]
fn equal_repositories_are_adopted() {
    insta::assert_snapshot!(check(Keep, BEFORE, COMMITTED, COMMITTED), @r"
    adopt .git/index
    adopt .git/objects/cd
    adopt .git/objects/cd/2
    adopt .git/refs/heads/main
    adopt a
    ");
}

#[test]
fn a_repository_that_is_left_out_takes_no_part() {
    insta::assert_snapshot!(check(Keep, BEFORE, "s .git\nf a 2", BEFORE), @"send a");
}

#[test]
fn a_cache_in_the_way_keeps_the_whole_repository_out() {
    let cache = BEFORE.replace("f .git/index i", "s .git/index");
    let plan = check(Keep, BEFORE, COMMITTED, &cache);
    assert!(plan.contains("buried .git\n"), "{plan}");
    assert!(!plan.contains("send .git"), "{plan}");
}

#[test]
fn a_discard_takes_the_hosts_repository() {
    let agent = BEFORE.replace("main 1", "main 3");
    insta::assert_snapshot!(check(Discard, BEFORE, BEFORE, &agent), @"send .git/refs/heads/main");
}
