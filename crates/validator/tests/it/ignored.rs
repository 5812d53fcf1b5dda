//! New files that git does not show (SUS-34), and links to what was left out (SUS-35).

use insta::assert_snapshot;
use lazaret_validator::{ExcludeFile, Policy};

use crate::{check, check_by};

/// The findings alone.
fn said_by(policy: &Policy, base: &str, after: &str) -> String {
    let text = check_by(policy, base, &format!("{base}\n{after}"));
    let findings = text.lines().take_while(|line| !line.starts_with('='));
    findings.map(|line| format!("{line}\n")).collect()
}

fn said(base: &str, after: &str) -> String {
    said_by(&Policy::shipped(), base, after)
}

#[test]
fn sus_34_packages_that_git_hides() {
    assert_snapshot!(said(
        "f .gitignore \"node_modules/\\n\"\nf src/a.js \"1\"",
        "f src/node_modules/dep/index.js \"evil\"\nf src/node_modules/dep/package.json \"{}\""
    ), @"
    warn suspect.node_modules src/node_modules/dep/index.js: `src/node_modules` has no `package.json` beside it, and Node finds what is in it before any installed package
    note git.ignored src/node_modules/dep/index.js: git ignores `src/node_modules`, so `git status` shows none of its 2 new files
    ");
    // In its place, and where it was before.
    assert_snapshot!(said("f package.json \"{}\"", "f node_modules/dep/index.js \"1\""), @"warn suspect.installed_code node_modules/dep/index.js: lies where the code of dependencies is taken from");
    assert_snapshot!(said(
        "f test/node_modules/dep/a.js \"1\"",
        "f test/node_modules/dep/b.js \"1\""
    ), @"warn suspect.installed_code test/node_modules/dep/b.js: lies where the code of dependencies is taken from");
}

#[test]
fn sus_34_a_rule_of_an_earlier_batch() {
    let first = check("f a \"1\"", "f a \"1\"\nf .gitignore \"/gen/\\n\"");
    assert!(first.starts_with("= clean"), "{first}");
    assert_snapshot!(said("f .gitignore \"/gen/\\n\"", "f gen/setup.js \"evil\""), @"note git.ignored gen/setup.js: git ignores it, so `git status` does not show it");
    // In one batch it is said of the ignore file, and once.
    assert_snapshot!(said("f a \"1\"", "f .gitignore \"/gen/\\n\"\nf gen/setup.js \"evil\""), @"warn git.ignore_hides .gitignore: hides 1 file of this batch from git: `gen/setup.js`");
    // The rule goes in the same batch, of which a part may be applied.
    assert_snapshot!(check(
        "f .gitignore \"/gen/\\n\"",
        "f .gitignore \"\"\nf gen/setup.js \"evil\""
    ), @"
    note git.ignored gen/setup.js: git ignores it, so `git status` does not show it
    = clean
    ~ .gitignore
    + gen
    + gen/setup.js
    ");
}

#[test]
fn sus_34_each_ignore_file_and_each_form_of_a_rule() {
    for (base, path, is_hidden) in [
        ("f .gitignore \"*.log\\n\"", "a/b.log", true),
        ("f .gitignore \"*.log\\n!keep.log\\n\"", "keep.log", false),
        ("f .gitignore \"/a\\n\"", "b/a/x", false),
        ("f .gitignore \"a/b\\n\"", "a/b/c/x", true),
        ("f .gitignore \"a/*\\n!a/b\\n\"", "a/b/x", false),
        // Nothing brings back what lies in a directory that is ignored.
        ("f .gitignore \"a/\\n!a/x\\n\"", "a/x", true),
        ("f sub/.gitignore \"x\\n\"", "sub/deep/x", true),
        ("f sub/.gitignore \"x\\n\"", "x", false),
        (
            "f .gitignore \"x\\n\"\nf sub/.gitignore \"!x\\n\"",
            "sub/x",
            false,
        ),
        (
            "f .gitignore \"!x\\n\"\nf sub/.gitignore \"x\\n\"",
            "sub/x",
            true,
        ),
        (
            "f .gitignore \"a/\\n\"\nf a/.gitignore \"!x\\n\"",
            "a/x",
            true,
        ),
        ("f .gitignore \"\\xef\\xbb\\xbfx\\r\\n\"", "x", true),
        ("f .gitignore \"[\\nx\\n\"", "x", true),
        ("l .gitignore -> rules\nf rules \"x\\n\"", "x", false),
    ] {
        let found = said(base, &format!("f {path} \"1\""));
        assert_eq!(
            found.contains("git.ignored"),
            is_hidden,
            "{base}: {path}\n{found}"
        );
    }
    // What was there before, and directories, are not new files.
    assert_snapshot!(said("f .gitignore \"x\\n\"\nf x \"1\"", "f x \"2\"\nd y/x/"), @"");
    // A nested ignore file that took it out of the rule is deleted.
    assert_snapshot!(check(
        "f .gitignore \"x\\n\"\nf sub/.gitignore \"!x\\n\"",
        "f .gitignore \"x\\n\"\nf sub/x \"1\""
    ), @"
    warn deleted.ignore_file sub/.gitignore: was deleted: git will show, and `git add` take, what it hid
    note git.ignored sub/x: git ignores it, so `git status` does not show it
    = needs review
    - sub/.gitignore
    + sub/x
    ");
}

/// An ignore file beside those of a workspace that lies in `workspace` of a repository.
fn beside(contents: &str, workspace: &str) -> ExcludeFile {
    ExcludeFile {
        contents: contents.into(),
        workspace: workspace.to_owned(),
    }
}

#[test]
fn sus_34_rules_of_a_repository_around_the_workspace_count_from_its_top() {
    for (rules, is_hidden) in [
        ("/gen/\n", false),
        ("/web/gen/\n", true),
        ("web/gen\n", true),
        ("gen\n", true),
        // The workspace itself is ignored, so that says nothing of what is in it.
        ("*\n", false),
        ("web/\ngen\n", false),
    ] {
        let mut policy = Policy::shipped();
        policy.git.add_excludes(beside(rules, "web"));
        let found = said_by(&policy, "f x \"1\"", "f gen/a \"1\"");
        assert_eq!(found.contains("git.ignored"), is_hidden, "{rules}: {found}");
    }
}

#[test]
fn sus_34_rules_beside_those_of_the_workspace() {
    let mut policy = Policy::shipped();
    policy.git.add_excludes(beside("*.log\n!b.log\n", ""));
    policy.git.add_excludes(beside("*.txt\nb.log\n", ""));
    assert_snapshot!(said_by(&policy, "f x \"1\"", "f a.log \"1\"\nf a.txt \"1\"\nf b.log \"1\""), @"
    note git.ignored a.log: git ignores it, so `git status` does not show it
    note git.ignored a.txt: git ignores it, so `git status` does not show it
    ");
    assert_snapshot!(said_by(&policy, "f .gitignore \"!a.log\\n\"", "f a.log \"1\""), @"");
}

#[test]
fn sus_34_what_is_loaded_by_being_there_warns_and_floods_are_counted() {
    assert_snapshot!(said("f .gitignore \"*.pyc\\nout/\\n\"", "f m.pyc \"1\"\nf out/a \"1\"\nf out/b \"1\"\nx out/run \"1\""), @"
    warn git.ignored m.pyc: git ignores it, so `git status` does not show it
    note git.ignored out/a: git ignores `out`, so `git status` shows none of its 3 new files
    note mode.executable out/run: is a new script
    ");
    let many: String = (0..30).map(|n| format!("f f{n:02}.log \"1\"\n")).collect();
    let found = said("f .gitignore \"*.log\\n\"", &many);
    assert_eq!(found.lines().count(), 9, "{found}");
    assert!(
        found.ends_with("f08.log: git ignores it, and 21 more new files\n"),
        "{found}"
    );
}

#[test]
fn sus_34_rules_that_are_too_many_are_said() {
    let rules = "x\\n".repeat(5000);
    assert_snapshot!(said(&format!("f .gitignore \"{rules}\""), "f y \"1\""), @"note git.ignored .: an ignore file can't be read, so git may ignore new files of this batch");
}

#[test]
fn sus_35_links_to_what_was_left_out() {
    let policy = Policy {
        left_out: [".env", "cache/deep/x"]
            .map(|path| path.parse().unwrap())
            .into(),
        ..Policy::shipped()
    };
    let after = "l public/x -> ../.env\nl a -> b\nl b -> cache/deep/x\nl dangling -> nothing\n\
        l fine -> file\nf file \"1\"";
    assert_snapshot!(said_by(&policy, "f file \"1\"", after), @"
    warn link.left_out a: leads to `cache/deep/x`, which the workspace has and the copy had not: the link comes alive there
    warn link.left_out b: leads to `cache/deep/x`, which the workspace has and the copy had not: the link comes alive there
    warn link.left_out public/x: leads to `.env`, which the workspace has and the copy had not: the link comes alive there
    ");
    // It was there before, or the batch brings what it leads to.
    assert_snapshot!(said_by(&policy, "l x -> .env", "f file \"1\""), @"");
    assert_snapshot!(said_by(&policy, "", "l x -> cache/deep/x\nf cache/deep/x \"1\""), @"");
}
