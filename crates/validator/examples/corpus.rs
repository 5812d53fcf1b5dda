//! Measures the judge: which hostile paths get at least a warning, and which real commits
//! `--apply auto` would stop.
//!
//! `cargo run --release --example corpus -- DIR` reads `DIR/hostile-paths.tsv` and
//! `DIR/real-commits.jsonl`, in the form that `cargo xtask bench judge` describes, and prints
//! one line of JSON.
//!
//! Both say paths and no contents, so files get contents that say nothing: one line that is a
//! comment, or the least that a format allows. A changed file differs in a number. A commit is
//! judged in the tree that the list knows of its repository (commits come newest first), and of
//! other files, so that what it deletes is a small part of it.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

use lazaret_tree::{Digest, Entry, LinkTarget, Mode, RelPath, RelPathBuf, Tree, diff};
use lazaret_validator::{Contents, JudgeInput, Policy, Severity, Verdict, judge};
use serde_json::{Value, json};

/// How many other files the tree of a commit has.
const OTHERS: usize = 500;
/// What changes of existing CI files are told by.
const CI: &str = "suspect.ci";

#[derive(Default)]
struct Memory(HashMap<Digest, Vec<u8>>);

impl Contents for Memory {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        let bytes = self.0.get(digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice()))
    }
}

/// A side of what is judged.
#[derive(Clone, Default)]
struct Side(Tree);

impl Side {
    fn others() -> Result<Self, Box<dyn Error>> {
        let mut side = Self::default();
        for number in 0..OTHERS {
            let path = format!("other/part{}/file{number}.rs", number % 20);
            let digest = Digest::of(path.as_bytes());
            let size = path.len() as u64;
            let mode = Mode::Plain;
            side.insert(&path, Entry::File { mode, size, digest })?;
        }
        Ok(side)
    }

    fn insert(&mut self, path: &str, entry: Entry) -> Result<(), Box<dyn Error>> {
        let path = RelPath::new(path)?;
        for above in path.ancestors() {
            self.0.insert(above.to_owned(), Entry::Dir);
        }
        self.0.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Removes directories that hold nothing, which git does not know.
    fn remove_empty(&mut self) {
        let paths: Vec<RelPathBuf> = self.0.entries().map(|(path, _)| path.clone()).collect();
        for path in paths.iter().rev() {
            let is_dir = self.0.get(path) == Some(&Entry::Dir);
            if is_dir && self.0.below(path).next().is_none() {
                self.0.remove(path);
            }
        }
    }
}

/// Contents of a file that say nothing, in the format that its name promises.
fn plain(path: &str, version: u32) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit('.').next().unwrap_or_default();
    match (&*name, ending) {
        ("package-lock.json" | "npm-shrinkwrap.json", _) => {
            format!(r#"{{"name":"x{version}","lockfileVersion":3,"packages":{{}}}}"#)
        }
        ("pnpm-lock.yaml", _) => format!("lockfileVersion: '9.0'\n# {version}\n"),
        ("cargo.lock", _) => format!("# {version}\nversion = 4\n"),
        ("uv.lock", _) => format!("# {version}\nversion = 1\nrequires-python = \">=3.12\"\n"),
        ("poetry.lock", _) => format!(
            "# {version}\npackage = []\n\n[metadata]\nlock-version = \"2.1\"\npython-versions = \"*\"\ncontent-hash = \"{version:064}\"\n"
        ),
        ("gemfile.lock", _) => format!(
            "GEM\n  specs:\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n\nBUNDLED WITH\n   2.5.{version}\n"
        ),
        ("bun.lock", _) => format!(r#"{{"lockfileVersion":1,"x":{version},"packages":{{}}}}"#),
        (
            "composer.lock" | "deno.lock" | "flake.lock" | "package.resolved"
            | "packages.lock.json" | "pipfile.lock",
            _,
        ) => format!(r#"{{"x":{version}}}"#),
        ("verification-metadata.xml", _) => format!("<!-- {version} -->\n"),
        ("go.sum" | "go.work.sum" | "bun.lockb" | "mix.lock", _) => String::new(),
        ("yarn.lock", _) => format!("# yarn lockfile v1\n# {version}\n"),
        ("cargo.toml", _) => {
            format!("[package]\nname = \"x\"\nversion = \"0.0.{version}\"\n")
        }
        ("pyproject.toml", _) => {
            format!("[project]\nname = \"x\"\nversion = \"0.0.{version}\"\n")
        }
        ("package.json", _) => format!(r#"{{"name":"x","version":"0.0.{version}"}}"#),
        ("go.mod", _) => format!("module x\n\n// {version}\n"),
        (_, "json" | "jsonc" | "json5" | "webmanifest" | "ipynb") => {
            format!(r#"{{"{}":{version}}}"#, path.len())
        }
        (
            _,
            "rs" | "go" | "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" | "java"
            | "kt" | "kts" | "c" | "h" | "cc" | "cpp" | "swift" | "scala" | "gradle" | "php",
        ) => {
            format!("// {path} {version}\n")
        }
        (_, "xml" | "html" | "svg" | "plist" | "vue" | "svelte") => {
            format!("<!-- {version} -->\n<x/>\n")
        }
        (_, "cfg" | "ini") => format!("[x]\ny = {version}\n"),
        _ => format!("# {path} {version}\n"),
    }
}

/// A file as one side of a change has it, or nothing for what has no contents.
fn entry(path: &str, mode: &str, version: u32, memory: &mut Memory) -> Option<Entry> {
    let text = plain(path, version);
    match mode {
        "100644" | "100755" => {
            let (size, digest) = (text.len() as u64, Digest::of(text.as_bytes()));
            memory.0.insert(digest, text.into_bytes());
            let mode = match mode {
                "100755" => Mode::Executable,
                _ => Mode::Plain,
            };
            Some(Entry::File { mode, size, digest })
        }
        "120000" => {
            // Where a link leads to is not said: to a file that is there.
            let up = "../".repeat(path.matches('/').count());
            let target = format!("{up}other/part0/file{}.rs", version * 20);
            let target: LinkTarget = target.parse().ok()?;
            Some(Entry::Symlink { target })
        }
        _ => None,
    }
}

fn verdict(before: &Side, after: &Side, memory: &Memory) -> Verdict {
    let input = JudgeInput {
        baseline: &before.0,
        changes: diff(&before.0, &after.0),
        refusals: &[],
        notes: &[],
        contents: memory,
    };
    judge(input, &Policy::shipped())
}

/// The codes of what stops `--apply auto`, with what each is about.
fn stopping(verdict: &Verdict) -> Vec<(&'static str, String)> {
    let findings = verdict.findings.iter();
    let grave = findings.filter(|finding| finding.severity > Severity::Note);
    grave
        .map(|finding| (finding.code, finding.subject.to_string()))
        .collect()
}

/// Share of paths that get at least a warning, and the others.
#[derive(Default)]
struct Share {
    all: usize,
    missed: Vec<String>,
}

impl Share {
    fn add(&mut self, path: &str, is_said: bool) {
        self.all += 1;
        if !is_said {
            self.missed.push(path.to_owned());
        }
    }

    fn json(&self) -> Value {
        let said = self.all - self.missed.len();
        json!({ "all": self.all, "warned": said, "percent": percent(said, self.all), "missed": self.missed })
    }
}

fn percent(part: usize, all: usize) -> f64 {
    let share = 100.0 * part as f64 / (all as f64).max(1.0);
    (share * 10.0).round() / 10.0
}

/// Judges each hostile path, alone: where it is new, and where it is changed.
fn hostile(list: &str, others: &Side) -> Result<Value, Box<dyn Error>> {
    let mut classes: BTreeMap<&str, (Share, Share)> = BTreeMap::new();
    for line in list.lines() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let columns: Vec<&str> = line.split('\t').collect();
        let (Some(class), Some(path)) = (columns.first(), columns.get(3)) else {
            return Err(format!("a line without four columns: {line}").into());
        };
        let mut memory = Memory::default();
        let mut sides = [others.clone(), others.clone()];
        for (version, side) in (1..).zip(&mut sides) {
            let file = entry(path, "100644", version, &mut memory).ok_or("no file")?;
            side.insert(path, file)?;
        }
        let [before, after] = &sides;
        let (new, changed) = classes.entry(class).or_default();
        let is_said = |before| !stopping(&verdict(before, after, &memory)).is_empty();
        new.add(path, is_said(others));
        changed.add(path, is_said(before));
    }
    let classes = classes.iter().map(|(class, (new, changed))| {
        let figures = json!({ "new": new.json(), "changed": changed.json() });
        ((*class).to_owned(), figures)
    });
    Ok(Value::Object(classes.collect()))
}

/// One commit: its repository, its hash, and what it changes.
struct Commit {
    repository: String,
    hash: String,
    changes: Vec<FileChange>,
}

/// One file that a commit changes, by git's raw format.
struct FileChange {
    status: String,
    old_mode: String,
    new_mode: String,
    path: String,
}

fn read_commits(list: &str) -> Result<Vec<Commit>, Box<dyn Error>> {
    let lines = list.lines().filter(|line| !line.is_empty());
    let commits = lines.map(|line| {
        let commit: Value = serde_json::from_str(line)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let changes = commit["changes"].as_array().ok_or("no changes")?;
        let changes = changes.iter().map(|change| FileChange {
            status: text(&change[0]),
            old_mode: text(&change[1]),
            new_mode: text(&change[2]),
            path: text(&change[3]),
        });
        // Names that no change set can carry are left out.
        let changes = changes.filter(|change| change.path.parse::<RelPathBuf>().is_ok());
        Ok(Commit {
            repository: text(&commit["repo"]),
            hash: text(&commit["commit"]),
            changes: changes.collect(),
        })
    });
    commits.collect()
}

/// Returns the files, with their modes, that were there before the oldest commit of each
/// repository: those that the first commit that names them changes or deletes.
fn first_trees(commits: &[Commit]) -> HashMap<&str, BTreeMap<&str, &str>> {
    let mut named: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut trees: HashMap<&str, BTreeMap<&str, &str>> = HashMap::new();
    for commit in commits.iter().rev() {
        let tree = trees.entry(&commit.repository).or_default();
        for change in &commit.changes {
            let is_first = named.insert((&commit.repository, &change.path));
            if is_first && change.status != "A" {
                tree.insert(&change.path, &change.old_mode);
            }
        }
    }
    trees
}

/// Judges each commit, and again without its changes of CI files that were there before.
fn judge_commits(list: &str, others: &Side) -> Result<Value, Box<dyn Error>> {
    let (mut all, mut stopped, mut aside) = (0, 0, 0);
    let mut codes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut repositories: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut paths = Vec::new();
    let commits = read_commits(list)?;
    let mut trees = first_trees(&commits);
    for commit in commits.iter().rev() {
        let tree = trees.entry(&commit.repository).or_default();
        let mut memory = Memory::default();
        let mut before = others.clone();
        for (path, mode) in &*tree {
            if let Some(entry) = entry(path, mode, 1, &mut memory) {
                before.insert(path, entry)?;
            }
        }
        // Of what is deleted only the name is known.
        for change in commit.changes.iter().filter(|change| change.status == "D") {
            let mut unknown = Memory::default();
            if let Some(Entry::File { mode, size, digest }) =
                entry(&change.path, &change.old_mode, 1, &mut unknown)
            {
                let digest = Digest::of(format!("deleted {} {digest}", change.path).as_bytes());
                before.insert(&change.path, Entry::File { mode, size, digest })?;
            }
        }
        let mut after = before.clone();
        let mut changed = BTreeSet::new();
        for change in &commit.changes {
            let path = RelPath::new(&change.path)?;
            after.0.remove(path);
            tree.remove(&*change.path);
            if let Some(entry) = entry(&change.path, &change.new_mode, 2, &mut memory) {
                after.insert(&change.path, entry)?;
                tree.insert(&change.path, &change.new_mode);
            }
            if !matches!(&*change.status, "A" | "D") {
                changed.insert(change.path.clone());
            }
        }
        after.remove_empty();
        let found = stopping(&verdict(&before, &after, &memory));
        let is_ci = |code: &str, path: &String| code == CI && changed.contains(path);
        let has_more = found.iter().any(|(code, path)| !is_ci(code, path));
        all += 1;
        stopped += usize::from(!found.is_empty());
        aside += usize::from(has_more);
        let repository = repositories.entry(&commit.repository).or_default();
        repository.0 += 1;
        repository.1 += usize::from(!found.is_empty());
        repository.2 += usize::from(has_more);
        let by: BTreeSet<&str> = found.iter().map(|(code, _)| *code).collect();
        for code in &by {
            let (said, alone) = codes.entry(code).or_default();
            *said += 1;
            *alone += usize::from(by.len() == 1);
        }
        for (code, path) in found {
            paths.push(json!([commit.repository, commit.hash, code, path]));
        }
    }
    let codes = codes.iter();
    let codes =
        codes.map(|(code, (said, alone))| json!({ "code": code, "commits": said, "alone": alone }));
    let repositories = repositories.iter().map(|(name, (all, stopped, aside))| {
        json!({ "name": name, "commits": all, "stopped": stopped, "ci_aside": aside })
    });
    Ok(json!({
        "all": all,
        "stopped": stopped,
        "percent": percent(stopped, all),
        "ci_aside": { "stopped": aside, "percent": percent(aside, all) },
        "codes": codes.collect::<Vec<_>>(),
        "repositories": repositories.collect::<Vec<_>>(),
        "paths": paths,
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    let directory = Path::new(&directory);
    let read = |name: &str| {
        let file = directory.join(name);
        fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))
    };
    let others = Side::others()?;
    let figures = json!({
        "hostile": hostile(&read("hostile-paths.tsv")?, &others)?,
        "commits": judge_commits(&read("real-commits.jsonl")?, &others)?,
    });
    println!("{figures}");
    Ok(())
}
