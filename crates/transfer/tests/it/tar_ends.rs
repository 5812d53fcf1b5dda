//! Ends of streams: TAR-34 to -37, -50, and the trailer.

use std::io::Read as _;

use insta::assert_snapshot;
use lazaret_protocol::{Checksum, Members, Trailer};
use lazaret_tests::hostile_tar::{Header, TarBuilder};
use lazaret_transfer::StreamEnd;

use crate::stream::{LIMITS, manifest, outcome, outcome_within, rejected};

fn two_files() -> TarBuilder {
    TarBuilder::new()
        .dir("d")
        .file("d/a", [b'a'; 700])
        .pax(&[("mtime", b"1.5")])
        .file("d/b", "b")
}

fn trailer_of_two_files() -> Trailer {
    Trailer {
        entries: 3,
        bytes: 701,
        stream: Checksum::of(&two_files().end()),
    }
}

fn with_trailer(stream: impl std::io::Read) -> String {
    outcome_within(stream, LIMITS, StreamEnd::Trailer)
}

/// Cut after every single byte, a stream is never taken for complete (TAR-34), also
/// not at a member boundary (TAR-35) nor between the zero blocks.
#[test]
fn tar_34_35_cut_at_every_byte() {
    let stream = two_files().end_with(trailer_of_two_files().encode());
    assert!(with_trailer(&stream[..]).starts_with("d d/\n"));
    let plain = stream.len() - 512;
    let members = plain - 1024;
    for length in 0..stream.len() {
        // Boundaries of the members d and d/a, and of the end mark.
        let boundary = [0, 512, 2048, members, members + 512].contains(&length);
        let code = if boundary {
            "stream.no_eof"
        } else {
            "stream.truncated"
        };
        // Neither ending, neither reader.
        let cut = &stream[..length];
        let found = manifest(cut, StreamEnd::Trailer).map_err(|error| error.code().id);
        assert_eq!(found, Err(code), "{length}");
        if length < plain {
            let found = manifest(cut, StreamEnd::Plain).map_err(|error| error.code().id);
            assert_eq!(found, Err(code), "{length}");
        }
        if boundary || length % 101 == 0 {
            assert_eq!(with_trailer(cut), format!("B {code}\n"), "{length}");
        }
    }
}

#[test]
fn tar_36_data_after_the_end() {
    let end = || two_files().zero_blocks(2);
    for stream in [
        end().raw("x"),
        end().raw("\0"),
        end().zero_blocks(3).raw("x"),
        end().raw(two_files().end()),
        end().zero_blocks(18).raw(two_files().end()),
        end().zero_blocks(1).raw([0; 511]),
        // A filling without end is no filling.
        end().zero_blocks(2 * 1024 + 2),
    ] {
        rejected(&stream.into_bytes()[..], "stream.trailing");
    }
    let filled = outcome(&end().zero_blocks(18).into_bytes()[..]);
    assert_eq!(filled, outcome(&end().into_bytes()[..]));
    assert!(filled.starts_with("d d/"));
    // The trailer has its own ending, and a plain stream has none.
    rejected(
        &two_files().end_with(trailer_of_two_files().encode())[..],
        "stream.trailing",
    );
}

#[test]
fn tar_37_one_zero_block_then_members() {
    let stream = TarBuilder::new()
        .file("a", "")
        .zero_blocks(1)
        .file("b", "")
        .zero_blocks(2);
    rejected(&stream.into_bytes()[..], "stream.lone_zero_block");
    let stream = TarBuilder::new()
        .zero_blocks(1)
        .file("b", "")
        .zero_blocks(2);
    rejected(&stream.into_bytes()[..], "stream.lone_zero_block");
    rejected(
        &TarBuilder::new().file("a", "").zero_blocks(1).into_bytes()[..],
        "stream.no_eof",
    );
}

#[test]
fn tar_50_compressed() {
    for magic in [
        &b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..],
        b"\xfd7zXZ\0\0\x04",
        b"\x28\xb5\x2f\xfd\x04\x58",
        b"BZh91AY&SY",
        b"\x04\x22\x4d\x18\x64\x40\xa7",
        b"PK\x03\x04",
    ] {
        rejected(magic, "stream.compressed");
        rejected(
            &TarBuilder::new().body(magic).end()[..],
            "stream.compressed",
        );
        // Later in the stream it is only a header that is none.
        rejected(
            &TarBuilder::new().file("a", "").body(magic).end()[..],
            "header.checksum",
        );
    }
    // A name may start like a compressed file.
    assert_eq!(
        outcome(&TarBuilder::new().file("BZh9", "").end()[..]),
        "f BZh9 \"\"\n"
    );
    rejected(&b"#!/bin/sh\n"[..], "stream.truncated");
    rejected(&[b'x'; 512][..], "header.checksum");
    rejected(&b""[..], "stream.no_eof");
}

#[test]
fn an_empty_stream_with_an_end_is_an_empty_tree() {
    assert_snapshot!(outcome(&TarBuilder::new().end()[..]), @"");
    assert_snapshot!(outcome(&TarBuilder::new().dir("./").end()[..]), @"");
}

#[test]
fn trailer_that_tells_something_else() {
    let good = trailer_of_two_files();
    let check = |trailer: Trailer| with_trailer(&two_files().end_with(trailer.encode())[..]);
    assert_eq!(check(Trailer { entries: 2, ..good }), "B trailer.entries\n");
    assert_eq!(check(Trailer { bytes: 702, ..good }), "B trailer.bytes\n");
    assert_eq!(
        check(Trailer {
            stream: Checksum::of(b""),
            ..good
        }),
        "B trailer.stream\n"
    );
    let text = String::from_utf8(good.encode().to_vec()).unwrap();
    for text in [
        text.replace("trailer 3", "trailer 2"),
        text.replace("701", "0701"),
        text.replace("entries 3\n", "entries +3\n"),
        text.replace("\n\0", "\nx\0").chars().take(512).collect(),
        String::new(),
    ] {
        let stream = two_files()
            .zero_blocks(2)
            .raw(&text.as_bytes()[..text.len().min(512)]);
        let stream = stream.raw(vec![0; 512 - text.len().min(512)]).into_bytes();
        assert_eq!(with_trailer(&stream[..]), "B trailer.malformed\n", "{text}");
    }
    // A changed file under a right count.
    let stream = TarBuilder::new()
        .dir("d")
        .file("d/a", [b'A'; 700])
        .file("d/b", "b");
    assert_eq!(
        with_trailer(&stream.end_with(good.encode())[..]),
        "B trailer.stream\n"
    );
}

/// The end of the stream is known without the end of the reader: podman's exec does
/// not close stdin reliably.
#[test]
fn nothing_is_read_behind_the_trailer() {
    let stream = two_files().end_with(trailer_of_two_files().encode());
    let mut reader = stream.chain(&b"next"[..]);
    assert!(with_trailer(&mut reader).starts_with("d d/"));
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "next");
}

#[test]
fn padding_that_is_not_zero() {
    let stream = TarBuilder::new()
        .header(&Header::file("f", 3))
        .raw("abc")
        .raw([1; 509]);
    rejected(&stream.end()[..], "stream.padding");
    let stream = TarBuilder::new()
        .header(&Header::new(b'x', "x").size(9))
        .raw("9 path=a\n")
        .raw([1; 503]);
    rejected(&stream.file("f", "").end()[..], "stream.padding");
}

#[test]
fn a_reader_that_stops_early_proves_nothing() {
    let stream = two_files().end();
    let mut members = Members::new(&stream[..], LIMITS);
    members.next().unwrap();
    assert_eq!(
        members.finish_plain().unwrap_err().code().id,
        "stream.given_up"
    );
    let mut members = Members::new(&stream[..700], LIMITS);
    while let Ok(Some(_)) = members.next() {}
    assert_eq!(members.next().unwrap_err().code().id, "stream.given_up");
}
