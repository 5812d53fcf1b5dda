//! What a conflict shows: yours, what was sent in, and the session's.

use lazaret_tree::RelPathBuf;

use super::desk::Desk;

fn sides(desk: &Desk, path: &str) -> String {
    let case = desk.case();
    let change = case.change(&path.parse::<RelPathBuf>().unwrap()).unwrap();
    let lines = case.three_sides(change).unwrap();
    lines.into_iter().map(|line| line.text + "\n").collect()
}

#[test]
fn edits_that_overlap_are_shown_from_each_side() {
    let desk = Desk::new(
        r#"f a "Old title\n1\n2\n3\nend\n"
           f calm "1\n2\n3\n4\n""#,
        r#"f a "New title\n1\n2\n3\nend\n"
           f calm "1\n2\n3\n5\n""#,
        r#"f a "\e[2JMy title\n\twith two lines\n1\n2\n3\nend\n"
           f calm "0\n2\n3\n4\n""#,
    );
    insta::assert_snapshot!(sides(&desk, "a"), @r"
    yours, from line 1:
      \u{1b}[2JMy title
          with two lines
    sent in:
      Old title
    the session's:
      New title
    ");
    assert_eq!(sides(&desk, "calm"), "");
}

#[test]
fn sides_without_lines_are_described() {
    let desk = Desk::new(
        r#"f gone "1\n"
           f binary "1\n""#,
        r#"f gone "2\n"
           f binary "2\n"
           f both "theirs\n""#,
        r#"- gone
           f binary "\0"
           f both "mine\n""#,
    );
    insta::assert_snapshot!(sides(&desk, "gone"), @r"
    yours: nothing
    sent in: text
    the session's: text
    ");
    assert!(sides(&desk, "binary").starts_with("yours: binary, 1 bytes, blake3 "));
    insta::assert_snapshot!(sides(&desk, "both"), @r"
    yours, from line 1:
      mine
    sent in: nothing
    the session's:
      theirs
    ");
}

#[test]
fn long_sides_are_cut_and_say_so() {
    let text = |word: &str| -> String { (0..50).map(|n| format!("{word}{n}\\n")).collect() };
    let file = |word: &str| format!("f a \"{}\"", text(word));
    let desk = Desk::new(&file("b"), &file("t"), &file("y"));
    let shown = sides(&desk, "a");
    assert_eq!(shown.lines().count(), 3 * 22, "{shown}");
    assert_eq!(shown.matches("  … (50 lines)").count(), 3, "{shown}");
}
