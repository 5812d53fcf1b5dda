//! A case as a review shows it, and what its choices come to.

use std::path::PathBuf;

use lazaret_gate::input::GateInput;
use lazaret_tests::tree_text;
use lazaret_transfer::{BlobStore, WorkspaceDir};
use lazaret_tree::{
    Digest, Entry, LinkTarget, Mode, RejectedEntry, RelPathBuf, Tree, finding_code,
};
use lazaret_validator::{Finding, Policy};

use super::*;
use crate::model::{Review, Title};

/// A case of two trees, and a workspace that may be different from both.
struct World {
    parts: GateInput,
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("workspace")).unwrap();
        let parts = GateInput {
            baseline: Tree::new(),
            collected: Tree::new(),
            refusals: Vec::new(),
            notes: Vec::new(),
            caches: Vec::new(),
            ignored: lazaret_gate::ignored::IgnoredFiles::Stay,
            quarantine: BlobStore::create(&root.path().join("quarantine")).unwrap(),
            base: None,
            workspace: WorkspaceDir::open_ambient(&root.path().join("workspace")).unwrap(),
            policy: Policy::shipped(),
            subject: None,
            session_dir: None,
        };
        Self { parts, root }
    }

    fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    fn file(&self, bytes: &[u8], mode: Mode) -> Entry {
        let (digest, size) = self
            .parts
            .quarantine
            .insert(&mut &*bytes, u64::MAX)
            .unwrap();
        Entry::File { mode, size, digest }
    }

    /// Puts an entry, with the directories above it, into a tree.
    fn put(tree: &mut Tree, path: &str, entry: Entry) {
        let path: RelPathBuf = path.parse().unwrap();
        for above in path.ancestors() {
            tree.insert(above.to_owned(), Entry::Dir);
        }
        tree.insert(path, entry);
    }

    /// A file that was sent in, and lies in the workspace as it was.
    fn old(&mut self, path: &str, text: &str) {
        let entry = self.file(text.as_bytes(), Mode::Plain);
        Self::put(&mut self.parts.baseline, path, entry);
        let place = self.workspace().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }

    fn new_entry(&mut self, path: &str, entry: Entry) {
        Self::put(&mut self.parts.collected, path, entry);
    }

    fn new_file(&mut self, path: &str, text: &str) {
        let entry = self.file(text.as_bytes(), Mode::Plain);
        self.new_entry(path, entry);
    }

    /// A file that the session left as it was.
    fn kept(&mut self, path: &str, text: &str) {
        self.old(path, text);
        self.new_file(path, text);
    }

    fn edited(&mut self, path: &str, old: &str, new: &str) {
        self.old(path, old);
        self.new_file(path, new);
    }

    /// The user goes on.
    fn user_writes(&self, path: &str, text: &str) {
        std::fs::write(self.workspace().join(path), text).unwrap();
    }

    fn case(self) -> (Case, tempfile::TempDir) {
        (Case::assemble(self.parts).unwrap(), self.root)
    }
}

fn show(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        let (mark, sign) = (item.mark().as_str(), item.sign.as_str());
        text.push_str(&format!("{mark} {sign} {}", item.path));
        if let Some(tag) = item.tag {
            text.push_str(&format!(" <{}>", tag.as_str()));
        }
        for fact in &item.facts {
            text.push_str(&format!("; {fact}"));
        }
        if let ItemStatus::Stays(reason) = &item.status {
            text.push_str(&format!("; stays: {reason}"));
            if let BlockReason::Depends(_) = reason {
                text.push_str(", which stays");
            }
        }
        for finding in item.findings.iter() {
            text.push_str(&format!("; {} {}", finding.severity, finding.code));
        }
        text.push('\n');
    }
    text
}

fn show_plan(plan: &Plan) -> String {
    let taken = plan.taken.iter().map(|taken| {
        let sign = taken.sign.as_str();
        format!("{sign} {} ({})\n", taken.path, taken.note)
    });
    let left = plan
        .left
        .iter()
        .map(|left| format!("  {}: {}\n", left.path, left.reason));
    taken.chain(left).collect()
}

fn index(items: &[Item], path: &str) -> usize {
    items.iter().position(|item| *item.path == *path).unwrap()
}

/// Forty lines, of which some are different.
fn lines(changed: &[(usize, &str)]) -> String {
    (1..=40)
        .map(|n| match changed.iter().find(|(line, _)| *line == n) {
            Some((_, text)) => format!("{text}\n"),
            None => format!("line {n}\n"),
        })
        .collect()
}

/// One of each kind.
fn zoo() -> World {
    let mut world = World::new();
    world.kept("kept", "same\n");
    world.edited("Makefile", "all:\n", "all: x\n");
    world.edited(
        "src/hunks.c",
        &lines(&[]),
        &lines(&[(2, "two"), (30, "thirty")]),
    );
    world.edited("src/merged.c", &lines(&[]), &lines(&[(2, "two")]));
    world.user_writes("src/merged.c", &lines(&[(30, "mine")]));
    world.edited("src/conflict.c", "a\n", "theirs\n");
    world.user_writes("src/conflict.c", "mine\n");
    world.edited("src/already.c", "a\n", "b\n");
    world.user_writes("src/already.c", "b\n");
    world.old("docs/gone.md", "gone\n");
    world.new_file(".github/workflows/ci.yml", "on: push\n");
    world.old("tool.sh", "#!/bin/sh\n");
    let tool = world.file(b"#!/bin/sh\n", Mode::Executable);
    world.new_entry("tool.sh", tool);
    let binary = world.file(b"a\0b", Mode::Plain);
    world.new_entry("image.bin", binary);
    let link = |target: &str| Entry::Symlink {
        target: target.parse::<LinkTarget>().unwrap(),
    };
    world.new_entry("docs/link", link("../kept"));
    world.new_entry("docs/absolute", link("/etc/passwd"));
    for (name, code) in [
        ("docs/pipe", finding_code::TYPE_FIFO),
        ("a\u{1b}]0;x\u{7}", finding_code::NAME_CONTROL),
    ] {
        world.parts.refusals.push(RejectedEntry {
            name: name.as_bytes().to_vec(),
            code,
            reason: "for a test".to_owned(),
        });
    }
    world
}

#[test]
fn every_kind_of_change_says_what_it_is() {
    let (case, _root) = zoo().case();
    let (mut adapter, items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let mut words = |path: &str| {
        adapter
            .diff_view(index(&items, path))
            .unwrap()
            .words
            .join("; ")
    };
    assert_eq!(words("Makefile"), "changed, 5 B → 7 B");
    assert_eq!(words("docs/gone.md"), "deleted, 5 B");
    assert!(words("src/merged.c").contains("; merged: you changed this file too"));
    assert!(words("tool.sh").starts_with("the same contents, 10 B; became executable"));
    insta::assert_snapshot!(show(&items), @r"
    [!] + .github; stays: it depends on .github/workflows, which stays
    [!] + .github/workflows; stays: it depends on .github/workflows/ci.yml, which stays
    [!] + .github/workflows/ci.yml; block suspect.ci
    [x] ~ Makefile; note suspect.entry_point
    [!] + docs/absolute; block link.absolute
    [!] - docs/gone.md; stays: it may have been moved to a\u{1b}]0;x\u{7}
    [x] + docs/link
    [!]   docs/pipe; stays: there is nothing here that could be applied; block type.fifo
    [x] + image.bin; warn suspect.unknown_kind
    [!] ~ src/already.c <same>; stays: your workspace has it already
    [!] ~ src/conflict.c <conflict>
    [x] ~ src/hunks.c
    [x] ~ src/merged.c <merged>
    [x] ~ tool.sh; note mode.executable
    [!]   a\u{1b}]0;x\u{7}; stays: there is nothing here that could be applied; block name.control
    ");
}

#[test]
fn ui_04_names_are_escaped_wherever_they_are_put() {
    let mut world = World::new();
    let name = "photo_\u{202e}gpj.exe";
    world.new_file(name, "x\n");
    world.new_file(&format!("dir\u{200b}/{name}"), "x\n");
    let link = Entry::Symlink {
        target: "/\u{202e}x".parse::<LinkTarget>().unwrap(),
    };
    world.new_entry("link", link);
    let (case, _root) = world.case();
    let (mut adapter, items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let plan = adapter.propose(&items).unwrap();
    let diff_views: Vec<DiffView> = (0..items.len())
        .map(|item| adapter.diff_view(item).unwrap())
        .collect();
    let shown = format!("{}{}{diff_views:?}", show(&items), show_plan(&plan));
    assert!(!shown.chars().any(lazaret_tree::is_invisible), "{shown}");
    assert!(
        shown.contains(r"dir\u{200b}/photo_\u{202e}gpj.exe"),
        "{shown}"
    );
}

#[test]
fn aud_05_binary_files_links_and_modes_never_look_unchanged() {
    let (case, _root) = zoo().case();
    let (mut adapter, items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let mut words = |path: &str| {
        adapter
            .diff_view(index(&items, path))
            .unwrap()
            .words
            .join("; ")
    };
    let digest = Digest::of(b"a\0b").to_hex();
    assert_eq!(
        words("image.bin"),
        format!("new, 3 B; binary, 3 bytes, blake3 {digest}")
    );
    insta::assert_snapshot!(words("docs/absolute"), @"a link to /etc/passwd");
    // A change of mode alone has no lines; what it is stands before them.
    assert!(words("tool.sh").contains("became executable"));
}

#[test]
fn hunks_are_those_that_the_gate_applies() {
    let mut random = lazaret_tests::Random::new(7);
    for _ in 0..200 {
        let mut text = || -> String {
            let lines = random.below(40);
            (0..lines)
                .map(|_| ["a\n", "b\n", "c\n", "\n", "d\r\n", "e"][random.below(6)])
                .collect()
        };
        let (old, new) = (text(), text());
        let (shown, applied) = (DiffView::compare(&old, &new), FileDiff::new(&old, &new));
        let shown: Vec<_> = shown.hunks.iter().map(|hunk| hunk.header.clone()).collect();
        let applied: Vec<_> = applied.hunks().map(|hunk| hunk.header()).collect();
        assert_eq!(shown, applied, "{old:?} {new:?}");
    }
}

#[test]
fn the_plan_is_what_the_gate_derived() {
    let (case, _root) = zoo().case();
    let (mut adapter, mut items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let plan = adapter.propose(&items).unwrap();
    insta::assert_snapshot!(show_plan(&plan), @r"
    ~ Makefile ()
    + docs/link ()
    + image.bin ()
    ~ src/hunks.c ()
    ~ src/merged.c (merged with yours)
    ~ tool.sh ()
      .github: it depends on .github/workflows
      .github/workflows: it depends on .github/workflows/ci.yml
      .github/workflows/ci.yml: blocked: suspect.ci
      docs/absolute: blocked: link.absolute
      docs/gone.md: it may have been moved to a\u{1b}]0;x\u{7}
      src/already.c: your workspace has it already
      src/conflict.c: conflict: was changed here too
      docs/pipe: blocked: type.fifo
      a\u{1b}]0;x\u{7}: blocked: name.control
    ");
    let shown = adapter.take_shown().unwrap();
    let whole = case.propose(&Choices::all()).unwrap();
    assert_eq!(shown.digest(), whole.digest());

    let hunks = index(&items, "src/hunks.c");
    items[hunks].toggle_hunk(0, 2);
    let makefile = index(&items, "Makefile");
    items[makefile].choice = Choice::Leave;
    let plan = adapter.propose(&items).unwrap();
    let of = |path: &str| plan.taken.iter().find(|taken| *taken.path == *path);
    assert_eq!(of("src/hunks.c").unwrap().note, "1 of 2 hunks");
    assert!(of("Makefile").is_none());
    let shown = adapter.take_shown().unwrap();
    let change = &shown
        .item(&"src/hunks.c".parse::<RelPathBuf>().unwrap())
        .unwrap()
        .proposed();
    let (_, after) = case.texts(change).unwrap();
    assert_eq!(after, lines(&[(30, "thirty")]));
}

#[test]
fn an_allowance_is_for_what_was_on_the_screen() {
    let (case, _root) = zoo().case();
    let (mut adapter, mut items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let workflow = index(&items, ".github/workflows/ci.yml");
    items[workflow].allowance = Allowance::Remembered;
    let plan = adapter.propose(&items).unwrap();
    let taken = |plan: &Plan| {
        let mut taken = plan.taken.iter();
        taken.any(|taken| *taken.path == *".github/workflows/ci.yml")
    };
    assert!(taken(&plan));
    let shown = adapter.take_shown().unwrap();
    let remembered = adapter.remembered(&items, &shown);
    let codes: Vec<&str> = remembered.iter().map(|allowed| &*allowed.code).collect();
    assert_eq!(codes, ["suspect.ci"]);

    // It can be taken back, and left all the same.
    let statuses = adapter.statuses(&items).unwrap();
    assert_eq!(statuses[workflow], ItemStatus::Blocked);
    items[workflow].choice = Choice::Leave;
    assert!(!taken(&adapter.propose(&items).unwrap()));
    items[workflow].choice = Choice::Take;

    // Allowing one code does not allow another one that the user has not seen.
    let seen = items[workflow].findings.iter().cloned();
    let other = seen.map(|finding| Finding {
        code: "link.absolute",
        ..finding
    });
    items[workflow].findings = other.collect();
    assert!(!taken(&adapter.propose(&items).unwrap()));
}

#[test]
fn app_06_your_version_is_replaced_only_by_the_word() {
    let (case, root) = zoo().case();
    let (mut adapter, mut items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let conflict = index(&items, "src/conflict.c");
    let is_taken = |plan: &Plan| {
        plan.taken
            .iter()
            .any(|taken| *taken.path == *"src/conflict.c")
    };
    assert!(!is_taken(&adapter.propose(&items).unwrap()));
    items[conflict].allowance = Allowance::Once;
    let statuses = adapter.statuses(&items).unwrap();
    assert!(matches!(statuses[conflict], ItemStatus::Conflict(_)));
    let plan = adapter.propose(&items).unwrap();
    assert!(is_taken(&plan));
    let shown = adapter.take_shown().unwrap();
    assert_eq!(adapter.remembered(&items, &shown), []);
    let workspace = tree_text::dump(&root.path().join("workspace/src"));
    assert!(workspace.contains("mine"), "{workspace}");
}

#[test]
fn choices_from_before_are_kept() {
    let (case, _root) = zoo().case();
    let mut choices = Choices::none();
    let path = |text: &str| text.parse::<RelPathBuf>().unwrap();
    choices.pick(&path("src/hunks.c"), Pick::Hunks([1].into()));
    choices.pick(&path("Makefile"), Pick::Take);
    let (_, items) = GateAdapter::new(&case, &choices).unwrap();
    let chosen: Vec<_> = items
        .iter()
        .filter(|item| item.is_free() && item.choice != Choice::Leave)
        .map(|item| (&*item.path, item.choice.clone()))
        .collect();
    assert_eq!(
        chosen,
        [
            ("Makefile", Choice::Take),
            ("src/hunks.c", Choice::Hunks([1].into()))
        ]
    );
}

#[test]
fn app_06_a_merge_is_shown_against_what_the_user_has() {
    let (case, _root) = zoo().case();
    let (mut adapter, items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let merged = adapter.diff_view(index(&items, "src/merged.c")).unwrap();
    let lines = merged.hunks.iter().flat_map(|hunk| &hunk.lines);
    let pieces = lines.flat_map(|line| &line.pieces);
    let shown: Vec<&str> = pieces.map(|piece| piece.text.as_str()).collect();
    // The diff starts from what the workspace has now, and leaves that alone.
    assert!(
        shown.contains(&"two") && !shown.contains(&"mine"),
        "{shown:?}"
    );
}

/// What was moved is left with its new place, and taken with it; one half by itself only by a
/// key of its own (APP-27).
#[test]
fn app_27_both_halves_of_a_rename_are_left_together() {
    let mut world = World::new();
    world.old("a/old", "1\n");
    world.old("a/other", "2\n");
    world.new_file("a/other", "3\n");
    world.new_file("b/new", "1\n");
    let (case, _root) = world.case();
    let (mut adapter, items) = GateAdapter::new(&case, &Choices::all()).unwrap();
    let title = Title {
        session: "shop".to_owned(),
        workspace: "/w".to_owned(),
        commits: None,
    };
    let mut review = Review::new(title, items);
    review.resize(80, 24);
    let mut after = |name: &str| {
        let at = review.items().iter().position(|item| &*item.path == name);
        match at {
            Some(at) => review.toggle_items(&[at]),
            None => {
                let below = review.items().iter().enumerate();
                let below = below.filter(|(_, item)| item.path.starts_with(name));
                let below: Vec<usize> = below.map(|(at, _)| at).collect();
                review.toggle_items(&below);
            }
        }
        let plan = adapter.propose(review.items()).unwrap();
        let paths = plan.taken.iter().map(|taken| taken.path.to_string());
        paths.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(after("b/new"), "a/other");
    assert_eq!(after("b/new"), "a/old a/other b b/new");
    assert_eq!(after("b/new"), "a/other");
    assert_eq!(after("a/old"), "a/old a/other");
    assert_eq!(after("a/old"), "a/other");
    // A whole directory is no word for half of what was moved out of it.
    assert_eq!(after("a/o"), "a/other");
    assert_eq!(after("b/"), "a/old a/other b b/new");
}
