//! Two versions of a file, line by line: hunks, and files that have some of them.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use lazaret_gate::file_diff::{FileDiff, LineCounts};
use lazaret_tests::Random;

fn shown(old: &str, new: &str) -> String {
    let mut text = String::new();
    for hunk in FileDiff::new(old, new).hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for line in hunk.lines {
            let bytes = String::from_utf8_lossy(line.bytes);
            let end = match line.has_newline {
                true => "",
                false => " (no newline)",
            };
            let sign = line.kind.as_char();
            text.push_str(&format!("{sign}{}{end}\n", bytes.escape_debug()));
        }
    }
    text
}

fn choose(old: &str, new: &str, chosen: &BTreeSet<usize>) -> String {
    let text = FileDiff::new(old, new).with_hunks(chosen);
    String::from_utf8(text).unwrap()
}

fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

#[test]
fn a_change_in_two_places_is_two_hunks() {
    let old = lines(0..20);
    let new = old
        .replace("\n3\n", "\nthree\n")
        .replace("\n16\n", "\n16\nmore\n");
    assert_snapshot!(shown(&old, &new), @r"
    @@ -1,7 +1,7 @@
     0
     1
     2
    -3
    +three
     4
     5
     6
    @@ -15,6 +15,7 @@
     14
     15
     16
    +more
     17
     18
     19
    ");
    let pick = |chosen: &[usize]| choose(&old, &new, &chosen.iter().copied().collect());
    assert_eq!(pick(&[]), old);
    assert_eq!(pick(&[0]), old.replace("\n3\n", "\nthree\n"));
    assert_eq!(pick(&[1]), old.replace("\n16\n", "\n16\nmore\n"));
    assert_eq!(pick(&[0, 1]), new);
    assert_eq!(pick(&[7]), old);
}

#[test]
fn new_emptied_and_unterminated_files() {
    assert_snapshot!(shown("", "a\nb"), @r"
    @@ -0,0 +1,2 @@
    +a
    +b (no newline)
    ");
    assert_snapshot!(shown("a\n", ""), @r"
    @@ -1 +0,0 @@
    -a
    ");
    assert_snapshot!(shown("a\r\nb\n", "a\r\nb"), @r"
    @@ -1,2 +1,2 @@
     a\r
    -b
    +b (no newline)
    ");
    assert_snapshot!(shown("a\nb\n", ""), @"
    @@ -1,2 +0,0 @@
    -a
    -b
    ");
    assert_snapshot!(shown(&lines(1..10), "1\n2\n3\n4\n5\n6\n7\n8\n9"), @"
    @@ -6,4 +6,4 @@
     6
     7
     8
    -9
    +9 (no newline)
    ");
    assert_eq!(shown("", ""), "");
    assert_eq!(shown("same", "same"), "");
}

#[test]
fn aud_06_only_a_line_feed_ends_a_line() {
    assert_snapshot!(shown("a\rb\n", "a\rc\n"), @r"
    @@ -1 +1 @@
    -a\rb
    +a\rc
    ");
    // A lone carriage return makes no hunk of its own, however many there are.
    let old: String = (0..40).map(|number| format!("{number}\r")).collect();
    let new = old.replace("3\r", "x\r").replace("33\r", "y\r");
    assert_eq!(FileDiff::new(&old, &new).hunks().len(), 1);
}

#[test]
fn counts_are_those_of_the_hunks() {
    let counts = FileDiff::new("a\nb\nc\n", "a\nx\ny\nc\n").counts();
    let (added, removed) = (2, 1);
    assert_eq!(counts, LineCounts { added, removed });
}

/// All hunks make the new text, none the old one, and one after the other, from the last
/// to the first, what all of them make.
#[test]
fn p3_hunks_add_up() {
    let mut random = Random::new(3);
    let mut text = |most: usize| -> String {
        let count = random.below(most);
        let lines = (0..count).map(|_| random.pick(&["a\n", "b\n", "c\n", "d\r\n", "e\rf\n"]));
        let mut text: String = lines.collect();
        if random.below(4) == 0 {
            text.push_str("end");
        }
        text
    };
    for _ in 0..3000 {
        let same = text(20);
        let (old, new) = (
            format!("{}{}{same}{}", text(4), text(9), text(4)),
            format!("{}{same}{}", text(9), text(4)),
        );
        let count = FileDiff::new(&old, &new).hunks().len();
        let all: BTreeSet<usize> = (0..count).collect();
        assert_eq!(choose(&old, &new, &all), new);
        assert_eq!(choose(&old, &new, &BTreeSet::new()), old);
        for index in 0..count {
            let without: BTreeSet<usize> = all.iter().copied().filter(|i| *i != index).collect();
            let only = BTreeSet::from([index]);
            let parts = [choose(&old, &new, &without), choose(&old, &new, &only)];
            let size = |text: &str| text.len() as i64;
            let sum = size(&parts[0]) + size(&parts[1]);
            assert_eq!(sum, size(&old) + size(&new), "{old:?} {new:?} {index}");
        }
    }
}
