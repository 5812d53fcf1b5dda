//! Streams that were changed on the way, and a second reader as the judge.
//!
//! Two properties of docs/design/threats.md, section 8: a changed header byte gives the same
//! manifest or an error (b); and where another reader sees something else in a
//! stream, we see an error (c).

use lazaret_fuzz::targets::stream::{header_blocks, specimen};
use lazaret_fuzz::targets::tar_crate::agrees;
use lazaret_protocol::{Checksum, Trailer};
use lazaret_tests::Random;
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder, fix_checksum, pax_record};
use lazaret_transfer::StreamEnd;

use crate::stream::manifest;

/// Values to put in place of `old`.
fn values(old: u8) -> impl Iterator<Item = u8> {
    let fixed = *b"\0\x01 ./0157x\x7f\x80\xff";
    let near = [old ^ 1, old ^ 0x20, old.wrapping_add(1)];
    fixed
        .into_iter()
        .chain(near)
        .filter(move |&value| value != old)
}

#[test]
fn a_changed_header_byte_gives_the_same_manifest_or_an_error() {
    let stream = specimen();
    let expected = manifest(&stream[..], StreamEnd::Plain).unwrap();
    assert_eq!(expected.len(), 8);
    let mut accepted = 0;
    for block in header_blocks(&stream) {
        // PAX records have no checksum: the trailer is there for them.
        if stream[block..block + 512].contains(&b'=') {
            continue;
        }
        for at in block..block + 512 {
            for value in values(stream[at]) {
                let mut changed = stream.clone();
                changed[at] = value;
                if let Ok(manifest) = manifest(&changed[..], StreamEnd::Plain) {
                    assert_eq!(manifest, expected, "byte {at} = {value}");
                    accepted += 1;
                }
            }
        }
    }
    // Only the end of a checksum may be spelled in two ways.
    assert!(accepted < 100, "{accepted}");
}

#[test]
fn any_changed_byte_before_a_trailer_is_an_error() {
    let mut stream = specimen();
    let members = manifest(&stream[..], StreamEnd::Plain).unwrap();
    let (entries, bytes) = (members.len() as u64, 5 + 5 + 3);
    let trailer = Trailer {
        entries,
        bytes,
        stream: Checksum::of(&stream),
    };
    stream.extend_from_slice(&trailer.encode());
    assert!(manifest(&stream[..], StreamEnd::Trailer).is_ok());
    for at in 0..stream.len() {
        for value in values(stream[at]) {
            let mut changed = stream.clone();
            changed[at] = value;
            let read = manifest(&changed[..], StreamEnd::Trailer);
            assert!(read.is_err() || changed == stream, "byte {at} = {value}");
        }
    }
}

#[test]
fn a_changed_header_with_a_right_checksum_is_read_as_the_tar_crate_reads_it() {
    let stream = specimen();
    let mut accepted = 0;
    for block in header_blocks(&stream) {
        for at in block..block + 512 {
            for value in values(stream[at]) {
                let mut changed = stream.clone();
                changed[at] = value;
                let header: &mut [u8; 512] = (&mut changed[block..block + 512]).try_into().unwrap();
                if header[257..262] == *b"ustar" {
                    fix_checksum(header);
                }
                accepted += agrees(&changed, &format!("byte {at} = {value}"));
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn random_streams_are_read_as_the_tar_crate_reads_them() {
    let mut random = Random::new(2026);
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let stream = random_stream(&mut random);
        accepted += agrees(&stream, &format!("round {round}"));
    }
    assert!(accepted > ROUNDS / 100, "{accepted}");
}

#[test]
fn several_changed_bytes_are_read_as_the_tar_crate_reads_them() {
    let stream = specimen();
    let blocks = header_blocks(&stream);
    let mut random = Random::new(7);
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let mut changed = stream.clone();
        for _ in 0..=random.below(3) {
            let block = random.pick(&blocks);
            let at = block + random.below(512);
            let near: Vec<u8> = values(changed[at]).collect();
            changed[at] = random.pick(&near);
            let header: &mut [u8; 512] = (&mut changed[block..block + 512]).try_into().unwrap();
            if header[257..262] == *b"ustar" {
                fix_checksum(header);
            }
        }
        accepted += agrees(&changed, &format!("round {round}"));
    }
    assert!(accepted > ROUNDS / 100, "{accepted}");
}

/// As many as take less than a second; a hundred times as many were run once, from other seeds.
const ROUNDS: u64 = 20_000;

const NAMES: [&str; 14] = [
    "a", "b", "./a", "d/", "./d/", "d", "d/a", "d/../a", "/a", "a//b", "", "d/\u{1b}", "s", "s/a",
];

fn random_stream(random: &mut Random) -> Vec<u8> {
    let mut stream = TarBuilder::new();
    for _ in 0..=random.below(4) {
        if random.below(3) == 0 {
            let records = (0..random.below(3)).flat_map(|_| {
                let keys = [
                    "path",
                    "linkpath",
                    "size",
                    "mtime",
                    "SCHILY.xattr.user.x",
                    "comment",
                ];
                let values = [
                    "a", "0", "3", "512", "-1.5", "d/b", "./c", "../x", "a\0b", "+3",
                ];
                let key: &str = random.pick(&keys);
                let value: &str = random.pick(&values);
                pax_record(key, value.as_bytes())
            });
            let records: Vec<u8> = records.collect();
            stream = stream.pax_raw(records);
        }
        let flag = random.pick(b"000000001225556gLxS7");
        let size = random.pick(&[0, 0, 3, 3, 512, 1024]);
        let mut header =
            Header::new(flag, random.pick(&NAMES)).size(if flag == b'0' { size } else { 0 });
        if matches!(flag, b'1' | b'2') {
            header = header.raw(Field::Linkname, random.pick(&NAMES));
        }
        if random.below(20) == 0 {
            let field = random.pick(&Field::ALL);
            header = header.raw(field, random.pick(&[&b"7"[..], b"\0", b"\xff"]));
        }
        stream = stream.header(&header);
        if flag == b'0' {
            let body = random.pick(&[size, size, size, 0, 512]);
            stream = stream.body(vec![b'x'; body as usize]);
        }
    }
    match random.below(8) {
        0 => stream.zero_blocks(1).into_bytes(),
        1 => stream.into_bytes(),
        2 => stream.end_with("more"),
        _ => stream.end(),
    }
}
