//! Branches of so many commits that two threads examine them.

use std::fmt::Write as _;

use lazaret_commits::ObjectId;

use crate::kit::{World, git, run};

const COMMITS: usize = 300;

/// Makes a branch upon `main`, each commit of which writes what `file` says of its number.
fn branch(world: &World, name: &str, file: impl Fn(usize) -> String) -> Vec<ObjectId> {
    let mut stream = String::new();
    for number in 0..COMMITS {
        let _ = write!(
            stream,
            "commit refs/heads/{name}\ncommitter A <a@example.invalid> 1 +0000\n\
             data 1\nm\n"
        );
        if number == 0 {
            stream.push_str("from refs/heads/main\n");
        }
        stream.push_str(&file(number));
    }
    let importing = ["fast-import", "--quiet"];
    run(&world.agent(), &importing, stream.as_bytes());
    let range = format!("main..{name}");
    let listed = git(&world.agent(), &["rev-list", "--reverse", &range]);
    let ids = listed.lines().map(str::as_bytes);
    ids.map(|id| ObjectId::from_hex(id).unwrap()).collect()
}

fn text(path: &str, text: &str) -> String {
    format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len())
}

fn token(number: usize) -> String {
    ["gh", "p_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW"].concat() + &format!("{:04}", number + 4711)
}

#[test]
fn each_commit_has_its_own_findings() {
    let world = World::new(&[]);
    let ids = branch(&world, "fix", |number| {
        let token = match number % 7 {
            0 => token(number),
            _ => number.to_string(),
        };
        text("id", &format!("token = {token}\n"))
    });
    let (_, examined) = world.examine(&[world.tip("fix")]);
    let tip = examined.tips[0].as_ref().unwrap();
    assert_eq!(tip.commits, ids);
    for (number, id) in ids.iter().enumerate() {
        let commit = examined.commit(id).unwrap();
        assert_eq!(commit.changes.len(), 1, "{number}");
        let mut findings = commit.findings.iter();
        let is_found = findings.any(|finding| finding.code.starts_with("secret."));
        assert_eq!(is_found, number % 7 == 0, "{number}");
    }
    assert_eq!((tip.changes.len(), tip.findings.len()), (1, 0));
}

#[test]
fn the_first_bad_commit_is_named_and_a_branch_beside_it_is_not_refused() {
    let world = World::new(&[]);
    let main = git(&world.agent(), &["rev-parse", "main"]);
    for first in [0, 5, 150, COMMITS - 1] {
        let name = format!("bad-{first}");
        let ids = branch(&world, &name, |number| match number >= first {
            true => format!("M 160000 {main} module-{number}\n"),
            false => text("a", &format!("{number}\n")),
        });
        let good = format!("good-{first}");
        branch(&world, &good, |number| text("b", &format!("{number}\n")));
        let (_, examined) = world.examine(&[world.tip(&name), world.tip(&good)]);
        let refusal = examined.tips[0].as_ref().unwrap_err();
        assert_eq!(refusal.code(), "commit.submodule");
        let said = refusal.to_string();
        assert!(said.contains(&format!("commit {} ", ids[first])), "{said}");
        let good = examined.tips[1].as_ref().unwrap();
        assert_eq!(good.commits.len(), COMMITS);
    }
}
