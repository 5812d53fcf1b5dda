//! Names that look like others.

use insta::assert_snapshot;

use crate::{check, codes_of_new};

#[test]
fn aud_07_letters_of_several_alphabets() {
    assert_snapshot!(check("f README \"r\"\nf paypal/x \"1\"", "
        f README \"r\"
        f paypal/x \"1\"
        f \u{41c}\u{430}kefile \"m\"
        f \u{440}ackage.js\u{43e}n \"m\"
        f .v\u{455}code/tasks.json \"1\"
        f .github/workflows/\u{441}i.yml \"1\"
        f .g\u{456}t/config \"1\"
        f .\u{406}dea/workspace.xml \"1\"
        f src/p\u{430}rser.rs \"1\"
        f src/\u{3bf}pen.rs \"1\"
        f src/\u{ff2d}ain.rs \"1\"
        f p\u{430}yp\u{430}l/x \"1\"
        f \u{420}\u{415}AD\u{41c}\u{415} \"1\"
    "), @"
    block suspect.ci .github/workflows/сi.yml: continuous integration runs it with its secrets
    warn name.confusable .github/workflows/сi.yml: looks like `ci.yml`, but has U+0441 (Cyrillic)
    warn name.confusable .gіt: looks like `.git`
    warn suspect.dot_directory .gіt/config: tools look into directories whose name starts with a dot
    warn name.confusable .vѕcode: looks like `.vscode`, but has U+0455 (Cyrillic)
    warn name.confusable .vѕcode/tasks.json: looks like `.vscode/tasks.json`: tasks and settings take effect when the folder is opened
    warn name.confusable .Іdea: looks like `.ldea`, but has U+0406 (Cyrillic)
    warn name.confusable .Іdea/workspace.xml: looks like `.idea/workspace.xml`: startup tasks and file watchers
    warn name.confusable pаypаl: looks like `paypal` beside it
    warn name.confusable pаypаl: looks like `paypal`, but has U+0430 (Cyrillic)
    warn name.confusable src/pаrser.rs: looks like `parser.rs`, but has U+0430 (Cyrillic)
    warn name.confusable src/οpen.rs: looks like `open.rs`, but has U+03BF (Greek)
    warn name.confusable src/Ｍain.rs: looks like `Main.rs`, but has U+FF2D (Latin)
    warn name.confusable Маkefile: looks like `Makefile`: holds commands that `make` and its like run
    warn name.confusable РЕADМЕ: looks like `PEADME`, but has U+0420 (Cyrillic)
    warn name.confusable рackage.jsоn: looks like `package.json`, but has U+0440 (Cyrillic)
    = needs review
    + .github
    + .github/workflows
    + .gіt
    + .gіt/config
    + .vѕcode
    + .vѕcode/tasks.json
    + .Іdea
    + .Іdea/workspace.xml
    + pаypаl
    + pаypаl/x
    + src
    + src/pаrser.rs
    + src/οpen.rs
    + src/Ｍain.rs
    + Маkefile
    + РЕADМЕ
    + рackage.jsоn
    withheld .github/workflows/сi.yml: suspect.ci
    ");
}

#[test]
fn aud_07_a_whole_name_that_looks_like_its_neighbour() {
    // Each in one alphabet only: Cyrillic, Greek, and the Latin script g and dotless i.
    assert_snapshot!(check("f d/copy \"1\"\nf d/git \"1\"\nf d/AB \"1\"\nf other/x \"1\"", "
        f d/copy \"1\"
        f d/git \"1\"
        f d/AB \"1\"
        f d/\u{441}\u{43e}\u{440}\u{443} \"2\"
        f d/\u{391}\u{392} \"2\"
        f d/\u{261}it \"2\"
        f other/\u{441}\u{43e}\u{440}\u{443} \"2\"
        f other/x \"1\"
    "), @"
    warn name.confusable d/ɡit: looks like `git` beside it
    warn name.confusable d/ΑΒ: looks like `AB` beside it
    warn name.confusable d/сору: looks like `copy` beside it
    = needs review
    + d/ɡit
    + d/ΑΒ
    + d/сору
    + other/сору
    ");
}

#[test]
fn aud_07_ordinary_names_are_no_noise() {
    for name in [
        "\u{43e}\u{442}\u{447}\u{435}\u{442}_2024.docx",
        "\u{441}\u{435}\u{440}\u{432}\u{438}\u{441}.rs",
        "\u{441}\u{43e}\u{440}\u{443}",
        "\u{391}\u{3b8}\u{3ae}\u{3bd}\u{3b1}.md",
        "\u{394}t.py",
        "\u{3bc}m.csv",
        "\u{65e5}\u{672c}\u{8a9e}README.md",
        "\u{30ce}\u{30fc}\u{30c8}.txt",
        "\u{d55c}\u{ad6d}\u{c5b4}.txt",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd}.txt",
        "\u{645}\u{644}\u{641}.pdf",
        "sm\u{f8}rrebr\u{f8}d.md",
        "na\u{ef}ve caf\u{e9}.txt",
        "e\u{301}te\u{301}.txt",
        "s\u{131}n\u{131}r.txt",
        "stra\u{df}e.txt",
        "\u{1f600}.png",
        "\u{ff32}\u{ff25}\u{ff21}\u{ff24}.txt",
        "a\u{2013}b.txt",
    ] {
        assert_eq!(codes_of_new(name), "", "{name}");
    }
}

#[test]
fn aud_07_a_name_that_was_there_is_no_finding() {
    let before = "f \u{41c}\u{430}kefile \"1\"\nf Makefile.am \"1\"";
    let after = "f \u{41c}\u{430}kefile \"2\"\nf Makefile.am \"1\"";
    assert_eq!(check(before, after), "= clean\n~ \u{41c}\u{430}kefile\n");
    assert_eq!(
        check(before, "f Makefile.am \"1\""),
        "= clean\n- \u{41c}\u{430}kefile\n"
    );
}
