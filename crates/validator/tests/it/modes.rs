//! Modes and machine code.

use insta::assert_snapshot;

use crate::{check, codes_of_new};

#[test]
fn aud_02_newly_executable() {
    assert_snapshot!(check("f a \"1\"\nx b \"1\"\nx c \"1\"", "x a \"1\"\nx b \"2\"\nf c \"1\"\nx d \"1\""), @"
    warn mode.executable a: becomes executable
    warn mode.executable d: is new and executable
    = needs review
    ~ a
    ~ b
    ~ c
    + d
    ");
}

#[test]
fn sus_26_machine_code() {
    assert_snapshot!(check("", r#"
        f elf "\x7fELF\x02"
        f macho "\xcf\xfa\xed\xfe"
        f pe "MZ\x90"
        f text "M"
        f empty ""
    "#), @"
    warn content.machine_code elf: is an ELF program or library, which a review can't read
    warn content.control elf:1: a control character
    warn content.machine_code macho: is a Mach-O program or library, which a review can't read
    warn content.machine_code pe: is a Windows program, which a review can't read
    = needs review
    + elf
    + empty
    + macho
    + pe
    + text
    ");
    assert_eq!(codes_of_new("lib/x.so"), "warn suspect.opaque");
}

#[test]
fn aud_09_unreadable_contents_reject_the_batch() {
    use lazaret_validator::{JudgeInput, Policy, judge};
    let mut contents = crate::Memory::default();
    let baseline = crate::tree("", &mut contents);
    let collected = crate::tree("f a \"1\"\nd other/", &mut contents);
    let verdict = judge(
        JudgeInput {
            baseline: &baseline,
            changes: lazaret_tree::diff(&baseline, &collected),
            refusals: &[],
            notes: &[],
            contents: &crate::Memory::default(),
        },
        &Policy::shipped(),
    );
    assert_snapshot!(crate::render(&verdict), @"
    block content.unreadable a: the contents can't be read: entity not found
    = rejected
    ");
}
