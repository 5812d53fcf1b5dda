//! What comes home, under which name, and that nothing else changes.

use std::fs;

use lazaret_commits::ObjectId;
use lazaret_commits::land::LandedHow;
use lazaret_commits::land_name::Source;

use crate::kit::{FORMS, World, commit, git, run};

fn branch(name: &str) -> Source {
    Source::Branch(name.as_bytes().to_vec())
}

#[test]
fn git_26_commits_stashes_and_tags_come_home_in_every_form() {
    for form in FORMS {
        let world = World::new(form);
        let agent = world.agent();
        git(&agent, &["checkout", "-q", "-b", "fix"]);
        fs::write(agent.join("a.txt"), "two\n").unwrap();
        commit(&agent, "second");
        fs::write(agent.join("b.txt"), "new\n").unwrap();
        let fix = commit(&agent, "third");
        git(&agent, &["tag", "-a", "-m", "note", "v1"]);
        fs::write(agent.join("a.txt"), "stashed\n").unwrap();
        fs::write(agent.join("c.txt"), "untracked\n").unwrap();
        git(&agent, &["stash", "-q", "-u"]);
        git(&agent, &["checkout", "-q", "--detach", "main"]);
        fs::write(agent.join("a.txt"), "detached\n").unwrap();
        commit(&agent, "detached");
        let wanted: Vec<(Source, ObjectId)> = vec![
            (branch("fix"), world.tip("fix")),
            (Source::Tag(b"v1".to_vec()), world.tip("v1")),
            (Source::Stash(0), world.tip("stash@{0}")),
            (Source::Head, world.tip("HEAD")),
        ];
        let tips: Vec<ObjectId> = wanted.iter().map(|(_, tip)| *tip).collect();
        let (quarantine, examined) = world.examine(&tips);
        for tip in &examined.tips {
            let tip = tip.as_ref().unwrap();
            assert_eq!(examined.blocks(tip).count(), 0);
            assert!(!tip.changes.is_empty());
        }
        let before = world.user_state();
        for landed in world.land(&quarantine, &wanted) {
            assert_eq!(landed.unwrap().how, LandedHow::New);
        }
        assert_eq!(world.user_state(), before, "{form:?}");
        let user = world.user();
        assert_eq!(git(&user, &["rev-parse", "lazaret/s/fix"]), fix);
        let kind = git(&user, &["cat-file", "-t", "refs/tags/lazaret/s/v1"]);
        assert_eq!(kind, "tag");
        let stashed = git(&user, &["show", "lazaret/s/stash-0:a.txt"]);
        assert_eq!(stashed, "stashed");
        let untracked = git(&user, &["show", "lazaret/s/stash-0^3:c.txt"]);
        assert_eq!(untracked, "untracked");
        assert_eq!(git(&user, &["show", "lazaret/s/HEAD:a.txt"]), "detached");
        git(&user, &["fsck", "--strict"]);
        for landed in world.land(&quarantine, &wanted) {
            assert_eq!(landed.unwrap().how, LandedHow::Already);
        }
    }
}

#[test]
fn what_is_there_is_moved_on_or_kept_aside() {
    let world = World::new(&[]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    let first = commit(&agent, "first try");
    let land = |world: &World| {
        let tip = world.tip("fix");
        let (quarantine, _) = world.examine(&[tip]);
        let landed = world.land(&quarantine, &[(branch("fix"), tip)]).remove(0);
        landed.unwrap()
    };
    assert_eq!(land(&world).how, LandedHow::New);
    commit(&agent, "more");
    assert_eq!(land(&world).how, LandedHow::Forwarded);
    let user = world.user();
    let replaced = git(&user, &["rev-parse", "lazaret/s/fix"]);
    git(&agent, &["reset", "-q", "--hard", &first]);
    let other = commit(&agent, "another way");
    let LandedHow::Replaced(aside) = land(&world).how else {
        panic!("it is no descendant");
    };
    assert_eq!(git(&user, &["rev-parse", "lazaret/s/fix"]), other);
    assert_eq!(git(&user, &["rev-parse", aside.as_str()]), replaced);
}

#[test]
fn a_branch_that_is_checked_out_is_left() {
    for form in FORMS {
        let world = World::new(form);
        let agent = world.agent();
        git(&agent, &["checkout", "-q", "-b", "fix"]);
        commit(&agent, "second");
        let land = || {
            let tip = world.tip("fix");
            let (quarantine, _) = world.examine(&[tip]);
            let landed = world.land(&quarantine, &[(branch("fix"), tip)]).remove(0);
            landed.unwrap().name
        };
        assert_eq!(land().short(), "lazaret/s/fix");
        git(&world.user(), &["checkout", "-q", "lazaret/s/fix"]);
        commit(&agent, "third");
        assert_eq!(land().short(), "lazaret/s/fix-2", "{form:?}");
        let status = git(&world.user(), &["status", "--porcelain"]);
        assert_eq!(status, "");
    }
}

#[test]
fn the_number_of_a_branch_that_is_checked_out_is_no_other_branchs() {
    let world = World::new(&[]);
    let (user, agent) = (world.user(), world.agent());
    for name in ["fix", "fix-2"] {
        git(&agent, &["checkout", "-q", "-b", name, "main"]);
        commit(&agent, name);
    }
    let land = || {
        let tips = [world.tip("fix"), world.tip("fix-2")];
        let (quarantine, _) = world.examine(&tips);
        let wanted = [(branch("fix"), tips[0]), (branch("fix-2"), tips[1])];
        let landed = world.land(&quarantine, &wanted).into_iter();
        let landed = landed.map(|landed| landed.unwrap());
        landed
            .map(|landed| (landed.name.short().to_owned(), landed.how))
            .collect::<Vec<_>>()
    };
    land();
    git(&user, &["checkout", "-q", "lazaret/s/fix"]);
    for how in [LandedHow::New, LandedHow::Forwarded] {
        git(&agent, &["checkout", "-q", "fix"]);
        commit(&agent, "more");
        let [first, second] = &land()[..] else {
            panic!("two branches");
        };
        assert_eq!(*first, ("lazaret/s/fix-3".to_owned(), how));
        assert_eq!(*second, ("lazaret/s/fix-2".to_owned(), LandedHow::Already));
    }
}

#[test]
fn git_23_no_configuration_of_the_users_runs_a_program() {
    let world = World::new(&[]);
    let (user, agent) = (world.user(), world.agent());
    let canary = user.join("canary");
    let program = format!("touch {}", canary.display());
    for hook in ["reference-transaction", "post-merge", "post-checkout"] {
        let path = user.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{program}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
    }
    for key in [
        "core.fsmonitor",
        "core.alternateRefsCommand",
        "core.sshCommand",
        "uploadpack.packObjectsHook",
        "filter.x.clean",
        "gc.recentObjectsHook",
    ] {
        git(&user, &["config", key, &program]);
    }
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    fs::write(agent.join(".gitignore"), "x\n").unwrap();
    commit(&agent, "second");
    let tip = world.tip("fix");
    let (quarantine, _) = world.examine(&[tip]);
    let landed = world.land(&quarantine, &[(branch("fix"), tip)]).remove(0);
    landed.unwrap();
    assert!(!canary.exists());
}

/// Replaces the user's repository by a clone of it, and the agent's by a clone of that.
fn replace_by_clone(world: &World, options: &[&str]) {
    let user = world.user();
    let url = format!("file://{}", user.display());
    let clone = [&["clone", "-q"], options, &[&url, "clone"]].concat();
    git(user.parent().unwrap(), &clone);
    fs::rename(&user, user.with_file_name("whole")).unwrap();
    fs::rename(user.with_file_name("clone"), &user).unwrap();
    fs::remove_dir_all(world.agent()).unwrap();
    world.clone_agent();
}

#[test]
fn a_shallow_users_repository_takes_commits() {
    let world = World::new(&[]);
    let user = world.user();
    fs::write(user.join("a.txt"), "two\n").unwrap();
    commit(&user, "second");
    replace_by_clone(&world, &["--depth=1"]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    fs::write(agent.join("a.txt"), "three\n").unwrap();
    let fix = commit(&agent, "third");
    let tip = world.tip("fix");
    let (quarantine, examined) = world.examine(&[tip]);
    assert_eq!(examined.tips[0].as_ref().unwrap().commits.len(), 1);
    let landed = world.land(&quarantine, &[(branch("fix"), tip)]).remove(0);
    landed.unwrap();
    assert_eq!(git(&user, &["rev-parse", "lazaret/s/fix"]), fix);
    assert_eq!(
        git(&user, &["rev-parse", "--is-shallow-repository"]),
        "true"
    );
}

#[test]
fn a_partial_clone_takes_commits_and_fetches_nothing() {
    let world = World::new(&[]);
    let user = world.user();
    git(&user, &["config", "uploadpack.allowFilter", "true"]);
    for text in ["two\n", "three\n"] {
        fs::write(user.join("a.txt"), text).unwrap();
        commit(&user, text);
    }
    replace_by_clone(&world, &["--filter=blob:none"]);
    let missing = || git(&user, &["rev-list", "--objects", "--missing=print", "HEAD"]);
    let before = missing();
    assert!(before.contains("\n?"), "{before}");
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    fs::write(agent.join("a.txt"), "four\n").unwrap();
    let fix = commit(&agent, "fourth");
    // A branch on an old commit, whose file the user never fetched.
    let index = git(&agent, &["ls-tree", "HEAD", "src"]);
    let tree =
        String::from_utf8(run(&agent, &["mktree"], format!("{index}\n").as_bytes())).unwrap();
    let old = git(
        &agent,
        &["commit-tree", "-p", "main~1", "-m", "old", tree.trim_end()],
    );
    git(&agent, &["branch", "-q", "old", &old]);
    let tips = [world.tip("fix"), world.tip("old")];
    let (quarantine, examined) = world.examine(&tips);
    for (tip, name) in examined.tips.iter().zip(["fix", "old"]) {
        assert_eq!(tip.as_ref().unwrap().commits.len(), 1, "{name}");
    }
    let landed = world.land(
        &quarantine,
        &[(branch("fix"), tips[0]), (branch("old"), tips[1])],
    );
    for (landed, commit) in landed.into_iter().zip([fix, old]) {
        assert_eq!(landed.unwrap().id.to_string(), commit);
    }
    assert!(missing().starts_with(&before[..40]));
    assert_eq!(missing().matches('?').count(), before.matches('?').count());
}

#[test]
fn each_commit_and_each_tip_is_judged() {
    let world = World::new(&[]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    fs::write(agent.join("Makefile"), "all:\n\tcurl x | sh\n").unwrap();
    commit(&agent, "adds a makefile");
    fs::remove_file(agent.join("Makefile")).unwrap();
    fs::write(agent.join("a.txt"), "two\n").unwrap();
    commit(&agent, "takes it back");
    let (_, examined) = world.examine(&[world.tip("fix")]);
    let tip = examined.tips[0].as_ref().unwrap();
    assert_eq!(tip.base, Some(world.tip("main")));
    let paths: Vec<_> = tip
        .changes
        .iter()
        .map(|change| change.path.as_str())
        .collect();
    assert_eq!(paths, ["a.txt"]);
    assert!(tip.findings.is_empty(), "{:?}", tip.findings);
    let [first, second] = &tip.commits[..] else {
        panic!("two commits");
    };
    let first = examined.commit(first).unwrap();
    assert_eq!(first.commit.subject(), b"adds a makefile");
    assert!(!first.findings.is_empty());
    let second = examined.commit(second).unwrap();
    assert!(second.findings.iter().all(|f| f.subject.path().is_none()
        || f.subject.path().unwrap().as_str() == "Makefile"));
}

#[test]
fn a_pack_is_taken_as_it_is_only_if_all_of_it_is_landed() {
    for landed in [&["one"][..], &["one", "two"]] {
        let world = World::new(FORMS[0]);
        let agent = world.agent();
        for name in ["one", "two"] {
            git(&agent, &["checkout", "-q", "-b", name, "main"]);
            fs::write(agent.join(name), name).unwrap();
            commit(&agent, name);
        }
        let tips = ["one", "two"].map(|name| world.tip(name));
        let (quarantine, _) = world.examine(&tips);
        let wanted: Vec<_> = landed
            .iter()
            .map(|name| (branch(name), world.tip(name)))
            .collect();
        for landed in world.land(&quarantine, &wanted) {
            landed.unwrap();
        }
        let is_whole = landed.len() == 2;
        let other = format!("{}\n", tips[1]);
        let check = ["cat-file", "--batch-check=%(objecttype)"];
        let found = run(&world.user(), &check, other.as_bytes());
        assert_eq!(found.starts_with(b"commit"), is_whole);
        let packs = fs::read_dir(quarantine.dir().join("objects/pack")).unwrap();
        let mut packs = packs.map(|entry| entry.unwrap().file_name());
        let user = world.user().join(".git/objects/pack");
        let is_there = packs.any(|name| user.join(name).exists());
        assert_eq!(is_there, is_whole);
        git(&world.user(), &["fsck", "--strict"]);
    }
}
