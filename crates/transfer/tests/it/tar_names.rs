//! Names in streams: TAR-01 to -05, -14, -15, -23, -40 to -47.

use insta::assert_snapshot;
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder};

use crate::stream::{outcome, rejected};

/// A stream of one file, named in the header where it fits, else by PAX.
fn named(name: impl AsRef<[u8]>) -> Vec<u8> {
    let name = name.as_ref();
    if name.len() <= 100 {
        return TarBuilder::new().file(name, "x").end();
    }
    TarBuilder::new()
        .pax(&[("path", name)])
        .file("short", "x")
        .end()
}

fn named_by_pax(name: impl AsRef<[u8]>) -> Vec<u8> {
    TarBuilder::new()
        .pax(&[("path", name.as_ref())])
        .file("short", "x")
        .end()
}

#[test]
fn tar_01_absolute_name() {
    for name in ["/etc/x", "/", "//etc/x", ".//etc/x"] {
        rejected(&named(name)[..], "path.absolute");
        rejected(&named_by_pax(name)[..], "path.absolute");
    }
    // The prefix field comes before the name.
    let header = Header::file("x", 0).raw(Field::Prefix, "/etc");
    rejected(
        &TarBuilder::new().header(&header).end()[..],
        "path.absolute",
    );
}

#[test]
fn tar_02_dotdot() {
    for name in [
        "../x",
        "a/../../x",
        "a/..",
        "..",
        "./..",
        "./../x",
        "a/../b",
    ] {
        rejected(&named(name)[..], "path.dotdot");
        rejected(&named_by_pax(name)[..], "path.dotdot");
        rejected(&TarBuilder::new().dir(name).end()[..], "path.dotdot");
    }
    let header = Header::file("x", 0).raw(Field::Prefix, "..");
    rejected(&TarBuilder::new().header(&header).end()[..], "path.dotdot");
    // An oddity in front must not hide the lie behind it.
    rejected(&named_by_pax("a".repeat(300) + "/../x")[..], "path.dotdot");
    rejected(&named_by_pax(b"\xff/../x")[..], "path.dotdot");
}

#[test]
fn tar_03_file_through_symlink() {
    let stream = TarBuilder::new()
        .symlink("s", "..")
        .file("s/p/q", "x")
        .end();
    rejected(&stream[..], "path.through_link");
    // A name that is odd as well is no way around it.
    let stream = TarBuilder::new()
        .symlink("s", "..")
        .file(b"s/\xff", "x")
        .end();
    rejected(&stream[..], "path.through_link");
    let stream = TarBuilder::new()
        .symlink(b"\xff", "..")
        .file(b"\xff/x", "x")
        .end();
    rejected(&stream[..], "path.through_link");
}

#[test]
fn tar_04_symlink_then_directory() {
    let start = || TarBuilder::new().symlink("d", "/outside");
    let dir = |name| Header::dir(name).mode(0o777);
    rejected(&start().header(&dir("d")).end()[..], "entry.type_conflict");
    rejected(&start().header(&dir("d/")).end()[..], "entry.type_conflict");
    // `d/.` is refused already as a name.
    rejected(&start().header(&dir("d/.")).end()[..], "path.noncanonical");
}

#[test]
fn tar_05_chain_of_symlinks() {
    let stream = TarBuilder::new()
        .symlink("a", "b")
        .symlink("b", "..")
        .file("a/x", "x")
        .end();
    rejected(&stream[..], "path.through_link");
}

#[test]
fn tar_14_same_name_twice() {
    rejected(
        &TarBuilder::new().file("a", "1").file("a", "2").end()[..],
        "entry.duplicate",
    );
    rejected(
        &TarBuilder::new().file("a", "1").file("./a", "1").end()[..],
        "entry.duplicate",
    );
    rejected(
        &TarBuilder::new().dir("a/").dir("a").end()[..],
        "entry.duplicate",
    );
    rejected(
        &TarBuilder::new().dir("./").dir("./").end()[..],
        "entry.duplicate",
    );
    rejected(
        &TarBuilder::new().symlink("a", "b").symlink("a", "b").end()[..],
        "entry.duplicate",
    );
    rejected(
        &TarBuilder::new()
            .file(b"\xff", "1")
            .file(b"\xff", "2")
            .end()[..],
        "entry.duplicate",
    );
    rejected(
        &TarBuilder::new()
            .file("a", "1")
            .file("b", "2")
            .hard("b", "a")
            .end()[..],
        "entry.duplicate",
    );
}

#[test]
fn tar_15_two_types_at_one_name() {
    for stream in [
        TarBuilder::new().file("f", "").file("f/x", ""),
        TarBuilder::new().dir("f").file("f", ""),
        TarBuilder::new().file("f", "").dir("f"),
        TarBuilder::new().file("f/x", "").file("f", ""),
        TarBuilder::new().file("f/x", "").symlink("f", "y"),
        TarBuilder::new().file("f", "").symlink("f", "y"),
        TarBuilder::new()
            .header(&Header::new(b'6', "f"))
            .file("f", ""),
        TarBuilder::new()
            .header(&Header::new(b'6', "f"))
            .file("f/x", ""),
        TarBuilder::new()
            .file("e", "")
            .hard("f", "e")
            .file("f/x", ""),
    ] {
        rejected(&stream.end()[..], "entry.type_conflict");
    }
    // A parent may follow: this is no conflict, only unusual.
    let stream = TarBuilder::new().file("d/x", "").dir("d/").end();
    assert_snapshot!(outcome(&stream[..]), @r#"
    d d/
    f d/x ""
    "#);
}

#[test]
fn tar_23_nul_inside_a_name() {
    rejected(&named_by_pax(b"ok\0../evil")[..], "name.nul");
    let stream = TarBuilder::new()
        .pax(&[("linkpath", b"ok\0/../evil")])
        .symlink("l", "x")
        .end();
    rejected(&stream[..], "name.nul");
    let stream = TarBuilder::new()
        .file("ok", "")
        .pax(&[("linkpath", b"ok\0")])
        .hard("l", "ok")
        .end();
    rejected(&stream[..], "name.nul");
    // In the header a NUL ends the name, and nothing may hide behind it.
    rejected(&named(b"ok\0../evil")[..], "header.hidden_bytes");
}

#[test]
fn tar_40_too_long_or_too_deep() {
    let component = "c".repeat(256);
    let long = ["l"; 1025].concat();
    let path = ["d"; 40].map(|_| "e".repeat(30)).join("/");
    let deep = ["d"; 300].join("/");
    for (name, code) in [
        (&component, "path.too_long"),
        (&long, "path.too_long"),
        (&path, "path.too_long"),
        (&deep, "path.too_deep"),
    ] {
        let text = outcome(&named(name)[..]);
        assert_eq!(text, format!("Q {code} {name}\n"));
    }
    // The limits themselves are good.
    let deep = ["d"; 64].join("/");
    assert!(outcome(&named(&deep)[..]).ends_with(&format!("f {deep} \"x\"\n")));
    let component = "c".repeat(255);
    assert_eq!(
        outcome(&named(&component)[..]),
        format!("f {component} \"x\"\n")
    );
}

#[test]
fn tar_41_name_that_is_not_utf8() {
    let stream = TarBuilder::new()
        .file(b"bad\xff\xfe", "x")
        .dir(b"d\xc0/")
        .file(b"d\xc0/x", "")
        .file("good", "");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    f good ""
    Q name.encoding "bad\xff\xfe"
    Q name.encoding "d\xc0"
    Q name.encoding "d\xc0/x"
    "#);
}

#[test]
fn tar_42_control_characters() {
    let mut names = Vec::from([
        "\x1b[2J",
        "a\nb",
        "a\rb",
        "a\tb",
        "\x07",
        "\x7f",
        "\u{85}",
        "\u{9b}31m",
    ]);
    names.push("\u{1}");
    let stream = names
        .iter()
        .fold(TarBuilder::new(), |stream, name| stream.file(name, ""));
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    Q name.control "\e[2J"
    Q name.control "a\nb"
    Q name.control "a\rb"
    Q name.control "a\tb"
    Q name.control "\x07"
    Q name.control "\x7f"
    Q name.control "\xc2\x85"
    Q name.control "\xc2\x9b31m"
    Q name.control "\x01"
    "#);
}

/// The names of TAR-43, -44, -45 and -47 pass the grammar as they are, byte for
/// byte: whether they may come back is judged over the change set.
#[test]
fn tar_43_44_45_47_names_for_the_judge_are_carried_unchanged() {
    let names = [
        "A",
        "C:x",
        "Dir/x",
        "a",
        "a\\..\\b",
        "dir/y",
        "f:stream",
        "nfc-\u{e9}",
        "nfd-e\u{301}",
        "\u{200b}zero",
        "\u{202e}override",
        "\u{2066}isolate",
        "\u{feff}mark",
    ];
    let stream = names
        .iter()
        .fold(TarBuilder::new(), |stream, name| stream.file(name, ""));
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    f A ""
    f C:x ""
    d Dir/
    f Dir/x ""
    f a ""
    f "a\\..\\b" ""
    d dir/
    f dir/y ""
    f f:stream ""
    f "nfc-é" ""
    f "nfd-e\xcc\x81" ""
    f "\xe2\x80\x8bzero" ""
    f "\xe2\x80\xaeoverride" ""
    f "\xe2\x81\xa6isolate" ""
    f "\xef\xbb\xbfmark" ""
    "#);
}

#[test]
fn tar_46_noncanonical_name() {
    for name in [
        "", "a//b", "a/./b", "a/.", ".", "./", "././a", "a/", "./a/", "a//",
    ] {
        rejected(&named_by_pax(name)[..], "path.noncanonical");
        rejected(&named(name)[..], "path.noncanonical");
    }
    for name in ["", ".", "a//", "././", "a/./", "a//b/"] {
        rejected(&TarBuilder::new().dir(name).end()[..], "path.noncanonical");
    }
    rejected(
        &TarBuilder::new().symlink("a/", "b").end()[..],
        "path.noncanonical",
    );
    let stream = TarBuilder::new().file("a", "").hard("b", "./").end();
    rejected(&stream[..], "path.noncanonical");
    // One leading `./`, one trailing `/` of a directory, and the root itself.
    let stream = TarBuilder::new()
        .dir("./")
        .dir("./a/")
        .file("./a/b", "")
        .hard("./a/c", "./a/b");
    assert_snapshot!(outcome(&stream.end()[..]), @r#"
    d a/
    f a/b ""
    f a/c ""
    S link.hard a/c
    "#);
}
