//! PAX headers: TAR-16 to -18, -21, -22, -26, -31.

use insta::assert_snapshot;
use lazaret_tests::hostile_tar::{Header, TarBuilder};

use crate::stream::{outcome, rejected};

#[test]
fn tar_16_size_only_in_the_pax_header() {
    // CVE-2025-62518: who believes the header's 0 finds a member inside the body.
    let inner = TarBuilder::new().file("smuggled", "x").into_bytes();
    assert_eq!(inner.len(), 1024);
    let stream = TarBuilder::new()
        .pax(&[("size", b"1024")])
        .member(&Header::file("outer", 0), &inner)
        .file("after", "");
    let text = outcome(&stream.end()[..]);
    assert!(
        text.starts_with("f after \"\"\nf outer \"smuggled\\0"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn tar_17_sizes_that_disagree() {
    let member = |header, pax: &[u8]| {
        TarBuilder::new()
            .pax(&[("size", pax)])
            .member(&Header::file("f", header), vec![b'x'; 1024])
            .end()
    };
    rejected(&member(1024, b"0")[..], "header.size_conflict");
    rejected(&member(1024, b"512")[..], "header.size_conflict");
    rejected(&member(512, b"1024")[..], "header.size_conflict");
    assert!(outcome(&member(1024, b"1024")[..]).starts_with("f f "));
}

#[test]
fn tar_18_two_pax_headers() {
    let stream = TarBuilder::new()
        .pax(&[("path", b"a")])
        .pax(&[("path", b"b")])
        .file("f", "");
    rejected(&stream.end()[..], "pax.stacked");
    let stream = TarBuilder::new()
        .pax(&[("mtime", b"1")])
        .pax(&[("path", b"b")])
        .file("f", "");
    rejected(&stream.end()[..], "pax.stacked");
    rejected(
        &TarBuilder::new().pax(&[("path", b"a")]).end()[..],
        "pax.orphan",
    );
    // One header may not say two things either.
    let twice = [("path", &b"a"[..]), ("path", b"a")];
    rejected(
        &TarBuilder::new().pax(&twice).file("f", "").end()[..],
        "pax.duplicate",
    );
    let twice = [
        ("SCHILY.xattr.user.a", &b"1"[..]),
        ("SCHILY.xattr.user.a", b"2"),
    ];
    rejected(
        &TarBuilder::new().pax(&twice).file("f", "").end()[..],
        "pax.duplicate",
    );
    // What a header says is forgotten after its member.
    let stream = TarBuilder::new()
        .pax(&[("path", b"a"), ("size", b"1")])
        .file("f", "x")
        .file("g", "yz");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    f a "x"
    f g "yz"
    "#);
}

#[test]
fn tar_21_malformed_records() {
    for body in [
        &b""[..],
        b"0 path=a\n",
        b"999 path=a\n",
        b"9 path=ab",
        b"9 path=a",
        b"8 path=a\n",
        b"11 path=a\n",
        b"9 path=a\n\n",
        b"9 path=a\n\0",
        b"x path=a\n",
        b"9\tpath=a\n",
        b"9path=a\n",
        b" 9 path=a\n",
        b"+9 path=a\n",
        b"09 path=a\n",
        b"-9 path=a\n",
        b"8 patha\n",
        b"9",
        b"9 ",
        b"2 \n",
        b"18446744073709551625 path=a\n",
        b"99999999999999999999999999 path=a\n",
    ] {
        rejected(
            &TarBuilder::new().pax_raw(body).file("f", "").end()[..],
            "pax.malformed",
        );
    }
    rejected(
        &TarBuilder::new().pax_raw(b"5 =a\n").file("f", "").end()[..],
        "pax.key",
    );
}

#[test]
fn tar_21_line_feeds_inside_of_records() {
    // A reader that ends a record at the first line feed finds `path=evil` in each.
    let evil = b"x\n13 path=evil".as_slice();
    for key in [
        "path",
        "linkpath",
        "mtime",
        "size",
        "comment",
        "SCHILY.xattr.user.x",
        "SCHILY.xattr.user.x\n13 path",
    ] {
        let stream = TarBuilder::new().pax(&[(key, evil)]).file("f", "");
        rejected(&stream.end()[..], "pax.line_feed");
    }
    // The end of the record is not inside of it; one more is no record.
    let stream = TarBuilder::new().pax(&[("path", b"x\n")]).file("f", "");
    rejected(&stream.end()[..], "pax.line_feed");
    let stream = TarBuilder::new().pax(&[("path", b"x")]).file("f", "");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"f x """#);
    // In a header of its own a name needs no record, and is odd and no more.
    let stream = TarBuilder::new().file("a\nb", "").end();
    assert_snapshot!(outcome(&stream[..]), @r#"Q name.control "a\nb""#);
}

#[test]
fn tar_22_sizes_that_are_no_decimal_number() {
    for size in [
        "+5", " 5", "5 ", "0x5", "", "05", "-5", "5.0", "five", "\u{665}",
    ] {
        let stream = TarBuilder::new()
            .pax(&[("size", size.as_bytes())])
            .file("f", "12345");
        rejected(&stream.end()[..], "pax.number");
    }
}

#[test]
fn tar_26_sparse_and_every_other_key() {
    for key in [
        "GNU.sparse.major",
        "GNU.sparse.minor",
        "GNU.sparse.name",
        "GNU.sparse.realsize",
        "GNU.sparse.map",
        "GNU.sparse.size",
        "GNU.sparse.numblocks",
        "GNU.sparse.offset",
        "SCHILY.realsize",
        "hdrcharset",
        "charset",
        "comment",
        "uid",
        "gid",
        "uname",
        "gname",
        "atime",
        "ctime",
        "LIBARCHIVE.creationtime",
        "SCHILY.fflags",
        "SCHILY.dev",
        "Path",
        "PATH",
        "path ",
        " path",
        "path\0",
        "RHT.security.selinux2",
    ] {
        let stream = TarBuilder::new().pax(&[(key, b"1")]).file("f", "");
        rejected(&stream.end()[..], "pax.key");
    }
}

#[test]
fn tar_31_attributes_are_dropped_and_noted() {
    let stream = TarBuilder::new()
        .pax(&[("SCHILY.xattr.security.capability", b"\x01\0\0\x02\xff=")])
        .file("capability", "")
        .pax(&[
            ("SCHILY.acl.access", b"user::rwx"),
            ("SCHILY.acl.default", b""),
            ("RHT.security.selinux", b"system_u:object_r:bin_t:s0\0"),
            ("LIBARCHIVE.xattr.user.x", b"eA=="),
            ("path", b"renamed"),
        ])
        .file("f", "")
        .pax(&[("SCHILY.xattr.user.\x1b[2J", b"")])
        .dir("d");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    f capability ""
    d d/
    f renamed ""
    S pax.xattr capability
    S pax.xattr renamed
    S pax.xattr d
    "#);
}
