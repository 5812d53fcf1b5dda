//! The files that git reads from the work tree.

use insta::assert_snapshot;

use crate::check;

#[test]
fn git_11_attributes_that_choose_a_program() {
    assert_snapshot!(check("f sub/.gitattributes \"*.old filter=old\\n* text=auto\\n\"", r##"
        f .gitattributes "*.c filter=evil\n*.d diff=evil merge=evil\n*.e working-tree-encoding=UTF-16\n*.f export-subst\n[attr]m filter=evil\n"
        f sub/.gitattributes "* text=auto\n*.old filter=old\n*.new\tfilter=new\r\n"
        f GITATT~1 "* filter=evil\n"
        f fine/.gitattributes "# x filter=evil\n\n*.png binary -text -diff\n*.x filter\n*.y !merge eol=lf filter=\nfilter=x text\n"
    "##), @"
    warn suspect.git_attributes .gitattributes: chooses filters, or where large files come from
    warn git.attributes .gitattributes:1: `filter=evil` runs a program on checkout and on commit
    warn git.attributes .gitattributes:2: `diff=evil` runs a program to show differences
    warn git.attributes .gitattributes:2: `merge=evil` runs a program to merge
    warn git.attributes .gitattributes:3: `working-tree-encoding=UTF-16` writes other bytes than those that were committed
    warn git.attributes .gitattributes:4: `export-subst` fills in text when the tree is exported, so that an archive differs from it
    warn git.attributes .gitattributes:5: `filter=evil` runs a program on checkout and on commit
    warn suspect.git_attributes GITATT~1: chooses filters, or where large files come from
    warn git.attributes GITATT~1:1: `filter=evil` runs a program on checkout and on commit
    warn suspect.git_attributes fine/.gitattributes: chooses filters, or where large files come from
    warn suspect.git_attributes sub/.gitattributes: chooses filters, or where large files come from
    warn git.attributes sub/.gitattributes:3: `filter=new` runs a program on checkout and on commit
    = needs review
    + .gitattributes
    + GITATT~1
    + fine
    + fine/.gitattributes
    ~ sub/.gitattributes
    ");
}

#[test]
fn git_12_what_is_wrong_with_a_submodule() {
    assert_snapshot!(check(r#"f .gitmodules "[submodule \"old\"]\n\tpath = old\n\turl = -u\n""#, r##"
        f .gitmodules "[submodule \"old\"]\n\tpath = old\n\turl = -u\n[submodule \"../../x\"]\n\tpath = ok\n\turl = ex\\\nt::sh -c evil\n\tupdate = !evil\n\tpath = \"a\r\"\n"
        f GI7EBA~1 "\xef\xbb\xbf[submodule \"-x\"] url = --upload-pack=evil\n"
    "##), @r"
    block suspect.git_hooks .gitmodules: hooks and submodules run at commit, checkout or update
    block git.submodule .gitmodules:4: the name leads out of `.git/modules`: `../../x`
    block git.submodule .gitmodules:6: the address runs a helper program: `ext::sh -c evil`
    block git.submodule .gitmodules:8: `update` runs a command: `!evil`
    block git.submodule .gitmodules:9: the path ends in a carriage return, which git drops when it writes it: `a\u{d}`
    block suspect.git_hooks GI7EBA~1: hooks and submodules run at commit, checkout or update
    block git.submodule GI7EBA~1:1: git takes the address for an option: `--upload-pack=evil`
    block git.submodule GI7EBA~1:1: git takes the name for an option: `-x`
    warn content.control .gitmodules:9: a carriage return, after which the line is overwritten
    = needs review
    withheld .gitmodules: suspect.git_hooks git.submodule
    withheld GI7EBA~1: suspect.git_hooks git.submodule
    ");
}

#[test]
fn git_14_what_an_ignore_file_hides() {
    let before = "f .gitignore \"*.log\\n\"\nf sub/.gitignore \"\"\nf src/old.rs \"1\"";
    assert_snapshot!(check(before, r#"
        f .gitignore "*.log\n/hidden/\nsrc/*.rs\n"
        f sub/.gitignore "*.x\n!b.x\n"
        f hidden/a "1"
        f hidden/deep/b "1"
        l hidden/c -> a
        f src/old.rs "2"
        f out.log "hidden before"
        f sub/a.x "1"
        f sub/b.x "1"
        f other/sub/a.x "1"
        f new/.gitignore "\n# comment\n*\n"
        f new/file "1"
    "#), @"
    warn git.ignore_hides .gitignore: hides 4 files of this batch from git: `hidden/a`, `hidden/c`, `hidden/deep/b` and 1 more
    warn git.ignore_hides new/.gitignore: hides 2 files of this batch from git: `new/.gitignore`, `new/file`
    warn git.ignore_hides sub/.gitignore: hides 1 file of this batch from git: `sub/a.x`
    note git.ignored out.log: git ignores it, so `git status` does not show it
    = needs review
    ~ .gitignore
    + hidden
    + hidden/a
    + hidden/c
    + hidden/deep
    + hidden/deep/b
    + new
    + new/.gitignore
    + new/file
    + other
    + other/sub
    + other/sub/a.x
    + out.log
    ~ src/old.rs
    ~ sub/.gitignore
    + sub/a.x
    + sub/b.x
    ");
    // Hiding what is not in the batch, and ceasing to hide, is ordinary.
    assert_snapshot!(check(before, "f .gitignore \"target/\\n\"\nf sub/.gitignore \"\"\nf src/old.rs \"2\""), @"
    = clean
    ~ .gitignore
    ~ src/old.rs
    ");
}

#[test]
fn git_14_patterns_without_number_are_not_compiled() {
    let lines: String = (0..5000).map(|n| format!("*{n}*?x\\n")).collect();
    assert_snapshot!(check("", &format!("f .gitignore \"{lines}\"\nf a \"1\"")), @"
    warn git.ignore_hides .gitignore: too long to be understood; it may hide files of this batch from git
    note git.ignored .: an ignore file can't be read, so git may ignore new files of this batch
    = needs review
    + .gitignore
    + a
    ");
}
