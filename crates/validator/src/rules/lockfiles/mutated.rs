//! Genuine lockfiles and manifests with random damage: no panic, and no other contents unnoticed.

use lazaret_tests::Random;

use super::source::Source;
use super::{compare, format_named};
use crate::Severity;
use crate::rules::structured::driver::Before;
use crate::rules::{lockfiles, manifests};
use crate::samples::{self, Sample};

/// What readers trip over.
const PIECES: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\r",
    b"\t",
    b"\n",
    b"  ",
    b"\"",
    b"'",
    b"\\",
    b"\\u",
    b"\\\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[",
    b"]]",
    b":",
    b": ",
    b",",
    b"=",
    b"#",
    b"- ",
    b"? ",
    b"---\n",
    b"&a ",
    b"*a",
    b"<<: ",
    b"@",
    b"(",
    b")",
    b"://",
    b"%",
    b"%2",
    b"/-/",
    b"null",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x92\xa9",
    b"|-\n",
];

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, random.pick(PIECES).iter().copied())),
            3 => drop(bytes.splice(at..end, random.pick(PIECES).iter().copied())),
            4 => {
                let again = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, again));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next_u64() as u8;
                }
            }
        }
    }
}

#[test]
fn sus_15_18_23_damage_never_panics() {
    damage(&samples::lockfiles(), lockfiles::properties::exercise);
    damage(&samples::manifests(), manifests::properties::exercise);
}

fn damage(samples: &[Sample], exercise: fn(&str, &[u8], &[u8]) -> bool) {
    let mut random = Random::new(0x6c6f_636b);
    for Sample { path, name, text } in samples {
        let (mut read_well, mut refused) = (0, 0);
        for _ in 0..500 {
            let mut bytes = text.as_bytes().to_vec();
            mutate(&mut random, &mut bytes);
            match exercise(name, text.as_bytes(), &bytes) {
                true => read_well += 1,
                false => refused += 1,
            }
        }
        // Damage that nothing survives, or that nothing notices, would prove nothing.
        assert!(
            read_well > 20 && refused > 20,
            "{path:?}: {read_well} read, {refused} refused"
        );
    }
}

/// Every single hash of every sample: with one other letter it blocks.
#[test]
fn sus_23_no_hash_changes_unnoticed() {
    let mut hashes = 0;
    for Sample { path, name, text } in &samples::lockfiles() {
        let read = format_named(name).unwrap().read;
        for locked_package in read(text).unwrap().locked_packages {
            let Some(hash) = locked_package.integrity else {
                continue;
            };
            // The revision of a branch is its version, and moves on.
            if locked_package.version == hash {
                continue;
            }
            hashes += 1;
            // Yarn 1 has two in one, and some have the algorithm in front.
            let hash = hash.split(" #").next().unwrap();
            let hash = match text.contains(hash) {
                true => hash,
                false => hash.split_once(':').unwrap().1,
            };
            let mut other = hash.to_owned();
            let last = if other.ends_with("==") {
                other.len() - 4
            } else {
                other.len() - 3
            };
            let letter = if &other[last..=last] == "a" { "b" } else { "a" };
            other.replace_range(last..=last, letter);
            let changed = text.replace(hash, &other);
            assert_ne!(changed, *text, "{path:?}: {hash}");
            let before = Before::Known(read(text).unwrap());
            let remarks = compare::compare(&before, &read(&changed).unwrap()).finish();
            // One of several hashes without a file name may be of a file that came later.
            let expected = match locked_package.file.ends_with(hash) {
                true => Severity::Warn,
                false => Severity::Block,
            };
            let is_said = remarks.iter().any(|remark| remark.severity >= expected);
            assert!(is_said, "{path:?}: {hash}: {remarks:?}");
        }
    }
    assert!(hashes > 40, "{hashes}");
}

/// Every single host of every sample: with another name it blocks, or is a package that warns.
#[test]
fn sus_23_no_host_changes_unnoticed() {
    let mut hosts = 0;
    for Sample { path, name, text } in &samples::lockfiles() {
        let read = format_named(name).unwrap().read;
        for locked_package in read(text).unwrap().locked_packages {
            let (Source::Web(address) | Source::Git(address, _)) = &locked_package.source else {
                continue;
            };
            // Some formats name a known registry by a word.
            let host = format!("//{}", address.host);
            if address.host.is_empty() || !text.contains(&host) {
                continue;
            }
            hosts += 1;
            let changed = text.replace(&host, &format!("//evil.{}", address.host));
            let before = Before::Known(read(text).unwrap());
            let remarks = compare::compare(&before, &read(&changed).unwrap()).finish();
            // A package that is named by its address is another one.
            let expected = match locked_package.name.contains(&host) {
                true => Severity::Warn,
                false => Severity::Block,
            };
            let is_said = remarks.iter().any(|remark| remark.severity >= expected);
            assert!(is_said, "{path:?}: {host}: {remarks:?}");
        }
    }
    assert!(hosts > 40, "{hosts}");
}
