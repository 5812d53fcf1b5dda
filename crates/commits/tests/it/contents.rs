//! What commits changed is read from the quarantine, in any order.

use std::fs;
use std::io::Read as _;

use lazaret_commits::ObjectId;
use lazaret_commits::contents::CommitContents;
use lazaret_commits::examine::Examination;
use lazaret_tree::{Blobs as _, Digest, Entry};

use crate::kit::{World, commit, git};

/// `path: before -> after`, one line per file that a commit changes.
fn shown(contents: &mut CommitContents<'_>, examined: &Examination, id: ObjectId) -> String {
    let commit = &examined.commit(&id).unwrap().commit;
    let changes = contents.changes(id, commit).unwrap();
    let read = |digest: &Digest| {
        let mut text = String::new();
        let mut blob = contents.open(digest).unwrap();
        blob.read_to_string(&mut text).unwrap();
        text
    };
    let side = |entry: &Option<Entry>| match entry {
        Some(Entry::File { digest, .. }) => format!("{:?}", read(digest)),
        Some(Entry::Dir) => "dir".to_owned(),
        other => format!("{other:?}"),
    };
    let lines = changes.iter().map(|change| {
        let (before, after) = (side(&change.before), side(&change.after));
        format!("{}: {before} -> {after}\n", change.path.as_str())
    });
    lines.collect()
}

#[test]
fn the_contents_of_each_commit_are_read_in_any_order() {
    let world = World::new(&[]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    fs::write(agent.join("src/lib.rs"), "pub fn g() {}\n").unwrap();
    fs::write(agent.join("new.txt"), "1\n").unwrap();
    commit(&agent, "first");
    fs::remove_file(agent.join("new.txt")).unwrap();
    fs::write(agent.join("a.txt"), "two\n").unwrap();
    commit(&agent, "second");
    let (quarantine, examined) = world.examine(&[world.tip("fix")]);
    let [first, second] = examined.tips[0].as_ref().unwrap().commits[..] else {
        panic!("two commits");
    };
    let mut contents = CommitContents::open(&quarantine).unwrap();
    for _ in 0..2 {
        let second = shown(&mut contents, &examined, second);
        assert_eq!(
            second,
            "a.txt: \"one\\n\" -> \"two\\n\"\nnew.txt: \"1\\n\" -> None\n"
        );
        let first = shown(&mut contents, &examined, first);
        assert_eq!(
            first,
            "new.txt: None -> \"1\\n\"\n\
             src/lib.rs: \"pub fn f() {}\\n\" -> \"pub fn g() {}\\n\"\n"
        );
    }
}
