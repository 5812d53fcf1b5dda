//! Headers: TAR-19, -20, -24, -26, -29, -30, -32, -33, -38.

use insta::assert_snapshot;
use lazaret_protocol::{FileTime, Members};
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder};

use crate::stream::{LIMITS, outcome, rejected};

fn one(header: &Header) -> Vec<u8> {
    TarBuilder::new().header(header).end()
}

#[test]
fn tar_19_gnu_long_names() {
    let long = |flag| Header::new(flag, "././@LongLink").size(4);
    let gnu = |flag| long(flag).raw(Field::Magic, b"ustar  \0");
    for header in [long(b'L'), long(b'K'), gnu(b'L'), gnu(b'K')] {
        let stream = TarBuilder::new().member(&header, b"big\0").file("f", "");
        rejected(&stream.end()[..], "typeflag");
        let stream = TarBuilder::new()
            .pax(&[("path", b"p")])
            .member(&header, b"big\0")
            .file("f", "");
        rejected(&stream.end()[..], "typeflag");
        let stream = TarBuilder::new()
            .member(&header, b"big\0")
            .pax(&[("linkpath", b"p")])
            .symlink("l", "t");
        rejected(&stream.end()[..], "typeflag");
    }
}

#[test]
fn tar_20_global_header() {
    for record in ["11 path=x\n", "9 size=5\n", "15 comment=hi\n", ""] {
        let header = Header::new(b'g', "pax_global_header").size(record.len() as u64);
        let stream = TarBuilder::new().member(&header, record).file("f", "");
        rejected(&stream.end()[..], "typeflag");
    }
}

#[test]
fn tar_24_numbers_out_of_the_grammar() {
    let file = || Header::file("f", 0);
    for header in [
        file().base256(Field::Size, -1),
        file().base256(Field::Size, 1 << 63),
        file().base256(Field::Size, 1),
        file().raw(Field::Size, "777777777777"),
        file().raw(Field::Size, ""),
        file().raw(Field::Size, "-1"),
        file().raw(Field::Size, "0000000000 8"),
        file().raw(Field::Size, " 0000000000"),
        file().raw(Field::Mode, "0x1ff"),
        file().base256(Field::Mode, 0o644),
        file().raw(Field::Mtime, "yesterday"),
        file().base256(Field::Mtime, 1 << 70),
    ] {
        rejected(&one(&header)[..], "header.number");
    }
    for size in [
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775808",
    ] {
        let stream = TarBuilder::new()
            .pax(&[("size", size.as_bytes())])
            .file("f", "");
        rejected(&stream.end()[..], "header.number");
    }
    // The most that fits: over the limit, and nothing is allocated for it.
    rejected(
        &one(&file().raw(Field::Size, "77777777777"))[..],
        "limit.file_bytes",
    );
    let stream = TarBuilder::new()
        .pax(&[("size", b"9223372036854775807")])
        .file("f", "");
    rejected(&stream.end()[..], "limit.file_bytes");
}

#[test]
fn tar_26_old_gnu_sparse() {
    rejected(&one(&Header::new(b'S', "sparse"))[..], "typeflag");
    rejected(
        &one(&Header::new(b'S', "sparse").raw(Field::Magic, b"ustar  \0"))[..],
        "typeflag",
    );
}

#[test]
fn tar_29_every_other_typeflag() {
    for flag in 0..=u8::MAX {
        match flag {
            b'0' | b'1' | b'2' | b'3' | b'4' | b'5' | b'6' | b'x' => {}
            flag => rejected(&one(&Header::new(flag, "f"))[..], "typeflag"),
        }
    }
}

#[test]
fn tar_30_modes_become_two() {
    let modes = [
        0o4755, 0o2755, 0o1777, 0o0000, 0o0666, 0o0600, 0o0777, 0o0070, 0o0100, 0o6644, 0o104_644,
        0o100_755,
    ];
    let stream = modes.iter().fold(TarBuilder::new(), |stream, mode| {
        stream.header(&Header::file(format!("{mode:06o}"), 0).mode(*mode))
    });
    let dirs = [0o0000, 0o1777, 0o2755, 0o040_755]
        .iter()
        .fold(stream, |stream, mode| {
            stream.header(&Header::dir(format!("d{mode:06o}")).mode(*mode))
        });
    assert_snapshot!(outcome(&dirs.end()[..]), @r#"
    f 000000 ""
    f 000070 ""
    x 000100 ""
    f 000600 ""
    f 000666 ""
    x 000777 ""
    x 001777 ""
    x 002755 ""
    x 004755 ""
    f 006644 ""
    x 100755 ""
    f 104644 ""
    d d000000/
    d d001777/
    d d002755/
    d d040755/
    S mode.special 004755
    S mode.special 002755
    S mode.special 001777
    S mode.special 006644
    S mode.special 104644
    S mode.special d001777
    S mode.special d002755
    "#);
}

#[test]
fn tar_32_owners_are_not_even_read() {
    let plain = outcome(&one(&Header::file("f", 0))[..]);
    for header in [
        Header::file("f", 0)
            .octal(Field::Uid, 0)
            .octal(Field::Gid, 0),
        Header::file("f", 0)
            .base256(Field::Uid, 1 << 31)
            .base256(Field::Gid, -1),
        Header::file("f", 0)
            .raw(Field::Uname, "root")
            .raw(Field::Gname, b"\x1b[2J\xff"),
        Header::file("f", 0)
            .raw(Field::Uid, "nonsense")
            .raw(Field::Devmajor, "nonsense"),
    ] {
        assert_eq!(outcome(&one(&header)[..]), plain);
    }
}

#[test]
fn tar_33_times() {
    let mtime = |stream: Vec<u8>| {
        let mut members = Members::new(&stream[..], LIMITS);
        members
            .next()
            .map(|member| member.unwrap().mtime)
            .map_err(|error| error.code().id)
    };
    let pax = |value: &str| {
        mtime(
            TarBuilder::new()
                .pax(&[("mtime", value.as_bytes())])
                .file("f", "")
                .end(),
        )
    };
    let time = |seconds, nanos| Ok(FileTime { seconds, nanos });
    assert_eq!(pax("-2147483648"), time(-2_147_483_648, 0));
    assert_eq!(pax("15032385535"), time(15_032_385_535, 0));
    assert_eq!(pax("-0.5"), time(-1, 500_000_000));
    assert_eq!(pax("-1.5"), time(-2, 500_000_000));
    assert_eq!(pax("1.999999999"), time(1, 999_999_999));
    for value in [
        "1e30",
        "NaN",
        "inf",
        "",
        "0x10",
        "1,5",
        "1000000000000000000000000000000",
    ] {
        assert_eq!(pax(value), Err("pax.number"), "{value}");
    }
    let header = |header: Header| mtime(one(&header));
    let file = || Header::file("f", 0);
    assert_eq!(
        header(file().base256(Field::Mtime, -2_147_483_648)),
        time(-2_147_483_648, 0)
    );
    assert_eq!(
        header(file().base256(Field::Mtime, 15_032_385_535)),
        time(15_032_385_535, 0)
    );
    assert_eq!(header(file().octal(Field::Mtime, 7)), time(7, 0));
    // The part of a second, as the packer writes it, and what else may stand there.
    let parts = |major: &str, minor: &str| {
        let header = header(
            file()
                .raw(Field::Devmajor, major)
                .raw(Field::Devminor, minor),
        );
        header.map(|time| time.nanos)
    };
    assert_eq!(parts("3641077\0", "0001747\0"), Ok(999_999_999));
    assert_eq!(parts("0000001\0", "0000002\0"), Ok(1002));
    for (major, minor) in [
        ("3641100\0", "0000000\0"),
        ("0000001\0", "0001750\0"),
        ("0000001\0", ""),
        ("", ""),
        ("\u{7f}nonsens", "0000001\0"),
        ("0000001\0", "-000001\0"),
    ] {
        assert_eq!(parts(major, minor), Ok(0), "{major:?} {minor:?}");
    }
}

#[test]
fn tar_38_checksum() {
    for difference in [-1, 1, 256] {
        rejected(
            &one(&Header::file("f", 0).checksum_off_by(difference))[..],
            "header.checksum",
        );
        let stream = TarBuilder::new()
            .file("a", "")
            .header(&Header::file("f", 0).checksum_off_by(difference));
        rejected(&stream.end()[..], "header.checksum");
    }
    for raw in ["", "        ", "nonsense", "-00001\0 "] {
        rejected(
            &one(&Header::file("f", 0).raw(Field::Checksum, raw))[..],
            "header.checksum",
        );
    }
    // The signed sum of old writers differs for a name with high bytes, and is refused.
    let header = Header::file(b"\xff", 0);
    rejected(&one(&header.checksum_off_by(-256))[..], "header.checksum");
}

#[test]
fn headers_of_other_formats() {
    for magic in [
        &b""[..],
        b"ustar  \0",
        b"ustar\x0001",
        b"USTAR\x0000",
        b"ustar\0\0\0",
    ] {
        rejected(
            &one(&Header::file("f", 0).raw(Field::Magic, magic))[..],
            "header.magic",
        );
    }
}

#[test]
fn bytes_hidden_in_a_header() {
    for header in [
        Header::file("f\0hidden", 0),
        Header::file("f", 0).raw(Field::Prefix, "p\0hidden"),
        Header::symlink("f", "t\0hidden"),
        Header::file("f", 0).raw(Field::Padding, "tar\0"),
    ] {
        rejected(&one(&header)[..], "header.hidden_bytes");
    }
    // A text that fills its field has no NUL at all.
    let (name, prefix) = ("n".repeat(100), "p".repeat(155));
    let header = Header::file(&name, 0).raw(Field::Prefix, &prefix);
    assert_eq!(
        outcome(&one(&header)[..]),
        format!("d {prefix}/\nf {prefix}/{name} \"\"\n")
    );
}
