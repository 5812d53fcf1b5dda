//! What was committed in a session outlives it, whatever became of its files (GIT-31).
//! The git of this machine is the container's, in the directory that plays the volume.

use lazaret_launcher::profile::ApplyMode;
use lazaret_runtime::SessionId;
use lazaret_session::captures::{
    Capture, CaptureRequest, CapturedFiles, PackSource, RepositoryPack, restore, take,
};
use lazaret_session::commits::copy_refs::{CopyRefs, list_refs};
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_session::store::unlanded::Unlanded;
use lazaret_tests::git_world;
use lazaret_transfer::{GitMode, NewRefs, ObjectId};

use super::commits::{repository, sh};
use super::pack::run_git;
use super::verb::Verb;
use super::world::{BEFORE, EDITS, World, tree};

/// Work of every kind, and more bytes of files than the gate takes.
const WORK: &str = "git checkout -q -b fix; echo 1 > one; git add one; git commit -qm one; \
    git tag -a -m note v1; for n in 2 3; do echo $n > one; git stash -q; done; \
    git commit -q --allow-empty -m lost; git reset -q --hard HEAD~1; \
    git checkout -q --detach; git commit -q --allow-empty -m away; \
    head -c 2000000 /dev/zero > large";

/// Lists what the volume names and `known` has not.
fn listed(all: &[CopyRefs], known: &[ObjectId]) -> Unlanded {
    let mut found = NewRefs::default();
    for refs in all {
        refs.add_to(&mut found, &|id| known.contains(id));
    }
    found.into()
}

/// Returns the objects of a repository in the workspace.
fn objects(world: &World, dir: &str) -> Vec<ObjectId> {
    let all = [
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ];
    let ids = git_world::git(&world.path("workspace").join(dir), &all);
    let ids = ids.lines().map(|id| ObjectId::from_hex(id.as_bytes()));
    ids.map(Option::unwrap).collect()
}

/// Captures what `list_refs` finds, without files, and makes it a session again.
fn bring_back(world: &World) -> (SessionId, Unlanded) {
    world.on("run", run_git);
    let session = world.lock().unwrap();
    let cx = world.cx();
    let all = list_refs(&cx, session.record(), world.image()).unwrap();
    let mut known = objects(world, "");
    if world.path("workspace/lib").exists() {
        known.extend(objects(world, "lib"));
    }
    let repositories: Vec<RepositoryPack> = all
        .iter()
        .map(|refs| RepositoryPack {
            inside: refs.repository.clone(),
            tips: refs.ids(),
            known: Vec::new(),
        })
        .collect();
    let commits = listed(&all, &known);
    let request = CaptureRequest {
        commits: &commits,
        packs: Some(PackSource {
            cx: &cx,
            image: world.image(),
            repositories: &repositories,
        }),
        files: &CapturedFiles::Lost {
            why: "stream.too_large".to_owned(),
        },
    };
    let id = take(&world.store, &session, &request).unwrap();
    assert_eq!(take(&world.store, &session, &request).unwrap(), id);
    assert!(!world.left().iter().any(|name| name.ends_with("-packer")));
    session.remove().unwrap();
    restore(&world.store, &id).unwrap();
    (id, commits)
}

#[test]
fn commits_of_a_rejected_session_come_home_without_its_files() {
    let world = repository(WORK);
    let Collected::Rejected(mut session) = world.cycle().unwrap() else {
        panic!("it was not rejected: {}", world.said());
    };
    assert!(session.record().commits.is_empty());
    session
        .update(|record| record.outcome = Some(Outcome::Rejected))
        .unwrap();
    drop(session);
    let (id, commits) = bring_back(&world);
    assert_eq!(
        commits.to_string(),
        "detached HEAD, branch fix, stash: 2, tag v1, 1 commit only in the reflog"
    );
    assert_eq!(
        world.store.find(&id).unwrap().record().unwrap().phase,
        Phase::Collected
    );
    let ended = Verb::on(&world)
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .run(&["commits", "land", id.as_str(), "--lost", "--yes"]);
    assert_eq!(ended.code, 0, "{}", ended.said());
    let format = "--format=%(refname:lstrip=4) %(contents:subject)";
    let refs = git_world::git(
        &world.path("workspace"),
        &[
            "for-each-ref",
            format,
            "refs/heads/lazaret",
            "refs/tags/lazaret",
        ],
    );
    let refs: Vec<&str> = refs.lines().collect();
    assert!(
        refs.contains(&"HEAD away") && refs.contains(&"fix one") && refs.contains(&"v1 note"),
        "{refs:?}"
    );
    let has = |start: &str, end: &str| {
        let mut refs = refs.iter();
        refs.any(|one| one.starts_with(start) && one.ends_with(end))
    };
    assert!(has("stash-0 ", "one") && has("stash-1 ", "one"), "{refs:?}");
    assert!(has("lost-", " lost"), "{refs:?}");
    let record = world.store.find(&id).unwrap().record().unwrap();
    assert_eq!(record.phase, Phase::Settled, "{}", ended.said());
}

#[test]
fn a_no_at_the_question_is_captured() {
    let world = World::answering("n\ny\n");
    let collected = world.cycle().unwrap();
    let end = world.gate_by(collected, ApplyMode::Ask).unwrap();
    assert_eq!(end.report.outcome, Some(Outcome::Discarded));
    let said = world.said();
    assert!(said.contains("What waited is kept for 30 days"), "{said}");
    let captures = Capture::list(&world.store).unwrap();
    let [capture] = &captures[..] else {
        panic!("{captures:?}");
    };
    restore(&world.store, capture.id()).unwrap();
    let verb = Verb::on(&world);
    let ended = verb.run_unlocked(&["apply", capture.id().as_str(), "--yes"]);
    assert_eq!(ended.code, 0, "{}", ended.said());
    assert_eq!(world.workspace(), tree(&[BEFORE, EDITS]));
}

/// A workspace with a submodule `lib`, whose agent commits in both.
fn with_submodule(script: &'static str) -> World {
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
    world.command(move |volume, _| {
        sh(volume, script);
        0
    });
    world
}

#[test]
fn commits_in_the_repository_of_a_submodule_land_in_the_users() {
    let world = with_submodule(
        "git checkout -q -b fix; git commit -q --allow-empty -m outer; cd lib; \
         git checkout -q -b fix; echo x > inner; git add inner; git commit -qm inner; \
         git checkout -q -; git clone -q --bare . ../.git/modules/new; cd ../.git/modules/new; \
         git update-ref refs/heads/only $(git commit-tree -m new HEAD^{tree})",
    );
    drop(world.run().unwrap());
    let (id, commits) = bring_back(&world);
    let names = commits.to_string();
    assert!(names.contains("branch fix in .git/modules/lib"), "{names}");
    let verb = Verb::on(&world).variable("PATH", "/usr/local/bin:/usr/bin:/bin");
    let before = git_world::git(
        &world.path("workspace/lib"),
        &["status", "--porcelain=2", "-b"],
    );
    let shown = verb.run(&["commits", id.as_str()]);
    assert!(
        shown.stdout.contains(&format!(
            "branch lib:fix -> lazaret/{id}/fix in submodule lib"
        )),
        "{}",
        shown.said()
    );
    let ended = verb.run(&["commits", "land", id.as_str(), "lib:fix", "--yes"]);
    assert_eq!(ended.code, 120, "{}", ended.said());
    let name = format!("lazaret/{id}/fix");
    let subject = |dir: &str| {
        let dir = world.path("workspace").join(dir);
        let log = git_world::call(&dir, &["log", "-1", "--format=%s", &name]);
        String::from_utf8(log.stdout).unwrap()
    };
    assert_eq!((&*subject("lib"), &*subject(".")), ("inner\n", ""));
    let after = git_world::git(
        &world.path("workspace/lib"),
        &["status", "--porcelain=2", "-b"],
    );
    assert_eq!(before, after);
    let left = world.store.find(&id).unwrap().record().unwrap().commits;
    let left = left.to_string();
    assert!(
        left.contains("branch fix") && !left.contains("modules/lib"),
        "{left}"
    );
    let ended = verb.run(&["commits", "land", id.as_str(), "--yes"]);
    assert_eq!(ended.code, 120, "{}", ended.said());
    assert_eq!(subject("."), "outer\n", "{}", ended.said());
    assert!(
        ended.stdout.contains(
            "stays in the copy: branch new:only: your repository has no .git/modules/new"
        ),
        "{}",
        ended.said()
    );
}
