//! Three-way merges: properties, and git as a second opinion.

use std::path::Path;

use insta::assert_snapshot;
use lazaret_tests::Random;
use lazaret_transfer::merge::{modes, texts};
use lazaret_tree::Mode::{Executable, Plain};

/// Shows a merge, with ends of lines visible; `conflict` for none.
fn merged(base: &str, host: &str, session: &str) -> String {
    match texts(base, host, session) {
        Some(text) => format!("{text:?}"),
        None => "conflict".to_owned(),
    }
}

#[test]
fn g8_edits_apart_come_together_and_edits_that_touch_do_not() {
    let base = "1\n2\n3\n4\n5\n";
    let rows = [
        ("apart", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n"),
        (
            "one line between",
            "1\ntwo\n3\n4\n5\n",
            "1\n2\n3\nfour\n5\n",
        ),
        ("adjacent", "1\ntwo\n3\n4\n5\n", "1\n2\nthree\n4\n5\n"),
        ("the same line", "1\ntwo\n3\n4\n5\n", "1\nzwei\n3\n4\n5\n"),
        ("the same edit", "1\ntwo\n3\n4\n5\n", "1\ntwo\n3\n4\n5\n"),
        (
            "the same and more",
            "1\ntwo\n3\n4\n5\n",
            "1\ntwo\n3\n4\nfive\n",
        ),
        (
            "both insert at one place",
            "1\na\n2\n3\n4\n5\n",
            "1\nb\n2\n3\n4\n5\n",
        ),
        (
            "one deletes what the other changes",
            "1\n2\n4\n5\n",
            "1\n2\ndrei\n4\n5\n",
        ),
        ("both delete", "1\n2\n4\n5\n", "1\n2\n4\n5\n"),
        ("one deletes all", "", "1\n2\n3\n4\nfive\n"),
        ("at both ends", "0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n"),
    ];
    let lines =
        rows.map(|(name, host, session)| format!("{name}: {}", merged(base, host, session)));
    assert_snapshot!(lines.join("\n"), @r#"
    apart: "one\n2\n3\n4\nfive\n"
    one line between: "1\ntwo\n3\nfour\n5\n"
    adjacent: conflict
    the same line: conflict
    the same edit: "1\ntwo\n3\n4\n5\n"
    the same and more: "1\ntwo\n3\n4\nfive\n"
    both insert at one place: conflict
    one deletes what the other changes: conflict
    both delete: "1\n2\n4\n5\n"
    one deletes all: conflict
    at both ends: "0\n1\n2\n3\n4\n5\n6\n"
    "#);
}

#[test]
fn g8_ends_of_lines_and_of_files() {
    let rows = [
        (
            "no newline at the end, kept",
            "1\n2\n3",
            "one\n2\n3",
            "1\n2\n3",
        ),
        (
            "no newline at the end, one adds it",
            "1\n2\n3",
            "one\n2\n3",
            "1\n2\n3\n",
        ),
        (
            "no newline at the end, one adds a line",
            "1\n2\n3",
            "one\n2\n3",
            "1\n2\n3\n4",
        ),
        (
            "both add the newline",
            "1\n2\n3",
            "1\n2\n3\n",
            "one\n2\n3\n",
        ),
        (
            "crlf stays",
            "1\r\n2\r\n3\r\n",
            "one\r\n2\r\n3\r\n",
            "1\r\n2\r\nthree\r\n",
        ),
        (
            "one side converts to lf",
            "1\r\n2\r\n3\r\n",
            "1\n2\n3\n",
            "1\r\n2\r\nthree\r\n",
        ),
        (
            "a lone return",
            "1\r2\n3\n4\n",
            "1\r2\n3\nfour\n",
            "one\r2\n3\n4\n",
        ),
        ("empty base, one side", "", "", "1\n"),
        ("empty base, both the same", "", "1\n", "1\n"),
        ("empty base, both", "", "1\n", "2\n"),
        ("all empty", "", "", ""),
    ];
    let lines =
        rows.map(|(name, base, host, session)| format!("{name}: {}", merged(base, host, session)));
    assert_snapshot!(lines.join("\n"), @r#"
    no newline at the end, kept: "one\n2\n3"
    no newline at the end, one adds it: "one\n2\n3\n"
    no newline at the end, one adds a line: "one\n2\n3\n4"
    both add the newline: "one\n2\n3\n"
    crlf stays: "one\r\n2\r\nthree\r\n"
    one side converts to lf: conflict
    a lone return: conflict
    empty base, one side: "1\n"
    empty base, both the same: "1\n"
    empty base, both: conflict
    all empty: ""
    "#);
}

#[test]
fn g8_the_execute_bit_merges_too() {
    for (base, host, session, merged) in [
        (Plain, Plain, Plain, Plain),
        (Plain, Plain, Executable, Executable),
        (Plain, Executable, Plain, Executable),
        (Plain, Executable, Executable, Executable),
        (Executable, Plain, Executable, Plain),
        (Executable, Executable, Plain, Plain),
        (Executable, Plain, Plain, Plain),
    ] {
        assert_eq!(modes(base, host, session), merged);
    }
}

/// A text of short lines, many of them equal: what diffs find hard.
fn text(random: &mut Random) -> Vec<String> {
    let lines = random.below(12);
    (0..lines).map(|_| line(random)).collect()
}

fn line(random: &mut Random) -> String {
    random
        .pick(&[
            "a",
            "b",
            "c",
            "",
            "}",
            "    return;",
            "long line of words",
            "\tx\r",
        ])
        .to_owned()
}

/// Changes, adds and removes some lines.
fn edited(random: &mut Random, base: &[String]) -> Vec<String> {
    let mut lines = base.to_vec();
    for _ in 0..random.below(4) {
        let at = random.below(lines.len() + 1);
        match random.below(3) {
            0 => lines.insert(at, line(random)),
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = line(random),
            _ => {}
        }
    }
    lines
}

fn join(random: &mut Random, lines: &[String]) -> String {
    let mut text = lines.join("\n");
    if !lines.is_empty() && random.below(8) > 0 {
        text.push('\n');
    }
    text
}

fn random_sides(random: &mut Random) -> [String; 3] {
    let base = text(random);
    let (host, session) = (edited(random, &base), edited(random, &base));
    [base, host, session].map(|lines| join(random, &lines))
}

#[test]
fn g8_properties_of_every_merge() {
    let mut random = Random::new(8);
    let mut clean = 0;
    for case in 0..20_000 {
        let [base, host, session] = random_sides(&mut random);
        let show = || format!("case {case}: {base:?} {host:?} {session:?}");
        let merge = |base: &str, a: &str, b: &str| texts(base, a, b);
        assert_eq!(
            merge(&base, &host, &base).as_ref(),
            Some(&host),
            "{}",
            show()
        );
        assert_eq!(
            merge(&base, &base, &session).as_ref(),
            Some(&session),
            "{}",
            show()
        );
        assert_eq!(
            merge(&base, &host, &host).as_ref(),
            Some(&host),
            "{}",
            show()
        );
        let merged = merge(&base, &host, &session);
        assert_eq!(merged, merge(&base, &session, &host), "{}", show());
        clean += u32::from(merged.is_some());
    }
    assert!(clean > 8000, "{clean}");
}

/// Every line is there once and says who wrote it, so what a merge has to hold is known:
/// all that either side wrote, nothing that either side removed, in the order of each.
#[test]
fn g8_a_merge_holds_what_both_sides_did() {
    let mut random = Random::new(88);
    let mut clean = 0;
    for case in 0..5000 {
        let base: Vec<String> = (0..random.below(15)).map(|n| format!("base {n}")).collect();
        let mut side = |name: &str| {
            let mut lines = base.clone();
            for number in 0..random.below(4) {
                let at = random.below(lines.len() + 1);
                match random.below(2) {
                    0 if at < lines.len() => drop(lines.remove(at)),
                    _ => lines.insert(at, format!("{name} {number}")),
                }
            }
            lines
        };
        let (host, session) = (side("host"), side("session"));
        let join =
            |lines: &[String]| -> String { lines.iter().map(|line| format!("{line}\n")).collect() };
        let Some(merged) = texts(&join(&base), &join(&host), &join(&session)) else {
            continue;
        };
        clean += 1;
        let merged: Vec<&str> = merged.lines().collect();
        for (one, other) in [(&host, &session), (&session, &host)] {
            let removed = |line: &&String| base.contains(line) && !other.contains(line);
            let expected: Vec<&str> = one
                .iter()
                .filter(|line| !removed(line))
                .map(String::as_str)
                .collect();
            let found: Vec<&str> = merged
                .iter()
                .copied()
                .filter(|line| one.iter().any(|mine| mine == line))
                .collect();
            assert_eq!(
                found, expected,
                "case {case}: {base:?} {host:?} {session:?}"
            );
        }
    }
    assert!(clean > 2000, "{clean}");
}

/// `git merge-file -p`: the merged text, or nothing where there are conflicts.
fn by_git(dir: &Path, sides: &[String; 3]) -> Option<String> {
    for (name, text) in ["base", "host", "session"].iter().zip(sides) {
        std::fs::write(dir.join(name), text).unwrap();
    }
    let argv = ["merge-file", "-p", "host", "base", "session"];
    let output = duct::cmd("git", argv)
        .dir(dir)
        .stdout_capture()
        .stderr_null()
        .unchecked()
        .run()
        .expect("git is installed");
    let code = output.status.code().unwrap();
    assert!(code < 128, "git merge-file ended with {code}");
    (code == 0).then(|| String::from_utf8(output.stdout).unwrap())
}

/// Where both find a merge it is the same one. Where lines are equal, a text can be compared
/// in more than one way, and one of the two may then see a conflict that the other does not.
#[test]
fn g8_git_agrees_where_both_merge() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random::new(64);
    let (mut both, mut only_git, mut only_ours) = (0, 0, Vec::new());
    for case in 0..600 {
        let sides = random_sides(&mut random);
        let [base, host, session] = &sides;
        match (texts(base, host, session), by_git(dir.path(), &sides)) {
            (Some(ours), Some(git)) => {
                both += 1;
                assert_eq!(ours, git, "case {case}: {sides:?}");
            }
            (None, Some(_)) => only_git += 1,
            (Some(ours), None) => only_ours.push(format!("{sides:?} -> {ours:?}")),
            (None, None) => {}
        }
    }
    assert!(both > 300, "{both}");
    assert!(only_git < both / 20, "{only_git} of {both}");
    assert!(only_ours.len() < both / 100, "{only_ours:#?}");
}
