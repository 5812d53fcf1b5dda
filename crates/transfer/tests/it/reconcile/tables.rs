//! Cases by hand.

use lazaret_transfer::AgentChanges::{Discard, Keep};

use super::kit::check;

#[track_caller]
fn keep(baseline: &str, host: &str, volume: &str) -> String {
    check(Keep, baseline, host, volume)
}

#[test]
fn one_path() {
    insta::assert_snapshot!(keep("f a 1", "f a 1", "f a 1"), @"");
    insta::assert_snapshot!(keep("f a 1", "f a 1", "f a 2"), @"agent Modified a");
    insta::assert_snapshot!(keep("f a 1", "f a 2", "f a 1"), @"send a");
    insta::assert_snapshot!(keep("f a 1", "x a 1", "f a 1"), @"send a");
    insta::assert_snapshot!(keep("f a 1", "", "f a 1"), @"remove a");
    insta::assert_snapshot!(keep("", "f a 1", ""), @"send a");
    insta::assert_snapshot!(keep("f a 1", "f a 2", "f a 2"), @"adopt a");
    insta::assert_snapshot!(keep("f a 1", "", ""), @"adopt a");
    insta::assert_snapshot!(keep("", "f a 1", "f a 1"), @"adopt a");
    insta::assert_snapshot!(keep("f a 1", "f a 2", "f a 3"), @r"
    both changed a
    agent Modified a
    ");
    insta::assert_snapshot!(keep("f a 1", "", "f a 2"), @r"
    both changed a
    agent Modified a
    ");
    insta::assert_snapshot!(keep("f a 1", "f a 2", ""), @r"
    both changed a
    agent Deleted a
    ");
    insta::assert_snapshot!(keep("", "f a 1", "f a 2"), @r"
    both changed a
    agent Added a
    ");
    insta::assert_snapshot!(keep("l a -> b", "l a -> c", "l a -> b"), @"send a");
}

#[test]
fn directories_go_when_they_are_empty() {
    let before = "f d/a 1\nf d/e/b 1\nf keep 1";
    insta::assert_snapshot!(keep(before, "f keep 1", before), @r"
    remove d
    remove d/a
    remove d/e
    remove d/e/b
    ");
    // Something of the agent's, a cache, and something odd.
    let with = |what: &str| keep(before, "f keep 1", &format!("{before}\n{what}"));
    insta::assert_snapshot!(with("f d/e/mine 1"), @r"
    remove d/a
    remove d/e/b
    stays d
    stays d/e
    agent Added d/e/mine
    ");
    insta::assert_snapshot!(with("s d/e/target"), @r"
    remove d/a
    remove d/e/b
    stays d
    stays d/e
    ");
    insta::assert_snapshot!(with("p d/fifo"), @r"
    remove d/a
    remove d/e
    remove d/e/b
    stays d
    ");
    insta::assert_snapshot!(keep(before, "f keep 1", "f d/a 2\nf d/e/b 1\nf keep 1"), @r"
    remove d/e
    remove d/e/b
    stays d
    both changed d/a
    agent Modified d/a
    ");
}

#[test]
fn what_the_agent_removed_stays_removed() {
    insta::assert_snapshot!(keep("f d/a 1", "f d/a 1\nf d/b 1", ""), @r"
    no parent d/b
    agent Deleted d
    agent Deleted d/a
    ");
    insta::assert_snapshot!(keep("f d/a 1", "f d/a 1\nf d/e/b 1\nf d/e/c 1", "f d 1"), @r"
    no parent d/e
    agent TypeChanged d
    agent Deleted d/a
    ");
}

#[test]
fn types_change() {
    insta::assert_snapshot!(keep("f a 1", "f a/b 1", "f a 1"), @r"
    remove a
    send a
    send a/b
    ");
    insta::assert_snapshot!(keep("f a/b 1", "f a 1", "f a/b 1"), @r"
    remove a
    remove a/b
    send a
    ");
    insta::assert_snapshot!(keep("f a 1", "l a -> b", "f a 1"), @"send a");
    insta::assert_snapshot!(keep("f a 1", "f a/b 1", "f a 2"), @r"
    both changed a
    agent Modified a
    ");
    for mine in ["f a/mine 1", "s a/target", "p a/fifo", "f a/b 2"] {
        let plan = keep("f a/b 1", "f a 1", &format!("f a/b 1\n{mine}"));
        assert!(plan.starts_with("buried a"), "{mine}: {plan}");
        assert!(!plan.contains("remove"), "{mine}: {plan}");
    }
    insta::assert_snapshot!(keep("f a/b 1", "f a 1", ""), @r"
    both changed a
    agent Deleted a
    agent Deleted a/b
    ");
}

#[test]
fn what_is_not_carried_is_in_the_way() {
    insta::assert_snapshot!(keep("", "f target/a 1", "s target"), @"both changed target");
    insta::assert_snapshot!(keep("", "f a 1", "p a"), @"both changed a");
    insta::assert_snapshot!(keep("f a 1", "f a 2", "p a"), @r"
    both changed a
    agent Deleted a
    ");
    insta::assert_snapshot!(keep("f a 1", "", "p a"), @r"
    both changed a
    agent Deleted a
    ");
}

#[test]
fn what_the_host_leaves_out_takes_no_part() {
    insta::assert_snapshot!(keep("f a 1\nf b/c 1", "s a\ns b", "f a 1\nf b/c 1"), @"");
    insta::assert_snapshot!(keep("f a 1\nf b/c 1", "s a\ns b", "f a 2\nf b/c 1\nf b/d 1"), @r"
    agent Modified a
    agent Added b/d
    ");
    insta::assert_snapshot!(reset("f a 1\nf b/c 1", "s a\ns b", "f a 2\nf b/d 1"), @r"
    agent Modified a
    agent Deleted b/c
    agent Added b/d
    ");
}

#[track_caller]
fn reset(baseline: &str, host: &str, volume: &str) -> String {
    check(Discard, baseline, host, volume)
}

#[test]
fn after_a_discard_the_host_has_its_way() {
    insta::assert_snapshot!(reset("f a 1", "f a 1", "f a 2"), @"send a");
    insta::assert_snapshot!(reset("f a 1", "f a 1", ""), @"send a");
    insta::assert_snapshot!(reset("f a 1", "f a 1", "f a/b 1"), @r"
    remove a
    remove a/b
    send a
    ");
    insta::assert_snapshot!(reset("f a/b 1", "f a/b 1", "f a 1"), @r"
    remove a
    send a
    send a/b
    ");
    insta::assert_snapshot!(reset("f a 1", "f a 2", "f a 1\nf new/b 1\np new/fifo\np a2"), @r"
    remove a2
    remove new
    remove new/b
    remove new/fifo
    send a
    ");
    insta::assert_snapshot!(reset("f a 1", "f a 1", "p a"), @"send a");
    insta::assert_snapshot!(reset("f a/b 1", "f a/b 1", "p a"), @r"
    remove a
    send a
    send a/b
    ");
}

#[test]
fn caches_outlive_a_discard() {
    let project = "f Cargo.toml 1";
    insta::assert_snapshot!(reset(project, project, "f Cargo.toml 2\ns target\ns new/target\nf new/a 1"), @r"
    remove new/a
    send Cargo.toml
    stays new
    ");
    insta::assert_snapshot!(reset(project, "f Cargo.toml 1\nf target 1", "f Cargo.toml 1\ns target"), @"buried target");
    insta::assert_snapshot!(reset(project, "f Cargo.toml 1\nf a 1", "f Cargo.toml 1\ns a/target\nf a/b 1\np a/fifo"), @r"
    buried a
    agent Added a
    agent Added a/b
    ");
}
