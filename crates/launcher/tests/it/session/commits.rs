//! What is committed inside: it is named, and never goes with the volume by itself (GIT-26).
//! The git of this machine works in the directory that plays the volume.

use std::path::Path;

use lazaret_launcher::decide::settle::finish;
use lazaret_launcher::exit_code::ExitCode;
use lazaret_session::lifecycle::outcome::RunOutcome;
use lazaret_session::lifecycle::recover::RecoverOutcome;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_tests::{git_world, tree_text};
use lazaret_transfer::GitMode;

use super::world::{BEFORE, World, tree};
use crate::support::TestEnvironment;

/// Runs a script in `dir` with git, apart from the machine's configuration.
#[track_caller]
pub(super) fn sh(dir: &Path, script: &str) {
    let output = duct::cmd!("sh", "-euc", script)
        .dir(dir)
        .full_env([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.org"),
        ])
        .stdout_null()
        .stderr_capture()
        .unchecked()
        .run()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {stderr}");
}

/// A workspace that is a repository of two commits, whose agent runs a script.
pub(super) fn repository(script: &'static str) -> World {
    let mut world = World::new();
    world.git = GitMode::Full;
    world.gate.max_entries = 10_000;
    sh(
        &world.path("workspace"),
        "git init -q -b main .; git add -A; git commit -qm first; \
         git commit -q --allow-empty -m second",
    );
    act(&world, script);
    world
}

fn act(world: &World, script: &'static str) {
    world.command(move |volume, _| {
        sh(volume, script);
        0
    });
}

/// Runs it all; what is named is in the report and in the record, and is said.
#[track_caller]
fn named(world: &World) -> String {
    let end = world.run().unwrap();
    let record = world.record().unwrap();
    assert_eq!(end.report.commits, record.commits);
    let words = record.commits.to_string();
    let is_kept = !record.commits.is_empty();
    assert_eq!(
        end.exit_code == ExitCode::KEPT,
        is_kept,
        "{words} {}",
        world.said()
    );
    assert_eq!(
        end.report.outcome == Some(Outcome::Kept),
        is_kept,
        "{words}"
    );
    assert_eq!(world.phase() == Some(Phase::Collected), is_kept, "{words}");
    assert_eq!(world.left().is_empty(), !is_kept, "{words}");
    let said = world.said();
    assert!(
        !is_kept || said.contains("kept as session shop: "),
        "{said}"
    );
    assert!(said.contains(&words), "{said}");
    assert!(!is_kept || !said.contains("nothing to apply"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    words
}

#[test]
fn git_26_each_way_to_commit_is_named() {
    for (script, words) in [
        ("git commit -q --allow-empty -m x", "branch main: 1 commit"),
        (
            "git commit -q --allow-empty -m x; git commit -q --allow-empty -m y",
            "branch main: 2 commits",
        ),
        (
            "git checkout -q -b fix; git commit -q --allow-empty -m x; git checkout -q -",
            "branch fix: 1 commit",
        ),
        ("echo x >> notes.txt; git stash -q", "stash: 1"),
        (
            "echo x >> notes.txt; git stash -q; echo y >> notes.txt; git stash -q",
            "stash: 2",
        ),
        (
            "git checkout -q -b fix; git commit -q --allow-empty -m x; git checkout -q -; \
             echo x >> notes.txt; git stash -q",
            "branch fix: 1 commit, stash: 1",
        ),
        (
            "git commit -q --amend --allow-empty -m better",
            "branch main: 1 commit",
        ),
        ("git tag -a v1 -m v1", "tag v1"),
        (
            "git checkout -q --detach; git commit -q --allow-empty -m x",
            "detached HEAD: 1 commit",
        ),
        (
            "git checkout -q --detach; git commit -q --allow-empty -m x; git checkout -q main",
            "1 commit only in the reflog",
        ),
        (
            "git commit -q --allow-empty -m x; git reset -q --hard HEAD~1",
            "1 commit only in the reflog",
        ),
        (
            "git checkout -q -b f; git commit -q --allow-empty -m x; git checkout -q main; \
             git branch -q -D f",
            "1 commit only in the reflog",
        ),
        (
            "git worktree add -q -b away ../away; cd ../away; git commit -q --allow-empty -m x",
            "branch away: 1 commit",
        ),
        (
            "git worktree add -q --detach ../away; cd ../away; git commit -q --allow-empty -m x",
            "worktree away: 1 commit",
        ),
        (
            "git commit -q --allow-empty -m x; git gc -q --prune=now",
            "branch main: 1 commit",
        ),
        (
            "git config core.logAllRefUpdates false; git commit -q --allow-empty -m x; \
             git config --unset core.logAllRefUpdates",
            "branch main: at least 1 commit",
        ),
        (
            "git checkout -q -b f; echo f > f; git add f; git commit -qm f; git checkout -q main; \
             git commit -q --allow-empty -m m; git merge -q --no-ff -m merged f; \
             git branch -q -d f; rm f; git commit -qam gone",
            "branch main: at least 3 commits, up to 1 commit only in the reflog",
        ),
        ("git notes add -m note", "ref refs/notes/commits"),
        (
            "git checkout -q -b 'b\u{202e}\u{e4}'; git commit -q --allow-empty -m x",
            "branch b\\u{202e}\u{e4}: 1 commit",
        ),
    ] {
        let world = repository(script);
        assert_eq!(named(&world), words, "{script}");
    }
}

#[test]
fn git_26_what_is_no_work_keeps_nothing() {
    for script in [
        "true",
        "git status; git log -1",
        "git checkout -q -b f",
        "git tag v0 HEAD~1; git branch old HEAD~1; git branch now",
        "git checkout -q HEAD~1",
        "git gc -q --prune=now; git pack-refs --all",
        "git branch -q -m main other",
        "echo x >> notes.txt; git stash -q; git stash pop -q; git checkout -q notes.txt",
        "git reset -q --hard HEAD~1",
    ] {
        let world = repository(script);
        assert_eq!(named(&world), "", "{script}");
        assert_eq!(world.phase(), Some(Phase::Settled), "{script}");
    }
}

#[test]
fn git_26_stashes_of_the_users_are_not_the_agents() {
    let world = repository("true");
    sh(
        &world.path("workspace"),
        "echo x >> notes.txt; git stash -q",
    );
    assert_eq!(named(&world), "");
    let world = repository("echo z >> notes.txt; git stash -q");
    sh(
        &world.path("workspace"),
        "echo x >> notes.txt; git stash -q",
    );
    assert_eq!(named(&world), "stash: 1");
}

#[test]
fn git_26_a_repository_made_inside_is_named() {
    let world = World::new();
    act(
        &world,
        "git init -q -b main .; git add -A; git commit -qm first",
    );
    let end = world.run().unwrap();
    assert_eq!(end.exit_code, ExitCode::KEPT);
    assert_eq!(end.report.commits.to_string(), "branch main: 1 commit");
}

#[test]
fn git_26_submodules_are_looked_into() {
    let git = git_world::World::new();
    git.git("", &["clone", "-q", "main", "other"]);
    git.git("main", &["submodule", "--quiet", "add", "../other", "lib"]);
    git.git("main", &["commit", "-qm", "lib"]);
    let mut world = World::new();
    world.git = GitMode::Full;
    world.gate.max_entries = 10_000;
    std::fs::remove_dir_all(world.path("workspace")).unwrap();
    let (from, to) = (git.path("main"), world.path("workspace"));
    duct::cmd!("cp", "-a", from, to).run().unwrap();
    act(
        &world,
        "cd lib; git checkout -q -b fix; git commit -q --allow-empty -m x; git checkout -q -",
    );
    let end = world.run().unwrap();
    assert_eq!(
        end.report.commits.to_string(),
        "branch fix in .git/modules/lib: 1 commit"
    );
    assert_eq!(end.exit_code, ExitCode::KEPT);
}

#[test]
fn git_26_hostile_refs_keep_the_session_and_reach_no_terminal() {
    for script in [
        "printf 'ref: refs/heads/\\033[2J\\n' > .git/HEAD",
        "printf '\\033]52;c;aGk=\\007' > .git/refs/heads/x",
        "printf 'junk\\n' > .git/packed-refs",
        "mkdir .git/logs; printf 'cut' > .git/logs/HEAD",
        "mkdir .git/logs; ln -s /etc/passwd .git/logs/HEAD",
        "rm .git/HEAD; ln -s /proc/self/environ .git/HEAD",
        "rm -r .git/refs; ln -s /etc .git/refs",
        "mkdir -p .git/worktrees/w; printf '%5000d' 0 > .git/worktrees/w/HEAD",
        "mkdir -p .git/modules; ln -s /etc .git/modules/etc",
        "mkdir -p .git/reftable; echo x > .git/reftable/tables.list",
    ] {
        let world = repository(script);
        let end = world.run().unwrap();
        assert_eq!(end.exit_code, ExitCode::KEPT, "{script}");
        let words = end.report.commits.to_string();
        assert!(
            words.starts_with("unreadable refs: .git/"),
            "{script}: {words}"
        );
        assert_eq!(world.phase(), Some(Phase::Collected), "{script}");
        assert!(!world.left().is_empty(), "{script}");
        let said = world.said();
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said}");
        assert!(!said.contains("nothing to apply"), "{said}");
    }
}

const COMMITTED: &str = "echo three >> notes.txt; git commit -qam 'Fix bug 42'";

#[test]
fn git_26_files_are_applied_and_commits_wait() {
    let world = repository(COMMITTED);
    let edits = "f notes.txt \"one\\ntwo\\nthree\\n\"";
    assert_eq!(named(&world), "branch main: 1 commit");
    let without_git = |world: &World| {
        let lines = world.workspace();
        let lines = lines.lines().filter(|line| !line.contains(" .git"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(without_git(&world), tree(&[BEFORE, edits]));
    let record = world.record().unwrap();
    let subjects: Vec<_> = record
        .commits
        .iter()
        .map(|one| one.subject.clone())
        .collect();
    assert_eq!(subjects, [Some("Fix bug 42".to_owned())]);
    // Neither another apply nor a recovery takes the volume.
    let settled = world.apply();
    assert_eq!(
        (settled.outcome, settled.is_applied),
        (Outcome::Kept, false)
    );
    assert!(matches!(
        world.resume().unwrap(),
        RecoverOutcome::Unchanged(_)
    ));
    assert_eq!(world.phase(), Some(Phase::Collected));
    assert!(!world.left().is_empty());
    // Only a discard does.
    let mut session = world.lock().unwrap();
    let cx = world.cx();
    finish(
        &mut session,
        Outcome::Discarded,
        VolumeDisposal::Remove(&cx),
        &world.ui,
    )
    .unwrap();
    drop(session);
    assert!(world.record().unwrap().commits.is_empty());
    assert_eq!(world.phase(), Some(Phase::Settled));
    assert_eq!(world.left(), [""; 0]);
}

#[test]
fn git_26_an_apply_that_was_cut_off_leaves_the_commits() {
    let world = repository(COMMITTED);
    assert_eq!(named(&world), "branch main: 1 commit");
    let mut session = world.lock().unwrap();
    session
        .update(|record| record.phase = Phase::Applying)
        .unwrap();
    drop(session);
    assert!(matches!(
        world.resume().unwrap(),
        RecoverOutcome::Applied(_)
    ));
    assert_eq!(world.phase(), Some(Phase::Collected));
    assert!(!world.left().is_empty());
}

/// Whatever the next commands do: what host and copy have in common stays what was sent in.
#[test]
fn git_26_a_session_that_goes_on_forgets_none() {
    let world = repository(COMMITTED);
    let kept = |world: &World| {
        let RunOutcome { collected, .. } = world.cycle_kept().unwrap();
        let end = world.gate(collected).unwrap();
        assert_eq!(end.exit_code, ExitCode::KEPT);
        end.report.commits.to_string()
    };
    assert_eq!(kept(&world), "branch main: 1 commit");
    act(&world, "true");
    assert_eq!(kept(&world), "branch main: 1 commit");
    // The user commits too: each side has its own then.
    let outside = "git add -A; git commit -qm outside";
    sh(&world.path("workspace"), outside);
    assert_eq!(kept(&world), "branch main: 1 commit");
    act(
        &world,
        "git checkout -q -b more; git commit -q --allow-empty -m more; git gc -q",
    );
    assert_eq!(
        kept(&world),
        "branch main: 1 commit, branch more: 2 commits"
    );
    act(&world, "git checkout -q main; git branch -q -D more");
    assert_eq!(
        kept(&world),
        "branch main: 1 commit, 1 commit only in the reflog"
    );
    // A command that is lost leaves what was known.
    world.command(|_, _| 0);
    let before = world.record().unwrap().commits;
    let mut session = world.lock().unwrap();
    session
        .update(|record| record.phase = Phase::Running)
        .unwrap();
    drop(session);
    assert_eq!(world.record().unwrap().commits, before);
    assert!(matches!(
        world.resume().unwrap(),
        RecoverOutcome::Collected(_)
    ));
    assert_eq!(world.record().unwrap().commits, before);
}

/// What a repository of the workspace's comes to have is no work of the copy's.
#[test]
fn git_26_the_users_own_commits_are_not_the_agents() {
    let world = repository("true");
    let run = |world: &World| {
        let RunOutcome { collected, .. } = world.cycle_kept().unwrap();
        world.gate(collected).unwrap()
    };
    assert_eq!(run(&world).exit_code, ExitCode::SUCCESS);
    sh(
        &world.path("workspace"),
        "git checkout -q -b mine; git commit -q --allow-empty -m mine; git tag -a v -m v",
    );
    let end = run(&world);
    assert_eq!(end.report.commits.to_string(), "");
    assert_eq!(end.exit_code, ExitCode::SUCCESS);
    act(&world, "git gc -q --prune=now");
    let end = run(&world);
    assert_eq!(end.report.commits.to_string(), "");
}

#[test]
fn git_26_verbs_name_what_waits() {
    let world = repository("git checkout -q -b fix; git commit -q --allow-empty -m 'Fix 42'");
    assert_eq!(named(&world), "branch fix: 1 commit");
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("xdg")).unwrap();
    std::os::unix::fs::symlink(world.path("state"), env.path("xdg/lazaret")).unwrap();
    let state = env.path("xdg").display().to_string();
    let env = env.variable("XDG_STATE_HOME", &state);
    let said = |arguments: &str| env.run(arguments).to_string();
    let rm = said("rm shop");
    assert!(rm.contains("exit 1"), "{rm}");
    assert!(
        rm.contains("session shop holds branch fix: 1 commit"),
        "{rm}"
    );
    let ls = said("ls");
    assert!(
        ls.contains("kept") && ls.contains("(branch fix: 1 commit)"),
        "{ls}"
    );
    let json = said("--json ls");
    assert!(json.contains("\"commits\":[{"), "{json}");
    let show = said("show shop");
    assert!(show.contains("branch fix: 1 commit  Fix 42"), "{show}");
    let json = said("--json show shop");
    assert!(json.contains("\"subject\":\"Fix 42\""), "{json}");
    let apply = env.run("apply shop --yes");
    assert_eq!(apply.code, 120, "{apply}");
    assert!(
        apply
            .stderr
            .contains("kept as session shop: branch fix: 1 commit"),
        "{apply}"
    );
    assert!(!apply.stderr.contains("nothing to apply"), "{apply}");
    let hint = "`lazaret commits land shop` brings them into your repository";
    assert!(apply.stderr.contains(hint), "{apply}");
    assert!(!world.left().is_empty());
    let diff = said("diff shop");
    assert!(
        diff.contains("stay in the copy: branch fix: 1 commit"),
        "{diff}"
    );
    // Nothing answers there, so a report has what the record says.
    let export = env.run("--json export shop");
    assert_eq!(export.code, 0, "{export}");
    let report: serde_json::Value = serde_json::from_str(&export.stdout).unwrap();
    assert_eq!(report["session"]["commits"][0]["subject"], "Fix 42");
    assert_eq!(report["commits"]["tips"], serde_json::json!([]));
    let why = report["commits"]["not_fetched"].as_str().unwrap();
    assert!(export.stderr.contains(why), "{why}: {export}");
    let page = said("export shop --html -");
    let item = "<li>branch fix: 1 commit · Fix 42</li>";
    assert!(
        page.contains(item) && page.contains("not fetched"),
        "{page}"
    );
    act(&world, "git format-patch -q -1 -o patches fix --");
    let collected = world.cycle_kept().unwrap().collected;
    let end = world.gate(collected).unwrap();
    assert_eq!(end.exit_code, ExitCode::KEPT);
    let patches = tree_text::dump(&world.path("workspace/patches"));
    assert!(patches.contains("0001-Fix-42.patch"), "{patches}");
}
