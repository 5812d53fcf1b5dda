//! The validator's rules, over one file's contents before and after: lockfiles, manifests,
//! what git reads, secrets, unseen characters.
//!
//! A rule that fails is caught by the judge and withholds the file (AUD-09), so it is the
//! finding that tells of it here.

use std::collections::HashMap;
use std::io;

use lazaret_tree::{Blobs, Digest, Entry, Mode, Tree, diff};
use lazaret_validator::{Findings, JudgeInput, Policy, judge};

use crate::input::Input;

/// Files whose contents some rule reads; and one that is nothing special.
const NAMES: [&str; 24] = [
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "uv.lock",
    "poetry.lock",
    "go.sum",
    "Gemfile.lock",
    "package.json",
    "pyproject.toml",
    "Cargo.toml",
    "requirements.txt",
    ".npmrc",
    "pip.conf",
    "Gemfile",
    "go.mod",
    "composer.json",
    ".gitattributes",
    ".gitmodules",
    ".gitignore",
    ".env",
    "tests/a.rs",
    "notes.txt",
];

pub(crate) const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"\"",
    b"\n  ",
    b"version",
    b"resolved",
    b"integrity",
    b"sha512-",
    b"git+ssh://",
    b"https://registry.example/",
    b"[[package]]\n",
    b"source = ",
    b"checksum = ",
    b"h1:",
    b"/go.mod",
    b"__metadata:\n",
    b"packages:\n",
    b"resolution: {",
    b"GEM\n",
    b"scripts",
    b"postinstall",
    b"filter=",
    b"[submodule \"a\"]\n",
    b"url = ",
    b"\xe2\x80\xae",
    b"\x1b[",
    b"AKIA",
    b"\xff",
    b"\0",
];

/// The bytes are the number of a name, the contents before up to the first byte 0xFE, and
/// those after.
pub(crate) fn judged(bytes: &[u8]) {
    let mut input = Input(bytes);
    let name = NAMES[usize::from(input.byte()) % NAMES.len()];
    let (before, after) = (input.until(0xfe), input.0);
    let mut contents = Contents::default();
    let baseline = contents.tree(name, before);
    let collected = contents.tree(name, after);
    let findings = contents.judge(&baseline, &collected);
    assert_eq!(findings, contents.judge(&baseline, &collected));
    for finding in &findings {
        assert_ne!(finding.code, "audit.failed", "{name}: {finding:?}");
        let texts = [Some(&*finding.message), finding.hint];
        for text in texts.into_iter().flatten() {
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
        let lines = after.split(|&byte| byte == b'\n').count();
        assert!(
            finding
                .line
                .is_none_or(|line| line >= 1 && line as usize <= lines),
            "{finding:?}"
        );
    }
    if before == after {
        assert_eq!(findings, []);
    }
}

#[derive(Debug, Default)]
struct Contents(HashMap<Digest, Vec<u8>>);

impl Contents {
    /// The tree with this one file, or none where there are no bytes.
    fn tree(&mut self, name: &str, bytes: &[u8]) -> Tree {
        let mut tree = Tree::new();
        if bytes.is_empty() {
            return tree;
        }
        let digest = Digest::of(bytes);
        self.0.insert(digest, bytes.to_vec());
        let entry = Entry::File {
            mode: Mode::Plain,
            size: bytes.len() as u64,
            digest,
        };
        if let Some((dir, _)) = name.split_once('/') {
            tree.insert(dir.parse().expect("a path"), Entry::Dir);
        }
        tree.insert(name.parse().expect("a path"), entry);
        tree
    }

    fn judge(&self, baseline: &Tree, collected: &Tree) -> Findings {
        let input = JudgeInput {
            baseline,
            changes: diff(baseline, collected),
            refusals: &[],
            notes: &[],
            contents: self,
        };
        judge(input, &Policy::shipped()).findings
    }
}

impl Blobs for Contents {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice()))
    }
}

macro_rules! sample {
    ($path:literal) => {
        include_bytes!(concat!("../../../crates/validator/tests/samples/", $path))
    };
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let samples: [(u8, &[u8]); 14] = [
        (0, sample!("cargo-1/Cargo.lock")),
        (0, sample!("cargo-4/Cargo.lock")),
        (1, sample!("npm-1/package-lock.json")),
        (1, sample!("npm-2/package-lock.json")),
        (2, sample!("npm-3/npm-shrinkwrap.json")),
        (3, sample!("yarn-1/yarn.lock")),
        (3, sample!("yarn-berry/yarn.lock")),
        (4, sample!("pnpm-5/pnpm-lock.yaml")),
        (4, sample!("pnpm-9/pnpm-lock.yaml")),
        (5, sample!("uv-1/uv.lock")),
        (6, sample!("poetry-1/poetry.lock")),
        (6, sample!("poetry-2/poetry.lock")),
        (7, sample!("go/go.sum")),
        (8, sample!("gemfile/Gemfile.lock")),
    ];
    let twice = |(name, text): &(u8, &[u8])| [&[*name], *text, &[0xfe], *text].concat();
    let mut seeds: Vec<Vec<u8>> = samples.iter().map(twice).collect();
    for (name, text) in [
        (
            9,
            r#"{"scripts": {"postinstall": "x"}, "dependencies": {"a": "1"}}"#,
        ),
        (
            10,
            "[build-system]\nrequires = [\"a\"]\nbuild-backend = \"b\"\n",
        ),
        (
            11,
            "[package]\nname = \"a\"\nbuild = \"b.rs\"\n[dependencies]\nx = { git = \"g\" }\n",
        ),
        (
            12,
            "a==1 --hash=sha256:00\n-r other.txt\n--index-url https://registry.example/\n",
        ),
        (
            13,
            "registry=https://registry.example/\n//registry.example/:_authToken=x\n",
        ),
        (18, "* filter=lfs diff=x\n[attr]a b\n"),
        (
            19,
            "[submodule \"a\"]\n\tpath = a\n\turl = ../b\n\tupdate = !x\n",
        ),
        (
            21,
            "KEY=AKIAIOSFODNN7EXAMPLE\n-----BEGIN PRIVATE KEY-----\n",
        ),
        (23, "#!/bin/sh\n\u{202e}x\u{200b}\u{1b}[31m\r\n"),
    ] {
        seeds.push([&[name, 0xfe], text.as_bytes()].concat());
    }
    seeds
}
