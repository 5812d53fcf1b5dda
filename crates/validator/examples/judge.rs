//! Measures `judge`: how long a batch of a given size takes, contents in memory.
//!
//! `cargo run --example judge -- UNCHANGED CHANGED [ADDED]`

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::time::Instant;

use lazaret_transfer::{Digest, Entry, Mode, RelPathBuf, Tree, diff};
use lazaret_validator::{Contents, JudgeInput, Limits, Policy, judge};

#[derive(Default)]
struct Memory(HashMap<Digest, Vec<u8>>);

impl Contents for Memory {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice()))
    }
}

impl Memory {
    /// About 4 KiB of something like source code.
    fn file(&mut self, number: usize, version: usize) -> Entry {
        let mut text = format!("//! Module {number}, version {version}.\n");
        for line in 0..80 {
            let _ = writeln!(
                text,
                "    let value_{line} = compute({number}, token({line}));"
            );
        }
        let digest = Digest::of(text.as_bytes());
        let size = text.len() as u64;
        self.0.insert(digest, text.into_bytes());
        let mode = Mode::Plain;
        Entry::File { mode, size, digest }
    }
}

fn path(number: usize) -> RelPathBuf {
    let (one, two) = (number / 1000, number / 50);
    let path = format!("packages/Group-{one}/src/module-{two}/Component{number}.ts");
    path.parse().unwrap_or_else(|_| unreachable!())
}

fn insert(tree: &mut Tree, path: RelPathBuf, entry: Entry) {
    for above in path.ancestors() {
        tree.insert(above.to_owned(), Entry::Dir);
    }
    tree.insert(path, entry);
}

fn main() {
    let numbers: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
    let (unchanged, changed, added) = (number(0), number(1), number(2));
    let mut contents = Memory::default();
    let (mut baseline, mut collected) = (Tree::new(), Tree::new());
    for number in 0..unchanged + changed + added {
        let after = contents.file(number, usize::from(number >= unchanged));
        insert(&mut collected, path(number), after);
        if number < unchanged + changed {
            let before = contents.file(number, 0);
            insert(&mut baseline, path(number), before);
        }
    }
    let limits = Limits {
        entries: u64::MAX,
        ..Limits::shipped()
    };
    let policy = Policy {
        limits,
        ..Policy::shipped()
    };
    for _ in 0..3 {
        let changes = diff(&baseline, &collected);
        let count = changes.len();
        let start = Instant::now();
        let input = JudgeInput {
            baseline: &baseline,
            collected: &collected,
            changes,
            refusals: &[],
            notes: &[],
            contents: &contents,
        };
        let verdict = judge(input, &policy);
        println!(
            "{} entries, {count} changes, {} findings: {:.3} s",
            collected.len(),
            verdict.findings.len(),
            start.elapsed().as_secs_f64()
        );
    }
}
