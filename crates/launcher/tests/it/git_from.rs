//! Clones of a branch: what goes in, what stays out, and what must not run.

use std::fs;

use lazaret_launcher::failure::Failure;
use lazaret_launcher::resolve::git::{self, CleanClone, CloneRequest, History};
use lazaret_session::cancel::Cancel;
use lazaret_session::store::from_branch::FromBranch;
use lazaret_tests::git_world::{Copied, World, call};
use lazaret_transfer::{GitMode, SelectionSpec, WorkspaceDir, pack};

use crate::git::{PATH, canary, disturb, environment};
use crate::support::TestEnvironment;

const REFS: &[&str] = &["for-each-ref", "--format=%(refname)"];
const STATUS: &[&str] = &["status", "--porcelain"];
const COUNT: &[&str] = &["rev-list", "--all", "--count"];

/// A clone as the command finds it, and what is recorded of it.
struct Cloned {
    copy: Copied,
    from: FromBranch,
}

fn try_clone(world: &World, workspace: &str, name: &str, mode: GitMode) -> Result<Cloned, Failure> {
    let env = environment(world, PATH);
    let workspace = WorkspaceDir::open_ambient(&world.path(workspace)).unwrap();
    let request = CloneRequest {
        workspace: &workspace,
        name,
        session: &"td-13".parse().unwrap(),
        history: History::of(mode),
    };
    let cancel = Cancel::new();
    let clone = CleanClone::make(request, &env, &cancel, |_| Ok(()));
    let copied = clone.and_then(|clone| {
        let selection = SelectionSpec {
            git: mode,
            exclude: Vec::new(),
        };
        let made = git::make(clone.dir(), &selection.compile().unwrap(), &env, &cancel)?;
        let mut stream = Vec::new();
        pack(clone.dir(), &made.selector, &mut stream, &mut |_| {}).unwrap();
        Ok(Cloned {
            from: clone.from().clone(),
            copy: Copied::unpack(stream),
        })
    });
    let left = fs::read_dir(env.state_dir().unwrap()).map_or(0, |left| {
        let names = left.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with("git-"))
            .count()
    });
    assert_eq!(left, 0, "the clone is removed with its owner");
    copied
}

#[track_caller]
fn clone(world: &World, workspace: &str, name: &str) -> Cloned {
    try_clone(world, workspace, name, GitMode::Full).unwrap()
}

/// A repository of its own, with this commit on the session's branch, that works.
#[track_caller]
fn check(world: &World, cloned: &Cloned, commit: &str) {
    let Cloned { copy, from } = cloned;
    let commit = world.git("main", &["rev-parse", commit]);
    assert_eq!(copy.git(&["rev-parse", "HEAD"]), commit);
    assert_eq!(from.commit, commit.trim());
    assert_eq!(copy.git(&["symbolic-ref", "HEAD"]), "refs/heads/td-13\n");
    assert_eq!(copy.git(STATUS), "");
    assert_eq!(copy.git(&["remote"]), "");
    assert_eq!(copy.git(&["stash", "list"]), "");
    for missing in ["logs", "worktrees", "objects/info", "reftable", "hooks"] {
        assert!(!copy.dir.join(".git").join(missing).exists(), "{missing}");
    }
    let packs = fs::read_dir(copy.dir.join(".git/objects/pack")).unwrap();
    let packs = packs.flatten().map(|entry| entry.path());
    let packs = packs.filter(|path| path.extension().is_some_and(|end| end == "pack"));
    assert_eq!(packs.count(), 1);
    copy.work("");
}

#[test]
fn a_clone_holds_the_commit_and_its_history_and_nothing_else_of_the_users() {
    for init in [
        &[][..],
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
    ] {
        let world = World::with(init);
        world.git("main", &["branch", "td-13/x"]);
        disturb(&world, "main");
        world.write("main/.git/info/exclude", "b\n");
        for packed in [false, true] {
            if packed {
                world.git("main", &["gc", "-q"]);
            }
            let side = clone(&world, "main", "side");
            let refs = "refs/heads/td-13\nrefs/remotes/host/side\n";
            assert_eq!(side.copy.git(REFS), refs);
            assert_eq!(side.from.branch, "side");
            let read = |name: &str| fs::read_to_string(side.copy.dir.join(name)).ok();
            assert_eq!(read("a").as_deref(), Some("one\n"));
            assert_eq!(read("b").as_deref(), Some("b\n"));
            assert_eq!([read("staged"), read("new")], [None, None]);
            assert_eq!(side.copy.git(COUNT), "1\n");
            for outside in ["main", "stash@{0}"] {
                let id = world.git("main", &["rev-parse", outside]);
                let there = call(&side.copy.dir, &["cat-file", "-e", id.trim()]);
                assert!(!there.status.success(), "{outside} stays out");
            }
            check(&world, &side, "side");
            let main = clone(&world, "main", "main");
            assert_eq!(main.copy.git(COUNT), "2\n");
            check(&world, &main, "main");
            let nested = clone(&world, "main", "td-13/x");
            let refs = "refs/heads/td-13\nrefs/remotes/host/td-13/x\n";
            assert_eq!(nested.copy.git(REFS), refs);
        }
    }
}

#[test]
fn a_clone_from_a_linked_worktree() {
    for init in [&[][..], &["--ref-format=reftable"]] {
        let world = World::with(init);
        world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
        disturb(&world, "linked");
        check(&world, &clone(&world, "linked", "main"), "main");
        let head = clone(&world, "linked", "HEAD");
        assert_eq!(head.from.branch, "side");
        check(&world, &head, "side");
        world.git("linked", &["checkout", "-q", "--detach"]);
        let detached = clone(&world, "linked", "@");
        assert_eq!(detached.from.branch, detached.from.commit);
        check(&world, &detached, "side");
    }
}

#[test]
fn a_clone_of_a_shallow_clone_ends_where_that_ends() {
    let world = World::new();
    let url = format!("file://{}", world.path("main").display());
    world.git("", &["clone", "-q", "--depth=1", &url, "cut"]);
    let cloned = clone(&world, "cut", "main");
    assert_eq!(cloned.copy.git(COUNT), "1\n");
    let ends = fs::read_to_string(cloned.copy.dir.join(".git/shallow")).unwrap();
    assert_eq!(ends, world.git("main", &["rev-parse", "main"]));
    check(&world, &cloned, "main");
    // A branch that does not reach the end has none.
    world.git("cut", &["checkout", "-q", "--orphan", "fresh"]);
    world.git("cut", &["commit", "-qm", "fresh"]);
    let fresh = clone(&world, "cut", "fresh");
    assert!(!fresh.copy.dir.join(".git/shallow").exists());
    fresh.copy.work("");
}

#[test]
fn the_profile_says_how_much_of_the_history_goes_in() {
    let world = World::new();
    let shallow = try_clone(&world, "main", "main", GitMode::Shallow).unwrap();
    assert_eq!(shallow.copy.git(COUNT), "1\n");
    shallow.copy.work("");
    let none = try_clone(&world, "main", "side", GitMode::None).unwrap();
    assert!(!none.copy.dir.join(".git").exists());
    let a = fs::read_to_string(none.copy.dir.join("a")).unwrap();
    assert_eq!(a, "one\n");
}

#[test]
fn names_lead_to_a_branch_before_a_tag_and_are_recorded_so_that_they_stay() {
    let world = World::new();
    world.git("main", &["tag", "-am", "one", "v1", "side"]);
    world.git("main", &["tag", "side", "main"]);
    world.git(
        "main",
        &["update-ref", "refs/remotes/origin/far", "refs/heads/side"],
    );
    let id = |name: &str| world.git("main", &["rev-parse", name]).trim().to_owned();
    let (main, side) = (id("refs/heads/main"), id("refs/heads/side"));
    for (typed, branch, commit, start) in [
        ("side", "side", &side, "side"),
        ("refs/heads/side", "side", &side, "side"),
        ("v1", "refs/tags/v1", &side, "start"),
        ("refs/tags/side", "refs/tags/side", &main, "start"),
        ("origin/far", "refs/remotes/origin/far", &side, "start"),
        ("HEAD", "main", &main, "main"),
        ("HEAD~1", &side, &side, "start"),
        ("main^", &side, &side, "start"),
        (&main[..9], &main, &main, "start"),
    ] {
        let Cloned { copy, from } = clone(&world, "main", typed);
        assert_eq!((&*from.branch, &from.commit), (branch, commit), "{typed}");
        let refs = format!("refs/heads/td-13\nrefs/remotes/host/{start}\n");
        assert_eq!(copy.git(REFS), refs, "{typed}");
        // What is recorded leads to the same commit.
        assert_eq!(clone(&world, "main", &from.branch).from, from);
    }
}

#[test]
fn what_names_no_commit_is_refused() {
    let world = World::new();
    world.git("", &["clone", "-q", "--bare", "main", "bare"]);
    world.git("", &["clone", "-q", "--shared", "main", "shared"]);
    world.write("plain/a", "a\n");
    world.git("", &["init", "-q", "-b", "main", "empty"]);
    for (workspace, name, expected) in [
        ("main", "nope", "\"nope\" is no branch, tag or commit"),
        ("main", "main..side", "\"main..side\" is no branch"),
        ("main", "", "\"\" is no branch"),
        ("empty", "main", "\"main\" is no branch"),
        ("main", "--all", "\"--all\" starts with `-`"),
        ("main", "HEAD^{tree}", "names a tree, not a commit"),
        ("main", "main:a", "names a blob, not a commit"),
        ("bare", "main", "is a bare repository"),
        ("plain", "main", "is not the root of a git repository"),
        ("shared", "main", "borrows from another repository"),
    ] {
        let refused = try_clone(&world, workspace, name, GitMode::Full);
        let Err(failure) = refused else {
            panic!("{workspace}: {name} is cloned");
        };
        let said = failure.chain().join(": ");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn git_23_24_nothing_that_is_configured_runs_for_a_clone() {
    let world = World::new();
    let (program, mark) = (world.path("evil"), world.path("mark"));
    canary(&program, &mark);
    // The commit names a filter of the user's.
    world.write("main/.gitattributes", "* filter=x diff=x\n");
    world.git("main", &["add", "."]);
    world.git("main", &["commit", "-qm", "attributes"]);
    for hook in [
        "post-index-change",
        "post-checkout",
        "reference-transaction",
    ] {
        canary(&world.path("main/.git/hooks").join(hook), &mark);
    }
    let run = program.display();
    let config = format!(
        "[core]\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\thooksPath = {hooks}\n\
         \tattributesFile = {attributes}\n\talternateRefsCommand = {run}\n\
         [filter \"x\"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\trequired = true\n\
         [diff \"x\"]\n\ttextconv = {run}\n\tcommand = {run}\n[diff]\n\texternal = {run}\n\
         [alias]\n\tread-tree = !{run}\n\tcheckout-index = !{run}\n\tshow-ref = !{run}\n\
         [uploadpack]\n\tpackObjectsHook = {run}\n",
        hooks = world.path("main/.git/hooks").display(),
        attributes = world.path("attributes").display(),
    );
    world.write("attributes", "* filter=x diff=x\n");
    world.write("main/.git/info/attributes", "* filter=x diff=x\n");
    // Both places that a user configures git in.
    world.write("home/.gitconfig", &config);
    let mut own = fs::read_to_string(world.path("main/.git/config")).unwrap();
    own.push_str(&config);
    world.write("main/.git/config", &own);
    for mode in [GitMode::Full, GitMode::Shallow, GitMode::None] {
        let cloned = try_clone(&world, "main", "main", mode).unwrap();
        let a = fs::read_to_string(cloned.copy.dir.join("a")).unwrap();
        assert_eq!(a, "two\n");
    }
    assert!(!mark.exists(), "a program of the user's ran");
    // The canary sings: git itself would have run it.
    call(&world.path("main"), &["checkout-index", "-a", "-f"]);
    call(&world.path("main"), STATUS);
    assert!(mark.exists());
}

#[test]
fn only_the_attributes_of_the_commit_decide_about_line_endings() {
    let world = World::new();
    world.write("main/.gitattributes", "*.bat eol=crlf\n");
    world.write("main/run.bat", "a\n");
    world.write("main/text", "a\n");
    world.git("main", &["add", "."]);
    world.git("main", &["commit", "-qm", "text"]);
    world.git("main", &["config", "core.autocrlf", "true"]);
    world.write("main/.git/info/attributes", "text eol=crlf\n");
    let cloned = clone(&world, "main", "main");
    let read = |name: &str| fs::read_to_string(cloned.copy.dir.join(name)).unwrap();
    assert_eq!([read("run.bat"), read("text")], ["a\r\n", "a\n"]);
    check(&world, &cloned, "main");
}

#[test]
fn a_submodule_is_an_empty_directory() {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "other"]);
    world.git("main", &["submodule", "--quiet", "add", "../other", "sub"]);
    world.git("main", &["commit", "-qm", "sub"]);
    let cloned = clone(&world, "main", "main");
    let inside = fs::read_dir(cloned.copy.dir.join("sub")).unwrap();
    assert_eq!(inside.count(), 0);
    assert!(!cloned.copy.dir.join(".git/modules").exists());
    check(&world, &cloned, "main");
}

#[test]
fn two_clones_of_one_commit_are_the_same() {
    let world = World::new();
    let [one, two] = [(); 2].map(|()| clone(&world, "main", "main").copy);
    let same = |name: &str| {
        let read = |copy: &Copied| fs::read(copy.dir.join(name)).unwrap();
        assert_eq!(read(&one), read(&two), "{name}");
    };
    for name in ["a", ".git/index", ".git/packed-refs", ".git/config"] {
        same(name);
    }
    let packs = fs::read_dir(one.dir.join(".git/objects/pack")).unwrap();
    for pack in packs.flatten() {
        same(&format!(".git/objects/pack/{}", pack.file_name().display()));
    }
}

#[test]
fn a_dry_run_lists_the_clone_and_says_of_what() {
    let world = World::new();
    disturb(&world, "main");
    let dir = world.path("main").display().to_string();
    let env = TestEnvironment::new().variable("PATH", PATH);
    let line = format!("run base -w {dir} --from side --dry-run");
    let listed = env.run(&format!("{line} --json")).json();
    assert_eq!(listed["workspace"], dir);
    assert_eq!(listed["from"]["branch"], "side");
    let commit = world.git("main", &["rev-parse", "side"]);
    assert_eq!(listed["from"]["commit"], commit.trim());
    let files = listed["files"].as_array().unwrap().iter();
    let mut files: Vec<&str> = files
        .filter_map(|file| file["path"].as_str())
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    files.sort_unstable();
    assert_eq!(files, ["a", "b"]);
    let text = env.run(&line);
    let words = format!("a clone of side at {}\n", &commit[..12]);
    assert!(text.stdout.starts_with(&words), "{}", text.stdout);
    let refused = env.run(&format!("run base -w {dir} --from nope --dry-run"));
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("git branch --all"),
        "{}",
        refused.stderr
    );
}
