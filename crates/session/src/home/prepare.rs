//! Judges the home before a command starts, and puts back what is not the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use lazaret_protocol::{HomeEntry, HomeOrder, HomeOrders, HomeRequest, Verb};
use lazaret_runtime::{AGENT_HOME, ExecSpec, HardenedSpec, Stdin};
use lazaret_tree::{Digest, Mode, PathPattern, RelPath, RelPathBuf};
use lazaret_validator::home::{
    Difference, DifferenceKind, ExpectedHome, Found, HomeFile, Judgement, Put, fingerprint,
    home_patterns, judge_home,
};

use super::HomeSpec;
use super::exchange::{Exchange, HomeError};
use super::state::{HomeState, HomeStore, PutBack};
use crate::context::SessionContext;
use crate::credentials::file::CredentialFile;
use crate::event::Event;
use crate::store::SessionDir;
use crate::store::file::random_hex;

/// Judges the home of a command's container, whose controls are proven and in which nothing of the
/// command's runs. What the command may not have changed is kept outside first, and then put back.
///
/// # Errors
/// The porter's, the engine's or the disk's: then the command does not start.
pub(crate) fn prepare(
    cx: &SessionContext<'_>,
    agent: &HardenedSpec,
    dir: &SessionDir,
    spec: &HomeSpec,
    lent: &[CredentialFile],
) -> Result<(), HomeError> {
    let home = AGENT_HOME.to_owned();
    let argv = agent.run_argv(&Verb::Home { home }.to_command());
    let exec = ExecSpec::new(argv, Stdin::Piped);
    let store = HomeStore::of(dir);
    let state = store.read()?;
    let expected = expected(&store, &state, spec)?;
    let preparing = Preparing {
        store,
        state,
        expected,
    };
    let container = &agent.spec().name;
    let put_back = cx.phase("home", |_| {
        Exchange { cx, container }.run(&exec, |said, answers| {
            preparing.request().write_to(said).map_err(Exchange::lost)?;
            let found = Exchange::entries(answers)?;
            let (orders, put_back) = preparing.judge(&found, lent)?;
            orders.write_to(said).map_err(Exchange::lost)?;
            Ok(put_back)
        })
    })?;
    if put_back > 0 {
        cx.events.event(Event::HomePutBack {
            id: dir.id(),
            count: put_back,
        });
    }
    Ok(())
}

/// Returns what the home is to hold: the user's files, and over them what they allowed.
fn expected(
    store: &HomeStore,
    state: &HomeState,
    spec: &HomeSpec,
) -> Result<ExpectedHome, HomeError> {
    let seed = spec.seed.iter().map(|seed| {
        let mode = Mode::Plain;
        let contents = seed.contents.clone();
        (seed.path.clone(), HomeFile { mode, contents })
    });
    let mut files: BTreeMap<RelPathBuf, HomeFile> = seed.collect();
    for (path, stored) in &state.allowed {
        if let Ok(path) = path.parse() {
            files.insert(path, store.load(stored)?);
        }
    }
    let placed = state.placed.iter();
    let placed = placed.filter_map(|(path, digest)| {
        let digest: Digest = digest.parse().ok()?;
        Some((path.parse().ok()?, digest))
    });
    Ok(ExpectedHome {
        files,
        memory: spec.memory.iter().cloned().collect(),
        placed: placed.collect(),
    })
}

struct Preparing {
    store: HomeStore,
    state: HomeState,
    expected: ExpectedHome,
}

impl Preparing {
    fn request(&self) -> HomeRequest {
        let mut patterns = home_patterns();
        let own = self.expected.files.keys().chain(&self.expected.memory);
        let own: BTreeSet<&RelPathBuf> = own.collect();
        patterns.extend(
            own.into_iter()
                .filter_map(|path| PathPattern::parse(path.as_str())),
        );
        HomeRequest(patterns)
    }

    /// Judges what was found, writes down what is put back, and says what is to be done. Nothing is
    /// removed before it is kept outside.
    fn judge(
        &self,
        entries: &BTreeMap<RelPathBuf, HomeEntry>,
        lent: &[CredentialFile],
    ) -> Result<(HomeOrders, usize), HomeError> {
        let mut state = self.state.clone();
        let before = state.lent_paths();
        let lent: Vec<RelPathBuf> = lent.iter().map(|file| file.to.clone()).collect();
        let stale: BTreeSet<RelPathBuf> = before.into_iter().chain(lent.iter().cloned()).collect();
        let found = entries.iter().filter(|(path, _)| !stale.contains(*path));
        let found = found
            .map(|(path, entry)| (path.clone(), found_of(entry)))
            .collect();
        let Judgement { differences, puts } = judge_home(&found, &self.expected);
        let now = seconds_now();
        let mut orders: Vec<(RelPathBuf, HomeOrder)> = Vec::new();
        orders.extend(stale.into_iter().map(|path| (path, HomeOrder::Remove)));
        for difference in &differences {
            let put_back = self.put_back(difference, &found, now)?;
            state.put_back.retain(|one| !is_same(one, &put_back));
            state.put_back.push(put_back);
        }
        let names = &state.put_back;
        orders.extend(puts.into_iter().map(|(path, put)| {
            let order = match put {
                Put::Remove => HomeOrder::Remove,
                Put::SetAside => HomeOrder::SetAside {
                    name: noted_name(names, &path),
                },
                Put::Write(HomeFile { mode, contents }) => HomeOrder::Write { mode, contents },
            };
            (path, order)
        }));
        let placed = self.expected.files.iter();
        let placed =
            placed.map(|(path, file)| (path.to_string(), fingerprint(path, file).to_hex()));
        state.placed = placed.collect();
        state.lent.extend(lent.iter().map(ToString::to_string));
        self.store.write(&state)?;
        Ok((HomeOrders(orders), differences.len()))
    }

    fn put_back(
        &self,
        difference: &Difference,
        found: &BTreeMap<RelPathBuf, Found>,
        at: u64,
    ) -> Result<PutBack, HomeError> {
        let Difference { path, rule, kind } = difference;
        let store = |file: &HomeFile| self.store.store(file);
        let found = found.get(path);
        Ok(PutBack {
            path: path.to_string(),
            rule: (*rule).to_owned(),
            what: word(*kind).to_owned(),
            at,
            found: match found {
                Some(Found::File(file)) => Some(store(file)?),
                _ => None,
            },
            placed: self.expected.files.get(path).map(store).transpose()?,
            target: match found {
                Some(Found::Link(target)) => Some(target.clone()),
                _ => None,
            },
            set_aside: match kind {
                DifferenceKind::Large | DifferenceKind::Dir => Some(aside_name(path, at)),
                _ => None,
            },
        })
    }
}

/// Returns the name that was written down for what is set aside.
fn noted_name(put_back: &[PutBack], path: &RelPath) -> String {
    let mut all = put_back.iter().rev();
    let noted = all.find(|one| one.path == path.as_str());
    let noted = noted.and_then(|one| one.set_aside.clone());
    noted.unwrap_or_else(random_hex)
}

/// Whether two say the same but for when.
fn is_same(one: &PutBack, other: &PutBack) -> bool {
    let at = other.at;
    PutBack { at, ..one.clone() } == *other
}

/// Returns a name for something that is set aside.
fn aside_name(path: &RelPath, now: u64) -> String {
    format!("{now}-{}-{}", random_hex(), flat(path))
}

/// Returns a path as one name, which has room for a number before it.
fn flat(path: &RelPath) -> String {
    let flat = path.as_str().replace('/', "_");
    let start = flat
        .char_indices()
        .map(|(at, _)| at)
        .take_while(|at| *at < 100);
    let end = start.last().unwrap_or_default();
    let last = flat[end..].chars().next().map_or(0, char::len_utf8);
    flat[..end + last].to_owned()
}

fn found_of(entry: &HomeEntry) -> Found {
    match entry {
        HomeEntry::File { mode, contents } => Found::File(HomeFile {
            mode: *mode,
            contents: contents.clone(),
        }),
        HomeEntry::Large { bytes } => Found::Large(*bytes),
        HomeEntry::Link { target } => Found::Link(target.clone()),
        HomeEntry::Dir => Found::Dir,
        HomeEntry::Special => Found::Special,
    }
}

fn word(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Added => "added",
        DifferenceKind::Changed => "changed",
        DifferenceKind::Removed => "removed",
        DifferenceKind::Large => "large",
        DifferenceKind::Link => "link",
        DifferenceKind::Dir => "directory",
        DifferenceKind::Special => "special",
    }
}

fn seconds_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |age| age.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPathBuf {
        text.parse().unwrap()
    }

    fn entry(text: &str) -> HomeEntry {
        HomeEntry::File {
            mode: Mode::Plain,
            contents: text.as_bytes().to_vec(),
        }
    }

    /// Judges a home with these entries.
    fn judge(store: &HomeStore, entries: &[(&str, HomeEntry)]) -> (HomeOrders, usize) {
        let state = store.read().unwrap();
        let seed = vec![super::super::SeedFile {
            path: path(".bashrc"),
            contents: b"mine".to_vec(),
        }];
        let spec = HomeSpec {
            seed,
            memory: Vec::new(),
        };
        let expected = expected(store, &state, &spec).unwrap();
        let preparing = Preparing {
            store: store.clone(),
            state,
            expected,
        };
        let entries = entries.iter();
        let entries = entries.map(|(at, entry)| (path(at), entry.clone()));
        preparing.judge(&entries.collect(), &[]).unwrap()
    }

    #[test]
    fn what_is_put_back_is_kept_outside_first_and_comes_back_once_it_is_allowed() {
        let dir = tempfile::tempdir().unwrap();
        let store = HomeStore::of(&SessionDir::at(dir.path()));
        let (HomeOrders(orders), count) = judge(&store, &[]);
        assert_eq!((orders.len(), count), (1, 0));
        let planted = [(".bashrc", entry("mine")), ("bin/tool", entry("theirs"))];
        let (HomeOrders(orders), count) = judge(&store, &planted);
        assert_eq!(orders, [(path("bin/tool"), HomeOrder::Remove)]);
        assert_eq!(count, 1);
        let mut state = store.read().unwrap();
        let put_back = state.last_put_back(&path("bin/tool")).unwrap();
        let found = put_back.found.clone().unwrap();
        assert_eq!(store.load(&found).unwrap().contents, b"theirs");
        assert_eq!(state.waiting().count(), 1);
        state.allowed.insert("bin/tool".to_owned(), found);
        store.write(&state).unwrap();
        assert_eq!(state.waiting().count(), 0);
        let (HomeOrders(orders), count) = judge(&store, &[(".bashrc", entry("mine"))]);
        let HomeEntry::File { mode, contents } = entry("theirs") else {
            unreachable!()
        };
        let order = HomeOrder::Write { mode, contents };
        assert_eq!((orders, count), (vec![(path("bin/tool"), order)], 0));
        assert_eq!(judge(&store, &planted).1, 0);
    }

    #[test]
    fn the_same_is_put_back_again_and_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = HomeStore::of(&SessionDir::at(dir.path()));
        let planted = [
            (".bashrc", entry("mine")),
            ("bin/tool", entry("theirs")),
            (
                "bin/link",
                HomeEntry::Link {
                    target: b"/etc".to_vec(),
                },
            ),
        ];
        for _ in 0..3 {
            assert_eq!(judge(&store, &planted).1, 2);
        }
        assert_eq!(store.read().unwrap().put_back.len(), 2);
    }

    #[test]
    fn a_lent_file_goes_first_and_is_no_difference() {
        let dir = tempfile::tempdir().unwrap();
        let store = HomeStore::of(&SessionDir::at(dir.path()));
        let mut state = HomeState::default();
        state.lent.insert(".netrc".to_owned());
        store.write(&state).unwrap();
        let (HomeOrders(orders), count) = judge(&store, &[(".netrc", entry("token"))]);
        assert_eq!(orders[0], (path(".netrc"), HomeOrder::Remove));
        assert_eq!(count, 0);
        let kept = dir.path().join("home/contents");
        let kept = std::fs::read_dir(kept).map_or(0, Iterator::count);
        assert_eq!(kept, 0);
    }

    #[test]
    fn a_name_for_what_is_set_aside_is_one_component_of_bounded_length() {
        for text in [
            ".claude/hooks".to_owned(),
            "é".repeat(120),
            "name/".repeat(30) + "a",
        ] {
            let name = aside_name(&path(&text), 7);
            assert!(name.len() < 160, "{name}");
            assert!(
                RelPath::new(&name).is_ok_and(|name| name.parent().is_none()),
                "{name}"
            );
        }
    }
}
