//! What the tests of the review share: a bench without a gate, and reviews of made-up items.

use lazaret_validator::{Finding, Severity, Subject};

use super::backend::{ReviewBackend, ReviewBackendError};
use super::branch::CommitAt;
use super::diff_view::{DiffView, FileHead};
use super::item::tests::item;
use super::item::{
    Allowance, BlockReason, Choice, Item, ItemFindings, ItemStatus, Mark, Sign, Tag,
};
use super::keys::Key;
use super::model::{Effect, Review, Title};
use super::plan::{Left, Plan, Taken};
use super::tree::Body;

/// A bench that knows two versions of each item.
#[derive(Debug, Default)]
pub(super) struct FakeBench {
    pub(super) versions: Vec<(String, String)>,
    pub(super) proposed: usize,
}

impl ReviewBackend for FakeBench {
    fn diff_view(&mut self, item: usize) -> Result<DiffView, ReviewBackendError> {
        let (old, new) = &self.versions[item];
        Ok(DiffView::compare(old, new))
    }

    fn commit_view(&mut self, at: CommitAt) -> Result<DiffView, ReviewBackendError> {
        let mut view = DiffView::compare("one\n", "one\ntwo\n");
        view.files = vec![
            FileHead {
                hunk: 0,
                sign: Sign::Modified,
                path: format!("src/{}-{}.rs", at.branch, at.commit),
                words: Vec::new(),
            },
            FileHead {
                hunk: 1,
                sign: Sign::Added,
                path: "logo.png".to_owned(),
                words: vec!["binary, 12 bytes".to_owned()],
            },
        ];
        Ok(view)
    }

    fn statuses(&mut self, items: &[Item]) -> Result<Vec<ItemStatus>, ReviewBackendError> {
        Ok(items.iter().map(|item| item.status.clone()).collect())
    }

    fn propose(&mut self, items: &[Item]) -> Result<Plan, ReviewBackendError> {
        self.proposed += 1;
        let mut plan = Plan {
            changes: items.len(),
            ..Plan::default()
        };
        for (item, (old, new)) in items.iter().zip(&self.versions) {
            let all = DiffView::compare(old, new).hunks.len();
            let path = item.path.clone();
            let note = match (&item.choice, item.allowance) {
                (Choice::Hunks(hunks), _) => format!("{} of {all} hunks", hunks.len()).into(),
                (_, Allowance::Once | Allowance::Remembered) => "allowed: ci.workflow".into(),
                _ => "".into(),
            };
            match item.mark() {
                Mark::Taken | Mark::Partly => {
                    plan.hunks += (0..all).filter(|hunk| item.takes_hunk(*hunk)).count();
                    plan.taken.push(Taken {
                        sign: item.sign,
                        path,
                        note,
                    });
                }
                Mark::Left => plan.left.push(Left {
                    path,
                    reason: BlockReason::Said("you left it out".into()),
                }),
                Mark::Stays => plan.left.push(Left {
                    path,
                    reason: BlockReason::Said("blocked".into()),
                }),
            }
        }
        Ok(plan)
    }

    fn export(&mut self, _items: &[Item]) -> Result<String, ReviewBackendError> {
        Ok("Wrote it.".to_owned())
    }
}

pub(super) fn finding(severity: Severity, code: &'static str, message: &'static str) -> Finding {
    Finding {
        severity,
        code,
        subject: Subject::Batch,
        allowed: false,
        message: message.into(),
        hint: None,
        line: None,
    }
}

fn lines(range: std::ops::RangeInclusive<usize>) -> String {
    range.map(|n| format!("line {n}\n")).collect()
}

/// One of each kind: blocked, warned about, new, deleted, merged, with several hunks.
pub(super) fn sample() -> (Review, FakeBench) {
    let mut workflow = item(Sign::Added, ".github/workflows/ci.yml");
    workflow.status = ItemStatus::Blocked;
    workflow.findings = ItemFindings::from_iter([finding(
        Severity::Block,
        "ci.workflow",
        "runs on your CI with its secrets",
    )]);
    let mut makefile = item(Sign::Modified, "Makefile");
    makefile.findings = ItemFindings::from_iter([Finding {
        line: Some(2),
        hint: Some("Read what it runs."),
        ..finding(Severity::Warn, "suspect.build", "a build file changed")
    }]);
    let old = item(Sign::Deleted, "docs/old.md");
    let mut merged = item(Sign::Modified, "src/lib.rs");
    merged.tag = Some(Tag::Merged);
    merged.facts = ["you changed it too; both changes fit".to_owned()].into();
    let mut script = item(Sign::Modified, "src/run.sh");
    script.facts = ["became executable".to_owned()].into();
    let long = lines(1..=40);
    let changed = long
        .replace("line 3\n", "line three\n")
        .replace("line 20\n", "line 20\n\tline 20½\n")
        .replace("line 40\n", "line 40");
    let versions = [
        ("", "on: push\njobs: {}\n"),
        ("all:\n\tcc a.c\n", "all:\n\tcc a.c b.c\n"),
        ("gone\nfor good\n", ""),
        (&long, &changed),
        ("#!/bin/sh\n", "#!/bin/sh\n"),
    ];
    let backend = FakeBench {
        versions: versions
            .into_iter()
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
            .collect(),
        proposed: 0,
    };
    let title = Title {
        session: "harbour-1".to_owned(),
        workspace: "/home/ada/harbour".to_owned(),
        commits: None,
    };
    let review = Review::new(title, vec![workflow, makefile, old, merged, script]);
    (review, backend)
}

/// Presses keys as the loop does, and returns what the last one asked for.
pub(super) fn press(review: &mut Review, backend: &mut FakeBench, keys: &[Key]) -> Effect {
    let mut effect = Effect::None;
    settle(review, backend);
    for key in keys {
        effect = review.press(*key);
        if effect == Effect::Propose {
            let plan = backend.propose(review.items()).unwrap();
            review.ask(plan);
        }
        settle(review, backend);
    }
    effect
}

/// Reads what is wanted, as the loop does before it draws.
pub(super) fn settle(review: &mut Review, backend: &mut FakeBench) {
    if let Some(body) = review.wanted_body() {
        let diff_view = match body {
            Body::Item(item) => backend.diff_view(item),
            Body::Commit(at) => backend.commit_view(at),
        };
        review.put_body(body, diff_view.unwrap());
    }
    while let Some(item) = review.wanted_counts() {
        review.put_counts(item, backend.diff_view(item).unwrap().counts());
    }
}

pub(super) fn typed(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}

mod choosing {
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
}

mod looping {
    //! The loop, on a terminal that is a script.

    use std::collections::VecDeque;
    use std::io;

    use super::super::model::ReviewAnswer;
    use super::super::run::{Console, Input, ReviewEnd, run};
    use super::*;
    use lazaret_gate::decision::NoAnswer;
    use ratatui::layout::{Rect, Size};

    enum Event {
        /// These bytes come in one piece.
        Types(&'static [u8]),
        /// These were typed meanwhile: they come next unless they are thrown away.
        TypedAhead(&'static [u8]),
        Resizes(u16, u16),
        Interrupts,
        Hangs,
    }

    struct Script {
        events: VecDeque<Event>,
        size: Size,
        cancelled: bool,
        suspended: usize,
        drawn: usize,
    }

    impl Console for Script {
        fn size(&self) -> Size {
            self.size
        }

        fn draw(&mut self, review: &Review, size: Size) -> io::Result<()> {
            assert_eq!(size, self.size);
            let screen = review.geometry.map(|geometry| geometry.screen);
            let known = screen.map(Rect::as_size);
            assert!(known.is_none_or(|known| known == size));
            self.drawn += 1;
            Ok(())
        }

        fn is_cancelled(&self) -> bool {
            self.cancelled
        }

        fn read(&mut self, bytes: &mut Vec<u8>) -> Input {
            match self.events.pop_front() {
                Some(Event::Types(typed) | Event::TypedAhead(typed)) => {
                    bytes.extend_from_slice(typed);
                    Input::Bytes
                }
                Some(Event::Resizes(width, height)) => {
                    self.size = Size::new(width, height);
                    Input::Nothing
                }
                Some(Event::Interrupts) => {
                    self.cancelled = true;
                    Input::Nothing
                }
                Some(Event::Hangs) | None => Input::Gone,
            }
        }

        fn has_input(&self) -> bool {
            false
        }

        fn discard_typeahead(&mut self) {
            while let Some(Event::TypedAhead(_)) = self.events.front() {
                self.events.pop_front();
            }
        }

        fn suspend(&mut self) -> io::Result<()> {
            self.suspended += 1;
            Ok(())
        }
    }

    fn play(events: impl IntoIterator<Item = Event>) -> (ReviewEnd, Review, Script) {
        let (mut review, mut backend) = sample();
        let mut script = Script {
            events: events.into_iter().collect(),
            size: Size::new(80, 24),
            cancelled: false,
            suspended: 0,
            drawn: 0,
        };
        let ended = run(&mut review, &mut backend, &mut script).unwrap();
        (ended, review, script)
    }

    #[test]
    fn a_yes_is_an_answer_to_the_question() {
        let (ended, ..) = play([Event::Types(b"A"), Event::Types(b"y")]);
        assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Apply));
        let (ended, ..) = play([Event::Types(b"D"), Event::Types(b"y")]);
        assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Discard));
        let (ended, ..) = play([Event::Types(b"q")]);
        assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Keep));
    }

    #[test]
    fn ui_06_what_was_typed_before_a_question_does_not_answer_it() {
        let unanswered = ReviewEnd::Unanswered(NoAnswer::EndOfInput);
        // Before the screen was there; in the same piece; while the question was drawn; as
        // the start of something longer.
        for events in [
            vec![Event::TypedAhead(b"Ay")],
            vec![Event::Types(b"Ay")],
            vec![Event::Types(b"Dy")],
            vec![Event::Types(b"A"), Event::TypedAhead(b"y")],
            vec![Event::Types(b"A\x1b"), Event::Types(b"[200~y")],
        ] {
            let (ended, ..) = play(events);
            assert_eq!(ended, unanswered);
        }
        let (_, review, _) = play([Event::Types(b"!allow\r")]);
        assert_eq!(review.items()[0].allowance, Allowance::None);
        let (_, review, _) = play([Event::Types(b"!"), Event::Types(b"allow\r")]);
        assert_eq!(review.items()[0].allowance, Allowance::Once);
    }

    #[test]
    fn ui_07_a_terminal_that_is_gone_never_says_yes() {
        for start in [b"".as_slice(), b"A", b"D", b"!"] {
            let (ended, ..) = play([Event::Types(start), Event::Hangs]);
            assert_eq!(
                ended,
                ReviewEnd::Unanswered(NoAnswer::EndOfInput),
                "{start:?}"
            );
        }
    }

    #[test]
    fn flt_08_a_signal_never_says_yes() {
        for start in [b"".as_slice(), b"A", b"D", b"!"] {
            let (ended, ..) = play([Event::Types(start), Event::Interrupts, Event::Types(b"y")]);
            assert_eq!(
                ended,
                ReviewEnd::Unanswered(NoAnswer::Interrupted),
                "{start:?}"
            );
        }
    }

    #[test]
    fn the_screen_follows_its_size_and_comes_back_after_a_stop() {
        let (ended, _, script) = play([
            Event::Resizes(100, 30),
            Event::Resizes(20, 4),
            Event::Resizes(40, 10),
            Event::Types(b"\x1a"),
            Event::Types(b"q"),
        ]);
        assert_eq!(ended, ReviewEnd::By(ReviewAnswer::Keep));
        assert_eq!(script.suspended, 1);
        assert!(script.drawn >= 5);
    }

    #[test]
    fn a_patch_is_written_on_the_way() {
        let (_, review, _) = play([Event::Types(b"e")]);
        assert_eq!(review.notice.as_deref(), Some("Wrote it."));
    }
}
