//! Genuine lockfiles and manifests with random damage: no panic, and no other contents unnoticed.

use lazaret_tests::Random;

use super::{FORMATS, Read, compare};
use crate::Severity;
use crate::rules::structured::driver::Before;
use crate::rules::{lockfiles, manifests};

macro_rules! samples {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../tests/samples/", $path)))),*]
    };
}

const SAMPLES: &[(&str, &str)] = samples![
    "bun/bun.lock",
    "cargo-1/Cargo.lock",
    "cargo-2/Cargo.lock",
    "cargo-3/Cargo.lock",
    "cargo-4/Cargo.lock",
    "composer/composer.lock",
    "deno-3/deno.lock",
    "deno-5/deno.lock",
    "flake/flake.lock",
    "gemfile/Gemfile.lock",
    "go/go.sum",
    "gradle/verification-metadata.xml",
    "mix/mix.lock",
    "npm-1/package-lock.json",
    "npm-2/package-lock.json",
    "npm-3/npm-shrinkwrap.json",
    "nuget/packages.lock.json",
    "pdm-2/pdm.lock",
    "pdm-4/pdm.lock",
    "pipfile/Pipfile.lock",
    "pnpm-5/pnpm-lock.yaml",
    "pnpm-6/pnpm-lock.yaml",
    "pnpm-9/pnpm-lock.yaml",
    "poetry-1/poetry.lock",
    "poetry-2/poetry.lock",
    "pubspec/pubspec.lock",
    "pylock/pylock.toml",
    "swift-1/Package.resolved",
    "swift-2/Package.resolved",
    "terraform/.terraform.lock.hcl",
    "uv-1/uv.lock",
    "yarn-1/yarn.lock",
    "yarn-berry/yarn.lock",
];

const MANIFESTS: &[(&str, &str)] = samples![
    "manifests/cargo.toml",
    "manifests/go.mod",
    "manifests/package.json",
    "manifests/pyproject.toml",
    "manifests/requirements.txt",
    "manifests/setup.cfg",
];

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

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_lowercase()
}

fn read_of(path: &str) -> Read {
    let name = name_of(path);
    FORMATS
        .iter()
        .find(|(format, _)| *format == name)
        .unwrap()
        .1
}

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
    let mut random = Random::new(0x6c6f_636b);
    for (path, text) in SAMPLES.iter().chain(MANIFESTS) {
        let exercise = match path.starts_with("manifests/") {
            true => manifests::properties::exercise,
            false => lockfiles::properties::exercise,
        };
        let (mut read_well, mut refused) = (0, 0);
        for _ in 0..500 {
            let mut bytes = text.as_bytes().to_vec();
            mutate(&mut random, &mut bytes);
            match exercise(&name_of(path), text.as_bytes(), &bytes) {
                true => read_well += 1,
                false => refused += 1,
            }
        }
        // Damage that nothing survives, or that nothing notices, would prove nothing.
        assert!(
            read_well > 20 && refused > 20,
            "{path}: {read_well} read, {refused} refused"
        );
    }
}

/// Every single hash of every sample: with one other letter it blocks.
#[test]
fn sus_23_no_hash_changes_unnoticed() {
    let mut hashes = 0;
    for (path, text) in SAMPLES {
        let read = read_of(path);
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
            assert_ne!(changed, *text, "{path}: {hash}");
            let before = Before::Known(read(text).unwrap());
            let remarks = compare::compare(&before, &read(&changed).unwrap()).finish();
            // One of several hashes without a file name may be of a file that came later.
            let expected = match locked_package.file.ends_with(hash) {
                true => Severity::Warn,
                false => Severity::Block,
            };
            let is_said = remarks.iter().any(|remark| remark.severity >= expected);
            assert!(is_said, "{path}: {hash}: {remarks:?}");
        }
    }
    assert!(hashes > 40, "{hashes}");
}
