//! Two trees and what lies between them.

use lazaret_tree::{ChangeKind, Changed, Digest, Entry, Mode, RelPathBuf, Tree, diff};

/// Reads `PATH KIND`, one per line: `d`, `f:TEXT`, `x:TEXT`, `l:TARGET`.
fn tree(text: &str) -> Tree {
    let lines = text.split_whitespace().collect::<Vec<_>>();
    lines
        .chunks(2)
        .map(|line| {
            let file = |mode, text: &str| Entry::File {
                mode,
                size: text.len() as u64,
                digest: Digest::of(text.as_bytes()),
            };
            let entry = match line[1].split_once(':') {
                Some(("f", text)) => file(Mode::Plain, text),
                Some(("x", text)) => file(Mode::Executable, text),
                Some(("l", target)) => Entry::Symlink {
                    target: target.parse().expect("a target"),
                },
                _ => Entry::Dir,
            };
            (line[0].parse().expect("a path"), entry)
        })
        .collect()
}

#[track_caller]
fn check(before: &str, after: &str) -> String {
    let (before, after) = (tree(before), tree(after));
    let changes = diff(&before, &after);
    let back = diff(&after, &before);
    assert_eq!(changes.len(), back.len());
    assert_eq!(changes.is_empty(), before == after);
    let laid_over = Changed::new(&before, &changes);
    assert!(laid_over.entries().eq(after.entries()));
    for (path, _) in before.iter().chain(after.iter()) {
        assert_eq!(laid_over.get(path), after.get(path));
    }
    let mut rebuilt = before.clone();
    for change in &changes {
        assert_eq!(before.get(&change.path), change.before.as_ref());
        assert_eq!(changes.get(&change.path), Some(change));
        match &change.after {
            Some(entry) => rebuilt.insert(change.path.clone(), entry.clone()),
            None => rebuilt.remove(&change.path),
        };
    }
    assert_eq!(rebuilt, after, "the changes are all there is");
    let lines = changes.iter().map(|change| {
        let kind = match change.kind() {
            ChangeKind::Added => "added",
            ChangeKind::Modified => "modified",
            ChangeKind::ModeOnly => "mode",
            ChangeKind::Deleted => "deleted",
            ChangeKind::TypeChanged => "type",
        };
        format!("{kind} {}", change.path)
    });
    lines.collect::<Vec<_>>().join(", ")
}

#[test]
fn kinds() {
    assert_eq!(check("", ""), "");
    assert_eq!(check("a f:1", "a f:1"), "");
    assert_eq!(check("", "a f:1"), "added a");
    assert_eq!(check("a f:1", ""), "deleted a");
    assert_eq!(check("a f:1", "a f:2"), "modified a");
    assert_eq!(check("a f:1", "a x:2"), "modified a");
    assert_eq!(check("a l:1", "a l:2"), "modified a");
    assert_eq!(check("a d a/b f:1", "a f:1"), "type a, deleted a/b");
    assert_eq!(check("a f:1", "a l:1"), "type a");
}

#[test]
fn aud_02_a_mode_alone_is_a_change() {
    assert_eq!(check("a f:1", "a x:1"), "mode a");
}

#[test]
fn changes_come_in_path_order() {
    let after = "a d a/z f:1 a.b f:1 a-b f:1 b f:1";
    assert_eq!(
        check("", after),
        "added a, added a/z, added a-b, added a.b, added b"
    );
    assert_eq!(
        check("c f:1 a f:1", "b f:1 c f:2"),
        "deleted a, added b, modified c"
    );
}

#[test]
fn the_digest_names_both_sides() {
    let digest = |before: &str, after: &str| diff(&tree(before), &tree(after)).digest();
    let all = [
        digest("", ""),
        digest("", "a f:1"),
        digest("a f:1", ""),
        digest("", "b f:1"),
        digest("", "a x:1"),
        digest("", "a f:2"),
        digest("", "a l:1"),
        digest("", "a d"),
        digest("a f:1", "a f:2"),
        digest("a f:2", "a f:1"),
        digest("", "a f:1 b f:1"),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(!all[..index].contains(one), "case {index}");
    }
    assert_eq!(digest("x f:1", "x f:1 a f:1"), digest("", "a f:1"));
}

#[test]
fn below_lists_a_directory_and_nothing_beside_it() {
    let tree = tree("a d a/b f:1 a/b.c f:1 a-b f:1 ab f:1");
    let path: RelPathBuf = "a".parse().expect("a path");
    let below: Vec<_> = tree.below(&path).map(|(path, _)| path.as_str()).collect();
    assert_eq!(below, ["a", "a/b", "a/b.c"]);
}
