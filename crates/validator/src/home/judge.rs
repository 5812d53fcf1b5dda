//! Compares a home with what the user put into it.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_tree::{Digest, FieldHasher, Mode, RelPath, RelPathBuf};

use super::keys::Format;
use super::mixed;
use super::table::{Treatment, compared, home_rule, treatment};

/// What lies at a path of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A regular file.
    File(HomeFile),
    /// One that is larger than is read, in bytes.
    Large(u64),
    /// A link; where it leads, raw.
    Link(Vec<u8>),
    /// A directory where a file belongs, or one with too much in it.
    Dir,
    /// A FIFO, a socket or a device.
    Special,
}

/// A file of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFile {
    /// Whether its owner may execute it.
    pub mode: Mode,
    /// All of it.
    pub contents: Vec<u8>,
}

/// What a home is expected to hold.
#[derive(Debug, Clone, Default)]
pub struct ExpectedHome {
    /// Files of the user's, and contents that they allowed.
    pub files: BTreeMap<RelPathBuf, HomeFile>,
    /// Files that the command may change for good.
    pub memory: BTreeSet<RelPathBuf>,
    /// What lazaret put there before the last command, by its [`fingerprint`].
    pub placed: BTreeMap<RelPathBuf, Digest>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What a command changed that it may not.
    pub differences: Vec<Difference>,
    /// What is to be done, in this order.
    pub puts: Vec<(RelPathBuf, Put)>,
}

/// One path that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub path: RelPathBuf,
    /// The row that it is in, if it is in one.
    pub rule: &'static str,
    /// What it is.
    pub kind: DifferenceKind,
}

/// How a path differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// A file that is not expected.
    Added,
    /// A file with other contents.
    Changed,
    /// A file that is gone.
    Removed,
    /// A file that is larger than is read.
    Large,
    /// A link.
    Link,
    /// A directory where a file belongs, or one with too much in it.
    Dir,
    /// A FIFO, a socket or a device.
    Special,
}

/// What is done at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// What lies there is removed.
    Remove,
    /// What lies there is moved away, since it can't be kept outside.
    SetAside,
    /// A file is put there.
    Write(HomeFile),
}

/// The rule of a file that no row is about: one of the user's own.
const SEED: &str = "home.seed";

/// Judges what was found. Entries of no rule and of no expected path are left alone.
pub fn judge_home(found: &BTreeMap<RelPathBuf, Found>, expected: &ExpectedHome) -> Judgement {
    let mut judgement = Judgement::default();
    for (path, found) in found {
        judgement.entry(path, found, expected);
    }
    for (path, file) in &expected.files {
        let was_placed = expected.placed.contains_key(path);
        if found.contains_key(path) || (was_placed && expected.memory.contains(path)) {
            continue;
        }
        if was_placed {
            judgement.differ(path, DifferenceKind::Removed);
        }
        judgement.put(path, Put::Write(file.clone()));
    }
    // What is in the way of a file goes first.
    judgement
        .puts
        .sort_by_key(|(_, put)| matches!(put, Put::Write(_)));
    judgement
}

/// Returns a digest of what is compared of a file.
pub fn fingerprint(path: &RelPath, file: &HomeFile) -> Digest {
    let mut hasher = FieldHasher::default();
    hasher.field(match file.mode {
        Mode::Plain => b"plain",
        Mode::Executable => b"executable",
    });
    hasher.field(&compared(path, &file.contents));
    hasher.finish()
}

impl Judgement {
    fn entry(&mut self, path: &RelPath, found: &Found, expected: &ExpectedHome) {
        let file = expected.files.get(path);
        let treatment = match (treatment(path), file) {
            (Some(treatment), _) => treatment,
            (None, Some(_)) => Treatment::Config,
            (None, None) if expected.memory.contains(path) => Treatment::Config,
            (None, None) => return,
        };
        match (treatment, found) {
            (Treatment::Transient, _) if file.is_none() => self.put(path, Put::Remove),
            (_, Found::File(_)) if expected.memory.contains(path) => {}
            (Treatment::Mixed(format), Found::File(found)) => {
                self.mixed(path, format, found, expected);
            }
            (_, Found::File(found)) => self.file(path, found, expected),
            (_, found) => {
                self.differ(path, kind_of(found));
                self.put(path, way_of(found));
                if let Some(file) = file {
                    self.put(path, Put::Write(file.clone()));
                }
            }
        }
    }

    fn file(&mut self, path: &RelPath, found: &HomeFile, expected: &ExpectedHome) {
        let file = expected.files.get(path);
        if file == Some(found) {
            return;
        }
        if !is_placed(path, found, expected) {
            self.differ(path, changed(file));
        }
        self.put(
            path,
            file.map_or(Put::Remove, |file| Put::Write(file.clone())),
        );
    }

    fn mixed(&mut self, path: &RelPath, format: Format, found: &HomeFile, expected: &ExpectedHome) {
        let file = expected.files.get(path);
        let ours = file.and_then(|file| mixed::split(format, &file.contents));
        let Some(theirs) = mixed::split(format, &found.contents) else {
            return self.file(path, found, expected);
        };
        let is_same = match &ours {
            Some(ours) => theirs.has_config_of(ours),
            None => theirs.has_no_config(),
        };
        if is_same {
            return;
        }
        if !is_placed(path, found, expected) {
            self.differ(path, changed(file));
        }
        if file.is_none() && theirs.has_no_state() {
            return self.put(path, Put::Remove);
        }
        let contents = theirs.with_config_of(ours.as_ref());
        let mode = Mode::Plain;
        self.put(path, Put::Write(HomeFile { mode, contents }));
    }

    fn differ(&mut self, path: &RelPath, kind: DifferenceKind) {
        self.differences.push(Difference {
            path: path.to_owned(),
            rule: home_rule(path).map_or(SEED, |rule| rule.code),
            kind,
        });
    }

    fn put(&mut self, path: &RelPath, put: Put) {
        self.puts.push((path.to_owned(), put));
    }
}

/// Whether a file is as lazaret put it there: then the user's own has changed since.
fn is_placed(path: &RelPath, found: &HomeFile, expected: &ExpectedHome) -> bool {
    expected.placed.get(path) == Some(&fingerprint(path, found))
}

fn changed(expected: Option<&HomeFile>) -> DifferenceKind {
    match expected {
        Some(_) => DifferenceKind::Changed,
        None => DifferenceKind::Added,
    }
}

fn kind_of(found: &Found) -> DifferenceKind {
    match found {
        Found::File(_) => DifferenceKind::Changed,
        Found::Large(_) => DifferenceKind::Large,
        Found::Link(_) => DifferenceKind::Link,
        Found::Dir => DifferenceKind::Dir,
        Found::Special => DifferenceKind::Special,
    }
}

fn way_of(found: &Found) -> Put {
    match found {
        Found::File(_) | Found::Link(_) | Found::Special => Put::Remove,
        Found::Large(_) | Found::Dir => Put::SetAside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPathBuf {
        text.parse().unwrap()
    }

    fn file(text: &str) -> HomeFile {
        HomeFile {
            mode: Mode::Plain,
            contents: text.as_bytes().to_vec(),
        }
    }

    fn home_of(files: &[(&str, &str)]) -> ExpectedHome {
        let files = files.iter().map(|(at, text)| (path(at), file(text)));
        ExpectedHome {
            files: files.collect(),
            ..ExpectedHome::default()
        }
    }

    fn placed(mut expected: ExpectedHome) -> ExpectedHome {
        let files = expected.files.iter();
        let placed = files.map(|(path, file)| (path.clone(), fingerprint(path, file)));
        expected.placed = placed.collect();
        expected
    }

    /// Shows a judgement in a few words.
    fn judge(found: &[(&str, Found)], expected: &ExpectedHome) -> String {
        let found = found.iter().map(|(at, found)| (path(at), found.clone()));
        let Judgement { differences, puts } = judge_home(&found.collect(), expected);
        let differences = differences.iter();
        let differences = differences.map(|one| format!("{} {:?}", one.path, one.kind));
        let puts = puts.iter().map(|(path, put)| match put {
            Put::Remove => format!("-{path}"),
            Put::SetAside => format!("~{path}"),
            Put::Write(file) => format!("+{path}={}", String::from_utf8_lossy(&file.contents)),
        });
        differences.chain(puts).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_is_not_the_users_is_put_back() {
        let ours = placed(home_of(&[(".claude/settings.json", "{}")]));
        let text = |text: &str| Found::File(file(text));
        for (at, found, expected) in [
            (".claude/settings.json", text("{}"), ""),
            (
                ".claude/settings.json",
                text("{evil}"),
                ".claude/settings.json Changed; +.claude/settings.json={}",
            ),
            (
                ".claude/settings.json",
                Found::Dir,
                ".claude/settings.json Dir; ~.claude/settings.json; +.claude/settings.json={}",
            ),
        ] {
            assert_eq!(judge(&[(at, found)], &ours), expected);
        }
        let seed = ("+.claude/settings.json={}", ".claude/settings.json Removed");
        for (at, found, difference, put) in [
            (".bashrc", text("x"), ".bashrc Added", "-.bashrc"),
            (
                ".bashrc",
                Found::Large(1 << 30),
                ".bashrc Large",
                "~.bashrc",
            ),
            (".bashrc", Found::Special, ".bashrc Special", "-.bashrc"),
            (
                ".local/bin/git",
                text("x"),
                ".local/bin/git Added",
                "-.local/bin/git",
            ),
            (
                ".claude",
                Found::Link(b"/etc".to_vec()),
                ".claude Link",
                "-.claude",
            ),
        ] {
            let expected = format!("{difference}; {}; {put}; {}", seed.1, seed.0);
            assert_eq!(judge(&[(at, found)], &ours), expected);
        }
        let own = ("notes", text("x"));
        assert_eq!(judge(&[own], &home_of(&[])), "");
    }

    #[test]
    fn a_fresh_home_gets_the_seed_and_nothing_is_said() {
        let ours = home_of(&[(".bashrc", "a")]);
        assert_eq!(judge(&[], &ours), "+.bashrc=a");
        assert_eq!(judge(&[], &placed(ours)), ".bashrc Removed; +.bashrc=a");
    }

    #[test]
    fn a_seed_that_the_user_changed_is_copied_anew_and_nothing_is_said() {
        let before = placed(home_of(&[(".bashrc", "old"), (".vimrc", "old")]));
        let now = ExpectedHome {
            placed: before.placed,
            ..home_of(&[(".bashrc", "new")])
        };
        let found = [
            (".bashrc", Found::File(file("old"))),
            (".vimrc", Found::File(file("old"))),
        ];
        assert_eq!(judge(&found, &now), "-.vimrc; +.bashrc=new");
    }

    #[test]
    fn a_memory_file_is_the_commands_unless_it_is_no_file() {
        let mut ours = placed(home_of(&[(".claude/CLAUDE.md", "a")]));
        ours.memory.insert(path(".claude/CLAUDE.md"));
        let changed = [(".claude/CLAUDE.md", Found::File(file("b")))];
        assert_eq!(judge(&changed, &ours), "");
        assert_eq!(judge(&[], &ours), "");
        let link = [(".claude/CLAUDE.md", Found::Link(b"x".to_vec()))];
        let expected = ".claude/CLAUDE.md Link; -.claude/CLAUDE.md; +.claude/CLAUDE.md=a";
        assert_eq!(judge(&link, &ours), expected);
    }

    #[test]
    fn what_is_written_anew_for_each_command_goes_without_a_word() {
        let found = [(".claude/shell-snapshots/a.sh", Found::File(file("x")))];
        let expected = "-.claude/shell-snapshots/a.sh";
        assert_eq!(judge(&found, &home_of(&[])), expected);
    }

    #[test]
    fn of_a_mixed_file_history_stays() {
        let judged = |found: &str, ours: &ExpectedHome| {
            judge(&[(".claude.json", Found::File(file(found)))], ours)
        };
        let none = home_of(&[]);
        assert_eq!(judged("{\"numStartups\": 7}", &none), "");
        let put_back = judged("{\"numStartups\": 7, \"env\": {\"A\": \"b\"}}", &none);
        let expected = ".claude.json Added; +.claude.json={\n  \"numStartups\": 7\n}\n";
        assert_eq!(put_back, expected);
        assert_eq!(judged("{", &none), ".claude.json Added; -.claude.json");
        let bare = judged("{\"env\": {\"A\": \"b\"}, \"projects\": {}}", &none);
        assert_eq!(bare, ".claude.json Added; -.claude.json");
        let ours = placed(home_of(&[(".claude.json", "{\"verbose\": true}")]));
        let same = "{\"verbose\": true, \"numStartups\": 7}";
        assert_eq!(judged(same, &ours), "");
        let gone = judged("{\"numStartups\": 7}", &ours);
        assert!(gone.starts_with(".claude.json Changed; +"), "{gone}");
        assert!(gone.contains("\"verbose\": true"), "{gone}");
    }
}
