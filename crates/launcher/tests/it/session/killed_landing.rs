//! A launcher that is killed while it lands commits: whatever it came to, nothing is lost, and
//! landing again brings the rest (the importer's row of the crash table).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use lazaret_runtime::SessionId;
use lazaret_session::captures::{
    CaptureRequest, CapturedFiles, PackSource, RepositoryPack, restore, take,
};
use lazaret_tests::git_world;
use lazaret_transfer::ObjectId;

use super::commits::{repository, sh};
use super::pack::run_git;
use super::verb::Verb;
use super::world::World;

/// What is made inside: two branches, one of which has a stash on it, and a tag.
const WORK: &str = "git checkout -q -b one; echo 1 > one; git add one; git commit -qm one; \
    git tag -a -m note v1; git checkout -q -b two main; echo 2 > two; git add two; \
    git commit -qm two; echo 3 > two; git stash -q; git checkout -q main";

/// What lands of it.
const LANDED: &str = "refs/heads/lazaret/ID/one\nrefs/heads/lazaret/ID/stash-0\n\
    refs/heads/lazaret/ID/two\nrefs/tags/lazaret/ID/v1";

/// The most calls of git that one landing is expected to make.
const MOST_CALLS: usize = 60;

/// A session whose commits lie in a pack, so that landing them needs no engine.
fn waiting() -> (World, SessionId) {
    let world = repository(WORK);
    drop(world.run().unwrap());
    world.on("run", run_git);
    let session = world.lock().unwrap();
    let tips = session.record().commits.iter();
    let tips = tips.flat_map(|one| one.tip.iter().chain(&one.logged));
    let cx = world.cx();
    let repository = RepositoryPack {
        inside: ".git".parse().unwrap(),
        tips: tips
            .filter_map(|id| ObjectId::from_hex(id.as_bytes()))
            .collect(),
        known: Vec::new(),
    };
    let request = CaptureRequest {
        commits: &session.record().commits,
        packs: Some(PackSource {
            cx: &cx,
            image: world.image(),
            repositories: &[repository],
        }),
        files: &CapturedFiles::Collected,
    };
    let id = take(&world.store, &session, &request).unwrap();
    restore(&world.store, &id).unwrap();
    (world, id)
}

/// A git that kills the launcher that has called it for the `call`-th time, before it does
/// anything; `None` for one that never does.
fn install_git(world: &World, call: Option<usize>) {
    let bin = world.path("bin");
    let count = world.path("count");
    drop(fs::remove_file(&count));
    fs::create_dir_all(&bin).unwrap();
    let kill = call.map_or(String::new(), |call| {
        format!(
            "test $(wc -c < {count}) -ne {call} || {{ kill -9 $PPID; exit 1; }}",
            count = count.display()
        )
    });
    let real = ["/usr/local/bin/git", "/usr/bin/git"]
        .into_iter()
        .find(|git| Path::new(git).exists());
    let real = real.expect("git is installed");
    let script = format!(
        "#!/bin/sh\nprintf . >> {}\n{kill}\nexec {real} \"$@\"\n",
        count.display()
    );
    let git = bin.join("git");
    fs::write(&git, script).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Lands everything; returns the signal that ended the launcher, or what it printed.
fn land(world: &World, id: &SessionId) -> Result<String, i32> {
    let bin = world.path("bin").display().to_string();
    let verb = Verb::on(world).variable("PATH", &bin);
    let ended = verb.run(&["commits", "land", id.as_str(), "--yes"]);
    match ended.signal {
        Some(signal) => Err(signal),
        None => Ok(ended.stderr),
    }
}

fn refs(world: &World) -> String {
    let arguments = [
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/lazaret",
        "refs/tags/lazaret",
        "refs/lazaret",
    ];
    git_world::git(&world.path("workspace"), &arguments)
        .trim()
        .to_owned()
}

#[test]
fn a_landing_that_is_killed_before_any_call_of_git_loses_nothing() {
    let (world, id) = waiting();
    fs::create_dir(world.path("cwd")).unwrap();
    let all = LANDED.replace("ID", id.as_str());
    let session = world.path("state").join("sessions").join(id.as_str());
    sh(
        &world.path("cwd"),
        &format!("cp -a {} ../before", session.display()),
    );
    let before = git_world::git(&world.path("workspace"), &["for-each-ref"]);
    let mut stages = Vec::new();
    for call in 1..MOST_CALLS {
        install_git(&world, Some(call));
        let ended = land(&world, &id);
        let there = refs(&world);
        stages.push(there.lines().count());
        assert!(
            there.lines().all(|name| all.contains(name)),
            "{call}: {there}"
        );
        git_world::git(&world.path("workspace"), &["fsck", "--strict"]);
        if let Ok(said) = ended {
            assert_eq!(there, all, "{call}: {said}");
            assert!(stages.contains(&0) && stages.contains(&2), "{stages:?}");
            return;
        }
        assert_eq!(ended, Err(9), "{call}");
        install_git(&world, None);
        let said = land(&world, &id).unwrap();
        assert_eq!(refs(&world), all, "{call}: {said}");
        // The next call starts from what was there.
        let clear = "git for-each-ref --format='delete %(refname)' refs/heads/lazaret \
            refs/tags/lazaret refs/lazaret | git update-ref --stdin";
        sh(&world.path("workspace"), clear);
        let after = git_world::git(&world.path("workspace"), &["for-each-ref"]);
        assert_eq!(after, before);
        let again = format!("rm -r {0}; cp -a ../before {0}", session.display());
        sh(&world.path("cwd"), &again);
    }
    panic!("a landing calls git more often than {MOST_CALLS} times: {stages:?}");
}
