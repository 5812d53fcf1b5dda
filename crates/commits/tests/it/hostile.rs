//! Packs that an agent made to do harm: each is refused by name, and what lies beside it comes
//! home.

use std::fs;

use lazaret_commits::ObjectId;
use lazaret_commits::examine::examine;
use lazaret_commits::land_name::Source;
use lazaret_commits::limits::ProcessLimits;
use lazaret_commits::quarantine::QuarantineError;

use crate::kit::{World, commit, git, rules, run};

/// Writes an object without any check, and returns its id.
fn object(world: &World, kind: &str, contents: &[u8]) -> String {
    let arguments = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
    let id = run(&world.agent(), &arguments, contents);
    String::from_utf8(id).unwrap().trim_end().to_owned()
}

fn raw(id: &str) -> Vec<u8> {
    let id = ObjectId::from_hex(id.as_bytes()).unwrap();
    id.as_bytes().to_vec()
}

/// A tree of entries `mode name`, all of which are the same object.
fn tree(world: &World, entries: &[(&str, &[u8])], id: &str) -> String {
    let mut bytes = Vec::new();
    for (mode, name) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend(raw(id));
    }
    object(world, "tree", &bytes)
}

/// A commit of a tree upon `main`.
fn commit_of(world: &World, tree: &str, parent: &str) -> String {
    let who = "<a@b> 1 +0000";
    let text = format!("tree {tree}\nparent {parent}\nauthor A {who}\ncommitter A {who}\n\nm\n");
    object(world, "commit", text.as_bytes())
}

fn id(text: &str) -> ObjectId {
    ObjectId::from_hex(text.as_bytes()).unwrap()
}

#[test]
fn git_15_16_17_21_bad_trees_refuse_their_branch_and_no_other() {
    let world = World::new(&[]);
    let main = git(&world.agent(), &["rev-parse", "main"]);
    let blob = object(&world, "blob", b"x\n");
    let below = tree(&world, &[("100644", b"x")], &blob);
    let hooks = object(&world, "blob", b"../.git/hooks");
    let rows: Vec<(&str, String, &str)> = vec![
        (
            "dot dot",
            tree(&world, &[("100644", b"..")], &blob),
            "commit.name",
        ),
        (
            "dot git",
            tree(&world, &[("40000", b".git")], &below),
            "commit.name",
        ),
        (
            "case",
            tree(&world, &[("40000", b".GIT")], &below),
            "commit.name",
        ),
        (
            "short name",
            tree(&world, &[("40000", b"git~1")], &below),
            "commit.name",
        ),
        (
            "ignored by HFS+",
            tree(&world, &[("40000", ".g\u{200c}it".as_bytes())], &below),
            "commit.name",
        ),
        (
            "slash",
            tree(&world, &[("100644", b"a/b")], &blob),
            "commit.name",
        ),
        (
            "control",
            tree(&world, &[("100644", b"a\x1b[2J")], &blob),
            "commit.name",
        ),
        (
            "encoding",
            tree(&world, &[("100644", b"\xff")], &blob),
            "commit.name",
        ),
        (
            "set-id",
            tree(&world, &[("104755", b"a")], &blob),
            "commit.tree",
        ),
        (
            "device",
            tree(&world, &[("20666", b"a")], &blob),
            "commit.tree",
        ),
        (
            "order",
            tree(&world, &[("100644", b"b"), ("100644", b"a")], &blob),
            "commit.tree",
        ),
        (
            "twice",
            tree(&world, &[("100644", b"a"), ("100755", b"a")], &blob),
            "commit.tree",
        ),
        (
            "cut",
            object(&world, "tree", b"100644 a\0xx"),
            "commit.tree",
        ),
        (
            "submodule",
            tree(&world, &[("160000", b"a")], &main),
            "commit.submodule",
        ),
        (
            "a tree as a file",
            tree(&world, &[("100644", b"a")], &below),
            "commit.object",
        ),
    ];
    let good = {
        git(&world.agent(), &["checkout", "-q", "-b", "good"]);
        fs::write(world.agent().join("a.txt"), "two\n").unwrap();
        commit(&world.agent(), "good")
    };
    for (what, bad, code) in rows {
        let tip = commit_of(&world, &bad, &main);
        // The tip is clean, and the commit in the middle is not.
        let clean = git(&world.agent(), &["rev-parse", "main^{tree}"]);
        let covered = commit_of(&world, &clean, &tip);
        let tips = [id(&tip), id(&covered), id(&good)];
        let pack = packed(&world, &[&tip, &covered, &good, &bad]);
        let quarantine = match world.take_in(&pack) {
            Ok(quarantine) => quarantine,
            Err(error) => panic!("{what}: {error}"),
        };
        let examined = examine(&quarantine, &tips, &rules(), &|| false).unwrap();
        let codes: Vec<_> = examined
            .tips
            .iter()
            .map(|tip| tip.as_ref().map_or_else(|refusal| refusal.code(), |_| ""))
            .collect();
        assert_eq!(codes, [code, code, ""], "{what}");
        let source = Source::Branch(b"good".to_vec());
        let landed = world.land(&quarantine, &[(source, id(&good))]);
        landed.into_iter().for_each(|landed| drop(landed.unwrap()));
    }
    let links = tree(&world, &[("120000", b"a")], &hooks);
    let tip = id(&commit_of(&world, &links, &main));
    let pack = packed(&world, &[&tip.to_string(), &links, &hooks]);
    let quarantine = world.take_in(&pack).unwrap();
    let examined = examine(&quarantine, &[tip], &rules(), &|| false).unwrap();
    let examined_tip = examined.tips[0].as_ref().unwrap();
    assert!(examined.blocks(examined_tip).count() > 0);
}

/// Packs the named objects, the trees and blobs of this test, and everything of `good`.
fn packed(world: &World, ids: &[&str]) -> Vec<u8> {
    let loose = git(
        &world.agent(),
        &[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ],
    );
    let known = git(
        &world.user(),
        &[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ],
    );
    let mut asked = String::new();
    for line in loose.lines() {
        let is_asked = ids.contains(&line) || !known.lines().any(|one| one == line);
        if is_asked {
            asked.push_str(line);
            asked.push('\n');
        }
    }
    let arguments = ["pack-objects", "--stdout", "-q"];
    run(&world.agent(), &arguments, asked.as_bytes())
}

#[test]
fn git_20_what_is_no_pack_is_refused() {
    let world = World::new(&[]);
    git(&world.agent(), &["checkout", "-q", "-b", "fix"]);
    fs::write(world.agent().join("a.txt"), "two\n").unwrap();
    commit(&world.agent(), "second");
    let pack = world.pack(&[world.tip("fix")]);
    for end in [0, 5, 11, 12, 40, pack.len() / 2, pack.len() - 1] {
        assert!(world.take_in(&pack[..end]).is_err(), "{end}");
    }
    let mut bent = pack.clone();
    let middle = bent.len() / 2;
    bent[middle] ^= 1;
    assert!(world.take_in(&bent).is_err());
    let mut many = pack;
    many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    let many = world.take_in(&many);
    assert!(matches!(many, Err(QuarantineError::ManyObjects(_))));
}

#[test]
fn git_19_what_is_missing_is_named() {
    let world = World::new(&[]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    fs::write(agent.join("a.txt"), "two\n").unwrap();
    let first = commit(&agent, "second");
    fs::write(agent.join("a.txt"), "three\n").unwrap();
    commit(&agent, "third");
    let tip = world.tip("fix");
    // Without the commit in the middle.
    let arguments = ["pack-objects", "--revs", "--stdout", "-q"];
    let asked = format!("{tip}\n^{first}\n");
    let pack = run(&agent, &arguments, asked.as_bytes());
    let quarantine = world.take_in(&pack).unwrap();
    let examined = examine(&quarantine, &[tip], &rules(), &|| false).unwrap();
    let refusal = examined.tips[0].as_ref().unwrap_err();
    assert_eq!(refusal.code(), "commit.missing_object");
}

#[test]
fn git_19_a_history_of_its_own_has_no_base() {
    let world = World::new(&[]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "--orphan", "own"]);
    commit(&agent, "alone");
    let (_, examined) = world.examine(&[world.tip("own")]);
    let tip = examined.tips[0].as_ref().unwrap();
    assert_eq!((tip.base, tip.commits.len()), (None, 1));
    assert_eq!(tip.changes.len(), 3);
}

#[test]
fn a_secret_in_the_middle_of_a_branch_is_found() {
    let world = World::new(&[]);
    let agent = world.agent();
    git(&agent, &["checkout", "-q", "-b", "fix"]);
    let token = ["gh", "p_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    fs::write(agent.join("id"), format!("token = {token}\n")).unwrap();
    let bad = commit(&agent, "adds a token");
    fs::remove_file(agent.join("id")).unwrap();
    commit(&agent, "takes it back");
    let (_, examined) = world.examine(&[world.tip("fix")]);
    let tip = examined.tips[0].as_ref().unwrap();
    let said: Vec<_> = examined.commit(&id(&bad)).unwrap().findings.clone();
    assert!(
        said.iter()
            .any(|finding| finding.code.starts_with("secret.")),
        "{said:?}"
    );
    assert!(tip.findings.is_empty());
}

/// A pack that holds one object of zeros, as large as it says.
fn pack_of_zeros(megabytes: usize) -> Vec<u8> {
    let world = World::new(&[]);
    let zeros = vec![0; megabytes << 20];
    let blob = object(&world, "blob", &zeros);
    let arguments = ["pack-objects", "--stdout", "-q"];
    run(&world.agent(), &arguments, format!("{blob}\n").as_bytes())
}

#[test]
fn git_20_bombs_end_at_a_limit() {
    let world = World::new(&[]);
    // Indexed as a stream, it takes little memory and no disk.
    let pack = pack_of_zeros(64);
    assert!(pack.len() < 100_000);
    let quarantine = world.take_in(&pack).unwrap();
    let on_disk = std::fs::read_dir(quarantine.dir().join("objects/pack")).unwrap();
    let bytes: u64 = on_disk
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes < 1 << 20, "{bytes}");
    // A tree larger than any that is read.
    let main = git(&world.agent(), &["rev-parse", "main"]);
    let blob = object(&world, "blob", b"x\n");
    let mut entries = Vec::new();
    for number in 0..250_000 {
        entries.extend_from_slice(format!("100644 {number:07}\0").as_bytes());
        entries.extend(raw(&blob));
    }
    let wide = object(&world, "tree", &entries);
    let tip = commit_of(&world, &wide, &main);
    let quarantine = world.take_in(&packed(&world, &[&tip])).unwrap();
    let examined = examine(&quarantine, &[id(&tip)], &rules(), &|| false).unwrap();
    let refusal = examined.tips[0].as_ref().unwrap_err();
    assert_eq!(refusal.code(), "commit.object", "{refusal}");
    // Trees that hold each other many times over: 10^8 files of a few objects.
    let mut bomb = tree(&world, &[("100644", b"x")], &blob);
    for _ in 0..8 {
        let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let rows: Vec<(&str, &[u8])> = names
            .iter()
            .map(|name| ("40000", name.as_bytes()))
            .collect();
        bomb = tree(&world, &rows, &bomb);
    }
    let tip = commit_of(&world, &bomb, &main);
    let quarantine = world.take_in(&packed(&world, &[&tip])).unwrap();
    let examined = examine(&quarantine, &[id(&tip)], &rules(), &|| false).unwrap();
    let refusal = examined.tips[0].as_ref().unwrap_err();
    assert_eq!(refusal.code(), "commit.too_many", "{refusal}");
}

#[test]
fn git_20_a_process_limit_ends_git() {
    let world = World::new(&[]);
    let quarantine = world.take_in(&world.pack(&[])).unwrap();
    let mut pack: &[u8] = &pack_of_zeros(64);
    let limits = ProcessLimits {
        cpu_seconds: 1,
        address_space: 1 << 20,
        file_bytes: 1 << 20,
    };
    let call = quarantine
        .git()
        .call(quarantine.dir(), &["index-pack", "--stdin"]);
    let ended = call.limits(limits).run(&mut pack, &|| false);
    assert!(ended.is_err() || !ended.unwrap().is_success());
}
