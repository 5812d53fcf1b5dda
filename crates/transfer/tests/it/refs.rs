//! Repositories as an agent may leave them, hostile ones among them.

use std::collections::BTreeMap;

use lazaret_protocol::{FileTime, FoundEntry, FoundKind, SpecialType, Survey, VolumeIdentity};
use lazaret_transfer::{Count, NewRef, NewRefKind, NewRefs, ObjectId, Tips, VolumeState, new_refs};
use lazaret_tree::{Digest, Entry, Mode, RelPath, Tree};

const WHO: &str = "A <a@b> 1700000000 +0000";

const NEVER: FileTime = FileTime {
    seconds: 0,
    nanos: 0,
};

/// The id of a commit: `c('1')` and so on.
fn c(digit: char) -> String {
    digit.to_string().repeat(40)
}

fn nil() -> String {
    c('0')
}

fn object(id: &str) -> String {
    format!(".git/objects/{}/{}", &id[..2], &id[2..])
}

fn line(old: &str, new: &str, message: &str) -> String {
    format!("{old} {new} {WHO}\t{message}\n")
}

/// One side: files by path, and what is none.
#[derive(Default, Clone)]
struct Side {
    files: BTreeMap<String, Vec<u8>>,
    odd: BTreeMap<String, FoundKind>,
}

impl Side {
    fn file(mut self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.to_owned(), text.as_ref().to_vec());
        self
    }

    fn odd(mut self, path: &str, kind: FoundKind) -> Self {
        self.odd.insert(path.to_owned(), kind);
        self
    }

    fn without(mut self, path: &str) -> Self {
        self.files.remove(path);
        self
    }

    /// Adds the objects of some commits, loose.
    fn objects(mut self, ids: &[&str]) -> Self {
        for id in ids {
            self = self.file(&object(id), format!("object {id}"));
        }
        self
    }

    /// What a repository has whose `main` is at `c('1')`, with a pack of all before it.
    fn sent() -> Self {
        Self::default()
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .file(".git/refs/heads/main", format!("{}\n", c('1')))
            .file(".git/objects/pack/pack-0.pack", "pack")
            .objects(&[&c('1')])
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        for (path, text) in &self.files {
            let path = RelPath::new(path).unwrap();
            for above in path.ancestors() {
                tree.insert(above.to_owned(), Entry::Dir);
            }
            let entry = Entry::File {
                mode: Mode::Plain,
                size: text.len() as u64,
                digest: Digest::of(text),
            };
            tree.insert(path.to_owned(), entry);
        }
        tree
    }

    fn volume(&self) -> VolumeState {
        let identity = |size| VolumeIdentity {
            ino: 1,
            size,
            mode: 0o100_644,
            mtime: NEVER,
            ctime: NEVER,
        };
        let mut found = BTreeMap::new();
        let all = self.files.keys().chain(self.odd.keys());
        for path in all.filter_map(|path| RelPath::new(path).ok()) {
            for above in path.ancestors() {
                let identity = identity(0);
                found.insert(above.as_str().to_owned(), FoundKind::Dir { identity });
            }
        }
        for (path, text) in &self.files {
            let kind = FoundKind::File {
                identity: identity(text.len() as u64),
                links: 1,
                digest: Some(Digest::of(text)),
            };
            found.insert(path.clone(), kind);
        }
        found.extend(self.odd.clone());
        let found = found.into_iter().map(|(name, kind)| FoundEntry {
            name: name.into_bytes(),
            kind,
        });
        let survey = Survey {
            found: found.collect(),
            gone: Vec::new(),
        };
        let surveyed = VolumeState::default().surveyed(survey, &Tree::new());
        surveyed.unwrap().whole().unwrap()
    }
}

/// What is listed.
fn list(sent: &Side, volume: &Side) -> NewRefs {
    let mut tips = Tips::default();
    for (path, text) in &sent.files {
        if !path.contains("/objects/") {
            tips.read(text);
        }
    }
    let texts = |digest: &Digest, size: u64| {
        let mut all = volume.files.values();
        let text = all.find(|text| Digest::of(text) == *digest)?;
        (text.len() as u64 == size).then(|| text.clone())
    };
    new_refs(&sent.tree(), &volume.volume(), &tips, &texts)
}

/// What is listed, one after the other, as short words.
#[track_caller]
fn found(sent: &Side, volume: &Side) -> String {
    let found = list(sent, volume);
    let mut words: Vec<String> = found.listed.iter().map(word).collect();
    if found.more > 0 {
        words.push(format!("+{}", found.more));
    }
    words.join(", ")
}

fn word(one: &NewRef) -> String {
    let count = match one.count {
        None => String::new(),
        Some(Count::Exactly(number)) => format!(" {number}"),
        Some(Count::AtLeast(number)) => format!(" {number}+"),
        Some(Count::AtMost(number)) => format!(" {number}-"),
    };
    let at = match one.repository.as_str() {
        ".git" => String::new(),
        other => format!(" in {other}"),
    };
    let subject = one.subject.as_deref().map(String::from_utf8_lossy);
    let subject = subject.map_or(String::new(), |subject| format!(" ({subject})"));
    let name = String::from_utf8_lossy(&one.name);
    let space = if name.is_empty() { "" } else { " " };
    format!("{:?}{space}{name}{count}{at}{subject}", one.kind).to_lowercase()
}

/// A commit on `main`, as git leaves it.
fn committed() -> Side {
    let made = line(&c('1'), &c('2'), "commit: two");
    Side::sent()
        .objects(&[&c('2')])
        .file(".git/refs/heads/main", format!("{}\n", c('2')))
        .file(".git/logs/HEAD", &made)
        .file(".git/logs/refs/heads/main", &made)
}

#[test]
fn git_26_what_was_sent_is_nothing_new() {
    let sent = Side::sent();
    assert_eq!(found(&sent, &sent), "");
    assert_eq!(found(&Side::default(), &Side::default()), "");
    // A branch and a tag at a commit of the workspace's, or at one before it, are no work.
    let branched = sent
        .clone()
        .file(".git/HEAD", "ref: refs/heads/f\n")
        .file(".git/refs/heads/f", format!("{}\n", c('1')))
        .file(".git/refs/tags/v", format!("{}\n", c('9')))
        .file(
            ".git/logs/HEAD",
            line(&c('1'), &c('9'), "checkout: moving from main to f"),
        );
    assert_eq!(found(&sent, &branched), "");
    let detached = sent.clone().file(".git/HEAD", format!("{}\n", c('9')));
    assert_eq!(found(&sent, &detached), "");
    assert_eq!(
        found(&sent, &sent.clone().without(".git/refs/heads/main")),
        ""
    );
}

#[test]
fn git_26_commits_are_counted_by_reflogs() {
    let sent = Side::sent();
    assert_eq!(found(&sent, &committed()), "branch main 1 (two)");
    let more = committed()
        .objects(&[&c('3')])
        .file(".git/refs/heads/f", format!("{}\n", c('3')))
        .file(
            ".git/logs/refs/heads/f",
            line(&c('2'), &c('3'), "commit: three"),
        )
        .file(
            ".git/logs/HEAD",
            line(&c('1'), &c('2'), "commit: two") + &line(&c('2'), &c('3'), "commit: three"),
        );
    assert_eq!(
        found(&sent, &more),
        "branch f 2 (three), branch main 1 (two)"
    );
    let silent = committed()
        .without(".git/logs/HEAD")
        .without(".git/logs/refs/heads/main");
    assert_eq!(found(&sent, &silent), "branch main 1+");
    let merged = committed()
        .objects(&[&c('4')])
        .file(".git/refs/heads/main", format!("{}\n", c('4')))
        .file(
            ".git/logs/HEAD",
            line(&c('1'), &c('2'), "commit: two")
                + &line(
                    &c('2'),
                    &c('4'),
                    "merge f: Merge made by the 'ort' strategy.",
                ),
        );
    assert_eq!(
        found(&sent, &merged),
        "branch main 2+ (merge made by the 'ort' strategy.)"
    );
}

#[test]
fn git_26_what_only_a_reflog_holds_is_counted() {
    let sent = Side::sent();
    let log =
        line(&c('1'), &c('2'), "commit: two") + &line(&c('2'), &c('1'), "reset: moving to HEAD~1");
    let reset = sent.clone().objects(&[&c('2')]).file(".git/logs/HEAD", log);
    assert_eq!(found(&sent, &reset), "reflog 1");
    let log =
        line(&c('1'), &c('2'), "commit: two") + &line(&c('2'), &c('3'), "commit (amend): better");
    let amended = committed()
        .objects(&[&c('3')])
        .file(".git/refs/heads/main", format!("{}\n", c('3')))
        .file(".git/logs/HEAD", &log)
        .file(".git/logs/refs/heads/main", &log);
    assert_eq!(found(&sent, &amended), "branch main 1 (better), reflog 1");
    // The commit of the workspace's that was replaced is in the workspace.
    let log = line(&c('1'), &c('3'), "commit (amend): better");
    let amended = committed()
        .objects(&[&c('3')])
        .file(".git/refs/heads/main", format!("{}\n", c('3')))
        .file(".git/logs/HEAD", &log)
        .file(".git/logs/refs/heads/main", &log);
    assert_eq!(found(&sent, &amended), "branch main 1 (better)");
}

#[test]
fn git_26_stashes_tags_heads_worktrees_and_submodules() {
    let sent = Side::sent();
    let log = line(&nil(), &c('5'), "WIP on main") + &line(&c('5'), &c('6'), "On main: x");
    let stashed = sent
        .clone()
        .objects(&[&c('5'), &c('6')])
        .file(".git/refs/stash", format!("{}\n", c('6')))
        .file(".git/logs/refs/stash", &log);
    assert_eq!(found(&sent, &stashed), "stash 2");
    assert_eq!(
        found(&sent, &stashed.clone().without(".git/logs/refs/stash")),
        "stash 1+"
    );
    assert_eq!(found(&stashed, &stashed), "");
    let annotated = sent
        .clone()
        .objects(&[&c('7')])
        .file(".git/refs/tags/v1", format!("{}\n", c('7')));
    assert_eq!(found(&sent, &annotated), "tag v1");
    let log = line(&c('1'), &c('2'), "commit: away");
    let detached = sent
        .clone()
        .objects(&[&c('2')])
        .file(".git/HEAD", format!("{}\n", c('2')))
        .file(".git/logs/HEAD", &log);
    assert_eq!(found(&sent, &detached), "head 1 (away)");
    let worktree = sent
        .clone()
        .objects(&[&c('2')])
        .file(".git/worktrees/w/HEAD", format!("{}\n", c('2')))
        .file(".git/worktrees/w/gitdir", "/tmp/w/.git\n")
        .file(".git/worktrees/w/logs/HEAD", &log);
    assert_eq!(found(&sent, &worktree), "worktree w 1 (away)");
    let submodule = sent
        .clone()
        .file(".git/modules/a/b/HEAD", "ref: refs/heads/main\n")
        .file(".git/modules/a/b/refs/heads/main", format!("{}\n", c('2')))
        .file(
            ".git/modules/a/b/refs/remotes/origin/HEAD",
            "ref: refs/remotes/origin/main\n",
        )
        .file(&object(&c('2')).replace(".git", ".git/modules/a/b"), "x")
        .file(".git/modules/a/b/logs/HEAD", &log);
    assert_eq!(
        found(&sent, &submodule),
        "branch main 1 in .git/modules/a/b (away)"
    );
    let notes = sent
        .clone()
        .objects(&[&c('8')])
        .file(".git/refs/notes/commits", format!("{}\n", c('8')));
    assert_eq!(found(&sent, &notes), "other refs/notes/commits");
}

#[test]
fn git_26_a_repository_made_inside_is_new_as_a_whole() {
    let log = line(&nil(), &c('2'), "commit (initial): first");
    let made = Side::default()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n");
    assert_eq!(found(&Side::default(), &made), "");
    let committed = made
        .objects(&[&c('2')])
        .file(".git/refs/heads/main", format!("{}\n", c('2')))
        .file(".git/logs/HEAD", log);
    assert_eq!(found(&Side::default(), &committed), "branch main 1 (first)");
}

#[test]
fn git_26_stash_entries_and_lost_commits_are_listed_by_id() {
    let stashed = line(&nil(), &c('3'), "WIP on main") + &line(&c('3'), &c('4'), "WIP on main");
    let reset = line(&c('1'), &c('5'), "commit: lost")
        + &line(&c('5'), &c('1'), "reset: moving to HEAD~1")
        + &line(&c('1'), &c('2'), "commit: two");
    let volume = committed()
        .objects(&[&c('3'), &c('4'), &c('5')])
        .file(".git/refs/stash", format!("{}\n", c('4')))
        .file(".git/logs/refs/stash", stashed)
        .file(".git/logs/HEAD", reset);
    let listed = list(&Side::sent(), &volume).listed;
    let logged = |kind: NewRefKind| -> Vec<String> {
        let one = listed.iter().find(|one| one.kind == kind).unwrap();
        one.logged.iter().map(ToString::to_string).collect()
    };
    assert_eq!(logged(NewRefKind::Stash), [c('4'), c('3')]);
    assert_eq!(logged(NewRefKind::Reflog), [c('5')]);
    assert_eq!(logged(NewRefKind::Branch), [""; 0]);
}

#[test]
fn git_26_a_repository_that_was_packed_inside_is_told_by_its_refs() {
    let sent = Side::sent();
    let packed = format!(
        "# pack-refs with: peeled fully-peeled sorted \n{} refs/heads/main\n",
        c('1')
    );
    let gc = sent
        .clone()
        .without(".git/refs/heads/main")
        .without(&object(&c('1')))
        .without(".git/objects/pack/pack-0.pack")
        .file(".git/objects/pack/pack-1.pack", "all of it")
        .file(".git/packed-refs", &packed);
    assert_eq!(found(&sent, &gc), "");
    // What is of no known origin may be the command's.
    let packed = format!("{packed}{} refs/heads/x\n", c('2'));
    assert_eq!(
        found(&sent, &gc.clone().file(".git/packed-refs", &packed)),
        "branch x"
    );
    let logged = gc
        .file(".git/packed-refs", &packed)
        .file(".git/logs/HEAD", line(&c('1'), &c('2'), "commit: two"));
    assert_eq!(found(&sent, &logged), "branch x 1 (two)");
    // A loose ref hides the packed one.
    let hidden = committed().file(".git/packed-refs", format!("{} refs/heads/main\n", c('1')));
    assert_eq!(found(&sent, &hidden), "branch main 1 (two)");
}

#[test]
fn git_26_objects_that_may_be_elsewhere_are_no_reason_for_silence() {
    let sent = Side::sent();
    let moved = sent
        .clone()
        .file(".git/refs/heads/x", format!("{}\n", c('2')));
    assert_eq!(found(&sent, &moved), "");
    for (path, kind) in [
        (".git/objects/info/alternates", None),
        (".git/objects/pack/pack-2.pack", None),
        (".git/objects/22", Some(FoundKind::Cache)),
        (
            ".git/objects/odd",
            Some(FoundKind::Special(SpecialType::Fifo)),
        ),
    ] {
        let elsewhere = match kind {
            None => moved.clone().file(path, "x"),
            Some(kind) => moved.clone().odd(path, kind),
        };
        assert_eq!(found(&sent, &elsewhere), "branch x", "{path}");
    }
}

#[test]
fn git_26_what_is_not_gits_is_unreadable() {
    let sent = Side::sent();
    let identity = VolumeIdentity {
        ino: 1,
        size: 1,
        mode: 0o120_777,
        mtime: NEVER,
        ctime: NEVER,
    };
    let link = |target: &str| FoundKind::Symlink {
        identity,
        target: target.as_bytes().to_vec(),
    };
    for (path, text) in [
        (".git/HEAD", ""),
        (".git/HEAD", "ref: refs/heads/../../../etc\n"),
        (".git/HEAD", "\u{1b}]52;c;aGk=\u{7}\n"),
        (".git/refs/heads/x", "token"),
        (".git/refs/heads/x", "ref: HEAD\n"),
        (".git/refs/heads/x.lock", ""),
        (".git/refs/heads/a@{b", "x\n"),
        (".git/packed-refs", "junk\n"),
        (".git/packed-refs", "\0"),
        (".git/logs/HEAD", "junk\n"),
        (".git/logs/refs/heads/x", "cut"),
        (".git/worktrees/w/HEAD", "junk"),
        (".git/worktrees/w/logs/HEAD", "junk"),
        (".git/worktrees", "gone"),
        (".git/modules/m/HEAD", "junk"),
        (".git/modules", "gone"),
        (".git/reftable/tables.list", "x"),
        (".git/commondir", "../x\n"),
    ] {
        let name = match path {
            ".git/reftable/tables.list" => ".git/reftable",
            other => other,
        };
        let hostile = sent.clone().file(path, text);
        let at = match path {
            ".git/modules/m/HEAD" => " in .git/modules/m",
            _ => "",
        };
        let expected = format!("unreadable {}{at}", name.to_lowercase());
        assert_eq!(found(&sent, &hostile), expected, "{path} {text:?}");
        // Nothing of it hides what else there is.
        let mut both = committed();
        if !both.files.contains_key(path) {
            both = both.file(path, text);
            assert!(found(&sent, &both).starts_with("branch main 1"), "{path}");
        }
    }
    for (path, kind) in [
        (".git/HEAD", link("refs/heads/main")),
        (".git/HEAD", FoundKind::Special(SpecialType::Fifo)),
        (".git/refs/heads/x", link("/proc/self/mem")),
        (".git/refs/heads/y", FoundKind::Special(SpecialType::Device)),
        (".git/refs/heads/cache", FoundKind::Cache),
        (".git/refs/heads/\u{1b}[2J", FoundKind::BadName),
        (".git/logs", link("/etc")),
        (".git/logs", FoundKind::Cache),
        (".git/worktrees/w", link("/tmp/w")),
        (".git/worktrees", link("w")),
        (".git/modules/m", link("x")),
        (".git/modules/m", FoundKind::Cache),
        (".git/packed-refs", link("x")),
    ] {
        let hostile = sent.clone().without(path).odd(path, kind.clone());
        let expected = format!("unreadable {}", path.to_lowercase());
        assert_eq!(found(&sent, &hostile), expected, "{path} {kind:?}");
    }
    let mut gone = Side::default();
    for (kind, name) in [(link("/elsewhere"), "link"), (FoundKind::Cache, "cache")] {
        gone = gone.odd(".git", kind);
        assert_eq!(found(&sent, &gone), "unreadable .git", "{name}");
    }
    let pointer = Side::default().file(".git", "gitdir: ../x\n");
    assert_eq!(found(&sent, &pointer), "unreadable .git");
    // A text that did not come out, since it is too long or for whatever else.
    let volume = committed().volume();
    let silent = new_refs(&sent.tree(), &volume, &Tips::default(), &|_, _| None);
    assert_eq!(silent.listed.len(), 3);
    let is_unreadable = |one: &NewRef| one.kind == NewRefKind::Unreadable;
    assert!(silent.listed.iter().all(is_unreadable));
}

#[test]
fn git_26_many_refs_are_counted_and_no_chain_is_endless() {
    let sent = Side::sent();
    let mut many = sent.clone().objects(&[&c('2')]);
    for number in 0..1000 {
        many = many.file(
            &format!(".git/refs/heads/b{number}"),
            format!("{}\n", c('2')),
        );
    }
    assert!(found(&sent, &many).ends_with("branch b188 1+, +900"));
    for message in ["commit: x", "commit (amend): x"] {
        let log = line(&c('3'), &c('2'), message) + &line(&c('2'), &c('3'), message);
        let circle = committed().objects(&[&c('3')]).file(".git/logs/HEAD", &log);
        let circle = circle.file(".git/logs/refs/heads/main", &log);
        assert!(
            found(&sent, &circle).starts_with("branch main "),
            "{message}"
        );
    }
}

/// A thousand branches at the end of one long history take no longer than one does.
#[test]
fn git_26_long_histories_of_many_refs_end() {
    let id = |number: u32| format!("{number:040x}");
    let mut log = String::new();
    for number in 1..40_000 {
        log += &line(&id(number), &id(number + 1), "commit: x");
    }
    let mut packed = String::new();
    for number in 0..20_000 {
        packed += &format!("{} refs/heads/b{number:05}\n", id(40_000));
    }
    let sent = Side::sent();
    let long = sent
        .clone()
        .file(".git/objects/pack/pack-new.pack", "x")
        .file(".git/packed-refs", packed)
        .file(".git/logs/HEAD", log);
    let listed = found(&sent, &long);
    assert!(listed.starts_with("branch b00000 39999+ (x), branch b00001 39999+ (x)"));
    assert!(
        listed.ends_with(", +19900"),
        "{}",
        &listed[listed.len() - 60..]
    );
}

#[test]
fn git_26_texts_have_an_end_too() {
    let sent = Side::sent();
    let mut many = sent.clone();
    for number in 0..5 {
        let log = line(&c('1'), &c('1'), &"x".repeat(60_000)).repeat(130);
        many = many.file(
            &format!(".git/logs/refs/heads/{number}"),
            log + &line(&c('1'), &c('1'), &number.to_string()),
        );
    }
    let listed = found(&sent, &many);
    assert_eq!(listed, "unreadable .git/logs/refs/heads/4");
}

#[test]
fn tips_on_disk() {
    let mut tips = Tips::default();
    tips.read(format!("{} refs/heads/a\n^{}\ntoken\n", c('1'), c('2')).as_bytes());
    let long = "3".repeat(64);
    tips.read(format!("{long}\n").as_bytes());
    let mut bytes = Vec::new();
    tips.write_to(&mut bytes).unwrap();
    assert_eq!(Tips::read_from(&mut &bytes[..]).unwrap(), tips);
    assert!(tips.has(&ObjectId::from_hex(c('2').as_bytes()).unwrap()));
    for length in 0..bytes.len() {
        assert!(Tips::read_from(&mut &bytes[..length]).is_err());
    }
}
