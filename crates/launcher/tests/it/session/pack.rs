//! Commits are packed in a container, whatever the copy's repository says (GIT-29).
//! The git of this machine is the container's, in the directory that plays the volume.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lazaret_launcher::failure::{Failure, FailureKind};
use lazaret_runtime::fake::{ExecCall, ExecOutcome};
use lazaret_session::commits::packer::{
    MAX_PACK_BYTES, PACK_TIMEOUT, PackError, PackRequest, pack,
};
use lazaret_tests::git_world;
use lazaret_transfer::ObjectId;

use super::commits::{repository, sh};
use super::porter;
use super::world::World;

/// Commits on top of what was sent in.
const COMMITTED: &str = "echo three >> notes.txt; git commit -qam third";

/// A session whose agent has run a script in a repository of two commits.
fn ended(script: &'static str) -> World {
    let world = repository(script);
    drop(world.cycle().unwrap());
    world.on("run", run_git);
    world
}

/// Does what `porter run` does, below the directory that plays the volume.
pub(super) fn run_git(volume: &Path, call: &mut ExecCall) -> io::Result<i32> {
    let own = tempfile::tempdir()?;
    let inside = |word: &String| match word.strip_prefix("/workspace") {
        Some(rest) => format!("{}{rest}", volume.display()),
        None => word.clone(),
    };
    let argv = call.argv.iter().skip_while(|word| *word != "--").skip(1);
    let argv: Vec<String> = argv.map(inside).collect();
    let mut env: Vec<(String, String)> = (call.env.iter())
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect();
    env.push(("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()));
    let own_git = own.path().join("repository").display().to_string();
    env.retain(|(name, _)| name != "GIT_DIR");
    env.push(("GIT_DIR".to_owned(), own_git));
    let mut input = Vec::new();
    call.stdin.read_to_end(&mut input)?;
    let output = duct::cmd(&argv[0], &argv[1..])
        .full_env(env)
        .stdin_bytes(input)
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()?;
    call.stderr.write_all(&output.stderr)?;
    call.stdout.write_all(&output.stdout)?;
    Ok(output.status.code().unwrap_or(137))
}

fn parse(id: &str) -> ObjectId {
    ObjectId::from_hex(id.trim().as_bytes()).expect("an id")
}

/// Returns what a revision names in the workspace or the volume.
fn id(world: &World, side: &str, revision: &str) -> ObjectId {
    let git = world.path(side).join(".git").display().to_string();
    let arguments = [
        "--git-dir",
        &git,
        "--no-replace-objects",
        "rev-parse",
        revision,
    ];
    parse(&git_world::git(&world.path("state"), &arguments))
}

fn request(tips: Vec<ObjectId>, known: Vec<ObjectId>) -> PackRequest {
    PackRequest {
        repository: ".git".parse().expect("a path"),
        tips,
        known,
        max_bytes: MAX_PACK_BYTES,
        timeout: PACK_TIMEOUT,
    }
}

/// Packs, reading everything; afterwards no packer is left.
fn all_of(world: &World, request: &PackRequest) -> Result<Vec<u8>, PackError> {
    let cx = world.cx();
    let packed = pack(
        &cx,
        &world.record().unwrap(),
        world.image(),
        request,
        |pack| {
            let mut bytes = Vec::new();
            pack.read_to_end(&mut bytes).map_err(PackError::Stream)?;
            Ok(bytes)
        },
    );
    assert!(!has_packer(world), "{:?}", world.left());
    packed
}

fn has_packer(world: &World) -> bool {
    world.left().iter().any(|name| name.ends_with("-packer"))
}

/// Indexes a pack beside the workspace's own objects, and returns the subjects of the history
/// of a commit that is in it.
fn history(world: &World, pack: &[u8], tip: ObjectId) -> String {
    let host = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| git_world::git(host.path(), arguments);
    git(&["init", "-q", "--bare", "."]);
    let objects = world.path("workspace").join(".git/objects");
    let alternates = host.path().join("objects/info/alternates");
    std::fs::write(alternates, objects.display().to_string()).unwrap();
    std::fs::write(host.path().join("in.pack"), pack).unwrap();
    sh(host.path(), "git index-pack --strict --stdin < in.pack");
    git(&["log", "--format=%s", &tip.to_string()])
}

/// What an agent can write to steer a git that works in its repository.
const HOSTILE: &str = r#"
    echo three >> notes.txt; git commit -qam third; git repack -adq
    forged=$(git commit-tree -m forged 'HEAD^{tree}')
    git commit-graph write --reachable
    git update-ref refs/replace/$(git rev-parse HEAD~1) $forged
    echo "$(git rev-parse HEAD~1) $forged" > .git/info/grafts
    echo /nowhere > .git/objects/info/alternates
    canary=$PWD/canary
    printf '#!/bin/sh\necho "$0" >> %s\n' "$canary" > run; chmod +x run
    cat > .git/config <<END
[core]
    repositoryformatversion = 1
    fsmonitor = $PWD/run
    sshCommand = $PWD/run
    hooksPath = $PWD
    pager = $PWD/run
    alternateRefsCommand = $PWD/run
[extensions]
    unheardOf = true
    partialClone = origin
[alias]
    pack-objects = !$PWD/run
    rev-list = !$PWD/run
[include]
    path = $PWD/run
[uploadpack]
    packObjectsHook = $PWD/run
[remote "origin"]
    promisor = true
    url = ext::$PWD/run
[pack]
    packSizeLimit = 1
[garbage
END
"#;

#[test]
fn git_29_nothing_that_the_copys_repository_configures_is_read() {
    let world = ended(HOSTILE);
    let head = std::fs::read_to_string(world.path("volume/.git/refs/heads/main")).unwrap();
    let tip = parse(&head);
    let base = id(&world, "workspace", "HEAD");
    let packed = all_of(&world, &request(vec![tip], vec![base])).unwrap();
    assert_eq!(history(&world, &packed, tip), "third\nsecond\nfirst\n");
    assert!(!world.path("volume/canary").exists());
}

#[test]
fn git_29_only_what_the_host_lacks_is_packed_and_no_delta_needs_its_objects() {
    let world = ended(
        "seq 20000 > large; git add .; git commit -qm third; \
         seq 20001 > large; git commit -qam fourth; git repack -adq",
    );
    let (tip, third) = (id(&world, "volume", "main"), id(&world, "volume", "main~1"));
    let whole = all_of(&world, &request(vec![tip], vec![])).unwrap();
    let part = all_of(&world, &request(vec![tip], vec![third])).unwrap();
    let of = |pack: &[u8]| u32::from_be_bytes(pack[8..12].try_into().unwrap());
    // A commit, a tree and a blob, which can be indexed where nothing else is.
    assert_eq!((of(&part), of(&whole) > of(&part)), (3, true));
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("in.pack"), &part).unwrap();
    sh(host.path(), "git index-pack in.pack");
    assert_eq!(
        history(&world, &whole, tip),
        "fourth\nthird\nsecond\nfirst\n"
    );
}

#[test]
fn git_29_a_missing_tip_costs_that_tip_alone_and_a_missing_base_nothing() {
    let world = ended(COMMITTED);
    let tip = id(&world, "volume", "main");
    let base = id(&world, "workspace", "HEAD");
    let nowhere = parse(&"1".repeat(40));
    let longer = parse(&"2".repeat(64));
    let expected = all_of(&world, &request(vec![tip], vec![base])).unwrap();
    let tips = vec![tip, nowhere, longer];
    let packed = all_of(&world, &request(tips, vec![nowhere, base, longer])).unwrap();
    assert_eq!(packed, expected);
    let empty = all_of(&world, &request(vec![nowhere], vec![base])).unwrap();
    assert_eq!(empty.len(), 32);
}

#[test]
fn git_29_shallow_histories_and_other_hashes_are_packed() {
    let shallow = ended(
        "echo three >> notes.txt; git commit -qam third; \
         rm .git/objects/$(git rev-parse main~2 | sed 's|..|&/|'); \
         git rev-parse main~1 > .git/shallow",
    );
    let tip = id(&shallow, "volume", "main");
    let packed = all_of(&shallow, &request(vec![tip], vec![])).unwrap();
    assert_eq!(history(&shallow, &packed, tip), "third\nsecond\nfirst\n");

    let sha256 = ended(
        "rm -rf .git; git init -q -b main --object-format=sha256; git add .; git commit -qm new",
    );
    let tip = id(&sha256, "volume", "main");
    assert_eq!(tip.object_format(), "sha256");
    let packed = all_of(&sha256, &request(vec![tip], vec![])).unwrap();
    assert!(packed.len() > 32);
}

#[test]
fn git_29_a_repository_that_git_cannot_read_is_an_error_in_its_words() {
    for (script, words) in [
        (
            "git commit -q --allow-empty -m x; printf 'a\\033[2J\\n' > .git/shallow",
            "git ended with 128: fatal: bad shallow line: a?[2J",
        ),
        (
            "git commit -q --allow-empty -m x; \
             object=.git/objects/$(git rev-parse main | sed 's|..|&/|'); \
             chmod u+w $object; echo garbage > $object",
            "git ended with 128: fatal: loose object",
        ),
    ] {
        let world = ended(script);
        let head = std::fs::read_to_string(world.path("volume/.git/refs/heads/main")).unwrap();
        let error = all_of(&world, &request(vec![parse(&head)], vec![])).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let world = ended("true");
    let tip = id(&world, "volume", "main");
    let elsewhere = PackRequest {
        repository: ".git/modules/none".parse().expect("a path"),
        ..request(vec![tip], vec![])
    };
    let error = all_of(&world, &elsewhere).unwrap_err();
    assert!(
        error.to_string().contains("No such file or directory"),
        "{error}"
    );
}

/// Has git play a closure, and packs.
fn playing<O: Into<ExecOutcome>>(
    request: &PackRequest,
    git: impl Fn(&World, &mut ExecCall) -> io::Result<O> + Send + Sync + 'static,
) -> PackError {
    let world = Arc::new(ended("true"));
    let inner = Arc::downgrade(&world);
    world.on("run", move |_, call| {
        git(&inner.upgrade().expect("the test runs"), call)
    });
    all_of(&world, request).unwrap_err()
}

/// Writes until the other end is gone.
fn flood(call: &mut ExecCall) -> io::Result<i32> {
    loop {
        call.stdout.write_all(&[0; 4096])?;
    }
}

#[test]
fn git_29_a_pack_above_the_limit_is_cut_off() {
    let small = PackRequest {
        max_bytes: 100_000,
        ..request(vec![], vec![])
    };
    let error = playing(&small, |_, call| flood(call));
    assert!(
        matches!(error, PackError::TooLarge { limit: 100_000 }),
        "{error:?}"
    );
    let failure = Failure::from(error);
    assert_eq!(failure.kind, FailureKind::Transfer);
    assert!(failure.hints[0].contains("git format-patch"), "{failure:?}");
}

#[test]
fn git_29_a_git_that_is_ended_at_its_deadline_has_timed_out() {
    let hurried = PackRequest {
        timeout: Duration::ZERO,
        ..request(vec![], vec![])
    };
    let error = playing(&hurried, |_, call| {
        assert!(
            call.argv.iter().any(|word| word == "--timeout"),
            "{:?}",
            call.argv
        );
        Ok(143)
    });
    assert!(matches!(error, PackError::TimedOut { .. }), "{error:?}");
}

#[test]
fn git_29_a_connection_that_breaks_is_no_end_of_the_pack() {
    let error = playing(&request(vec![], vec![]), |_, call| {
        call.stdout.write_all(b"PACK")?;
        Ok(ExecOutcome::Lost("reset".to_owned()))
    });
    assert!(matches!(error, PackError::Stream(_)), "{error:?}");
    let error = playing(&request(vec![], vec![]), |_, call| {
        call.stdout.write_all(b"PACK")?;
        Ok(137)
    });
    assert!(
        matches!(&error, PackError::Git { code: 137, last_line } if last_line == "it said nothing"),
        "{error:?}"
    );
}

#[test]
fn flt_08_ctrl_c_while_commits_are_packed_ends_git() {
    let error = playing(&request(vec![], vec![]), |world, call| {
        world.cancel.raise();
        call.sleep();
        Ok(137)
    });
    assert!(matches!(error, PackError::Interrupted(_)), "{error:?}");
}

#[test]
fn p12_git_is_not_started_where_a_control_is_not_proven() {
    let world = ended(COMMITTED);
    let started = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&started);
    world.on("run", move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(0)
    });
    world.on("probe", |_, call| {
        let report = porter::healthy_report().replacen(" pass ", " fail ", 1);
        call.stdout.write_all(report.as_bytes())?;
        Ok(0)
    });
    let error = all_of(&world, &request(vec![], vec![])).unwrap_err();
    assert!(matches!(error, PackError::Verify(_)), "{error:?}");
    assert_eq!(started.load(Ordering::SeqCst), 0);
}

#[test]
fn a_consumer_that_stops_reading_ends_git_or_has_it_finish() {
    let world = ended(COMMITTED);
    world.on("run", |_, call| flood(call));
    let cx = world.cx();
    let record = world.record().unwrap();
    let all = request(vec![], vec![]);
    let failure = pack(&cx, &record, world.image(), &all, |pack| {
        pack.read_exact(&mut [0; 10_000]).unwrap();
        Err::<(), _>(Failure::message(FailureKind::State, "the disk is full"))
    })
    .unwrap_err();
    assert_eq!(failure.error.to_string(), "the disk is full");
    world.on("run", |_, call| {
        call.stdout.write_all(&[0; 1_000_000])?;
        Ok(3)
    });
    let error = pack(
        &cx,
        &record,
        world.image(),
        &all,
        |_| Ok::<_, PackError>(()),
    )
    .unwrap_err();
    assert!(matches!(error, PackError::Git { code: 3, .. }), "{error:?}");
    assert!(!has_packer(&world));
}
