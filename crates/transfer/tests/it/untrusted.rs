//! A scan of a directory that is not trusted reads everything, refuses odd entries, and applies
//! its limits to what is new.

use std::path::Path;

use insta::assert_snapshot;
use lazaret_protocol::StreamLimits;
use lazaret_tests::tree_text;
use lazaret_transfer::{
    FileSelector, GitMode, SelectionSpec, UntrustedTree, WalkError, WorkspaceDir, walk_untrusted,
};
use lazaret_tree::{Tree, escape};

fn selector(exclude: &[&str]) -> FileSelector {
    let exclude = exclude.iter().map(|line| (*line).to_owned()).collect();
    let git = GitMode::None;
    SelectionSpec { git, exclude }
        .compile_exclude_only()
        .unwrap()
}

fn scanned(dir: &Path, known: &Tree, limits: StreamLimits) -> Result<UntrustedTree, WalkError> {
    let root = WorkspaceDir::open_ambient(dir).unwrap();
    walk_untrusted(&root, &selector(&[]), known, limits)
}

/// Paths, then refusals, notes, and what is left out.
fn shown(text: &str, exclude: &[&str]) -> String {
    let dir = tree_text::temp(text);
    let root = WorkspaceDir::open_ambient(dir.path()).unwrap();
    let limits = StreamLimits::DEFAULT;
    let untrusted = walk_untrusted(&root, &selector(exclude), &Tree::new(), limits).unwrap();
    let mut lines: Vec<String> = untrusted
        .tree
        .iter()
        .map(|(path, _)| path.to_string())
        .collect();
    for refusal in &untrusted.refusals {
        lines.push(format!("Q {} {}", refusal.code, escape(&refusal.name)));
    }
    for note in &untrusted.notes {
        lines.push(format!("S {} {}", note.code, escape(&note.name)));
    }
    for skip in &untrusted.left_out {
        lines.push(format!("- {} {}", skip.reason.code(), escape(&skip.name)));
    }
    lines.join("\n")
}

#[test]
fn what_lies_inside_chooses_nothing() {
    assert_snapshot!(shown(
        "
        f .gitignore \"*\"
        f .lazaretignore \"[\"
        f .env \"KEY=1\"
        f node_modules/.bin/git \"\"
        f package.json \"\"
        f cache/CACHEDIR.TAG \"Signature: 8a477f597d28d172789f06886806bc55\"
        f cache/evil \"\"
        f big/data \"\"
        ",
        &["/big"],
    ), @"
    .env
    .gitignore
    .lazaretignore
    cache
    cache/CACHEDIR.TAG
    cache/evil
    node_modules
    node_modules/.bin
    node_modules/.bin/git
    package.json
    - skip.profile big
    ");
}

#[test]
fn oddities_are_refusals() {
    assert_snapshot!(shown(
        "
        p pipe
        s socket
        f \"bad\\xff\" \"\"
        d \"ctrl\\e[31m\"
        f \"ctrl\\e[31m/inside\" \"\"
        l \"to-ctrl\" -> \"a\\nb\"
        l absolute -> /etc/passwd
        f setuid \"\"
        m 4755 setuid
        ",
        &[],
    ), @r"
    absolute
    setuid
    Q name.encoding bad\xff
    Q name.control ctrl\u{1b}[31m
    Q type.fifo pipe
    Q type.socket socket
    Q link.control to-ctrl
    S mode.special setuid
    ");
}

#[test]
fn of_git_what_matters() {
    assert_snapshot!(shown(
        "
        f .git/config \"\"
        f .git/HEAD \"\"
        f .git/index \"\"
        f .git/hooks/pre-commit \"\"
        f .git/objects/ab/cd \"\"
        f .git/objects/info/alternates \"\"
        f .git/refs/heads/main \"\"
        f sub/.git/config \"\"
        f sub/.git/objects/ab/cd \"\"
        ",
        &[".git", "objects"],
    ), @"
    .git
    .git/config
    .git/hooks
    .git/hooks/pre-commit
    .git/objects
    .git/objects/info
    .git/objects/info/alternates
    sub
    sub/.git
    sub/.git/config
    - skip.profile sub/.git/objects
    ");
}

#[test]
fn tar_48_49_limits_hold_for_what_is_new() {
    let dir = tree_text::temp("f a *1000\nf d/b *10\nl l -> a");
    let limits = StreamLimits {
        entries: 4,
        total_bytes: 1010,
        file_bytes: 1000,
        ..StreamLimits::DEFAULT
    };
    let code = |limits, known: &Tree| match scanned(dir.path(), known, limits) {
        Ok(_) => "ok",
        Err(WalkError::Limit(limit)) => limit.code().id,
        Err(error) => panic!("{error}"),
    };
    let none = Tree::new();
    assert_eq!(code(limits, &none), "ok");
    let known = scanned(dir.path(), &none, limits).unwrap().tree;
    for (limits, wanted) in [
        (
            StreamLimits {
                entries: 3,
                ..limits
            },
            "limit.entries",
        ),
        (
            StreamLimits {
                total_bytes: 1009,
                ..limits
            },
            "limit.total_bytes",
        ),
        (
            StreamLimits {
                file_bytes: 999,
                ..limits
            },
            "limit.file_bytes",
        ),
        (
            StreamLimits {
                name_bytes: 5,
                ..limits
            },
            "limit.names",
        ),
    ] {
        assert_eq!(code(limits, &none), wanted);
        assert_eq!(code(limits, &known), "ok");
    }
    // A directory with too many names is given up while it is listed.
    let few = StreamLimits {
        entries: 1,
        ..limits
    };
    assert_eq!(code(few, &none), "limit.entries");
}

#[test]
fn a_tree_is_filtered_as_a_directory_is_walked() {
    let text = "
        f .git/config \"\"
        f .git/HEAD \"\"
        f .git/objects/ab/cd \"\"
        f big/data/x \"\"
        f big.txt \"\"
        f keep \"\"
        f sub/.git/config \"\"
        f sub/out.log \"\"
    ";
    let dir = tree_text::temp(text);
    let root = WorkspaceDir::open_ambient(dir.path()).unwrap();
    let limits = StreamLimits::DEFAULT;
    let all = Tree::new();
    let selector = selector(&["big/", "*.log", ".git"]);
    let walked = walk_untrusted(&root, &selector, &all, limits).unwrap();
    let whole = SelectionSpec {
        git: GitMode::None,
        exclude: Vec::new(),
    };
    let whole = whole.compile_exclude_only().unwrap();
    let (kept, skipped) =
        selector.filter(walk_untrusted(&root, &whole, &all, limits).unwrap().tree);
    assert_eq!(kept, walked.tree);
    assert_eq!(skipped, walked.left_out);
    assert_eq!(skipped.len(), 2);
}
