//! Hunks: chosen parts of a change.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use lazaret_gate::hunks::{LineKind, choose, split};
use lazaret_tests::Random;

fn shown(old: &str, new: &str) -> String {
    let mut text = String::new();
    for hunk in split(old, new) {
        text.push_str(&format!("{}\n", hunk.header));
        for line in hunk.lines {
            let sign = match line.kind {
                LineKind::Context => ' ',
                LineKind::Removed => '-',
                LineKind::Added => '+',
            };
            let end = if line.newline { "" } else { " (no newline)" };
            text.push_str(&format!("{sign}{}{end}\n", line.text));
        }
    }
    text
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
     a
    -b
    +b (no newline)
    ");
    assert_eq!(split("", ""), []);
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
        let count = split(&old, &new).len();
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
