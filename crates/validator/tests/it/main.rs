//! Integration tests of the crate, one binary.

mod alarms;
mod approval;
mod content;
mod deletions;
mod everyday;
mod git;
mod git_config;
mod git_files;
mod ignored;
mod limits;
mod links;
mod lockfiles;
mod lookalikes;
mod losses;
mod manifests;
mod modes;
mod names;
mod paths;
mod renames;
mod secrets;
mod suspects;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use lazaret_tests::tree_text::{Line, parse};
use lazaret_tree::{Digest, Entry, LinkTarget, Mode, RejectedEntry, RelPath, Tree, diff, escape};
use lazaret_validator::{Contents, JudgeInput, Policy, Verdict, WithheldReason, judge};

/// Contents in memory.
#[derive(Default)]
struct Memory(HashMap<Digest, Vec<u8>>);

impl Contents for Memory {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice()))
    }
}

/// Reads the tree language; directories on the way are made.
fn tree(text: &str, contents: &mut Memory) -> Tree {
    let mut tree = Tree::new();
    for (path, line) in parse(text) {
        let path = RelPath::from_bytes(&path).unwrap();
        for above in path.ancestors() {
            tree.insert(above.to_owned(), Entry::Dir);
        }
        let entry = match line {
            Line::Dir => Entry::Dir,
            Line::Symlink { target } => Entry::Symlink {
                target: LinkTarget::from_bytes(&target).unwrap(),
            },
            Line::File { mode, content } => {
                let digest = Digest::of(&content);
                let size = content.len() as u64;
                contents.0.insert(digest, content);
                let mode = Mode::from_unix(mode);
                Entry::File { mode, size, digest }
            }
            other => panic!("not for trees: {other:?}"),
        };
        tree.insert(path.to_owned(), entry);
    }
    tree
}

fn verdict_by(policy: &Policy, before: &str, after: &str) -> Verdict {
    verdict_with(policy, &[], before, after)
}

fn verdict_with(policy: &Policy, refusals: &[RejectedEntry], before: &str, after: &str) -> Verdict {
    let mut contents = Memory::default();
    let baseline = tree(before, &mut contents);
    let collected = tree(after, &mut contents);
    let input = JudgeInput {
        baseline: &baseline,
        changes: diff(&baseline, &collected),
        refusals,
        notes: &[],
        contents: &contents,
    };
    judge(input, policy)
}

fn verdict(before: &str, after: &str) -> Verdict {
    verdict_by(&Policy::shipped(), before, after)
}

/// Judges, and renders everything that follows.
fn check(before: &str, after: &str) -> String {
    render(&verdict(before, after))
}

fn check_by(policy: &Policy, before: &str, after: &str) -> String {
    render(&verdict_by(policy, before, after))
}

fn render(verdict: &Verdict) -> String {
    let mut text = String::new();
    for finding in &verdict.findings {
        writeln!(text, "{finding}").unwrap();
    }
    writeln!(text, "= {}", verdict.outcome.as_str()).unwrap();
    let Some(validated) = &verdict.validated else {
        return text;
    };
    for change in validated.changes() {
        let sign = match (&change.before, &change.after) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        };
        writeln!(text, "{sign} {}", escape(change.path.as_str().as_bytes())).unwrap();
    }
    for withheld in validated.withheld() {
        let reason = match &withheld.reason {
            WithheldReason::Findings(codes) => codes.join(" "),
            WithheldReason::Below(path) => format!("below {path}"),
            WithheldReason::Keeps(path) => format!("keeps {path}"),
            WithheldReason::Moved(place) => format!("moved to {}", escape(place)),
            WithheldReason::Git => "git".to_owned(),
            WithheldReason::LeftOut => "left out".to_owned(),
            WithheldReason::Conflict => "conflict".to_owned(),
        };
        let path = escape(withheld.path.as_str().as_bytes());
        writeln!(text, "withheld {path}: {reason}").unwrap();
    }
    text
}

/// The codes of the findings about one new file.
fn codes_of_new(path: &str) -> String {
    let path = lazaret_tests::tree_text::quote(path.as_bytes());
    let verdict = verdict("", &format!("f {path} \"x\""));
    let findings = verdict.findings.iter();
    let codes: Vec<_> = findings
        .map(|finding| format!("{} {}", finding.severity, finding.code))
        .collect();
    codes.join(", ")
}
