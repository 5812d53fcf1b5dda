//! What the host's git makes for a copy, and what it must not do while it does.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_launcher::failure::Failure;
use lazaret_launcher::resolve::git;
use lazaret_session::cancel::Cancel;
use lazaret_tests::git_world::{Copied, World};
use lazaret_transfer::{GitMode, SelectionSpec, SkipReason, WorkspaceDir, pack};

const STATUS: &[&str] = &["status", "--porcelain"];

pub(crate) fn environment(world: &World, path: &str) -> Environment {
    let streams = StreamKinds {
        stdin: StreamKind::Other,
        stdout: StreamKind::Other,
        stderr: StreamKind::Other,
    };
    let variables = [
        ("HOME".into(), world.path("home").into_os_string()),
        ("PATH".into(), path.into()),
        // None of these may reach git (GIT-23).
        ("GIT_DIR".into(), "/nonexistent".into()),
        ("GIT_CONFIG_COUNT".into(), "1".into()),
        ("GIT_CONFIG_KEY_0".into(), "core.fsmonitor".into()),
        ("GIT_CONFIG_VALUE_0".into(), "false".into()),
    ];
    Environment::new(variables, streams, None, 0, world.path(""))
}

pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn try_copy(
    world: &World,
    workspace: &str,
    mode: GitMode,
    path: &str,
) -> Result<(Copied, Vec<String>), Failure> {
    let env = environment(world, path);
    let dir = WorkspaceDir::open_ambient(&world.path(workspace)).unwrap();
    let selection = SelectionSpec {
        git: mode,
        exclude: Vec::new(),
    };
    let made = git::make(&dir, &selection.compile().unwrap(), &env, &Cancel::new())?;
    let mut stream = Vec::new();
    let packed = pack(&dir, &made.selector, &mut stream, &mut |_| {}).unwrap();
    let skipped = packed
        .skipped
        .iter()
        .filter(|skip| skip.reason != SkipReason::GitPart)
        .map(|skip| {
            format!(
                "{} {}",
                String::from_utf8_lossy(&skip.name),
                skip.reason.code()
            )
        });
    let skipped = skipped.collect();
    drop(made);
    let left = std::fs::read_dir(env.state_dir().unwrap());
    let left = left.map_or(0, |left| {
        left.flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("git-"))
            .count()
    });
    assert_eq!(left, 0, "what was made is removed");
    Ok((Copied::unpack(stream), skipped))
}

#[track_caller]
fn copy(world: &World, workspace: &str, mode: GitMode) -> Copied {
    let (copied, skipped) = try_copy(world, workspace, mode, PATH).unwrap();
    assert_eq!(skipped, [""; 0]);
    copied
}

pub(crate) fn disturb(world: &World, dir: &str) {
    world.write(&format!("{dir}/a"), "three\n");
    world.write(&format!("{dir}/staged"), "s\n");
    world.git(dir, &["add", "staged"]);
    world.write(&format!("{dir}/new"), "n\n");
}

/// One commit, and git as content as outside.
#[track_caller]
fn check(world: &World, workspace: &str) -> Copied {
    let copy = copy(world, workspace, GitMode::Shallow);
    for arguments in [
        STATUS,
        &["diff"],
        &["diff", "--cached"],
        &["rev-parse", "HEAD"],
        &["log", "-1", "--format=%H %s"],
        &["ls-files", "--stage"],
    ] {
        assert_eq!(copy.git(arguments), world.git(workspace, arguments));
    }
    assert_eq!(copy.git(&["rev-list", "--all", "HEAD", "--count"]), "1\n");
    copy.work("");
    assert_eq!(copy.git(&["rev-list", "HEAD", "--count"]), "2\n");
    copy
}

#[test]
fn a_shallow_copy_is_one_commit_that_works() {
    for init in [
        &[][..],
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
    ] {
        let world = World::with(init);
        disturb(&world, "main");
        check(&world, "main");
        world.git("main", &["gc", "-q"]);
        let copied = check(&world, "main");
        assert_eq!(copied.git(&["stash", "list"]), "");
        let old = world.git("main", &["rev-parse", "HEAD~1"]);
        let there = lazaret_tests::git_world::call(&copied.dir, &["cat-file", "-e", old.trim()]);
        assert!(!there.status.success(), "what came before stays out");
        world.git("main", &["update-index", "--split-index"]);
        check(&world, "main");
        world.git("main", &["stash", "-q"]);
        world.git("main", &["checkout", "-q", "--detach"]);
        check(&world, "main");
    }
}

#[test]
fn a_shallow_copy_of_a_worktree() {
    for init in [&[][..], &["--ref-format=reftable"]] {
        let world = World::with(init);
        world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
        disturb(&world, "linked");
        let copied = check(&world, "linked");
        assert_eq!(
            copied.git(&["branch", "--format=%(refname)"]),
            "refs/heads/side\n"
        );
        world.git(
            "main",
            &["worktree", "add", "-q", "--detach", "../detached", "side"],
        );
        check(&world, "detached");
    }
}

#[test]
fn a_shallow_copy_with_submodules() {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "other"]);
    world.git("main", &["submodule", "--quiet", "add", "../other", "sub"]);
    world.git("main", &["commit", "-qm", "sub"]);
    let copied = check(&world, "main");
    assert_eq!(copied.git_in("sub", STATUS), "");
    assert_eq!(
        copied.git_in("sub", &["rev-list", "--all", "HEAD", "--count"]),
        "1\n"
    );
    copied.work("sub");
}

#[test]
fn a_branch_without_commits_and_a_root_commit() {
    let world = World::new();
    world.git("", &["init", "-q", "-b", "main", "fresh"]);
    world.write("fresh/a", "a\n");
    world.git("fresh", &["add", "a"]);
    let copied = copy(&world, "fresh", GitMode::Shallow);
    assert_eq!(copied.git(STATUS), "A  a\n");
    copied.work("");
    world.git("fresh", &["commit", "-qm", "root"]);
    check(&world, "fresh");
}

#[test]
fn refs_in_tables_become_files() {
    let world = World::with(&["--ref-format=reftable"]);
    world.git(
        "",
        &["clone", "-q", "--ref-format=reftable", "main", "clone"],
    );
    world.git(
        "clone",
        &["worktree", "add", "-q", "../linked", "-b", "side"],
    );
    for workspace in ["main", "clone", "linked"] {
        let copied = copy(&world, workspace, GitMode::Full);
        for arguments in [STATUS, &["for-each-ref"], &["log", "--all", "--format=%H"]] {
            assert_eq!(copied.git(arguments), world.git(workspace, arguments));
        }
        assert!(!copied.dir.join(".git/reftable").exists());
        copied.work("");
    }
}

#[test]
fn without_git_shallow_is_refused_and_tables_stay_out() {
    let world = World::with(&["--ref-format=reftable"]);
    let refused = try_copy(&world, "main", GitMode::Shallow, "/nonexistent:relative").unwrap_err();
    assert!(
        refused
            .chain()
            .join(": ")
            .contains("there is none on this machine")
    );
    let (copied, skipped) = try_copy(&world, "main", GitMode::Full, "/nonexistent").unwrap();
    assert_eq!(skipped, [".git skip.git_unmade"]);
    assert!(!copied.dir.join(".git").exists());
}

/// A program that leaves a mark, and says that it did.
pub(crate) fn canary(path: &Path, mark: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(
        path,
        format!("#!/bin/sh\necho ran >> {}\ncat\n", mark.display()),
    )
    .unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn git_23_24_nothing_that_the_repository_or_the_environment_configures_is_run() {
    let world = World::new();
    world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
    let (program, mark) = (world.path("evil"), world.path("mark"));
    canary(&program, &mark);
    for hook in [
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
        "post-checkout",
    ] {
        canary(&world.path("main/.git/hooks").join(hook), &mark);
    }
    let run = program.display().to_string();
    let mut config = std::fs::read_to_string(world.path("main/.git/config")).unwrap();
    config.push_str(&format!(
        "[core]\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\tpager = {run}\n\talternateRefsCommand = {run}\n\
         \thooksPath = {hooks}\n\tattributesFile = {attributes}\n\
         [uploadpack]\n\tpackObjectsHook = {run}\n[gc]\n\trecentObjectsHook = {run}\n\
         [filter \"x\"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\
         [diff \"x\"]\n\ttextconv = {run}\n\tcommand = {run}\n[diff]\n\texternal = {run}\n\
         [alias]\n\tpack-objects = !{run}\n\trev-parse = !{run}\n\tfor-each-ref = !{run}\n\
         [remote \"origin\"]\n\turl = ext::{run}\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n\
         [include]\n\tpath = {include}\n[credential]\n\thelper = {run}\n",
        hooks = world.path("main/.git/hooks").display(),
        attributes = world.path("attributes").display(),
        include = world.path("included").display(),
    ));
    world.write("attributes", "* filter=x diff=x\n");
    world.write("main/.git/info/attributes", "* filter=x diff=x\n");
    world.write("included", &format!("[core]\n\tfsmonitor = {run}\n"));
    world.write("main/.git/config", &config);
    for workspace in ["main", "linked"] {
        for mode in [GitMode::Shallow, GitMode::Full] {
            let copied = copy(&world, workspace, mode);
            copied.git(STATUS);
            copied.work("");
        }
    }
    assert!(!mark.exists(), "a program of the repository ran");
    // The canary sings: git itself would have run it.
    lazaret_tests::git_world::call(&world.path("main"), STATUS);
    assert!(mark.exists());
}

#[test]
fn sus_27_a_git_in_the_workspace_is_not_run() {
    let world = World::new();
    let mark = world.path("mark");
    canary(&world.path("main/bin/git"), &mark);
    symlink(world.path("main/bin"), world.path("elsewhere")).unwrap();
    let path = format!(
        "{}:{}:main/bin:.:{PATH}",
        world.path("main/bin").display(),
        world.path("elsewhere").display()
    );
    try_copy(&world, "main", GitMode::Shallow, &path).unwrap();
    assert!(!mark.exists());
}

#[test]
fn git_10_objects_of_another_project_are_not_packed() {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "secret"]);
    world.write("secret/plans", "secret plans\n");
    world.git("secret", &["add", "plans"]);
    world.git("secret", &["commit", "-qm", "plans"]);
    let commit = world.git("secret", &["rev-parse", "HEAD"]);
    let path = |path: &str| world.path(path);
    let lure = |name: &str| {
        world.git("", &["init", "-q", "-b", "main", name]);
        world.write(&format!("{name}/.git/refs/heads/main"), &commit);
    };
    let refused = |name: &str| {
        let failure = try_copy(&world, name, GitMode::Shallow, PATH).unwrap_err();
        failure.chain().join(": ")
    };
    // Alternates: the whole repository stays out.
    lure("alternates");
    let alternates = format!("{}\n", path("secret/.git/objects").display());
    world.write("alternates/.git/objects/info/alternates", &alternates);
    let (copied, skipped) = try_copy(&world, "alternates", GitMode::Shallow, PATH).unwrap();
    assert_eq!(skipped, [".git skip.git_borrows"]);
    assert!(!copied.dir.join(".git").exists());
    // Links to directories of loose objects, to single ones, and to packs.
    for what in ["directories", "objects", "packs"] {
        lure(what);
        if what == "packs" {
            world.git("secret", &["gc", "-q"]);
        }
        for entry in std::fs::read_dir(path("secret/.git/objects"))
            .unwrap()
            .flatten()
        {
            let to = path(&format!("{what}/.git/objects")).join(entry.file_name());
            if what == "directories" && entry.file_name().len() == 2 {
                symlink(entry.path(), to).unwrap();
            } else if what != "directories" {
                std::fs::create_dir_all(&to).unwrap();
                for object in std::fs::read_dir(entry.path()).unwrap().flatten() {
                    symlink(object.path(), to.join(object.file_name())).unwrap();
                }
            }
        }
        assert_eq!(
            world.git(what, &["show", "main:plans"]),
            "secret plans\n",
            "git itself follows them"
        );
        let message = refused(what);
        assert!(
            message.contains("git can't read the commit of HEAD"),
            "{message}"
        );
    }
}

#[test]
fn a_partial_clone_without_its_objects_is_refused_by_name() {
    let world = World::new();
    let url = format!("file://{}", world.path("main").display());
    world.git("main", &["config", "uploadpack.allowFilter", "true"]);
    world.git(
        "",
        &[
            "clone",
            "-q",
            "--no-checkout",
            "--filter=blob:none",
            &url,
            "partial",
        ],
    );
    let failure = try_copy(&world, "partial", GitMode::Shallow, PATH).unwrap_err();
    let message = failure.chain().join(": ");
    assert!(
        message.contains("git can't pack HEAD and the index"),
        "{message}"
    );
    assert!(message.starts_with(".git: "), "{message}");
    world.git("partial", &["checkout", "-q", "main"]);
    let (copied, skipped) = try_copy(&world, "partial", GitMode::Shallow, PATH).unwrap();
    assert_eq!(skipped, [""; 0]);
    copied.work("");
}

#[test]
fn a_dry_run_weighs_what_goes_in_and_what_stays_out() {
    let world = World::new();
    // Only a commit of the past has it, and it is hard to compress.
    let noise: String = (1..4000_u64)
        .map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    world.write("main/past", &noise);
    world.git("main", &["add", "past"]);
    world.git("main", &["commit", "-qm", "past"]);
    world.git("main", &["rm", "-q", "past"]);
    world.git("main", &["commit", "-qm", "gone"]);
    world.write("main/.gitignore", "out/\n");
    world.write("main/out/large", &"x".repeat(5000));
    world.write("main/out/deep/small", "x");
    world.write("main/.env", "KEY=1");
    let dir = world.path("main").display().to_string();
    let env = crate::support::TestEnvironment::new().variable("PATH", PATH);
    let listed = env
        .run(&format!("run base -w {dir} --dry-run --json"))
        .json();
    let left = |path: &str| {
        let all = listed["left_out"].as_array().unwrap();
        let found = all.iter().find(|left| left["path"] == path).unwrap();
        (
            found["code"].clone(),
            found["bytes"].clone(),
            found["entries"].clone(),
        )
    };
    assert_eq!(
        left("out"),
        ("skip.gitignore".into(), 5001.into(), 3.into())
    );
    assert_eq!(left(".env"), ("skip.secret".into(), 5.into(), 1.into()));
    assert_eq!(listed["left_out"][0]["path"], ".git/hooks", "largest first");
    let ignored = &listed["reasons"].as_array().unwrap()[1];
    assert_eq!(ignored["code"], "skip.gitignore");
    assert_eq!(
        (&ignored["bytes"], &ignored["not_counted"]),
        (&5001.into(), &0.into())
    );
    let git = |mode: &str| listed["git"]["bytes"][mode].as_u64().unwrap();
    assert_eq!(listed["git"]["mode"], "full");
    assert!(git("full") > git("shallow") && git("shallow") > git("none"));
    let (copy, _) = try_copy(&world, "main", GitMode::Shallow, PATH).unwrap();
    let weigh = |path: std::path::PathBuf| {
        let output = duct::cmd!("find", path, "-type", "f", "-printf", "%s\\n")
            .read()
            .unwrap();
        output
            .lines()
            .map(|size| size.parse::<u64>().unwrap())
            .sum::<u64>()
    };
    assert_eq!(git("shallow"), weigh(copy.dir.join(".git")));
    let text = env.run(&format!("run base -w {dir} --dry-run")).stdout;
    assert!(text.contains("the repository: full "), "{text}");
    assert!(
        text.contains("  left out by .gitignore: 1, 4.9 KiB\n"),
        "{text}"
    );
}
