//! `.git` never crosses.

use insta::assert_snapshot;
use lazaret_tests::tree_text::quote;

use crate::{check, codes_of_new};

const REPO: &str = "
    f .git/HEAD \"ref\"
    f .git/config \"[core]\"
    d .git/refs/
    d .git/objects/
    f README \"r\"
";

#[test]
fn git_01_hooks() {
    assert_snapshot!(check(REPO, &format!("{REPO}
        f .git/hooks/pre-commit \"evil\"
        x .git/hooks/post-checkout \"evil\"
        f .git/hooks/update.sample \"s\"
        f new \"n\"
    ")), @"
    block git.hook .git/hooks/post-checkout: never applied: hooks run by themselves
    block git.hook .git/hooks/pre-commit: never applied: hooks run by themselves
    = needs review
    + new
    withheld .git/hooks: git
    withheld .git/hooks/post-checkout: git.hook
    withheld .git/hooks/pre-commit: git.hook
    withheld .git/hooks/update.sample: git
    ");
}

#[test]
fn ordinary_use_of_a_submodule_is_quiet_and_its_hooks_are_not() {
    let repo = format!(
        "{REPO}
        f sub/.git \"gitdir: ../.git/modules/a/sub\"
        f .git/modules/a/sub/HEAD \"ref\"
        f .git/modules/a/sub/config \"[core]\"
        f .git/modules/a/sub/index \"i\"
        f .git/modules/a/sub/modules/deep/HEAD \"ref\"
    "
    );
    assert_snapshot!(check(&repo, &format!("{repo}
        f .git/modules/a/sub/index \"j\"
        f .git/modules/a/sub/objects/12/34 \"o\"
        f .git/modules/a/sub/modules/deep/refs/heads/x \"o\"
        x .git/modules/a/sub/hooks/pre-commit \"evil\"
        f .git/modules/a/sub/modules/deep/config \"evil\"
        f .git/modules/new/HEAD \"evil\"
        f sub/.git \"gitdir: ../elsewhere\"
    ")), @"
    block git.hook .git/modules/a/sub/hooks/pre-commit: never applied: hooks run by themselves
    block git.config .git/modules/a/sub/modules/deep/config: never applied: the configuration names programs that git runs
    block git.modules .git/modules/new/HEAD: never applied: a submodule's repository has hooks and configuration
    block git.nested sub/.git: a repository in a subdirectory brings its own hooks and configuration
    = needs review
    withheld .git/modules/a/sub/hooks: git
    withheld .git/modules/a/sub/hooks/pre-commit: git.hook
    withheld .git/modules/a/sub/index: git
    withheld .git/modules/a/sub/modules/deep/config: git.config
    withheld .git/modules/a/sub/modules/deep/refs: git
    withheld .git/modules/a/sub/modules/deep/refs/heads: git
    withheld .git/modules/a/sub/modules/deep/refs/heads/x: git
    withheld .git/modules/a/sub/objects: git
    withheld .git/modules/a/sub/objects/12: git
    withheld .git/modules/a/sub/objects/12/34: git
    withheld .git/modules/new: git
    withheld .git/modules/new/HEAD: git.modules
    withheld sub/.git: git.nested
    ");
}

#[test]
fn git_05_redirect() {
    for after in [
        "f .git \"gitdir: /outside\"",
        "l .git -> /outside",
        "l .git -> elsewhere",
    ] {
        for before in [REPO, ""] {
            assert_eq!(
                check(before, &format!("{after}\nf x \"1\"")),
                "block git.redirect .git: `.git` was replaced by something that leads elsewhere\n\
                 = rejected\n"
            );
        }
    }
}

#[test]
fn git_06_nested() {
    assert_snapshot!(check("f sub/x \"1\"", "
        f sub/x \"2\"
        f sub/.git/config \"c\"
        f sub/.git/hooks/h \"h\"
        f other/.git \"gitdir: ../x\"
    "), @"
    block git.nested other/.git: a repository in a subdirectory brings its own hooks and configuration
    block git.nested sub/.git: a repository in a subdirectory brings its own hooks and configuration
    = needs review
    + other
    ~ sub/x
    withheld other/.git: git.nested
    withheld sub/.git: git.nested
    withheld sub/.git/config: below sub/.git
    withheld sub/.git/hooks: below sub/.git
    withheld sub/.git/hooks/h: below sub/.git/hooks
    ");
    assert_snapshot!(check("f s/.git/a \"1\"", "f s/.git/a \"2\""), @"
    block git.nested s/.git/a: a repository in a subdirectory brings its own hooks and configuration
    = needs review
    withheld s/.git/a: git.nested
    ");
}

#[test]
fn git_07_git_08_aliases() {
    for name in [
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git. .",
        ".git::$INDEX_ALLOCATION",
        ".git:x",
        "git~1",
        "GIT~1",
        "Git~1 .",
    ] {
        let codes = codes_of_new(&format!("{name}/config"));
        assert!(codes.contains("block git.alias"), "{name} {codes}");
    }
    let ignored = [
        '\u{200c}'..='\u{200f}',
        '\u{202a}'..='\u{202e}',
        '\u{206a}'..='\u{206f}',
    ];
    let ignored: Vec<char> = ignored.into_iter().flatten().chain(['\u{feff}']).collect();
    assert_eq!(ignored.len(), 16);
    for c in ignored {
        for name in [
            format!(".g{c}it"),
            format!("{c}.git/config"),
            format!(".GIT{c}"),
        ] {
            let codes = codes_of_new(&name);
            assert!(codes.contains("block git.alias"), "{c:?} {codes}");
        }
    }
}

#[test]
fn git_09_bare_repository() {
    assert_snapshot!(check("", "
        f tool/HEAD \"ref\"
        f tool/config \"[core]\"
        d tool/objects/
        f tool/refs/heads/x \"1\"
        f tool/readme \"r\"
    "), @"
    block git.bare tool/HEAD: git takes this directory for a repository
    block git.bare tool/config: git takes this directory for a repository
    block git.bare tool/objects: git takes this directory for a repository
    block git.bare tool/refs: git takes this directory for a repository
    = needs review
    + tool
    + tool/readme
    withheld tool/HEAD: git.bare
    withheld tool/config: git.bare
    withheld tool/objects: git.bare
    withheld tool/refs: git.bare
    withheld tool/refs/heads: below tool/refs
    withheld tool/refs/heads/x: below tool/refs/heads
    ");
    // The parts of which one says where the others are.
    assert_snapshot!(check("", "f a/HEAD \"ref\"\nf a/commondir \"../b\"\nf b/config \"c\""), @"
    block git.bare a/HEAD: git takes this directory for a repository
    block git.bare a/commondir: git takes this directory for a repository
    = needs review
    + a
    + b
    + b/config
    withheld a/HEAD: git.bare
    withheld a/commondir: git.bare
    ");
    // One that was there gets a hook, and a configuration under a name that folds to it.
    let before = "f r/HEAD \"ref\"\nf r/objects/x \"1\"\nf r/refs/x \"1\"\nd r/hooks/";
    assert_snapshot!(check(before, &format!("{before}\nx r/hooks/post-checkout \"x\"\nf r/Config \"c\"\nf r/info/attributes \"a\"")), @"
    block git.bare r/Config: git takes this directory for a repository
    block git.bare r/hooks/post-checkout: git takes this directory for a repository
    block git.bare r/info: git takes this directory for a repository
    block git.bare r/info/attributes: git takes this directory for a repository
    warn mode.executable r/hooks/post-checkout: is new and executable
    = needs review
    withheld r/Config: git.bare
    withheld r/hooks/post-checkout: git.bare
    withheld r/info: git.bare
    withheld r/info/attributes: git.bare
    ");
    let folded = "f w/head \"ref\"\nf w/Objects/x \"1\"\nf w/REFS/x \"1\"";
    assert!(check("", folded).contains("block git.bare w/head"));
    // One part missing: no repository, for git as for us.
    assert_snapshot!(check("", "f tool/HEAD \"ref\"\nd tool/objects/"), @"
    = clean
    + tool
    + tool/HEAD
    + tool/objects
    ");
}

#[test]
fn git_10_redirections_inside() {
    for (name, code) in [
        ("objects/info/alternates", "git.alternates"),
        ("objects/info/http-alternates", "git.alternates"),
        ("commondir", "git.worktree"),
        ("gitdir", "git.worktree"),
        ("worktrees/w/gitdir", "git.worktree"),
        ("worktrees/w/commondir", "git.worktree"),
        ("worktrees/w/HEAD", "git.worktree"),
        ("config.worktree", "git.config"),
        ("info/attributes", "git.info"),
        ("info/grafts", "git.info"),
        ("grafts", "git.info"),
        ("info/sparse-checkout", "git.info"),
        ("info/exclude", "git.info"),
        ("shallow", "git.shallow"),
        ("modules/m/config", "git.modules"),
        ("config.lock", "git.config"),
        ("branches/x", "git.config"),
        ("remotes/origin", "git.config"),
        ("HOOKS/pre-push", "git.hook"),
        ("con\u{200c}fig", "git.config"),
    ] {
        let after = format!("{REPO}\nf .git/{name} \"x\"\nf y \"1\"");
        let verdict = crate::verdict(REPO, &after);
        let codes: Vec<_> = verdict
            .findings
            .iter()
            .map(|finding| finding.code)
            .collect();
        assert_eq!(codes, [code], "{name}");
        let validated = verdict.validated.unwrap();
        let applied: Vec<_> = validated
            .changes()
            .iter()
            .map(|c| c.path.as_str())
            .collect();
        assert_eq!(applied, ["y"], "{name}");
    }
}

#[test]
fn ordinary_use_is_left_out_silently() {
    assert_snapshot!(check(REPO, &format!("{}
        f .git/index \"i\"
        f .git/logs/HEAD \"l\"
        f .git/objects/ab/cdef \"o\"
        f .git/COMMIT_EDITMSG \"m\"
        f new \"n\"
    ", REPO.replace("ref", "ref2"))), @"
    = clean
    + new
    withheld .git/COMMIT_EDITMSG: git
    withheld .git/HEAD: git
    withheld .git/index: git
    withheld .git/logs: git
    withheld .git/logs/HEAD: git
    withheld .git/objects/ab: git
    withheld .git/objects/ab/cdef: git
    withheld .git/ref2s: git
    withheld .git/refs: git
    ");
}

#[test]
fn repository_made_or_deleted_inside() {
    assert_snapshot!(check("f a \"1\"", &format!("f a \"1\"\n{REPO}\nx .git/hooks/x \"x\"")), @"
    block git.hook .git/hooks/x: never applied: hooks run by themselves
    note git.created .git: a repository was made in the copy; it stays there
    = needs review
    + README
    withheld .git: git
    withheld .git/HEAD: git
    withheld .git/config: git
    withheld .git/hooks: git
    withheld .git/hooks/x: git.hook
    withheld .git/objects: git
    withheld .git/refs: git
    ");
    assert_snapshot!(check(&format!("{REPO}\nf .git/hooks/x \"x\""), "f README \"r\""), @"
    warn git.deleted .git: the copy's repository was deleted; yours stays
    = needs review
    withheld .git: git
    withheld .git/HEAD: git
    withheld .git/config: git
    withheld .git/hooks: git
    withheld .git/hooks/x: git
    withheld .git/objects: git
    withheld .git/refs: git
    ");
}

#[test]
fn git_13_links_that_git_reads() {
    for name in [
        ".gitmodules",
        ".gitattributes",
        ".gitignore",
        ".mailmap",
        ".GITMODULES",
        "gitmod~1",
        "GITMOD~4",
        "gi7eba~1",
        "gi7d29~1",
        ".gitattributes::$DATA",
        ".gitignore .",
        ".mail\u{200c}map",
        "maba30~1",
        "sub/.gitignore",
    ] {
        let verdict = crate::verdict("", &format!("l {} -> x", quote(name.as_bytes())));
        let mut codes = verdict.findings.iter().map(|finding| finding.code);
        assert!(codes.any(|code| code == "git.symlink"), "{name}");
    }
}
