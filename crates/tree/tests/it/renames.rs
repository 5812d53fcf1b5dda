//! Which changes are two halves of a rename.

use lazaret_tree::{ChangeSet, Digest, Entry, Fate, Mode, RelPathBuf, Renames, Tree, diff};

/// Reads `PATH=TEXT` for a file, `PATH->TARGET` for a link; directories come by themselves, or
/// as `PATH/`.
fn tree(text: &str) -> Tree {
    let mut tree = Tree::new();
    let mut insert = |path: &str, entry: Entry| {
        let path: RelPathBuf = path.parse().expect("a path");
        for above in path.ancestors() {
            tree.insert(above.to_owned(), Entry::Dir);
        }
        tree.insert(path, entry);
    };
    for word in text.split_whitespace() {
        if let Some((path, target)) = word.split_once("->") {
            let target = target.parse().expect("a target");
            insert(path, Entry::Symlink { target });
        } else if let Some((path, text)) = word.split_once('=') {
            let (mode, text) = match text.strip_suffix('!') {
                Some(text) => (Mode::Executable, text),
                None => (Mode::Plain, text),
            };
            let (size, digest) = (text.len() as u64, Digest::of(text.as_bytes()));
            insert(path, Entry::File { mode, size, digest });
        } else {
            insert(word.trim_end_matches('/'), Entry::Dir);
        }
    }
    tree
}

fn changes(before: &str, after: &str) -> ChangeSet {
    diff(&tree(before), &tree(after))
}

/// The pairs, as `old>new`, sorted.
fn pairs(before: &str, after: &str) -> String {
    let changes = changes(before, after);
    let all = changes.as_slice();
    let renames = Renames::of(all);
    let mut pairs: Vec<String> = renames
        .pairs()
        .map(|pair| format!("{}>{}", all[pair.from].path, all[pair.to].path))
        .collect();
    pairs.sort();
    pairs.join(" ")
}

/// What has to stay, as `old<new`, if the paths after the bar stay and those after the second
/// one are chosen by themselves.
fn held(before: &str, after: &str, stays: &str, chosen: &str) -> String {
    let changes = changes(before, after);
    let all = changes.as_slice();
    let is_in = |list: &str, path: &str| list.split_whitespace().any(|other| other == path);
    let mut fates: Vec<Fate> = all
        .iter()
        .map(|change| match change.path.as_str() {
            path if is_in(stays, path) => Fate::Stays,
            path if is_in(chosen, path) => Fate::Chosen,
            _ => Fate::Happens,
        })
        .collect();
    let held = Renames::of(all).hold(&mut fates);
    let mut held: Vec<String> = held
        .iter()
        .map(|pair| format!("{}<{}", all[pair.from].path, all[pair.to].path))
        .collect();
    held.sort();
    held.join(" ")
}

#[test]
fn app_27_equal_contents_are_paired_one_to_one() {
    for (before, after, expected) in [
        ("a=1", "b=1", "a>b"),
        // Whether it may be executed is not compared.
        ("a=1", "b=1!", "a>b"),
        ("a=1", "b=2", ""),
        // A copy is no rename, nor is a change of the mode.
        ("a=1", "a=1 b=1", ""),
        ("a=1", "a=1!", ""),
        // The path that ends alike comes first, the longest end before others.
        ("a/x=1 b/y=1", "n/x=1 m/y=1", "a/x>n/x a>n b/y>m/y b>m"),
        (
            "a/x/i=1 a/y/i=1",
            "n/y/i=1 n/x/i=1",
            "a/x/i>n/x/i a/x>n/x a/y/i>n/y/i a/y>n/y a>n",
        ),
        ("a=1 b=1", "c=1", "a>c"),
        ("a=1", "c=1 d=1", "a>c"),
        // Empty files and directories go with what is in the same directory.
        ("p/a=1 p/i= q/i=", "n/a=1 n/i= q/i=", "p/a>n/a p/i>n/i p>n"),
        (
            "p/a=1 p/s/i= p/v/",
            "n/a=1 n/s/i= n/v/",
            "p/a>n/a p/s/i>n/s/i p/s>n/s p/v>n/v p>n",
        ),
        ("i=", "n/i=", ""),
        ("p/a=1 p/i=", "a=1 i=", "p/a>a p/i>i"),
        // Links by their targets.
        ("l->t", "m->t", "l>m"),
        ("l->t", "m->u", ""),
        // A file in place of another, moved over it; but not one that was written anew.
        ("a=1 b=2", "b=1 c=2", "a>b b>c"),
        ("a=1 b=2", "a=2 b=1", "a>b b>a"),
        ("a=1", "a=2 b=1", ""),
        ("a=1", "a->b b=1", "a>b"),
        ("a=1", "a/a=1", "a>a/a"),
        ("a=1", "a= b=1", "a>b"),
    ] {
        assert_eq!(pairs(before, after), expected, "{before} → {after}");
    }
}

#[test]
fn app_27_a_deletion_stays_if_its_contents_arrive_nowhere() {
    for (before, after, stays, chosen, expected) in [
        ("a=1", "b=1", "", "", ""),
        ("a=1", "b=1", "b", "", "a<b"),
        ("a=1", "b=1", "b", "a", ""),
        ("a=1", "b=1", "a", "", ""),
        // They arrive somewhere else.
        ("a=1", "b=1 c=1", "b", "", ""),
        ("a=1", "b=1 c=1", "c", "", ""),
        ("a=1", "b=1 c=1", "b c", "", "a<b"),
        // As many may go as arrive.
        ("a/x=1 a/y=1", "n/x=1 n/y=1", "n/y", "", "a/y<n/y"),
        ("a=1 b=1 c=1 d=1", "e=1", "e", "", "a<e"),
        ("a=1 b=1", "c=1 d=1", "c", "a", ""),
        ("a= b= c=", "d= e=", "d e", "", ""),
        ("p/a=1 p/i=", "n/a=1 n/i=", "n/i", "", "p/i<n/i"),
        (
            "p/a=1 p/i=",
            "n/a=1 n/i=",
            "n n/a n/i",
            "",
            "p/a<n/a p/i<n/i p<n",
        ),
        // One after the other.
        ("a=1 b=2", "b=1 c=2", "c", "", "a<b b<c"),
        ("a=1 b=2", "a=2 b=1", "b", "", "a<b"),
        ("a=1 b=2 c=3", "b=1 c=2 d=3", "c", "", "a<b b<c"),
    ] {
        let case = format!("{before} → {after}, without {stays}");
        assert_eq!(held(before, after, stays, chosen), expected, "{case}");
    }
}

/// A chain of files, each moved over the next, and many with the same contents.
#[test]
fn app_27_large_batches_take_no_square_of_time() {
    let chain = 20_000;
    let text = |first: usize| {
        let files = (0..chain).map(|n| format!("f{:05}={n} ", n + first));
        files.collect::<String>()
    };
    let last = format!("f{chain:05}");
    let held = held(&text(0), &text(1), &last, "");
    assert_eq!(held.split_whitespace().count(), chain);
    let same = |dir: &str| {
        let files = (0..chain).map(|n| format!("{dir}/{}/f{n}=x ", n % 100));
        files.collect::<String>()
    };
    let (before, after) = (same("a"), same("b"));
    let paired = pairs(&before, &after);
    assert!(paired.contains("a/7/f107>b/7/f107 "));
    assert_eq!(paired.split_whitespace().count(), chain + 101);
}
