//! Repositories in copies: what git says inside is what it says outside.

use lazaret_transfer::GitMode;

use lazaret_tests::git_world::World;

use crate::git_kit::{copied, copied_with};

const STATUS: &[&str] = &["status", "--porcelain"];

/// A file that is changed, one that is staged, one that is new, one that is ignored.
fn disturb(world: &World, dir: &str) {
    world.write(&format!("{dir}/a"), "three\n");
    world.write(&format!("{dir}/staged"), "s\n");
    world.git(dir, &["add", "staged"]);
    world.write(&format!("{dir}/new"), "n\n");
}

#[test]
fn a_full_copy_is_what_it_is_outside() {
    for init in [&[][..], &["--object-format=sha256"]] {
        let world = World::with(init);
        disturb(&world, "main");
        world.git("main", &["pack-refs", "--all"]);
        world.write("main/.git/info/exclude", "ignored\n");
        let copy = copied(&world, "main", GitMode::Full);
        for arguments in [
            STATUS,
            &["log", "--all", "--format=%H %D"],
            &["stash", "list"],
            &["diff"],
            &["diff", "--cached"],
            &["for-each-ref"],
        ] {
            assert_eq!(copy.git(arguments), world.git("main", arguments));
        }
        std::fs::write(copy.dir.join("ignored"), "x").expect("writable");
        assert_eq!(copy.git(STATUS), world.git("main", STATUS));
        copy.work("");
    }
}

#[test]
fn a_linked_worktree_becomes_a_repository_of_its_own() {
    let world = World::new();
    world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
    disturb(&world, "linked");
    let copy = copied(&world, "linked", GitMode::Full);
    assert!(copy.dir.join(".git").is_dir());
    for arguments in [
        STATUS,
        &["log", "--format=%H"],
        &["stash", "list"],
        &["diff", "HEAD"],
    ] {
        assert_eq!(copy.git(arguments), world.git("linked", arguments));
    }
    assert_eq!(copy.git(&["symbolic-ref", "HEAD"]), "refs/heads/side\n");
    assert_eq!(copy.notable(), [""; 0]);
    copy.work("");
    // The commands above may have refreshed the index, so its bytes are taken once more.
    let absolute = copied(&world, "linked", GitMode::Full);
    // Its pointer may be a relative one (git 2.48).
    world.write("linked/.git", "gitdir: ../main/.git/worktrees/linked\n");
    world.write(
        "main/.git/worktrees/linked/gitdir",
        "../../../../linked/.git\n",
    );
    assert_eq!(
        copied(&world, "linked", GitMode::Full).stream,
        absolute.stream
    );
    assert_eq!(
        copied(&world, "linked", GitMode::None).notable(),
        [".git skip.git_none"]
    );
}

/// `main` with the submodules `sub` (which has one of its own) and `libs/two`.
fn with_submodules() -> World {
    let world = World::new();
    for name in ["inner", "one", "two"] {
        world.git("", &["clone", "-q", "main", name]);
    }
    world.git(
        "one",
        &["submodule", "--quiet", "add", "../inner", "deep/inner"],
    );
    world.git("one", &["commit", "-qm", "inner"]);
    world.git("main", &["submodule", "--quiet", "add", "../one", "sub"]);
    world.git(
        "main",
        &[
            "submodule",
            "--quiet",
            "add",
            "--name",
            "libs/two",
            "../two",
            "libs/two",
        ],
    );
    world.git("main", &["commit", "-qm", "submodules"]);
    world.git(
        "main",
        &["submodule", "--quiet", "update", "--init", "--recursive"],
    );
    world
}

#[test]
fn submodules_work_inside() {
    let world = with_submodules();
    world.write("main/sub/new", "n\n");
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(copy.notable(), [""; 0]);
    for arguments in [
        STATUS,
        &["submodule", "status", "--recursive"],
        &["submodule", "summary"],
    ] {
        assert_eq!(copy.git(arguments), world.git("main", arguments));
    }
    for dir in ["sub", "sub/deep/inner", "libs/two"] {
        assert_eq!(
            copy.git_in(dir, STATUS),
            world.git(&format!("main/{dir}"), STATUS)
        );
        copy.work(dir);
    }
    assert!(
        copy.git(STATUS).contains("sub"),
        "a commit in a submodule shows above"
    );
    copy.work("");
}

#[test]
fn a_submodule_or_a_worktree_of_one_is_a_workspace_too() {
    let world = with_submodules();
    let copy = copied(&world, "main/sub", GitMode::Full);
    assert_eq!(copy.git(STATUS), world.git("main/sub", STATUS));
    copy.work("");
    copy.work("deep/inner");
    world.git(
        "main/sub",
        &["worktree", "add", "-q", "../../of-sub", "-b", "w"],
    );
    copied(&world, "of-sub", GitMode::Full).work("");
    // The submodules of a linked worktree lie below `worktrees/<id>`.
    world.git("main", &["worktree", "add", "-q", "../linked", "-b", "x"]);
    world.git(
        "linked",
        &["submodule", "--quiet", "update", "--init", "--recursive"],
    );
    let copy = copied(&world, "linked", GitMode::Full);
    assert_eq!(copy.git(STATUS), world.git("linked", STATUS));
    for dir in ["", "sub", "sub/deep/inner", "libs/two"] {
        copy.work(dir);
    }
}

#[test]
fn a_submodule_that_the_profile_leaves_out_takes_its_repository_along() {
    let world = with_submodules();
    let copy = copied_with(
        &world,
        "main",
        &crate::pack::selector(GitMode::Full, &["/libs"]),
    );
    assert!(!copy.dir.join(".git/modules/libs").exists());
    assert!(copy.dir.join(".git/modules/sub").exists());
}

#[test]
fn other_repositories_in_the_workspace_stay_plain_directories() {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "main/vendor"]);
    world.git("main", &["worktree", "add", "-q", "wt", "side"]);
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(
        copy.notable(),
        ["vendor/.git skip.git_nested", "wt/.git skip.git_file"]
    );
    copy.work("");
}

#[test]
fn a_filter_that_only_the_host_has_modifies_nothing_inside() {
    let world = World::new();
    world.git("main", &["config", "filter.lfs.clean", "tr x y"]);
    world.git("main", &["config", "filter.lfs.smudge", "tr y x"]);
    world.git("main", &["config", "filter.lfs.required", "true"]);
    world.write("main/.gitattributes", "*.bin filter=lfs\n");
    world.write("main/large.bin", "xxxx\n");
    // An index no newer than its files says nothing of them; git writes it again when it looks.
    for name in ["main/.gitattributes", "main/large.bin"] {
        let file = std::fs::File::open(world.path(name)).expect("it was written");
        let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
        file.set_modified(earlier).expect("its time can be set");
    }
    world.git("main", &["add", "."]);
    world.git("main", &["commit", "-qm", "large"]);
    assert_eq!(world.git("main", &["status", "--porcelain"]), "");
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(copy.git(&["show", "HEAD:large.bin"]), "yyyy\n");
    assert_eq!(copy.git(&["status", "--porcelain"]), "");
    copy.work("");
    std::fs::write(copy.dir.join("large.bin"), "zzzz\n").expect("writable");
    assert_eq!(copy.git(&["status", "--porcelain"]), " M large.bin\n");
}

#[test]
fn what_the_form_of_files_depends_on_is_carried_over() {
    let world = World::new();
    world.git("main", &["config", "core.autocrlf", "true"]);
    world.git("main", &["config", "core.filemode", "false"]);
    world.write("main/crlf", "a\r\n");
    world.git("main", &["add", "crlf"]);
    world.git("main", &["commit", "-qm", "crlf"]);
    let copy = copied(&world, "main", GitMode::Full);
    // As if nothing were known of its times.
    std::fs::write(copy.dir.join("crlf"), "a\r\n").expect("writable");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(copy.dir.join("a"), executable).expect("writable");
    assert_eq!(copy.git(&["status", "--porcelain"]), "");
}

#[test]
fn sparse_and_split_indexes_are_whole_inside() {
    let world = World::new();
    world.write("main/in/x", "x\n");
    world.write("main/out/y", "y\n");
    world.git("main", &["add", "."]);
    world.git("main", &["commit", "-qm", "directories"]);
    world.git("main", &["sparse-checkout", "set", "--sparse-index", "in"]);
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(copy.git(STATUS), world.git("main", STATUS));
    copy.git(&["reset", "-q", "--hard"]);
    assert!(!copy.dir.join("out").exists());
    copy.work("");

    let world = World::new();
    world.git("main", &["update-index", "--split-index"]);
    disturb(&world, "main");
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(copy.git(STATUS), world.git("main", STATUS));
    copy.work("");
}

#[test]
fn a_shallow_clone_stays_one_and_a_partial_one_is_named() {
    let world = World::new();
    let url = format!("file://{}", world.path("main").display());
    world.git("", &["clone", "-q", "--depth=1", &url, "shallow"]);
    let copy = copied(&world, "shallow", GitMode::Full);
    assert_eq!(copy.git(&["log", "--format=%s"]), "second\n");
    copy.work("");

    world.git("main", &["config", "uploadpack.allowFilter", "true"]);
    world.git("", &["clone", "-q", "--filter=blob:none", &url, "partial"]);
    let copy = copied(&world, "partial", GitMode::Full);
    assert_eq!(copy.notable(), [".git skip.git_partial"]);
    assert_eq!(copy.git(STATUS), world.git("partial", STATUS));
    assert_eq!(copy.git(&["log", "--format=%s"]), "second\nfirst\n");
}

#[test]
fn packs_of_maintenance_and_commit_graphs_go_in() {
    let world = World::new();
    world.git(
        "main",
        &["maintenance", "run", "--quiet", "--task=loose-objects"],
    );
    world.git(
        "main",
        &["maintenance", "run", "--quiet", "--task=loose-objects"],
    );
    world.git("main", &["multi-pack-index", "write"]);
    world.git("main", &["commit-graph", "write", "--split", "--reachable"]);
    let packs = std::fs::read_dir(world.path("main/.git/objects/pack")).expect("there");
    let mut names = packs.flatten().map(|pack| pack.file_name());
    assert!(names.any(|name| name.as_encoded_bytes().starts_with(b"loose-")));
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(
        copy.git(&["log", "--all", "--format=%H"]),
        world.git("main", &["log", "--all", "--format=%H"])
    );
    copy.git(&["multi-pack-index", "verify"]);
    copy.git(&["commit-graph", "verify"]);
    copy.work("");
}

#[test]
fn a_detached_head_and_a_branch_without_commits() {
    let world = World::new();
    world.git("main", &["checkout", "-q", "--detach", "side"]);
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(
        copy.git(&["status", "--porcelain", "--branch"]),
        "## HEAD (no branch)\n"
    );
    copy.work("");
    world.git("", &["init", "-q", "-b", "main", "fresh"]);
    world.write("fresh/a", "a\n");
    let copy = copied(&world, "fresh", GitMode::Full);
    assert_eq!(copy.git(STATUS), world.git("fresh", STATUS));
    copy.work("");
}
