//! Links and special files in streams: TAR-06 to -13, -27, -28, -39.

use insta::assert_snapshot;
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder};

use crate::stream::{LIMITS, outcome, outcome_within, rejected};
use lazaret_protocol::StreamLimits;
use lazaret_transfer::StreamEnd;

/// Carried without being resolved, whatever it points to: the judge sees the
/// target, and only if the change set has it.
#[test]
fn tar_06_07_08_09_symlinks_are_carried_and_never_resolved() {
    let stream = TarBuilder::new()
        .symlink("absolute", "/etc/passwd")
        .symlink("escape", "../../y")
        .dir("d/")
        .symlink("d/escape", "../..")
        .symlink("d/inside", "../f")
        .symlink("dangling", "nowhere")
        .symlink("loop", "loop")
        .symlink("a", "b")
        .symlink("b", "a")
        .pax(&[("linkpath", &[b't'; 1024])])
        .symlink("longest", "t");
    let text = outcome(&stream.end()[..]).replace(&"t".repeat(1024), "<1024>");
    assert_snapshot!(text, @r#"
    l a -> b
    l absolute -> /etc/passwd
    l b -> a
    d d/
    l d/escape -> ../..
    l d/inside -> ../f
    l dangling -> nowhere
    l escape -> ../../y
    l longest -> <1024>
    l loop -> loop
    "#);
}

#[test]
fn symlink_targets_that_are_not_carried() {
    let stream = TarBuilder::new()
        .symlink("control", "a\x1b[2J")
        .symlink("encoding", b"a\xff")
        .pax(&[("linkpath", &[b't'; 1025])])
        .symlink("long", "t");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    Q link.control control
    Q link.encoding encoding
    Q link.too_long long
    "#);
    rejected(&TarBuilder::new().symlink("l", "").end()[..], "link.empty");
    let stream = TarBuilder::new()
        .pax(&[("linkpath", b"")])
        .symlink("l", "x")
        .end();
    rejected(&stream[..], "link.empty");
}

#[test]
fn tar_10_hard_link_to_outside() {
    for target in ["/etc/shadow", "../x", "a/../../x", "./../x"] {
        rejected(
            &TarBuilder::new().hard("h", target).end()[..],
            "link.hard_outside",
        );
        let stream = TarBuilder::new()
            .pax(&[("linkpath", target.as_bytes())])
            .hard("h", "f");
        rejected(&stream.end()[..], "link.hard_outside");
    }
}

#[test]
fn tar_11_hard_link_becomes_a_copy_and_counts() {
    let header = Header::file("f", 3).mode(0o755);
    let stream = TarBuilder::new()
        .member(&header, "abc")
        .hard("g", "f")
        .hard("h", "g")
        .end();
    assert_snapshot!(outcome(&stream[..]), @r#"
    x f "abc"
    x g "abc"
    x h "abc"
    S link.hard g
    S link.hard h
    "#);
    let limits = StreamLimits {
        total_bytes: 8,
        ..LIMITS
    };
    let text = outcome_within(&stream[..], limits, StreamEnd::Plain);
    assert_eq!(text, "B limit.total_bytes\n");
    // The first name may be one that is not carried.
    let stream = TarBuilder::new()
        .file(b"\xff", "abc")
        .hard("g", b"\xff")
        .hard(b"\xfe", "g")
        .end();
    assert_snapshot!(outcome(&stream[..]), @r#"
    f g "abc"
    Q name.encoding "\xff"
    Q name.encoding "\xfe"
    S link.hard g
    S link.hard "\xfe"
    "#);
}

#[test]
fn tar_12_hard_link_to_nothing_before_it() {
    for stream in [
        TarBuilder::new().hard("h", "f").file("f", ""),
        TarBuilder::new().hard("h", "missing"),
        TarBuilder::new().hard("h", "h"),
        TarBuilder::new().file("f", "").hard("h", "f/x"),
        TarBuilder::new()
            .symlink("s", "d")
            .file("d/f", "")
            .hard("h", "s/f"),
    ] {
        rejected(&stream.end()[..], "link.hard_forward");
    }
}

#[test]
fn tar_13_hard_link_to_no_file() {
    for stream in [
        TarBuilder::new().symlink("s", "/etc").hard("h", "s"),
        TarBuilder::new().dir("d").hard("h", "d"),
        TarBuilder::new().file("d/f", "").hard("h", "d"),
    ] {
        rejected(&stream.end()[..], "link.hard_nonfile");
    }
}

#[test]
fn tar_27_device() {
    for (flag, major, minor) in [(b'3', 1, 3), (b'4', 8, 0)] {
        let header = Header::new(flag, "dev")
            .octal(Field::Devmajor, major)
            .octal(Field::Devminor, minor);
        rejected(&TarBuilder::new().header(&header).end()[..], "type.device");
    }
}

#[test]
fn tar_28_fifo() {
    let fifo = Header::new(b'6', "d/fifo");
    let stream = TarBuilder::new()
        .dir("d")
        .header(&fifo)
        .hard("second", "d/fifo")
        .file("f", "");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    d d/
    f f ""
    Q type.fifo d/fifo
    Q type.fifo second
    "#);
}

#[test]
fn tar_39_size_of_what_is_no_file() {
    let inner = TarBuilder::new().file("smuggled", "x").into_bytes();
    for header in [
        Header::dir("d"),
        Header::dir("./"),
        Header::symlink("s", "t"),
        Header::hard("h", "f"),
        Header::new(b'6', "p"),
    ] {
        let stream = TarBuilder::new()
            .file("f", "")
            .member(&header.clone().size(1024), &inner);
        rejected(&stream.end()[..], "header.size_nonfile");
        let stream = TarBuilder::new()
            .file("f", "")
            .pax(&[("size", b"1024")])
            .member(&header, &inner);
        rejected(&stream.end()[..], "header.size_nonfile");
    }
}

#[test]
fn link_target_of_what_is_no_link() {
    for header in [
        Header::file("f", 0),
        Header::dir("d"),
        Header::new(b'6', "p"),
    ] {
        let stream = TarBuilder::new().header(&header.clone().raw(Field::Linkname, "x"));
        rejected(&stream.end()[..], "header.linkname_nonlink");
        let stream = TarBuilder::new().pax(&[("linkpath", b"x")]).header(&header);
        rejected(&stream.end()[..], "header.linkname_nonlink");
    }
}
