//! Both sides commit, round after round.

use std::fs;

use lazaret_tests::Random;
use lazaret_tests::git_world::{call, git};
use lazaret_transfer::{GitMode, RefsObstacle};

use super::kit::{World, commit, id, write};
use crate::commits::repository_news::{HeldBack, RepositoryNews};
use crate::store::record::WriteScope;

/// The host's `main` went in.
fn has_main(news: &RepositoryNews) -> bool {
    matches!(news, RepositoryNews::Has { sent, stay } if sent == &["main"] && stay.is_empty())
}

fn both_commit(world: &World) {
    let (host, copy) = (world.host(), world.copy());
    git(&copy, &["checkout", "-q", "-b", "work"]);
    write(&copy, "inside", "1\n");
    commit(&copy, "inside");
    write(&host, "outside", "1\n");
    commit(&host, "outside");
}

#[test]
fn git_28_the_hosts_commits_go_in_and_nothing_of_the_copys_moves() {
    for init in [&[][..], &["--object-format=sha256"]] {
        let mut world = World::new(init, GitMode::Full);
        both_commit(&world);
        let (host, copy) = (world.host(), world.copy());
        assert_eq!(world.collect(), 1);
        let before = ["HEAD", "index", "refs/heads/work", "packed-refs", "config"]
            .map(|name| fs::read(copy.join(".git").join(name)).ok());
        assert!(has_main(&world.update()));
        let after = ["HEAD", "index", "refs/heads/work", "packed-refs", "config"]
            .map(|name| fs::read(copy.join(".git").join(name)).ok());
        assert_eq!(before, after);
        assert_eq!(id(&copy, "host/main"), id(&host, "main"));
        assert_eq!(id(&copy, "host"), id(&host, "main"));
        git(&copy, &["fsck", "--strict"]);
        // None of it is taken for the command's work, and only the new commit was sent.
        assert_eq!(world.collect(), 1);
        assert!(world.is_as_sent(".git/refs/remotes/host/main"));
        let verified = git(&copy, &["rev-list", "--objects", "main..host/main"]);
        assert_eq!(verified.lines().count(), 3);
        // Nothing goes in twice.
        assert_eq!(world.update(), RepositoryNews::Nothing);

        // The files of the host's commit are there already.
        commit(&copy, "the host's files");
        git(&copy, &["merge", "-q", "--no-edit", "host/main"]);
        assert_eq!(world.collect(), 1);
        assert_eq!(world.update(), RepositoryNews::Nothing);
        git(&copy, &["fsck", "--strict"]);
    }
}

#[test]
fn git_28_the_copy_follows_when_all_of_it_is_merged() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    let (host, copy) = (world.host(), world.copy());
    world.collect();
    assert!(has_main(&world.update()));
    world.land();
    world.collect();
    // Landed is not merged.
    assert_eq!(world.update(), RepositoryNews::Nothing);
    git(&host, &["merge", "-q", "--no-edit", "lazaret/s/work"]);
    assert_eq!(world.update(), RepositoryNews::Follows);
    assert_eq!(id(&copy, "HEAD"), id(&host, "main"));
    assert_eq!(git(&copy, &["status", "--porcelain"]), "");
    assert!(!copy.join(".git/refs/remotes/host").exists());
    git(&copy, &["fsck", "--strict"]);
    assert_eq!(world.collect(), 0);
    // The next round begins as the first.
    write(&copy, "inside", "2\n");
    commit(&copy, "again");
    write(&host, "outside", "2\n");
    commit(&host, "again");
    world.collect();
    assert!(has_main(&world.update()));
    git(&copy, &["fsck", "--strict"]);
}

#[test]
fn git_28_a_commit_that_was_landed_signed_is_merged_with_the_signed_one() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    world.land();
    world.collect();
    let host = world.host();
    let tip = id(&host, "lazaret/s/work");
    let tree = format!("{tip}^{{tree}}");
    let parent = format!("{tip}^");
    let signed = git(
        &host,
        &["commit-tree", "-p", &parent, "-m", "signed", &tree],
    );
    let signed = signed.trim_end();
    git(&host, &["merge", "-q", "--no-edit", signed]);
    assert!(has_main(&world.update()));
    world.note_signed(&tip, signed);
    assert_eq!(world.update(), RepositoryNews::Follows);
}

/// What a command may have that is merged nowhere.
const OWN_WORK: &[(&str, &[&[&str]])] = &[
    ("a stash", &[&["stash", "-q"]]),
    ("a staged file", &[&["add", "inside"]]),
    ("a commit", &[&["commit", "-qam", "more"]]),
    (
        "a commit that was reset",
        &[
            &["commit", "-qam", "more"],
            &["reset", "-q", "--hard", "HEAD~1"],
        ],
    ),
    (
        "a tag of another commit",
        &[
            &["commit", "-qam", "more"],
            &["tag", "v"],
            &["reset", "-q", "--hard", "HEAD~1"],
        ],
    ),
    ("a note", &[&["notes", "add", "-m", "n"]]),
    (
        "a detached commit",
        &[&["checkout", "-q", "--detach"], &["commit", "-qam", "more"]],
    ),
    ("a bisection", &[&["bisect", "start"]]),
    (
        "a worktree",
        &[&["worktree", "add", "-q", "--detach", "../worktree"]],
    ),
];

#[test]
fn git_28_a_copy_with_work_of_its_own_keeps_its_repository() {
    for (what, commands) in OWN_WORK {
        let mut world = World::new(&[], GitMode::Full);
        both_commit(&world);
        let copy = world.copy();
        world.land();
        write(&copy, "inside", "unlike anything committed\n");
        for command in *commands {
            git(&copy, command);
        }
        // What is staged has another version in the working tree.
        write(&copy, "inside", "and more\n");
        git(
            &world.host(),
            &["merge", "-q", "--no-edit", "lazaret/s/work"],
        );
        world.collect();
        let before = world.reached();
        let news = world.update();
        assert!(has_main(&news), "{what}: {news:?}");
        assert_eq!(world.lost(&before), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn git_28_commits_that_only_a_reflog_holds_keep_the_copys_repository_until_they_are_landed() {
    let mut world = World::new(&[], GitMode::Full);
    let (host, copy) = (world.host(), world.copy());
    assert!(!world.has_own_objects());
    write(&copy, "lost", "1\n");
    commit(&copy, "lost");
    let lost = id(&copy, "HEAD");
    git(&copy, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&host, "b", "1\n");
    commit(&host, "theirs");
    assert_eq!(world.collect(), 1, "the reflog's");
    assert!(world.has_own_objects());
    let before = world.reached();
    let news = world.update();
    assert!(has_main(&news), "{news:?}");
    assert_eq!(world.lost(&before), Vec::<String>::new());
    // Landed, it is the host's, and the copy follows.
    let refspec = format!("{lost}:refs/heads/lazaret/s/lost");
    git(&copy, &["push", "-q", host.to_str().unwrap(), &refspec]);
    world.note_landed(&lost);
    write(&host, "b", "2\n");
    commit(&host, "more");
    assert_eq!(world.collect(), 0);
    world.update();
    assert_eq!(id(&copy, "HEAD"), id(&host, "HEAD"));
    assert_eq!(world.lost(&before), Vec::<String>::new());
}

#[test]
fn git_28_what_is_staged_alone_keeps_the_copys_repository() {
    let mut world = World::new(&[], GitMode::Full);
    let (host, copy) = (world.host(), world.copy());
    write(&copy, "staged", "unlike anything committed\n");
    git(&copy, &["add", "staged"]);
    write(&copy, "staged", "and more\n");
    write(&host, "b", "1\n");
    commit(&host, "theirs");
    assert_eq!(world.collect(), 0, "no commit waits");
    let before = world.reached();
    let news = world.update();
    assert!(has_main(&news), "{news:?}");
    assert_eq!(world.lost(&before), Vec::<String>::new());
    let staged = git(&copy, &["show", ":staged"]);
    assert_eq!(staged, "unlike anything committed\n");
    // What the user has committed as well is no work that could be lost.
    write(&host, "theirs", "unlike anything committed\n");
    commit(&host, "the same");
    world.collect();
    assert_eq!(world.update(), RepositoryNews::Follows);
    assert_eq!(id(&copy, "HEAD"), id(&host, "HEAD"));

    // What is neither staged nor named goes.
    let mut world = World::new(&[], GitMode::Full);
    let (host, copy) = (world.host(), world.copy());
    write(&copy, "a", "staged and taken back\n");
    git(&copy, &["add", "a"]);
    git(&copy, &["reset", "-q"]);
    write(&host, "b", "1\n");
    commit(&host, "theirs");
    world.collect();
    assert_eq!(world.update(), RepositoryNews::Nothing);
    assert_eq!(id(&copy, "HEAD"), id(&host, "HEAD"));
}

#[test]
fn git_28_nothing_goes_into_a_protected_repository_while_the_command_runs() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    let copy = world.copy();
    world.collect();
    let protected = WriteScope {
        protect: vec![".git".to_owned()],
        ..WriteScope::default()
    };
    world.write_scope = Some(protected.clone());
    let head = id(&copy, "HEAD");
    let held_back = RepositoryNews::HeldBack(HeldBack::Protected);
    assert_eq!(world.update(), held_back);
    assert!(!copy.join(".git/refs/remotes/host").exists());
    // The files of the host's commit did go in.
    assert!(copy.join("outside").exists());
    // Nor does the copy follow.
    world.land();
    git(
        &world.host(),
        &["merge", "-q", "--no-edit", "lazaret/s/work"],
    );
    assert_eq!(world.update(), held_back);
    assert_eq!(id(&copy, "HEAD"), head);
    // Once the command has ended, it does.
    world.write_scope = None;
    assert_eq!(world.update(), RepositoryNews::Follows);
    assert_eq!(id(&copy, "HEAD"), id(&world.host(), "HEAD"));
}

#[test]
fn git_28_a_change_after_the_collection_keeps_the_copys_repository() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    world.land();
    world.collect();
    git(
        &world.host(),
        &["merge", "-q", "--no-edit", "lazaret/s/work"],
    );
    // As of a command that goes on: what it named is from before.
    let own = fs::read(world.host().join("../session/own-work")).unwrap();
    write(&world.copy(), "inside", "2\n");
    commit(&world.copy(), "later");
    world.collect();
    fs::write(world.host().join("../session/own-work"), own).unwrap();
    assert!(has_main(&world.update()));
}

#[test]
fn git_28_what_the_command_put_at_a_ref_of_the_hosts_stays() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    let copy = world.copy();
    git(&copy, &["update-ref", "refs/remotes/host/main", "work"]);
    let mine = id(&copy, "host/main");
    world.collect();
    let news = world.update();
    let RepositoryNews::Has { sent, stay } = &news else {
        panic!("{news:?}");
    };
    assert_eq!((sent.len(), &**stay), (0, &["main".to_owned()][..]));
    assert_eq!(id(&copy, "refs/remotes/host/main"), mine);
    // A file where a directory should be is in the way of all refs.
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    fs::create_dir_all(world.copy().join(".git/refs/remotes")).unwrap();
    write(&world.copy(), ".git/refs/remotes/host", "mine\n");
    world.collect();
    let news = world.update();
    assert!(
        matches!(&news, RepositoryNews::Has { sent, stay } if sent.is_empty() && stay.len() == 2),
        "{news:?}"
    );
    let held = fs::read(world.copy().join(".git/refs/remotes/host")).unwrap();
    assert_eq!(held, b"mine\n");
}

#[test]
fn git_28_a_copy_that_cant_take_refs_goes_on_without() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    if call(&world.copy(), &["refs", "migrate", "--ref-format=reftable"])
        .status
        .success()
    {
        world.collect();
        let tables = RepositoryNews::HeldBack(HeldBack::Refs(RefsObstacle::Tables));
        assert_eq!(world.update(), tables);
    }
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    let tip = id(&world.copy(), "main");
    write(&world.copy(), ".git/shallow", &format!("{tip}\n"));
    world.collect();
    let shallow = RepositoryNews::HeldBack(HeldBack::Refs(RefsObstacle::Shallow));
    assert_eq!(world.update(), shallow);
}

#[test]
fn git_28_a_repository_that_was_made_anew_gets_the_whole_history() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    let copy = world.copy();
    fs::remove_dir_all(copy.join(".git")).unwrap();
    git(&copy, &["init", "-q", "-b", "new"]);
    commit(&copy, "new");
    world.collect();
    let news = world.update();
    assert!(
        matches!(&news, RepositoryNews::Has { sent, .. } if sent == &["main", "side"]),
        "{news:?}"
    );
    git(&copy, &["fsck", "--strict"]);
    assert_eq!(id(&copy, "host/side"), id(&world.host(), "side"));
}

#[test]
fn git_28_branches_come_and_go() {
    let mut world = World::new(&[], GitMode::Full);
    both_commit(&world);
    let (host, copy) = (world.host(), world.copy());
    git(&host, &["branch", "new"]);
    world.collect();
    let news = world.update();
    assert!(
        matches!(&news, RepositoryNews::Has { sent, .. } if sent == &["main", "new"]),
        "{news:?}"
    );
    git(&host, &["branch", "-q", "-D", "new"]);
    git(&host, &["reset", "-q", "--hard", "HEAD~1"]);
    assert!(has_main(&world.update()));
    assert_eq!(id(&copy, "host/main"), id(&host, "main"));
    assert!(!copy.join(".git/refs/remotes/host/new").exists());
    git(&host, &["checkout", "-q", "--detach", "side"]);
    commit(&host, "detached");
    world.update();
    assert_eq!(id(&copy, "host"), id(&host, "HEAD"));
    git(&copy, &["fsck", "--strict"]);
}

/// What an agent may do in a round; what fails is taken back.
fn agent(world: &World, random: &mut Random, round: usize) {
    let copy = world.copy();
    let text = format!("{round}\n");
    let branch = format!("b{}", random.below(3));
    match random.below(12) {
        0 => {}
        1 => {
            write(&copy, "staged", &text);
            git(&copy, &["add", "-A"]);
            write(&copy, "staged", "other\n");
        }
        2 => {
            write(&copy, "a", &text);
            call(&copy, &["stash", "-q"]);
        }
        3 => drop(call(&copy, &["stash", "drop", "-q"])),
        4 => drop(git(&copy, &["gc", "-q", "--prune=now"])),
        5 => drop(git(&copy, &["pack-refs", "--all"])),
        6 => {
            commit(&copy, "to be lost");
            git(&copy, &["reset", "-q", "--hard", "HEAD~1"]);
        }
        7 => drop(call(&copy, &["checkout", "-q", "-B", &branch])),
        8 => drop(call(&copy, &["checkout", "-q", "main"])),
        _ => {
            write(&copy, &format!("f{}", random.below(20)), &text);
            commit(&copy, "the agent's");
        }
    }
    let ours = ["merge", "-q", "--no-edit", "-X", "ours", "host/main"];
    if random.below(3) == 0 && !call(&copy, &ours).status.success() {
        call(&copy, &["merge", "--abort"]);
    }
}

fn user(world: &World, random: &mut Random, round: usize) {
    let host = world.host();
    for _ in 0..random.below(3) {
        write(
            &host,
            &format!("u{}", random.below(20)),
            &format!("{round}\n"),
        );
        commit(&host, "the user's");
    }
    match random.below(8) {
        0 => drop(call(&host, &["branch", "-f", "extra"])),
        1 => drop(call(&host, &["branch", "-D", "extra"])),
        2 => drop(git(&host, &["gc", "-q"])),
        _ => {}
    }
}

#[test]
fn git_28_random_rounds_of_both_sides_lose_nothing() {
    let (mut followed, mut went_in) = (0, 0);
    for seed in 0..5 {
        let mut random = Random::new(seed);
        let mut world = World::new(&[], GitMode::Full);
        for round in 0..14 {
            agent(&world, &mut random, round);
            user(&world, &mut random, round);
            world.collect();
            if random.below(2) == 0 {
                world.land();
                let landed = git(
                    &world.host(),
                    &[
                        "for-each-ref",
                        "--format=%(refname:short)",
                        "refs/heads/lazaret/",
                    ],
                );
                for branch in landed.lines() {
                    let merge = ["merge", "-q", "--no-edit", "-X", "theirs", branch];
                    if random.below(4) > 0 && !call(&world.host(), &merge).status.success() {
                        git(&world.host(), &["merge", "--abort"]);
                    }
                }
            }
            let before = world.reached();
            match world.update() {
                RepositoryNews::Follows => followed += 1,
                RepositoryNews::Has { .. } => went_in += 1,
                RepositoryNews::Nothing => {}
                RepositoryNews::HeldBack(why) => panic!("seed {seed}, round {round}: {why}"),
            }
            let lost = world.lost(&before);
            assert!(lost.is_empty(), "seed {seed}, round {round}: {lost:?}");
            git(&world.copy(), &["fsck", "--strict"]);
        }
    }
    assert!(followed > 3 && went_in > 15, "{followed} {went_in}");
}
