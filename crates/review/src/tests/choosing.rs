//! What keys choose.

use super::super::geometry::Pane;
use super::super::model::{Mode, ReviewAnswer};
use super::*;

fn marks(review: &Review) -> String {
    review
        .items()
        .iter()
        .map(|item| format!("{} {}\n", item.mark().as_str(), item.path))
        .collect()
}

fn start(width: u16, height: u16) -> (Review, FakeBench) {
    let (mut review, backend) = sample();
    review.resize(width, height);
    (review, backend)
}

#[test]
fn space_takes_and_leaves_files_and_directories() {
    let (mut review, mut backend) = start(80, 24);
    // The workflow, which is blocked; its directory; the Makefile.
    press(&mut review, &mut backend, &typed(" k jj "));
    insta::assert_snapshot!(marks(&review), @r"
        [!] .github/workflows/ci.yml
        [ ] Makefile
        [x] docs/old.md
        [x] src/lib.rs
        [x] src/run.sh
        ");
    press(&mut review, &mut backend, &typed("jjj "));
    insta::assert_snapshot!(marks(&review), @r"
        [!] .github/workflows/ci.yml
        [ ] Makefile
        [x] docs/old.md
        [ ] src/lib.rs
        [ ] src/run.sh
        ");
    press(&mut review, &mut backend, &typed("a"));
    assert_eq!(review.counts().taken, 4);
    press(&mut review, &mut backend, &typed("a"));
    assert_eq!(review.counts().taken, 0);
}

#[test]
fn the_word_after_a_refused_allowance_is_no_keys() {
    for (width, height) in [(80, 24), (40, 20)] {
        let (mut review, mut backend) = start(width, height);
        let before = marks(&review);
        press(&mut review, &mut backend, &typed("k!allow"));
        assert_eq!(marks(&review), before);
        assert_eq!(review.focus, Pane::List);
        let said = review.notice.clone();
        assert_eq!(
            said.as_deref(),
            Some("Choose a file: ! allows one at a time.")
        );
        press(&mut review, &mut backend, &[Key::Enter]);
        assert_eq!((&review.mode, &review.notice), (&Mode::Browse, &None));
        assert_eq!(review.cursor, 0);
        // A file that is not blocked; then a key that is no part of the word.
        press(&mut review, &mut backend, &typed("jj!the"));
        assert_eq!(review.notice.as_deref(), Some("This is not blocked."));
        press(&mut review, &mut backend, &[Key::Backspace, Key::Esc]);
        press(&mut review, &mut backend, &typed("!j"));
        assert_eq!((review.cursor, marks(&review)), (3, before));
    }
}

#[test]
fn an_allowance_that_is_taken_back_swallows_the_word_too() {
    let (mut review, mut backend) = start(80, 24);
    press(&mut review, &mut backend, &typed("!allow"));
    press(&mut review, &mut backend, &[Key::Enter]);
    assert_eq!(review.items()[0].mark(), Mark::Taken);
    press(&mut review, &mut backend, &typed("!allow"));
    assert_eq!(review.items()[0].allowance, Allowance::None);
    assert_eq!(review.counts().taken, 4);
}

#[test]
fn a_key_without_a_meaning_is_said() {
    let (mut review, mut backend) = start(80, 24);
    for (keys, said) in [
        (typed("x"), "x does nothing here; ? lists the keys."),
        (
            vec![Key::Ctrl('x')],
            "Ctrl-X does nothing here; ? lists the keys.",
        ),
        (
            typed("\u{202e}"),
            "\\u{202e} does nothing here; ? lists the keys.",
        ),
        (
            vec![Key::Tab, Key::Right],
            "Right does nothing here; ? lists the keys.",
        ),
    ] {
        press(&mut review, &mut backend, &keys);
        assert_eq!(review.notice.as_deref(), Some(said));
    }
    press(&mut review, &mut backend, &[Key::Down]);
    assert_eq!(review.notice, None);
}

#[test]
fn what_the_filter_hides_is_not_chosen() {
    let (mut review, mut backend) = start(80, 24);
    press(&mut review, &mut backend, &typed("/DOCS"));
    press(&mut review, &mut backend, &[Key::Enter]);
    press(&mut review, &mut backend, &typed("a"));
    insta::assert_snapshot!(marks(&review), @r"
        [!] .github/workflows/ci.yml
        [x] Makefile
        [ ] docs/old.md
        [x] src/lib.rs
        [x] src/run.sh
        ");
    press(&mut review, &mut backend, &[Key::Esc]);
    press(&mut review, &mut backend, &typed("fa"));
    // Only what is warned about or blocked is on show now.
    assert_eq!(review.items()[1].mark(), Mark::Left);
    assert_eq!(review.items()[3].mark(), Mark::Taken);
}

#[test]
fn a_closed_directory_is_chosen_whole() {
    let (mut review, mut backend) = start(80, 24);
    press(&mut review, &mut backend, &typed("G"));
    press(
        &mut review,
        &mut backend,
        &[Key::Left, Key::Left, Key::Char(' ')],
    );
    assert_eq!(review.rows.len(), 6);
    assert_eq!(review.items()[3].mark(), Mark::Left);
    assert_eq!(review.items()[4].mark(), Mark::Left);
}

#[test]
fn hunks_are_chosen_in_the_diff() {
    let (mut review, mut backend) = start(80, 24);
    press(&mut review, &mut backend, &typed("jjjjj"));
    assert_eq!(review.selected(), Some(3));
    press(&mut review, &mut backend, &[Key::Tab]);
    assert_eq!(review.focus, Pane::Diff);
    press(&mut review, &mut backend, &typed("n "));
    assert_eq!(review.items()[3].choice, Choice::Hunks([0, 2].into()));
    press(&mut review, &mut backend, &typed("N nn "));
    assert_eq!(review.items()[3].choice, Choice::Leave);
}

#[test]
fn next_hunk_goes_on_in_the_next_file() {
    let (mut review, mut backend) = start(80, 24);
    let mut seen = Vec::new();
    for _ in 0..8 {
        press(&mut review, &mut backend, &typed("n"));
        seen.push((review.selected().unwrap(), review.hunk));
    }
    assert_eq!(
        seen,
        [
            (1, 0),
            (2, 0),
            (3, 0),
            (3, 1),
            (3, 2),
            (4, 0),
            (4, 0),
            (4, 0)
        ]
    );
    for _ in 0..8 {
        press(&mut review, &mut backend, &typed("N"));
    }
    assert_eq!(review.selected(), Some(0));
}

#[test]
fn findings_are_found_in_closed_directories_too() {
    let (mut review, mut backend) = start(80, 24);
    press(
        &mut review,
        &mut backend,
        &[Key::Left, Key::Left, Key::Char('G')],
    );
    press(&mut review, &mut backend, &typed("["));
    assert_eq!(review.selected(), Some(1));
    press(&mut review, &mut backend, &typed("["));
    assert_eq!(review.selected(), Some(0));
    press(&mut review, &mut backend, &typed("]"));
    assert_eq!(review.selected(), Some(1));
    press(&mut review, &mut backend, &typed("]"));
    assert_eq!(review.selected(), Some(1));
}

#[test]
fn a_block_is_passed_only_by_the_whole_word() {
    let (mut review, mut backend) = start(80, 24);
    press(&mut review, &mut backend, &typed(" "));
    assert_eq!(review.items()[0].mark(), Mark::Stays);
    for word in ["", "y", "yes", "allo", "Allow", "allw"] {
        let effect = press(&mut review, &mut backend, &typed("!"));
        assert_eq!(effect, Effect::Ask);
        press(&mut review, &mut backend, &typed(word));
        let effect = press(&mut review, &mut backend, &[Key::Enter]);
        assert_eq!(
            (effect, review.items()[0].mark()),
            (Effect::None, Mark::Stays)
        );
    }
    press(&mut review, &mut backend, &typed("!allow"));
    let effect = press(&mut review, &mut backend, &[Key::Enter]);
    assert_eq!(effect, Effect::Rejudge);
    assert_eq!(review.items()[0].allowance, Allowance::Once);
    assert_eq!(review.items()[0].mark(), Mark::Taken);
    let effect = press(&mut review, &mut backend, &typed("!"));
    assert_eq!(
        (effect, review.items()[0].mark()),
        (Effect::Rejudge, Mark::Stays)
    );
    press(&mut review, &mut backend, &typed("!allow"));
    press(&mut review, &mut backend, &[Key::Tab, Key::Enter]);
    assert_eq!(review.items()[0].allowance, Allowance::Remembered);
}

#[test]
fn only_y_says_yes() {
    for key in [
        Key::Enter,
        Key::Char('Y'),
        Key::Char(' '),
        Key::Esc,
        Key::Char('n'),
    ] {
        let (mut review, mut backend) = start(80, 24);
        let effect = press(&mut review, &mut backend, &[Key::Char('A'), key]);
        assert_eq!(
            (effect, &review.mode),
            (Effect::None, &Mode::Browse),
            "{key:?}"
        );
        let effect = press(&mut review, &mut backend, &[Key::Char('D'), key]);
        assert_eq!(
            (effect, &review.mode),
            (Effect::None, &Mode::Browse),
            "{key:?}"
        );
    }
    let (mut review, mut backend) = start(80, 24);
    let effect = press(&mut review, &mut backend, &typed("Ajky"));
    assert_eq!(effect, Effect::End(ReviewAnswer::Apply));
    let (mut review, mut backend) = start(80, 24);
    assert_eq!(
        press(&mut review, &mut backend, &typed("Dy")),
        Effect::End(ReviewAnswer::Discard)
    );
    // Nothing chosen, nothing to say yes to.
    let (mut review, mut backend) = start(80, 24);
    assert_eq!(
        press(&mut review, &mut backend, &typed("aaAy")),
        Effect::End(ReviewAnswer::Apply)
    );
    let (mut review, mut backend) = start(80, 24);
    assert_eq!(
        press(&mut review, &mut backend, &typed("aAy")),
        Effect::None
    );
}

#[test]
fn a_screen_that_is_too_small_takes_no_answers() {
    let (mut review, mut backend) = start(80, 24);
    press(&mut review, &mut backend, &typed("A"));
    review.resize(39, 24);
    assert_eq!(press(&mut review, &mut backend, &typed("y")), Effect::None);
    assert_eq!(
        press(&mut review, &mut backend, &typed("q")),
        Effect::End(ReviewAnswer::Keep)
    );
}

#[test]
fn ctrl_c_keeps_from_everywhere() {
    for before in ["", "?", "/x", "!al", "A", "D"] {
        let (mut review, mut backend) = start(80, 24);
        press(&mut review, &mut backend, &typed(before));
        let effect = press(&mut review, &mut backend, &[Key::Ctrl('c')]);
        assert_eq!(effect, Effect::End(ReviewAnswer::Keep), "{before:?}");
    }
}
