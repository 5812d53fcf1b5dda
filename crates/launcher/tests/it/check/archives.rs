//! A candidate that is an archive.

use insta::assert_snapshot;
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder};
use serde_json::Value;

use super::{verdict, world};
use crate::support::TestEnvironment;

/// Checks an archive against a base of one file.
fn archived(stream: &[u8]) -> Value {
    let env = world("f d/a \"base\\n\"");
    let outcome = env.run_reading(&["check", "-", "--base", "base", "--json"], stream);
    let mut report = outcome.json();
    report["exit"] = outcome.code.into();
    report
}

/// Each stream lies in one way; the reason is named, and nothing of it is compared.
#[test]
fn tar_archives_that_lie_are_rejected() {
    let file = || TarBuilder::new().file("d/a", "base\n");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("TAR-01", file().file("/etc/x", "").end(), "path.absolute"),
        ("TAR-02", file().file("a/../../x", "").end(), "path.dotdot"),
        (
            "TAR-03",
            TarBuilder::new().symlink("s", "..").file("s/p", "").end(),
            "path.through_link",
        ),
        (
            "TAR-04",
            TarBuilder::new().symlink("d", "/outside").dir("d/").end(),
            "entry.type_conflict",
        ),
        (
            "TAR-10",
            file().hard("h", "../x").end(),
            "link.hard_outside",
        ),
        (
            "TAR-12",
            file().hard("h", "later").end(),
            "link.hard_forward",
        ),
        ("TAR-14", file().file("d/a", "two").end(), "entry.duplicate"),
        (
            "TAR-15",
            file().file("d/a/x", "").end(),
            "entry.type_conflict",
        ),
        (
            "TAR-17",
            TarBuilder::new()
                .pax(&[("size", b"0")])
                .header(&Header::file("f", 1024))
                .body([b'x'; 1024])
                .end(),
            "header.size_conflict",
        ),
        (
            "TAR-18",
            TarBuilder::new()
                .pax(&[("path", b"a")])
                .pax(&[("path", b"b")])
                .file("c", "")
                .end(),
            "pax.stacked",
        ),
        (
            "TAR-20",
            TarBuilder::new().header(&Header::new(b'g', "g")).end(),
            "typeflag",
        ),
        (
            "TAR-21",
            TarBuilder::new().pax_raw("0 path=a\n").file("c", "").end(),
            "pax.malformed",
        ),
        (
            "TAR-23",
            TarBuilder::new()
                .pax(&[("path", b"ok\0../evil")])
                .file("c", "")
                .end(),
            "name.nul",
        ),
        (
            "TAR-24",
            TarBuilder::new()
                .header(&Header::file("f", 0).base256(Field::Size, -1))
                .end(),
            "header.number",
        ),
        (
            "TAR-25",
            TarBuilder::new()
                .header(&Header::new(b'x', "x").size(1 << 32))
                .raw([0; 2048])
                .into_bytes(),
            "limit.meta",
        ),
        (
            "TAR-26",
            TarBuilder::new().header(&Header::new(b'S', "s")).end(),
            "typeflag",
        ),
        (
            "TAR-27",
            TarBuilder::new().header(&Header::new(b'3', "null")).end(),
            "type.device",
        ),
        ("TAR-34", file().raw("d/b").into_bytes(), "stream.truncated"),
        ("TAR-35", file().into_bytes(), "stream.no_eof"),
        (
            "TAR-36",
            file().zero_blocks(2).raw("more").into_bytes(),
            "stream.trailing",
        ),
        (
            "TAR-37",
            file().zero_blocks(1).file("b", "").end(),
            "stream.lone_zero_block",
        ),
        (
            "TAR-38",
            TarBuilder::new()
                .header(&Header::file("f", 0).checksum_off_by(1))
                .end(),
            "header.checksum",
        ),
        (
            "TAR-49",
            TarBuilder::new()
                .header(&Header::file("f", 1 << 32))
                .into_bytes(),
            "limit.file_bytes",
        ),
        (
            "TAR-50",
            b"\x1f\x8b\x08\0not a tar".to_vec(),
            "stream.compressed",
        ),
    ];
    for (id, stream, code) in cases {
        let report = archived(&stream);
        assert_eq!(verdict(&report), format!("121\nblock {code} ."), "{id}");
        assert_eq!(report["verdict"], "rejected", "{id}");
        assert_eq!(report["changes"], Value::Array(Vec::new()), "{id}");
        assert_eq!(report["digest"], Value::Null, "{id}");
    }
}

#[test]
fn tar_archives_with_oddities_need_a_review() {
    let tar = |more: fn(TarBuilder) -> TarBuilder| {
        let report = archived(&more(TarBuilder::new().file("./d/a", "base\n")).end());
        verdict(&report)
    };
    assert_snapshot!(tar(|tar| tar), @"0");
    assert_snapshot!(tar(|tar| tar.symlink("l", "/etc/passwd")), @"
    120
    block link.absolute l
    ");
    assert_snapshot!(tar(|tar| tar.symlink("l", "../../y")), @"
    120
    block link.escape l
    ");
    assert_snapshot!(tar(|tar| tar.symlink("l", "d/a")), @"0");
    assert_snapshot!(tar(|tar| tar.header(&Header::new(b'6', "pipe"))), @"
    120
    block type.fifo pipe
    ");
    assert_snapshot!(tar(|tar| tar.file("bad\u{7f}", "")), @r"
    120
    block name.control bad\u{7f}
    ");
    assert_snapshot!(tar(|tar| tar.pax(&[("path", b"raw\xff")]).file("x", "")), @r"
    120
    block name.encoding raw\xff
    ");
    assert_snapshot!(tar(|tar| tar.hard("copy", "d/a")), @"
    0
    note link.hard copy
    ");
    assert_snapshot!(tar(|tar| tar.header(&Header::file("s", 0).mode(0o4755))), @"
    120
    warn mode.executable s
    note mode.special s
    ");
    assert_snapshot!(tar(|tar| tar.file(".git/hooks/pre-commit", "x")), @"
    120
    block git.hook .git/hooks/pre-commit
    ");
    assert_snapshot!(tar(|tar| tar.file(".git", "gitdir: x")), @"
    121
    block git.redirect .git
    ");
    // Absent from the archive, the base's file is a deletion: the archive is whole.
    assert_snapshot!(verdict(&archived(&TarBuilder::new().end())), @"0");
}

/// Archives by common writers, as far as the grammar allows; else with what to do.
#[test]
fn tar_archives_that_others_wrote() {
    let corpus = TestEnvironment::repository().join("tests/corpus/written-by");
    let mut names: Vec<_> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let lines: Vec<String> = names
        .iter()
        .map(|path| {
            let env = world("");
            let words = ["check", &path.display().to_string(), "--base", "base"];
            let outcome = env.run_words(&words);
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let last = outcome.stdout.lines().last().unwrap_or_default().to_owned();
            format!("{name}: {} {last}\n{}", outcome.code, outcome.stderr)
        })
        .collect();
    assert_snapshot!(lines.concat(), @"
    docker-cp.tar: 0 clean
    gnu-gnu.tar: 121 rejected  header.magic: a header is not ustar
    hint: Make it with `tar --format=ustar -C DIR -cf FILE .`; where a name is too long for that, with `--format=pax --pax-option=delete=atime,delete=ctime`.
    gnu-pax.tar: 120 needs review
    hint: `--report FILE` writes the full list.
    gnu-ustar.tar: 120 needs review
    podman-export.tar: 120 needs review
    hint: `--report FILE` writes the full list.
    python-pax.tar: 120 needs review
    hint: `--report FILE` writes the full list.
    ");
}
