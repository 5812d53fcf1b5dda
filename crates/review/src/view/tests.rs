//! What is drawn, cell by cell.

use lazaret_validator::Severity;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::{Palette, draw};
use crate::item::tests::item;
use crate::item::{Item, ItemFindings, ItemStatus, Sign};
use crate::keys::Key;
use crate::model::{Review, Title};
use crate::tests::{FakeBench, finding, press, sample, typed};

/// Draws through ratatui's own terminal, and asserts of every cell that it is inert.
pub(crate) fn buffer(review: &Review, palette: Palette, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(review, palette, frame.buffer_mut()))
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    for cell in buffer.content() {
        let is_inert = |c: char| !c.is_control() && !lazaret_tree::is_invisible(c);
        assert!(cell.symbol().chars().all(is_inert), "{:?}", cell.symbol());
    }
    buffer
}

pub(crate) fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut text = String::new();
    for row in buffer.content().chunks(width) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn screen(size: (u16, u16), keys: &[Key]) -> String {
    let (mut review, mut backend) = sample();
    review.resize(size.0, size.1);
    press(&mut review, &mut backend, keys);
    text(&buffer(&review, Palette::Plain, size))
}

#[test]
fn files_on_the_left_diff_on_the_right() {
    insta::assert_snapshot!(screen((80, 24), &typed("jjjjj")), @"
     lazaret review harbour-1  /home/ada/harbour
     [!]    ▾ .github/workflows/    │ src/lib.rs                                   ▐
     [!] +B   ci.yml             +2 │ you changed it too; both changes fit         ▐
     [x] ~W Makefile          +1 -1 │                                              ▐
     [x]    ▾ docs/                 │ [x] @@ -1,6 +1,6 @@  hunk 1 of 3             ▐
     [x] -    old.md             -2 │  1  1   line 1                               ▐
     [x]    ▾ src/                  │  2  2   line 2                               ▐
     [x] ~    lib.rs   merged +3 -2 │  3    - line 3                               ▐
     [x] ~    run.sh                │     3 + line three                           ▐
                                    │  4  4   line 4                               ▐
                                    │  5  5   line 5                               ▐
                                    │  6  6   line 6                               ▐
                                    │                                              ▐
                                    │ [x] @@ -18,6 +18,7 @@  hunk 2 of 3           ▐
                                    │ 18 18   line 18                              ▐
                                    │ 19 19   line 19                              ▐
                                    │ 20 20   line 20
                                    │    21 + →   line 20½
                                    │ 21 22   line 21
                                    │ 22 23   line 22
                                    │ 23 24   line 23
                                    │
    4 of 5 will be applied, 1 can't be
    space take/leave  A apply  q keep  ? help  Tab diff  n hunk  ] finding  ! allow
    ");
}

#[test]
fn a_small_screen_shows_one_pane() {
    insta::assert_snapshot!(screen((40, 10), &typed("jj")), @"
     lazaret review harbour-1  /home/…arbour
     [!]    ▾ .github/workflows/           ▐
     [!] +B   ci.yml                     +2▐
     [x] ~W Makefile                  +1 -1▐
     [x]    ▾ docs/                        ▐
     [x] -    old.md                     -2▐
     [x]    ▾ src/                         ▐
     [x] ~    lib.rs           merged +3 -2
    4 of 5 will be applied, 1 can't be
    space take/leave  A apply  q keep
    ");
    let keys = [typed("jj"), vec![Key::Tab]].concat();
    insta::assert_snapshot!(screen((40, 10), &keys), @"
     lazaret review harbour-1  /home/…arbour
    docs/
    1 of 1 below it will be applied





    4 of 5 will be applied, 1 can't be
    space take/leave hunk  A apply  q keep
    ");
    insta::assert_snapshot!(screen((20, 5), &[]), @"
    This needs 40
    columns and 10 rows.
    q: keep and leave.
    ");
}

#[test]
fn what_is_blocked_says_why_and_asks_for_the_word() {
    insta::assert_snapshot!(screen((80, 24), &typed("!al")), @"
     lazaret review harbour-1  /home/ada/harbour
     [!]    ▾ .github/workflows/    │ .github/workflows/ci.yml
     [!] +B   ci.yml             +2 │ block ci.workflow: runs on your CI with its
     [x] ~W Makefile          +1 -1 │ secrets
     [x]    ▾ docs/                 │ Stays in the copy. Press ! to allow it by
     [x] -    old.md             -2 │ name.
     [x]    ▾ src/                  │
     [┌ Allow what is blocked? ──────────────────────────────────────────────────┐
     [│ .github/workflows/ci.yml                                                 │
      │ ci.workflow: runs on your CI with its secrets                            │
      │                                                                          │
      │ [ ] remember it for these contents at this path                          │
      │ Type allow to apply it: al_                                              │
      └──────────────────────────────────────────────────────────────────────────┘
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │

    Enter: allow  Tab: remember or not  Esc: back
    ");
    insta::assert_snapshot!(screen((40, 10), &typed("!al")), @"
    ┌ Allow what is blocked? ──────────────┐
    │ .github/workflows/ci.yml             │
    │ ci.workflow: runs on your CI with    │
    │ its secrets                          │
    │ [ ] remember it fo…ents at this path │
    │ Type allow to apply it: al_          │
    └──────────────────────────────────────┘
     [x] ~    lib.rs           merged +3 -2

    Enter: allow  Tab: r…r or not  Esc: back
    ");
}

#[test]
fn the_apply_screen_says_what_is_applied_and_what_stays() {
    let keys = [typed("j jjjj"), vec![Key::Tab], typed("n A")].concat();
    insta::assert_snapshot!(screen((80, 24), &keys), @"
     lazaret review harbour-1  /home/ada/harbour
     3 will be applied, 3 hunks; 2 stay in the copy.
     Will be applied:
       - docs/old.md
       ~ src/lib.rs  2 of 3 hunks
       ~ src/run.sh

     Stays in the copy:
         .github/workflows/ci.yml  blocked
         Makefile  you left it out












    j, k: look through it
    lazaret? Apply 3 of 5 to the workspace? [y=yes, n=no]
    ");
    insta::assert_snapshot!(screen((40, 10), &keys), @"
     lazaret review harbour-1  /home/…arbour
     3 will be applied, 3 hunks; 2 stay in
     Will be applied:                     ▐
       - docs/old.md                      ▐
       ~ src/lib.rs  2 of 3 hunks         ▐
       ~ src/run.sh                       ▐

     Stays in the copy:
    j, k: look through it
    lazaret? Apply 3 of 5? [y=yes, n=no]
    ");
}

#[test]
fn the_keys_are_explained() {
    insta::assert_snapshot!(screen((80, 24), &typed("?")), @"
     lazaret review harbour-1  /home/ada/harbour

     Move                                                                         ▐
       j k ↓ ↑        down, up; in the diff: scroll                               ▐
       PgUp PgDn g G  a page; to the start, to the end                            ▐
       Tab            from the list to the diff and back                          ▐
       l h → ←        open, close a directory; into the diff, back                ▐
       n N            next, previous hunk                                         ▐
       ] [            next, previous file with findings                           ▐
       f              show all, those with warnings, those blocked                ▐
       /              show only paths with some text in them; Esc: all            ▐
                                                                                  ▐
     Choose                                                                       ▐
       space          take or leave: a file, a directory, a hunk, a branch        ▐
       a              take or leave everything on show                            ▐
       !              allow what is blocked, or take that back                    ▐

     Decide
       A              see what will be applied and landed, say yes or no
       e              write a patch and a report of what is chosen
       q Ctrl-C       leave and keep everything for later
       D              throw all of it away, after a question
    4 of 5 will be applied, 1 can't be
    space take/leave  A apply  q keep  ? help  Tab diff  n hunk  ] finding  ! allow
    ");
}

#[test]
fn throwing_away_is_asked_about() {
    let screen = screen((80, 24), &typed("D"));
    let last = screen.lines().last().unwrap();
    insta::assert_snapshot!(last, @"lazaret? Throw all changes away? [y=yes, n=no]");
}

/// A review of one file, and its screen.
fn one(item: Item, old: &str, new: &str, size: (u16, u16)) -> (Review, Buffer) {
    let mut backend = FakeBench {
        versions: vec![(old.to_owned(), new.to_owned())],
        proposed: 0,
    };
    let title = Title {
        session: "s".to_owned(),
        workspace: "/w".to_owned(),
        commits: None,
    };
    let mut review = Review::new(title, vec![item]);
    review.resize(size.0, size.1);
    press(&mut review, &mut backend, &[]);
    let buffer = buffer(&review, Palette::Coloured, size);
    (review, buffer)
}

fn named(name: &str) -> Item {
    item(Sign::Modified, &lazaret_tree::escape(name.as_bytes()))
}

#[test]
fn ui_01_clipboard_links_and_titles_are_inert() {
    let hostile =
        "\u{1b}]52;c;cm0gLXJm\u{7}\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}\u{1b}]0;t\u{7}";
    let (_, buffer) = one(named(hostile), "", hostile, (160, 24));
    let text = text(&buffer);
    assert!(text.contains(r"\u{1b}]52;c;cm0gLXJm\u{7}"), "{text}");
    assert!(text.contains(r"\u{1b}]8;;http://x"), "{text}");
}

#[test]
fn ui_02_nothing_moves_the_cursor() {
    let hostile = "good\rbad\u{8}\u{8}\u{1b}[2A\u{1b}[2Kevil\u{b}\u{c}\u{85}";
    let (_, buffer) = one(named(hostile), "", hostile, (160, 24));
    let text = text(&buffer);
    assert!(text.contains(r"\u{d}"), "{text}");
    assert!(
        text.contains(r"bad\u{8}\u{8}\u{1b}[2A\u{1b}[2Kevil\u{b}\u{c}\u{85}"),
        "{text}"
    );
}

#[test]
fn ui_03_eight_bit_controls_are_escaped() {
    let hostile = "\u{9b}31m\u{90}q\u{9c}\u{9f}z\u{9c}";
    let (_, buffer) = one(named(hostile), "", hostile, (160, 24));
    assert!(text(&buffer).contains(r"\u{9b}31m\u{90}q\u{9c}\u{9f}z\u{9c}"));
    let invalid = lazaret_tree::escape(b"a\x9b31m\x1b\xff[2J");
    let (_, buffer) = one(item(Sign::Mentioned, &invalid), "", "", (160, 24));
    assert!(text(&buffer).contains(r"a\x9b31m\u{1b}\xff[2J"));
}

#[test]
fn ui_04_text_does_not_change_its_direction() {
    let hostile = "photo_\u{202e}gpj.exe\u{2066}\u{200b}";
    let (mut review, buffer) = one(named(hostile), "", hostile, (120, 24));
    assert!(text(&buffer).contains(r"photo_\u{202e}gpj.exe\u{2066}\u{200b}"));
    // Also where a person is asked about it.
    review.items[0].status = ItemStatus::Blocked;
    review.items[0].findings = ItemFindings::from_iter([finding(Severity::Block, "c", "m")]);
    review.press(Key::Char('!'));
    let buffer = self::buffer(&review, Palette::Coloured, (120, 24));
    assert!(text(&buffer).contains(r"photo_\u{202e}gpj.exe\u{2066}\u{200b}"));
}

#[test]
fn an_escape_looks_different_from_text_that_reads_like_one() {
    let (_, buffer) = one(named("f"), "", "\u{202e}\n\\u{202e}\n", (80, 24));
    let text = text(&buffer);
    let rows: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(r"\u{202e}"))
        .map(|(row, _)| row)
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    let style_of = |row: usize| {
        let row = u16::try_from(row).unwrap();
        let mut cells = (0..80).map(|x| &buffer[(x, row)]);
        cells.find(|cell| cell.symbol() == "\\").unwrap().modifier
    };
    assert!(style_of(rows[0]).contains(Modifier::REVERSED));
    assert!(!style_of(rows[1]).contains(Modifier::REVERSED));
}

#[test]
fn ui_05_names_of_ten_kilobytes_and_ten_thousand_of_them() {
    let (_, buffer) = one(named(&"n".repeat(10 << 10)), "", "x\n", (80, 24));
    let shown = text(&buffer);
    assert!(
        shown.contains('…') && shown.contains("10240 bytes, blake3"),
        "{shown}"
    );

    let items: Vec<Item> = (0..12_000)
        .map(|n| item(Sign::Added, &format!("dir{:03}/file{n:05}.rs", n / 40)))
        .collect();
    let mut backend = FakeBench {
        versions: vec![(String::new(), "a\n".to_owned()); items.len()],
        proposed: 0,
    };
    let title = Title {
        session: "s".to_owned(),
        workspace: "/w".to_owned(),
        commits: None,
    };
    let mut review = Review::new(title, items);
    review.resize(160, 50);
    press(&mut review, &mut backend, &[Key::Char('G')]);
    let last = text(&self::buffer(&review, Palette::Plain, (160, 50)));
    assert!(last.contains("file11999.rs") && !last.contains("file00000.rs"));
    press(&mut review, &mut backend, &typed("/file07777"));
    let found = text(&self::buffer(&review, Palette::Plain, (160, 50)));
    assert!(found.contains("file07777.rs"), "{found}");
}

#[test]
fn ui_06_a_name_can_not_pass_for_the_question() {
    let hostile = "lazaret? Apply 1 of 1 to the workspace? [y=yes, n=no] y";
    let (mut review, _) = one(named(hostile), "", &format!("{hostile}\n"), (100, 24));
    let mut backend = FakeBench {
        versions: vec![(String::new(), String::new())],
        proposed: 0,
    };
    for keys in ["", "A"] {
        press(&mut review, &mut backend, &typed(keys));
        let buffer = buffer(&review, Palette::Plain, (100, 24));
        let text = text(&buffer);
        let lines: Vec<&str> = text.lines().collect();
        // The question starts the last line, and no other line starts with it.
        let starts = lines.iter().filter(|line| line.starts_with("lazaret?"));
        let asked = usize::from(keys == "A");
        assert_eq!(starts.count(), asked, "{text}");
        assert_eq!(
            lines[23].starts_with("lazaret? Apply"),
            asked == 1,
            "{text}"
        );
    }
}

#[test]
fn severity_is_never_said_by_colour_alone() {
    for palette in [Palette::Plain, Palette::Coloured] {
        let (mut review, mut backend) = sample();
        review.resize(80, 24);
        press(&mut review, &mut backend, &[]);
        let text = text(&buffer(&review, palette, (80, 24)));
        let line = |name| {
            let mut lines = text.lines().map(|line| line.split('│').next().unwrap());
            lines.find(|line| line.contains(name)).unwrap()
        };
        assert!(line("ci.yml").contains("[!] +B"), "{text}");
        assert!(line("Makefile").contains("[x] ~W"), "{text}");
    }
}

#[test]
fn without_colours_there_are_none() {
    for keys in ["jjjjj", "!", "A", "?", "D"] {
        let (mut review, mut backend) = sample();
        review.resize(120, 40);
        press(&mut review, &mut backend, &typed(keys));
        let buffer = buffer(&review, Palette::Plain, (120, 40));
        let is_plain =
            |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
        assert!(buffer.content().iter().all(is_plain), "{keys}");
    }
}

#[test]
fn every_size_can_be_drawn() {
    for (width, height) in [
        (1, 1),
        (39, 10),
        (40, 10),
        (41, 11),
        (71, 12),
        (72, 24),
        (300, 90),
    ] {
        for keys in ["", "jjjjj", "!", "A", "?", "D", "/漢字"] {
            let (mut review, mut backend) = sample();
            review.resize(width, height);
            press(&mut review, &mut backend, &typed(keys));
            drop(buffer(&review, Palette::Coloured, (width, height)));
        }
    }
}

#[test]
fn wide_characters_keep_the_columns() {
    let (_, buffer) = one(named("文档/説明.md"), "漢字a\n", "漢字b\n", (80, 12));
    insta::assert_snapshot!(text(&buffer), @"
     lazaret review s  /w
     [x]    ▾ 文 档 /                 │ 文 档 /説 明 .md
     [x] ~    説 明 .md         +1 -1 │
                                    │ [x] @@ -1 +1 @@  hunk 1 of 1
                                    │ 1   - 漢 字 a
                                    │   1 + 漢 字 b
                                    │
                                    │
                                    │
                                    │
    1 of 1 will be applied
    space take/leave  A apply  q keep  ? help  Tab diff  n hunk  ] finding  ! allow
    ");
}

#[test]
fn what_stands_far_to_the_right_is_seen_too() {
    let hidden = format!("ok();{}evil();\n", " ".repeat(1 << 20));
    let (mut review, _) = one(named("f"), "", &hidden, (80, 24));
    review.press(Key::Tab);
    review.press(Key::End);
    let text = text(&buffer(&review, Palette::Plain, (80, 24)));
    assert!(text.contains("evil();"), "{text}");
}
