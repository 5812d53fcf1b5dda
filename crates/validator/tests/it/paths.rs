//! Names.

use insta::assert_snapshot;
use lazaret_tree::{Adjustment, RejectedEntry, Tree, diff, finding_code};
use lazaret_validator::{Destination, JudgeInput, Policy, judge};

use crate::{Memory, check, check_by, codes_of_new, render};

fn folding() -> Policy {
    Policy {
        destination: Destination::Folds,
        ..Policy::shipped()
    }
}

#[test]
fn clean_batch() {
    assert_snapshot!(check("f a \"1\"\nf b \"1\"\nf old/c \"1\"", "f a \"2\"\nf b \"1\"\nf new/d \"1\""), @"
    = clean
    ~ a
    + new
    + new/d
    - old
    - old/c
    ");
}

#[test]
fn tar_43_invisible_names() {
    for c in [
        '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
        '\u{2068}', '\u{2069}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}',
        '\u{2060}', '\u{feff}',
    ] {
        assert_eq!(
            codes_of_new(&format!("a{c}b")),
            "block name.invisible",
            "{c:?}"
        );
    }
    assert_eq!(
        codes_of_new("warning \u{26a0}\u{fe0f}"),
        "warn name.invisible"
    );
}

#[test]
fn tar_44_case_collision() {
    assert_snapshot!(check("f A a", "f A a\nf a b"), @"
    warn name.collision a: where names fold, this is the same file as `A`
    = needs review
    + a
    ");
    assert_snapshot!(check_by(&folding(), "f Dir/x \"1\"", "f Dir/x \"1\"\nf dir/y \"2\""), @"
    block name.collision dir: where names fold, this is the same file as `Dir`
    = needs review
    withheld dir: name.collision
    withheld dir/y: below dir
    ");
}

#[test]
fn tar_45_normalisation_collision() {
    assert_snapshot!(check_by(&folding(), "", "f \u{e9} \"1\"\nf e\u{301} \"2\""), @"
    block name.collision é: where names fold, this is the same file as `é`
    block name.collision é: where names fold, this is the same file as `é`
    = needs review
    withheld é: name.collision
    withheld é: name.collision
    ");
}

#[test]
fn tar_44_renaming_case_is_no_collision() {
    assert_snapshot!(check_by(&folding(), "f readme \"1\"", "f README \"1\""), @"
    = clean
    + README
    - readme
    ");
}

#[test]
fn tar_47_portability() {
    for name in ["a\\..\\b", "C:x", "f:stream"] {
        assert_eq!(codes_of_new(name), "block name.portability", "{name}");
    }
    for name in ["aux", "CON.txt", "nul.tar.gz", "Lpt1", "dot.", "blank "] {
        assert_eq!(codes_of_new(name), "warn name.reserved", "{name}");
    }
    for name in ["auxiliary", "console", "a b", "com10"] {
        assert_eq!(codes_of_new(name), "", "{name}");
    }
}

#[test]
fn tar_52_unchanged_entries_have_no_findings() {
    let odd = "
        l abs -> /etc/passwd
        l up -> ../../x
        l loop -> loop
        f Makefile \"all:\"
        f \"C:x\" \"1\"
        f A \"1\"
        f a \"2\"
        f sub/.git/config \"c\"
        x tool \"t\"
        f zero\u{200b}width \"z\"
    ";
    assert_snapshot!(check(odd, &format!("{odd}\nf new \"n\"")), @"
    = clean
    + new
    ");
}

#[test]
fn tar_52_new_file_in_an_odd_directory_that_was_there() {
    let before = "f \"a:b/c\" \"1\"\nf \"C:/x\" \"1\"";
    assert_snapshot!(check(before, &format!("{before}\nf \"a:b/new\" \"2\"")), @"
    = clean
    + a:b/new
    ");
}

#[test]
fn tar_52_a_name_that_was_there_may_be_edited() {
    let before = "f \"a:b\" \"1\"\nf aux \"1\"\nf \"z\u{200b}w\" \"1\"\nf git~1 \"1\"";
    assert_snapshot!(check(before, &before.replace("\"1\"", "\"2\"")), @r"
    block git.alias git~1: some file system takes this name for `.git`
    = needs review
    ~ a:b
    ~ aux
    ~ z\u{200b}w
    withheld git~1: git.alias
    ");
}

#[test]
fn protected_paths() {
    let policy = Policy {
        protect: vec!["AGENTS.md".parse().unwrap(), ".factory".parse().unwrap()],
        ..Policy::shipped()
    };
    let before = "f docs/x \"1\"\nf .factory/a \"1\"\nf .factory/b \"1\"\nf .factoryx \"1\"";
    assert_snapshot!(check_by(&policy, before, "f .factory/a \"2\"\nf .factory/c \"1\""), @"
    block path.protected .factory/a: `.factory` is protected by the profile
    block path.protected .factory/b: `.factory` is protected by the profile
    block path.protected .factory/c: `.factory` is protected by the profile
    = needs review
    - .factoryx
    - docs
    - docs/x
    withheld .factory/a: path.protected
    withheld .factory/b: path.protected
    withheld .factory/c: path.protected
    ");
    let policy = Policy {
        protect: vec!["d/keep".parse().unwrap()],
        ..Policy::shipped()
    };
    assert_snapshot!(check_by(&policy, "f d/keep \"1\"\nf d/e/f \"1\"", ""), @"
    block path.protected d/keep: `d/keep` is protected by the profile
    = needs review
    - d/e
    - d/e/f
    withheld d: keeps d/keep
    withheld d/keep: path.protected
    ");
}

#[test]
fn refusals_and_notes() {
    let refusals = [
        RejectedEntry {
            name: b"pipe".to_vec(),
            code: finding_code::TYPE_FIFO,
            reason: "a FIFO".to_owned(),
        },
        RejectedEntry {
            name: b"bad\xff\x1b[2J".to_vec(),
            code: finding_code::NAME_ENCODING,
            reason: "not UTF-8\x1b".to_owned(),
        },
    ];
    let note = |name: &[u8]| Adjustment {
        name: name.to_vec(),
        code: finding_code::MODE_SPECIAL,
        reason: "the setuid bit was dropped".to_owned(),
    };
    let mut contents = Memory::default();
    let baseline = crate::tree("f old \"1\"", &mut contents);
    let collected: Tree = crate::tree("f old \"1\"\nf new \"1\"", &mut contents);
    let verdict = judge(
        JudgeInput {
            baseline: &baseline,
            changes: diff(&baseline, &collected),
            refusals: &refusals,
            notes: &[note(b"new"), note(b"old")],
            contents: &contents,
        },
        &Policy::shipped(),
    );
    assert_snapshot!(render(&verdict), @r"
    block type.fifo pipe: a FIFO
    block name.encoding bad\xff\u{1b}[2J: not UTF-8\u{1b}
    note mode.special new: the setuid bit was dropped
    = needs review
    + new
    ");
}
