//! What an update sends: what was ordered, as it was when it was ordered.

use std::path::Path;

use lazaret_protocol::{StreamWriter, UpdateRequest};
use lazaret_tests::tree_text;
use lazaret_transfer::{
    FileSelector, GitMode, Hashing, Overlay, PackError, SelectionSpec, WorkspaceDir, pack_subset,
    walk,
};
use lazaret_tree::Tree;

fn selector() -> FileSelector {
    let (git, exclude) = (GitMode::Full, Vec::new());
    SelectionSpec { git, exclude }
        .compile()
        .expect("no pattern")
}

fn tree(dir: &Path) -> Tree {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let walked = walk(&workspace, &selector(), Hashing::parallel());
    walked.expect("readable").tree
}

fn send(dir: &Path, request: &UpdateRequest) -> Result<Vec<u8>, PackError> {
    let workspace = WorkspaceDir::open_ambient(dir).expect("a directory");
    let mut sent = Vec::new();
    let tell = &mut |_| {};
    pack_subset(
        &workspace,
        &selector(),
        request,
        &Overlay::default(),
        &mut sent,
        tell,
    )?;
    Ok(sent)
}

/// An order for some of what lies in a directory.
fn request(dir: &Path, paths: &[&str]) -> UpdateRequest {
    let tree = tree(dir);
    let wanted = tree
        .iter()
        .filter(|(path, _)| paths.contains(&path.as_str()));
    UpdateRequest {
        remove: Vec::new(),
        send: wanted
            .map(|(path, entry)| (path.to_owned(), entry.clone()))
            .collect(),
        quiet_since: None,
    }
}

const PROJECT: &str = r#"
    f a/b/file "one"
    f a/b/other "two"
    f a/link/x "x"
    x run "run"
    l link -> run
    f .git/HEAD "ref: refs/heads/main"
    d .git/objects/
    d .git/refs/
"#;

#[test]
fn only_what_was_ordered_is_sent() {
    let dir = tree_text::temp(PROJECT);
    let paths = [".git/config", "a/b/file", "link", "run"];
    let request = request(dir.path(), &paths);
    assert_eq!(request.send.len(), paths.len());
    let sent = send(dir.path(), &request).expect("as it was");
    let names: Vec<_> = sent
        .chunks(512)
        .filter(|block| block[257..262] == *b"ustar")
        .map(|block| {
            String::from_utf8_lossy(&block[..100])
                .trim_matches('\0')
                .to_owned()
        })
        .collect();
    assert_eq!(names, paths);
    let nothing = send(dir.path(), &UpdateRequest::default()).expect("nothing");
    let mut empty = Vec::new();
    StreamWriter::new(&mut empty).finish().expect("to memory");
    assert_eq!(nothing, empty);
}

#[test]
fn flt_04_what_changed_since_ends_the_stream() {
    for (edit, reason) in [
        ("f a/b/file \"ONE\"", "a/b/file: changed while it was read"),
        (
            "f a/b/file \"longer\"",
            "a/b/file: changed while it was read",
        ),
        ("m 755 a/b/file", "a/b/file: changed while it was read"),
        ("- a/b/file", "a/b/file: changed while it was read"),
        ("- a", "a/b/file: changed while it was read"),
        (
            "- a/b/file\nl a/b/file -> other",
            "a/b/file: changed while it was read",
        ),
        (
            "- a/b\nl a/b -> link",
            "a/b/file: changed while it was read",
        ),
        ("- link\nl link -> other", "link: changed while it was read"),
        ("f .gitignore \"a\"", "a/b/file: changed while it was read"),
        (
            "f .git/config \"[extensions]\\nobjectFormat = sha256\"",
            ".git/config: changed while it was read",
        ),
    ] {
        let dir = tree_text::temp(PROJECT);
        let request = request(dir.path(), &[".git/config", "a/b/file", "link"]);
        tree_text::build(edit, dir.path());
        let error = send(dir.path(), &request).expect_err(edit);
        assert_eq!(error.to_string(), reason, "{edit}");
    }
}

#[test]
fn files_of_the_launchers_go_between_those_of_the_workspace() {
    let dir = tempfile::tempdir().unwrap();
    tree_text::build("f .git/a host\nf .git/p/x host\nf b b\nf z z", dir.path());
    let own = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(own.path(), "a pack").unwrap();
    let mut overlay = Overlay::default();
    let path = |path: &str| path.parse::<lazaret_tree::RelPathBuf>().unwrap();
    overlay.add_file(path(".git/p/x"), own.path()).unwrap();
    overlay.add_text(path("zz/ref"), b"id\n".to_vec());
    let mut request = request(dir.path(), &["b", "z"]);
    for dir in [".git/p", "zz"] {
        request.send.insert(path(dir), lazaret_tree::Entry::Dir);
    }
    for (path, entry) in overlay.tree().iter() {
        request.send.insert(path.to_owned(), entry.clone());
    }
    let workspace = WorkspaceDir::open_ambient(dir.path()).unwrap();
    let pack = |overlay: &Overlay| {
        let mut sent = Vec::new();
        let tell = &mut |_| {};
        let done = pack_subset(&workspace, &selector(), &request, overlay, &mut sent, tell);
        done.map(|_| sent)
    };
    let sent = pack(&overlay).unwrap();
    let copied = lazaret_tests::git_world::Copied::unpack(sent);
    insta::assert_snapshot!(tree_text::dump(&copied.dir), @r#"
    f .git/p/x "a pack"
    f b "b"
    f z "z"
    f zz/ref "id\n"
    "#);
    // One that is not what it was is not sent.
    std::fs::write(own.path(), "another").unwrap();
    assert!(matches!(pack(&overlay), Err(PackError::Walk(_))));
}
