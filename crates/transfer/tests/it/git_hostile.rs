//! Repositories that want more in the copy than git needs: secrets, and other projects.

use std::os::unix::fs::symlink;

use lazaret_transfer::{GitMode, Hashing, WalkError, WorkspaceDir, walk};

use lazaret_tests::git_world::World;

use crate::git_kit::{copied, copied_with};
use crate::pack::selector;

const TOKEN: &str = "ghp_c4n4ry";

/// Every file of a repository in which git, or a program beside it, may write a secret.
const PLACES: &[&str] = &[
    "FETCH_HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "COMMIT_EDITMSG",
    "REBASE_HEAD",
    "BISECT_LOG",
    "description",
    "config.worktree",
    "config.lock",
    "index.lock",
    "credentials",
    ".git-credentials",
    "branches/x",
    "remotes/x",
    "hooks/pre-commit",
    "hooks/post-checkout.sample",
    "info/attributes",
    "info/grafts",
    "info/refs",
    "logs/HEAD",
    "logs/refs/heads/main",
    "logs/refs/remotes/origin/main",
    "lfs/cache/locks",
    "modules/stale/HEAD",
    "modules/stale/config",
    "objects/info/http-alternates",
    "objects/info/packs",
    "objects/pack/note",
    "objects/pack/tmp_pack_x",
    "objects/pack/pack-0123456789012345678901234567890123456789.keep",
    "objects/pack/pack-0123456789012345678901234567890123456789.promisor",
    "objects/aa/note",
    "objects/tmp_obj_x",
    "rebase-merge/author-script",
    "rebase-merge/git-rebase-todo",
    "refs/heads/broken",
    "refs/heads/main.lock",
    "refs/bisect/bad",
    "rr-cache/x/preimage",
    "sequencer/todo",
    "svn/.metadata",
    "worktrees/other/gitdir",
    "annex/creds/x",
];

/// Puts the token into every place of a repository that git keeps at `dir`.
fn plant(world: &World, dir: &str) {
    for place in PLACES {
        let path = format!("{dir}/{place}");
        let old = std::fs::read_to_string(world.path(&path)).unwrap_or_default();
        world.write(&path, &format!("{old}https://u:{TOKEN}@example.org/x\n"));
    }
    let append = |file: &str, text: &str| {
        let path = format!("{dir}/{file}");
        if let Ok(old) = std::fs::read_to_string(world.path(&path)) {
            world.write(&path, &format!("{old}{text}"));
        }
    };
    append(
        "config",
        &format!(
            "[remote \"o\"]\n\turl = https://{TOKEN}@h/x\n[http]\n\textraHeader = Bearer {TOKEN}\n\
             [credential]\n\thelper = \"!echo {TOKEN}\"\n[include]\n\tpath = /{TOKEN}\n\
             [core]\n\tfsmonitor = {TOKEN}\n"
        ),
    );
    append("packed-refs", &format!("# {TOKEN}\n"));
    append("shallow", &format!("{TOKEN}\n"));
    let id = "0".repeat(40);
    append(
        "logs/refs/stash",
        &format!("{id} {id} A <a@b> 1 +0000\tOn main: https://{TOKEN}@h/x\n"),
    );
}

fn has_token(stream: &[u8]) -> bool {
    stream
        .windows(TOKEN.len())
        .any(|window| window == TOKEN.as_bytes())
}

#[test]
fn git_25_no_secret_goes_in_with_a_repository() {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "other"]);
    world.git("main", &["submodule", "--quiet", "add", "../other", "sub"]);
    world.git("main", &["commit", "-qm", "sub"]);
    world.git("main", &["pack-refs", "--all"]);
    world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
    let workspaces = ["main", "linked", "main/sub"];
    let heads = workspaces.map(|workspace| world.git(workspace, &["rev-parse", "HEAD"]));
    for dir in [
        "main/.git",
        "main/.git/modules/sub",
        "main/.git/worktrees/linked",
    ] {
        plant(&world, dir);
    }
    for (workspace, head) in workspaces.into_iter().zip(heads) {
        for mode in [GitMode::Full, GitMode::None] {
            let copy = copied(&world, workspace, mode);
            assert!(!has_token(&copy.stream), "{workspace} {mode:?}");
        }
        let copy = copied(&world, workspace, GitMode::Full);
        assert_eq!(copy.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(copy.git(&["status", "--porcelain"]), "");
    }
    // The token is where it was put, and the search finds it.
    let copy = copied_with(&world, "main/.git/hooks", &selector(GitMode::None, &[]));
    assert!(has_token(&copy.stream));
}

/// What becomes of the `.git` of a workspace.
#[track_caller]
fn check(world: &World, workspace: &str, expected: &str) {
    let copy = copied(world, workspace, GitMode::Full);
    assert_eq!(copy.notable(), [format!(".git {expected}")], "{workspace}");
    assert!(!copy.dir.join(".git").exists(), "{workspace}");
}

#[test]
fn git_05_a_forged_pointer_brings_no_other_repository() {
    let world = World::new();
    world.git("main", &["worktree", "add", "-q", "../linked", "side"]);
    world.write("hostile/a", "a\n");
    let path = |path: &str| world.path(path).display().to_string();
    let point = |to: &str| world.write("hostile/.git", &format!("gitdir: {to}\n"));
    for (to, code) in [
        // A repository, a worktree of it, and the way around to both.
        (path("main/.git"), "skip.git_back"),
        (path("main/.git/worktrees/linked"), "skip.git_back"),
        ("../main/.git/worktrees/linked".to_owned(), "skip.git_back"),
        (path("nowhere"), "skip.git_file"),
        (path("main/a"), "skip.git_file"),
        (".".to_owned(), "skip.git_back"),
        (String::new(), "skip.git_file"),
    ] {
        point(&to);
        check(&world, "hostile", code);
    }
    world.write("hostile/.git", "nonsense");
    check(&world, "hostile", "skip.git_file");

    // A worktree's directory of its own, whose other half is said to be elsewhere.
    let fake = "hostile/fake/worktrees/w";
    point("fake/worktrees/w");
    world.write(&format!("{fake}/HEAD"), "ref: refs/heads/main\n");
    world.write(
        &format!("{fake}/gitdir"),
        &format!("{}\n", path("hostile/.git")),
    );
    for commondir in [
        path("main/.git"),
        "../../../../main/.git".to_owned(),
        "../..\nx".to_owned(),
    ] {
        world.write(&format!("{fake}/commondir"), &format!("{commondir}\n"));
        check(&world, "hostile", "skip.git_back");
    }
    // The same with links: what they lead to is not looked at.
    world.write(&format!("{fake}/commondir"), "../..\n");
    symlink(
        path("main/.git/objects"),
        world.path("hostile/fake/objects"),
    )
    .expect("new");
    symlink(path("main/.git/refs"), world.path("hostile/fake/refs")).expect("new");
    check(&world, "hostile", "skip.git_borrows");
    // A submodule's, with another's files.
    world.write("hostile/fake/sub/HEAD", "ref: refs/heads/main\n");
    world.write(
        "hostile/fake/sub/config",
        &format!("[core]\nworktree = {}\n", path("main")),
    );
    point("fake/sub");
    check(&world, "hostile", "skip.git_back");
    // And a link to a whole repository.
    std::fs::remove_file(world.path("hostile/.git")).expect("there");
    symlink(path("main/.git"), world.path("hostile/.git")).expect("new");
    check(&world, "hostile", "skip.git_link");
}

#[test]
fn git_10_borrowed_objects_are_not_fetched_from_elsewhere() {
    let world = World::new();
    world.git("", &["clone", "-q", "--shared", "main", "shared"]);
    check(&world, "shared", "skip.git_borrows");
    world.git("shared", &["repack", "-q", "-a", "-d"]);
    world.write("shared/.git/objects/info/alternates", "# none\n");
    copied(&world, "shared", GitMode::Full).work("");
    // A repository whose parts are links, as `git-new-workdir` makes them.
    world.write("linked/.git/HEAD", "ref: refs/heads/main\n");
    for part in ["objects", "refs", "packed-refs"] {
        let to = world.path("main/.git").join(part);
        symlink(to, world.path("linked/.git").join(part)).expect("new");
    }
    check(&world, "linked", "skip.git_borrows");
    world.write("common/.git/HEAD", "ref: refs/heads/main\n");
    world.write("common/.git/commondir", "../../main/.git\n");
    check(&world, "common", "skip.git_borrows");
    // One pack of another repository, by a link.
    world.git("main", &["repack", "-q", "-a", "-d"]);
    world.git("", &["init", "-q", "-b", "main", "lure"]);
    let packs = std::fs::read_dir(world.path("main/.git/objects/pack")).expect("packed");
    for pack in packs.flatten() {
        let to = world.path("lure/.git/objects/pack").join(pack.file_name());
        symlink(pack.path(), to).expect("new");
    }
    let copy = copied(&world, "lure", GitMode::Full);
    let packs = std::fs::read_dir(copy.dir.join(".git/objects/pack")).expect("there");
    assert_eq!(packs.count(), 0);
}

#[test]
fn a_submodule_that_does_not_fit_stays_a_directory() {
    let world = World::new();
    world.git("", &["clone", "-q", "main", "other"]);
    world.git("main", &["submodule", "--quiet", "add", "../other", "sub"]);
    world.git("main", &["commit", "-qm", "sub"]);
    let config = "main/.git/modules/sub/config";
    let original = std::fs::read_to_string(world.path(config)).expect("there");
    for worktree in [
        "../../../other",
        "../../..",
        "../../../../other",
        "/",
        "../../../.git",
    ] {
        world.write(config, &original.replace("../../../sub", worktree));
        let copy = copied(&world, "main", GitMode::Full);
        assert_eq!(copy.notable(), ["sub/.git skip.git_file"], "{worktree}");
        assert!(!copy.dir.join(".git/modules").exists(), "{worktree}");
        assert_eq!(copy.git(&["status", "--porcelain"]), "");
    }
    world.write(config, &original);
    world.write("main/sub/.git", "gitdir: ../../other/.git\n");
    let copy = copied(&world, "main", GitMode::Full);
    assert_eq!(copy.notable(), ["sub/.git skip.git_file"]);
}

#[test]
fn a_bare_repository_is_no_workspace() {
    let world = World::new();
    world.git("", &["clone", "-q", "--bare", "main", "bare"]);
    for workspace in ["bare", "main/.git"] {
        let dir = WorkspaceDir::open_ambient(&world.path(workspace)).expect("a directory");
        for mode in [GitMode::Full, GitMode::None] {
            let error = walk(&dir, &selector(mode, &[]), Hashing::SizesOnly).expect_err("bare");
            assert!(matches!(error, WalkError::Bare), "{error}");
        }
    }
}
