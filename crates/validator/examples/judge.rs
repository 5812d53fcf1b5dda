//! Measures `judge`: how long a batch of a given size takes, contents in memory.
//!
//! `cargo run --release --example judge -- UNCHANGED CHANGED [ADDED]`; the last line is JSON.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::time::Instant;

use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree, diff};
use lazaret_validator::{Contents, JudgeInput, Limits, Policy, judge};

#[derive(Default)]
struct Memory(HashMap<Digest, Vec<u8>>);

impl Contents for Memory {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice()))
    }
}

/// About 4 KiB of something like source code.
fn text(number: usize, version: usize) -> String {
    let mut text = format!("//! Module {number}, version {version}.\n");
    for line in 0..80 {
        let _ = writeln!(
            text,
            "    let value_{line} = compute({number}, token({line}));"
        );
    }
    text
}

fn file(text: &str) -> Entry {
    Entry::File {
        mode: Mode::Plain,
        size: text.len() as u64,
        digest: Digest::of(text.as_bytes()),
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
        let old = text(number, 0);
        if number < unchanged + changed {
            insert(&mut baseline, path(number), file(&old));
        }
        if number < unchanged {
            // The validator reads no unchanged file, so its contents are not needed.
            insert(&mut collected, path(number), file(&old));
            continue;
        }
        let new = text(number, 1);
        insert(&mut collected, path(number), file(&new));
        for text in [old, new] {
            let digest = Digest::of(text.as_bytes());
            contents.0.insert(digest, text.into_bytes());
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
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let changes = diff(&baseline, &collected);
        let count = changes.len();
        let start = Instant::now();
        let input = JudgeInput {
            baseline: &baseline,
            changes,
            refusals: &[],
            notes: &[],
            contents: &contents,
        };
        let verdict = judge(input, &policy);
        let took = start.elapsed().as_secs_f64();
        best = best.min(took);
        println!(
            "judge {} entries, {count} changes, {} findings: {took:.3} s",
            collected.len(),
            verdict.findings.len(),
        );
    }
    println!(
        "{{\"judge_entries_per_second\": {:.0}, \"judge_peak_kib\": {}}}",
        collected.len() as f64 / best,
        peak_kib().unwrap_or_default()
    );
}

/// The most memory that this process ever had, contents included (proc_pid_status(5),
/// VmHWM).
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
