//! Streams that were changed on the way, and a second reader as the judge.
//!
//! Two properties of threats.md, section 8: a changed header byte gives the same
//! manifest or an error (b); and where another reader sees something else in a
//! stream, we see an error (c).

use std::io::Read as _;

use lazaret_tests::Random;
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder, fix_checksum, pax_record};
use lazaret_transfer::{
    Digest, Ending, Entry, Member, MemberKind, MemberPath, Mode, Trailer, Tree,
};

use crate::stream::{Manifest, manifest};

/// One of everything that is accepted.
fn specimen() -> Vec<u8> {
    TarBuilder::new()
        .dir("./")
        .dir("./d/")
        .member(&Header::file("./d/run", 5).mode(0o755), "#!sh\n")
        .symlink("./d/link", "../f")
        .hard("./hard", "./d/run")
        .header(&Header::new(b'6', "./fifo"))
        .pax(&[("path", b"d/renamed"), ("size", b"3"), ("mtime", b"-1.5")])
        .member(&Header::file("short", 0), "abc")
        .header(&Header::file("n", 0).raw(Field::Prefix, "d"))
        .pax(&[("linkpath", b"d/n"), ("SCHILY.xattr.user.x", b"\0\n")])
        .symlink("last", "")
        .end()
}

/// The offsets of the blocks that are headers or PAX records.
fn header_blocks(stream: &[u8]) -> Vec<usize> {
    let is_body = |at: usize| stream[at..].starts_with(b"#!sh") || stream[at..].starts_with(b"abc");
    (0..stream.len())
        .step_by(512)
        .filter(|&at| !is_body(at))
        .collect()
}

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
    let expected = manifest(&stream[..], Ending::Plain).unwrap();
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
                if let Ok(manifest) = manifest(&changed[..], Ending::Plain) {
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
fn any_changed_byte_before_a_trailer_gives_the_same_tree_or_an_error() {
    let mut stream = specimen();
    let members = manifest(&stream[..], Ending::Plain).unwrap();
    let (entries, bytes) = (members.len() as u64, 5 + 5 + 3);
    let tree = tree(&members);
    let trailer = Trailer {
        entries,
        bytes,
        tree: tree.digest(),
    };
    stream.extend_from_slice(&trailer.encode());
    for at in 0..stream.len() {
        for value in values(stream[at]) {
            let mut changed = stream.clone();
            changed[at] = value;
            let mut reader = &changed[..];
            let Ok(members) = manifest(&mut reader, Ending::Trailer) else {
                continue;
            };
            let told = Trailer::parse(changed[changed.len() - 512..].try_into().unwrap()).unwrap();
            let arrived = self::tree(&members);
            assert!(
                arrived == tree || arrived.digest() != told.tree,
                "byte {at} = {value}"
            );
        }
    }
}

/// The tree that `unpack` compares with the trailer.
fn tree(members: &Manifest) -> Tree {
    let mut tree = Tree::new();
    for (member, body) in members {
        let MemberPath::Good(path) = &member.path else {
            continue;
        };
        let entry = match &member.kind {
            MemberKind::Dir => Entry::Dir,
            MemberKind::File { mode, size } => {
                let (mode, size, digest) = (*mode, *size, Digest::of(body));
                Entry::File { mode, size, digest }
            }
            MemberKind::Symlink { target: Ok(target) } => Entry::Symlink {
                target: target.clone(),
            },
            MemberKind::Hard {
                target: MemberPath::Good(target),
                ..
            } => tree.get(target).unwrap().clone(),
            _ => continue,
        };
        tree.insert(path.clone(), entry);
    }
    tree
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

/// Reads a stream twice; 1 if we accept it, and then the tar crate must agree.
#[track_caller]
pub(crate) fn agrees(stream: &[u8], context: &str) -> u64 {
    let Ok(manifest) = manifest(stream, Ending::Plain) else {
        return 0;
    };
    let ours: Vec<_> = manifest.iter().map(render).collect();
    let theirs = read_by_tar_crate(stream);
    assert_eq!(ours, theirs, "{context}");
    1
}

fn render((member, body): &<Manifest as IntoIterator>::Item) -> String {
    let Member { path, kind, .. } = member;
    let target = |path: &MemberPath| path.as_bytes().escape_ascii().to_string();
    let kind = match kind {
        MemberKind::File {
            mode: Mode::Plain, ..
        } => format!("file {}", body.escape_ascii()),
        MemberKind::File {
            mode: Mode::Executable,
            ..
        } => format!("program {}", body.escape_ascii()),
        MemberKind::Dir => "dir".to_owned(),
        MemberKind::Fifo => "fifo".to_owned(),
        MemberKind::Hard { target: of, .. } => format!("hard {}", target(of)),
        MemberKind::Symlink { target: Ok(to) } => format!("link {}", to.as_str().escape_debug()),
        MemberKind::Symlink { target: Err(_) } => "link".to_owned(),
    };
    format!("{} {kind}", path.as_bytes().escape_ascii())
}

fn read_by_tar_crate(stream: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(stream);
    let mut lines = Vec::new();
    for entry in archive.entries().unwrap() {
        let Ok(mut entry) = entry else {
            lines.push("error".to_owned());
            break;
        };
        let mut body = Vec::new();
        entry.read_to_end(&mut body).unwrap();
        let clean = |name: &[u8]| {
            name.strip_prefix(b"./")
                .unwrap_or(name)
                .escape_ascii()
                .to_string()
        };
        let link = entry
            .link_name_bytes()
            .map(|name| name.into_owned())
            .unwrap_or_default();
        let executable = entry.header().mode().unwrap() & 0o100 != 0;
        let kind = match entry.header().entry_type() {
            tar::EntryType::Regular if executable => format!("program {}", body.escape_ascii()),
            tar::EntryType::Regular => format!("file {}", body.escape_ascii()),
            tar::EntryType::Directory => "dir".to_owned(),
            tar::EntryType::Fifo => "fifo".to_owned(),
            tar::EntryType::Link => format!("hard {}", clean(&link)),
            tar::EntryType::Symlink => match std::str::from_utf8(&link) {
                Ok(to) if !to.chars().any(char::is_control) => {
                    format!("link {}", to.escape_debug())
                }
                _ => "link".to_owned(),
            },
            other => format!("{other:?}"),
        };
        let name = entry.path_bytes().into_owned();
        if name == b"./" {
            continue;
        }
        let name = if kind == "dir" {
            name.strip_suffix(b"/").unwrap_or(&name)
        } else {
            &name
        };
        // A second name of a FIFO is as odd as the first: one more FIFO to us.
        let linked = kind
            .strip_prefix("hard ")
            .map(|target| format!("{target} fifo"));
        let kind = match linked {
            Some(fifo) if lines.contains(&fifo) => "fifo".to_owned(),
            _ => kind,
        };
        lines.push(format!("{} {kind}", clean(name)));
    }
    lines
}
