//! Changes as text: nothing is passed over in silence, and nothing reaches the terminal
//! that it would obey.

use std::path::Path;

use insta::assert_snapshot;
use lazaret_gate::case::Case;
use lazaret_gate::input::GateInput;
use lazaret_launcher::decide::patch::render;
use lazaret_tests::tree_text;
use lazaret_transfer::{BlobStore, WorkspaceDir};
use lazaret_tree::{Change, Digest, Entry, LinkTarget, Mode, RelPath, Tree};
use lazaret_validator::Policy;

/// A workspace and a quarantine.
struct Desk {
    case: Case,
    root: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let case = Case::assemble(GateInput {
            baseline: Tree::new(),
            collected: Tree::new(),
            refusals: Vec::new(),
            notes: Vec::new(),
            caches: Vec::new(),
            ignored: lazaret_gate::ignored::IgnoredFiles::Stay,
            quarantine: BlobStore::create(&root.path().join("quarantine")).unwrap(),
            base: None,
            workspace: WorkspaceDir::open_ambient(&workspace).unwrap(),
            policy: Policy::shipped(),
            subject: None,
            session_dir: None,
        })
        .unwrap();
        Self { case, root }
    }

    fn workspace(&self) -> &Path {
        self.case.contents.workspace().path()
    }

    /// Renders a change of `path`: the old side goes into the workspace, the new one into the
    /// quarantine.
    fn change(&self, path: &str, before: Option<&Side>, after: Option<&Side>) -> String {
        if let Some(Side::File(bytes, mode)) = before {
            std::fs::write(self.workspace().join(path), bytes).unwrap();
            let mode = format!("m {:o} {path}", mode.to_unix());
            tree_text::build(&mode, self.workspace());
        }
        if let Some(Side::File(bytes, _)) = after {
            let mut bytes = &bytes[..];
            self.case
                .contents
                .quarantine()
                .insert(&mut bytes, u64::MAX)
                .unwrap();
        }
        let change = Change {
            path: RelPath::from_bytes(path.as_bytes()).unwrap().to_owned(),
            before: before.map(Side::entry),
            after: after.map(Side::entry),
        };
        render(&self.case, &change).unwrap()
    }

    /// Renders a change of a plain file.
    fn edit(&self, before: &[u8], after: &[u8]) -> String {
        self.change("file", Some(&plain(before)), Some(&plain(after)))
    }
}

enum Side {
    Dir,
    File(Vec<u8>, Mode),
    Link(&'static str),
}

impl Side {
    fn entry(&self) -> Entry {
        match self {
            Self::Dir => Entry::Dir,
            Self::File(bytes, mode) => Entry::File {
                mode: *mode,
                size: bytes.len() as u64,
                digest: Digest::of(bytes),
            },
            Self::Link(target) => Entry::Symlink {
                target: LinkTarget::from_bytes(target.as_bytes()).unwrap(),
            },
        }
    }
}

/// Puts names in the place of digests, which shows that they are the right ones.
fn named(mut shown: String, contents: &[(&str, &[u8])]) -> String {
    for (name, bytes) in contents {
        shown = shown.replace(&Digest::of(bytes).to_hex(), name);
    }
    shown
}

fn plain(bytes: &[u8]) -> Side {
    Side::File(bytes.to_vec(), Mode::Plain)
}

#[test]
fn a_change_of_text_has_its_surroundings() {
    let old: String = (1..=12).map(|line| format!("line {line}\n")).collect();
    let new = old.replace("line 6\n", "line six\n");
    assert_snapshot!(Desk::new().edit(old.as_bytes(), new.as_bytes()), @r"
    --- file
    +++ file
    @@ -3,7 +3,7 @@
     line 3
     line 4
     line 5
    -line 6
    +line six
     line 7
     line 8
     line 9
    ");
}

#[test]
fn a_new_and_a_deleted_file() {
    let desk = Desk::new();
    assert_snapshot!(desk.change("new", None, Some(&plain(b"one\n"))), @r"
    +++ new (new)
    @@ -0,0 +1 @@
    +one
    ");
    assert_snapshot!(desk.change("old", Some(&plain(b"one\n")), None), @r"
    --- old (deleted)
    @@ -1 +0,0 @@
    -one
    ");
    assert_snapshot!(desk.change("empty", None, Some(&plain(b""))), @"+++ empty (new)");
    assert_snapshot!(desk.change("dir", None, Some(&Side::Dir)), @r"
    +++ dir (new)
      a directory
    ");
}

#[test]
fn no_newline_at_the_end() {
    let desk = Desk::new();
    assert_snapshot!(desk.edit(b"one\n", b"one"), @r"
    --- file
    +++ file
    @@ -1 +1 @@
    -one
    +one
    \ no newline at the end
    ");
}

#[test]
fn aud_02_only_the_mode() {
    let desk = Desk::new();
    let executable = |bytes: &[u8]| Side::File(bytes.to_vec(), Mode::Executable);
    let text = plain(b"echo\n");
    assert_snapshot!(desk.change("run", Some(&text), Some(&executable(b"echo\n"))), @r"
    --- run
    +++ run
      became executable
    ");
    assert_snapshot!(desk.change("run", Some(&executable(b"echo\n")), Some(&text)), @r"
    --- run
    +++ run
      is no longer executable
    ");
    let binary = plain(b"\x7fELF\0");
    assert_snapshot!(desk.change("bin", Some(&binary), Some(&executable(b"\x7fELF\0"))), @r"
    --- bin
    +++ bin
      became executable
    ");
}

#[test]
fn aud_05_a_binary_file_is_never_no_change() {
    let desk = Desk::new();
    let (old, new): (&[u8], &[u8]) = (b"a\0b", b"a\0c");
    let shown = desk.edit(old, new);
    assert_snapshot!(named(shown, &[("OLD", old), ("NEW", new)]), @r"
    --- file
    +++ file
      was binary, 3 bytes, blake3 OLD
      now binary, 3 bytes, blake3 NEW
    ");
    let shown = desk.change("new", None, Some(&plain(b"\xff\xfe")));
    assert_snapshot!(named(shown, &[("NEW", b"\xff\xfe")]), @r"
    +++ new (new)
      binary, 2 bytes, blake3 NEW
    ");
    // Text on one side only.
    let binary: &[u8] = b"text\0\n";
    assert_snapshot!(named(desk.edit(b"text\n", binary), &[("NEW", binary)]), @r"
    --- file
    +++ file
      now binary, 6 bytes, blake3 NEW
    @@ -1 +0,0 @@
    -text
    ");
    assert_snapshot!(named(desk.edit(binary, b"text\n"), &[("OLD", binary)]), @r"
    --- file
    +++ file
      was binary, 6 bytes, blake3 OLD
    @@ -0,0 +1 @@
    +text
    ");
}

#[test]
fn aud_04_a_file_too_large_to_show() {
    let desk = Desk::new();
    let (old, new) = (vec![b'a'; (1 << 20) + 1], vec![b'b'; (1 << 20) + 1]);
    let shown = desk.edit(&old, &new);
    assert_snapshot!(named(shown, &[("OLD", &old), ("NEW", &new)]), @r"
    --- file
    +++ file
      was too large to show, 1048577 bytes, blake3 OLD
      now too large to show, 1048577 bytes, blake3 NEW
    ");
    // The largest that is shown.
    let shown = desk.edit(b"a\n", &vec![b'b'; 1 << 20]);
    assert!(shown.contains("\n+bbbb"));
}

#[test]
fn aud_06_what_a_terminal_would_obey_is_shown() {
    let desk = Desk::new();
    let evil = "\x1b]52;c;ZXZpbA==\x07 \x1b[2J \u{202e}gnp\u{2069} zero\u{200b}width\ttab\nharmless\roverwritten\n\u{9b}31m\n";
    let shown = desk.edit(b"", evil.as_bytes());
    assert!(
        shown
            .chars()
            .all(|c| c == '\n' || c == '\t' || !c.is_control()),
        "{shown:?}"
    );
    for invisible in ['\u{202e}', '\u{2069}', '\u{200b}'] {
        assert!(!shown.contains(invisible), "{shown:?}");
    }
    assert_snapshot!(shown, @r"
    --- file
    +++ file
    @@ -0,0 +1,3 @@
    +\u{1b}]52;c;ZXZpbA==\u{7} \u{1b}[2J \u{202e}gnp\u{2069} zero\u{200b}width	tab
    +harmless\u{d}overwritten
    +\u{9b}31m
    ");
}

#[test]
fn aud_06_a_carriage_return_ends_no_file() {
    assert_snapshot!(Desk::new().edit(b"one\ntwo\n", b"one\rtwo\n"), @r"
    --- file
    +++ file
    @@ -1,2 +1 @@
    -one
    -two
    +one\u{d}two
    ");
    assert_snapshot!(Desk::new().edit(b"one\n", b"one\r\n"), @r"
    --- file
    +++ file
    @@ -1 +1 @@
    -one
    +one\u{d}
    ");
    assert_snapshot!(Desk::new().edit(b"one\n", b"one\r"), @r"
    --- file
    +++ file
    @@ -1 +1 @@
    -one
    +one\u{d}
    \ no newline at the end
    ");
}

#[test]
fn aud_06_names_and_targets_too() {
    let desk = Desk::new();
    let (old, new) = (Side::Link("a"), Side::Link("b\u{202e}c"));
    assert_snapshot!(desk.change("li\u{200b}nk", Some(&old), Some(&new)), @r"
    --- li\u{200b}nk
    +++ li\u{200b}nk
      was a link to a
      now a link to b\u{202e}c
    ");
}

#[test]
fn app_15_another_type() {
    let desk = Desk::new();
    assert_snapshot!(desk.change("a", Some(&plain(b"text\n")), Some(&Side::Link("/etc"))), @r"
    --- a
    +++ a
      a file became a symbolic link
      now a link to /etc
    @@ -1 +0,0 @@
    -text
    ");
    assert_snapshot!(desk.change("b", Some(&Side::Link("a")), Some(&plain(b"text\n"))), @r"
    --- b
    +++ b
      a symbolic link became a file
      was a link to a
    @@ -0,0 +1 @@
    +text
    ");
    let shown = desk.change("c", Some(&Side::Dir), Some(&plain(b"\0")));
    assert_snapshot!(named(shown, &[("NEW", b"\0")]), @r"
    --- c
    +++ c
      a directory became a file
      was a directory
      now binary, 1 bytes, blake3 NEW
    ");
}

#[test]
fn app_07_a_file_that_the_user_changed_is_not_shown_as_it_was() {
    let desk = Desk::new();
    let path = "file";
    let (old, new) = (plain(b"old\n"), plain(b"new\n"));
    drop(desk.change(path, Some(&old), Some(&new)));
    std::fs::write(desk.workspace().join(path), "mine\n").unwrap();
    let change = Change {
        path: RelPath::from_bytes(path.as_bytes()).unwrap().to_owned(),
        before: Some(old.entry()),
        after: Some(new.entry()),
    };
    assert_snapshot!(render(&desk.case, &change).unwrap(), @r"
    --- file
    +++ file
      was another version: the file was changed in the workspace
    @@ -0,0 +1 @@
    +new
    ");
    // Neither is one that became a link to somewhere else.
    let outside = desk.root.path().join("outside");
    std::fs::write(&outside, "old\n").unwrap();
    std::fs::remove_file(desk.workspace().join(path)).unwrap();
    std::os::unix::fs::symlink(&outside, desk.workspace().join(path)).unwrap();
    assert!(!render(&desk.case, &change).unwrap().contains("-old"));
}
