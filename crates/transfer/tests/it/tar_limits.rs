//! Limits of streams: TAR-25, -48, -49.

use std::io::{self, Read};

use lazaret_protocol::StreamLimits;
use lazaret_tests::hostile_tar::{Field, Header, TarBuilder};
use lazaret_transfer::StreamEnd;

use crate::stream::{LIMITS, outcome_within, rejected};

/// A reader that makes block after block, and counts them.
struct Endless<F> {
    make: F,
    blocks: u64,
    rest: Vec<u8>,
}

fn endless<F: FnMut(u64) -> [u8; 512]>(make: F) -> Endless<F> {
    Endless {
        make,
        blocks: 0,
        rest: Vec::new(),
    }
}

impl<F: FnMut(u64) -> [u8; 512]> Read for Endless<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = (self.make)(self.blocks).to_vec();
            self.blocks += 1;
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

fn within(stream: impl Read, limits: StreamLimits) -> String {
    outcome_within(stream, limits, StreamEnd::Plain)
}

/// The most memory that this process ever used, in KiB.
#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(not(target_os = "linux"))]
fn peak_kib() -> u64 {
    0
}

#[test]
fn tar_25_pax_header_that_claims_more_than_there_is() {
    let before = peak_kib();
    let claim = |flag, size| {
        let header = Header::new(flag, "x").size(size);
        TarBuilder::new()
            .header(&header)
            .raw([b'1'; 2048])
            .into_bytes()
    };
    // The most that octal can say is 8 GiB; a TiB takes base-256, which is refused.
    rejected(&claim(b'x', (8 << 30) - 1)[..], "limit.meta");
    rejected(&claim(b'x', (64 << 10) + 1)[..], "limit.meta");
    rejected(&claim(b'x', 64 << 10)[..], "stream.truncated");
    rejected(&claim(b'L', (8 << 30) - 1)[..], "typeflag");
    let header = Header::new(b'x', "x").base256(Field::Size, 1 << 40);
    rejected(
        &TarBuilder::new().header(&header).raw([b'1'; 2048]).end()[..],
        "header.number",
    );
    // Other tests run beside this one; none of them needs as much as one claim.
    assert!(peak_kib() - before < 1 << 20);
}

#[test]
fn tar_48_a_million_empty_files() {
    let before = peak_kib();
    let mut stream = endless(|block| Header::file(format!("{block:07}"), 0).block());
    assert_eq!(within(&mut stream, LIMITS), "B limit.entries\n");
    assert_eq!(stream.blocks, LIMITS.entries + 1);
    // It takes less than what was read of it.
    assert!(peak_kib() - before < stream.blocks / 2);
    // Directories that are only implied count as well.
    let mut stream =
        endless(|block| Header::file(format!("{block}/{}f", "d/".repeat(40)), 0).block());
    let limits = StreamLimits {
        entries: 1000,
        ..LIMITS
    };
    assert_eq!(within(&mut stream, limits), "B limit.entries\n");
    assert_eq!(stream.blocks, 1000 / 42 + 1);
    // The limit itself is good.
    let stream = (0..1000).fold(TarBuilder::new(), |stream, n| {
        stream.file(n.to_string(), "")
    });
    assert!(within(&stream.clone().end()[..], limits).starts_with("f 0 "));
    assert_eq!(
        within(&stream.file("more", "").end()[..], limits),
        "B limit.entries\n"
    );
}

#[test]
fn tar_49_three_gib_sparse_file() {
    let mut stream = endless(|block| match block {
        0 => Header::file("sparse", 3 << 30).block(),
        _ => [0; 512],
    });
    assert_eq!(within(&mut stream, LIMITS), "B limit.file_bytes\n");
    assert_eq!(stream.blocks, 1);
}

#[test]
fn limits_of_bytes() {
    let limits = StreamLimits {
        file_bytes: 10,
        total_bytes: 15,
        ..LIMITS
    };
    let files = |sizes: &[usize]| {
        let stream = TarBuilder::new();
        let files = sizes.iter().enumerate();
        files
            .fold(stream, |stream, (n, size)| {
                stream.file(n.to_string(), vec![b'x'; *size])
            })
            .end()
    };
    assert!(within(&files(&[10, 5])[..], limits).starts_with("f 0 "));
    assert_eq!(within(&files(&[11])[..], limits), "B limit.file_bytes\n");
    assert_eq!(
        within(&files(&[10, 6])[..], limits),
        "B limit.total_bytes\n"
    );
}

#[test]
fn limit_of_names() {
    let limits = StreamLimits {
        name_bytes: 100,
        ..LIMITS
    };
    let name = |count| "n".repeat(count);
    let stream = TarBuilder::new().file(name(100), "");
    assert!(within(&stream.clone().end()[..], limits).starts_with("f n"));
    assert_eq!(
        within(&stream.file("m", "").end()[..], limits),
        "B limit.names\n"
    );
    let stream = TarBuilder::new().symlink(name(50), name(51));
    assert_eq!(within(&stream.end()[..], limits), "B limit.names\n");
    // Notes are kept too.
    let key = format!("SCHILY.xattr.user.{}", name(60));
    let stream = TarBuilder::new().pax(&[(&key, b"")]).file("f", "");
    assert_eq!(within(&stream.end()[..], limits), "B limit.names\n");
}

/// A name may have 30,000 components, and many names may share them: judging one
/// takes time in proportion to its length.
#[test]
fn deep_names_take_no_time() {
    let deep = "d/".repeat(30_000);
    let mut stream = TarBuilder::new();
    for n in 0..100 {
        stream = stream
            .pax(&[("path", format!("{deep}{n}").as_bytes())])
            .file("f", "");
    }
    let text = within(&stream.end()[..], LIMITS);
    assert_eq!(text.matches("Q path.too_long").count(), 100);
}

/// As many entries as allowed, as deep as allowed, with parents that are implied
/// only: the tree is made complete without walking up from each of them.
#[test]
fn deep_trees_take_no_time() {
    let deep = "d/".repeat(63);
    let limits = StreamLimits {
        entries: 20_063,
        ..LIMITS
    };
    let stream = (0..20_000).fold(TarBuilder::new(), |stream, n| {
        let header = Header::file(format!("{n}"), 0).raw(Field::Prefix, deep.trim_end_matches('/'));
        stream.header(&header)
    });
    let text = within(&stream.clone().end()[..], limits);
    assert_eq!(text.lines().count(), 20_063);
    assert_eq!(
        within(&stream.file("more", "").end()[..], limits),
        "B limit.entries\n"
    );
}
