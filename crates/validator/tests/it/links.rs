//! Symbolic links.

use insta::assert_snapshot;

use crate::check;

#[test]
fn tar_06_absolute() {
    assert_snapshot!(check("", "l s -> /etc/passwd"), @"
    block link.absolute s: leads to the absolute path `/etc/passwd`
    = needs review
    withheld s: link.absolute
    ");
}

#[test]
fn tar_07_escape() {
    assert_snapshot!(check("", "l x -> ../../y\nl d/x -> ../..\nl d/ok -> ..\nl e/up -> a/../../.."), @"
    block link.escape d/x: `../..` leads out of the workspace
    block link.escape e/up: `a/../../..` leads out of the workspace
    block link.escape x: `../../y` leads out of the workspace
    = needs review
    + d
    + d/ok
    + e
    withheld d/x: link.escape
    withheld e/up: link.escape
    withheld x: link.escape
    ");
}

#[test]
fn tar_07_escape_through_other_links() {
    // Lexically inside, really not: `a -> .`, so `a/..` is above the root.
    assert_snapshot!(check("", "l a -> .\nl b -> a/.."), @"
    block link.escape b: `a/..` leads out of the workspace
    = needs review
    + a
    withheld b: link.escape
    ");
    assert_snapshot!(check("l abs -> /etc", "l abs -> /etc\nl b -> abs/passwd"), @"
    block link.escape b: `abs/passwd` leads out of the workspace
    = needs review
    withheld b: link.escape
    ");
}

#[test]
fn tar_08_inside_and_dangling() {
    assert_snapshot!(check("", "l a -> b/c\nl d/e -> ../f\nf f \"f\"\nl g -> d/./e/\nl h -> ./h2//x"), @"
    = clean
    + a
    + d
    + d/e
    + f
    + g
    + h
    ");
}

#[test]
fn tar_09_loops() {
    assert_snapshot!(check("", "l l -> l\nl a -> b\nl b -> a\nl into -> a/x"), @"
    block link.loop a: `b` leads in circles
    block link.loop b: `a` leads in circles
    block link.loop into: `a/x` leads in circles
    block link.loop l: `l` leads in circles
    = needs review
    withheld a: link.loop
    withheld b: link.loop
    withheld into: link.loop
    withheld l: link.loop
    ");
}

#[test]
fn links_into_git() {
    assert_snapshot!(check("d .git/", "d .git/\nl h -> .git/hooks\nl d/i -> ../.GIT/config"), @"
    block link.git d/i: `../.GIT/config` leads into `.git`
    block link.git h: `.git/hooks` leads into `.git`
    = needs review
    + d
    withheld d/i: link.git
    withheld h: link.git
    ");
}

#[test]
fn unchanged_link_that_is_redirected() {
    assert_snapshot!(check("f a/b \"1\"\nl x -> a/..", "l a -> .\nl x -> a/.."), @"
    block link.redirect a: makes `x` lead out of the workspace or in circles
    = needs review
    withheld a: link.redirect
    withheld a/b: below a
    ");
}

#[test]
fn unchanged_link_that_loses_the_link_it_led_through() {
    let before = "f deep/er/f \"1\"\nl a -> deep/er\nl x -> a/../..";
    let after = "f deep/er/f \"1\"\nf a/f \"2\"\nl x -> a/../..";
    assert_snapshot!(check(before, after), @"
    block link.redirect a: makes `x` lead out of the workspace or in circles
    = needs review
    withheld a: link.redirect
    withheld a/f: below a
    ");
}

#[test]
fn app_15_type_changes_go_together() {
    assert_snapshot!(check("f d/x \"1\"\nf f \"1\"", "l d -> /etc\nf f/y \"1\""), @"
    block link.absolute d: leads to the absolute path `/etc`
    = needs review
    ~ f
    + f/y
    withheld d: link.absolute
    withheld d/x: below d
    ");
}
