//! Names that look like others and are not (AUD-07): `Маkefile` with a Cyrillic М.
//!
//! A name in a single alphabet is not suspect, whichever alphabet it is. Suspect is a word that
//! mixes letters which look alike, or a name that a reader takes for its neighbour, for `.git`,
//! or for a file that runs by itself. The tables are those of Unicode (UTS #39).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use lazaret_tree::{Change, FindingCode, RelPath, escape, is_git_name};
use unicode_script::{Script, UnicodeScript as _};

use crate::Severity;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::rules::names::fold::{fold, skeleton};
use crate::rules::suspects::check::find;
use crate::rules::suspects::patterns::folded;

const CODE: &FindingCode = codes::NAME_CONFUSABLE;

pub(in crate::rules) fn names(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    let (None, Some(entry)) = (&change.before, &change.after) else {
        return;
    };
    if path.as_str().is_ascii() || context.is_git(path) {
        return;
    }
    let own: Vec<_> = find(&folded(path), entry);
    for like in [Lookalike::Plain, Lookalike::LAsI] {
        let read: Vec<Cow<'_, str>> = path.components().map(|name| like.read(name)).collect();
        if is_git_name(read.last().map_or("", |name| name)) && !is_git_name(path.file_name()) {
            return say(path, "looks like `.git`", report);
        }
        let folded: Vec<Cow<'_, str>> = read.iter().map(|name| skeleton(name)).collect();
        let found = find(&folded, entry);
        let mut new = found.iter().filter(|suspect| {
            let known = own.iter().any(|known| known.code.id == suspect.code.id);
            !known
        });
        if let Some(suspect) = new.next() {
            let (read, why) = (escape(read.join("/").as_bytes()), suspect.code.reason);
            return say(path, format!("looks like `{read}`: {why}"), report);
        }
    }
    let name = path.file_name();
    if let Some(foreign) = words(name).find_map(foreign_letter) {
        let (code, script) = (u32::from(foreign), foreign.script().full_name());
        let like = Lookalike::Plain.read(name);
        let like = match like.is_ascii() {
            true => format!("looks like `{}`, but has", escape(like.as_bytes())),
            false => "mixes letters that look alike:".to_owned(),
        };
        say(path, format!("{like} U+{code:04X} ({script})"), report);
    }
}

fn say(path: &RelPath, message: impl Into<Cow<'static, str>>, report: &mut FindingBuffer) {
    report.path(path, Severity::Warn, CODE, message);
}

/// How to read letters that look like ASCII.
#[derive(Debug, Clone, Copy)]
enum Lookalike {
    /// As the table has them.
    Plain,
    /// The same, and what it has as `l` as `i`: a capital I looks like both.
    LAsI,
}

impl Lookalike {
    /// Replaces what looks like ASCII by what it looks like.
    fn read(self, name: &str) -> Cow<'_, str> {
        if name.is_ascii() {
            return Cow::Borrowed(name);
        }
        let mut read = String::with_capacity(name.len());
        for c in name.chars() {
            match (prototype(c), self) {
                (Some('l'), Self::LAsI) => read.push('i'),
                (Some(like), _) => read.push(like),
                (None, _) => read.push(c),
            }
        }
        Cow::Owned(read)
    }
}

/// The one ASCII character that another character looks like.
fn prototype(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let mut text = [0; 4];
    let mut like = unicode_security::skeleton(c.encode_utf8(&mut text));
    let one = like.next().filter(char::is_ascii)?;
    like.next().is_none().then_some(one)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    let letter = |c: char| c.is_alphanumeric() || c.script() == Script::Inherited;
    let words = name.split(move |c| !letter(c));
    words.filter(|word| !word.is_ascii())
}

/// Returns a letter of a word that looks like an ASCII letter and is of another alphabet
/// than the rest: Cyrillic among Latin ones, or full width among narrow ones.
fn foreign_letter(word: &str) -> Option<char> {
    let is_odd = |c: &char| match c.script() {
        Script::Latin | Script::Common => {
            matches!(c, '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}')
        }
        Script::Inherited => false,
        _ => true,
    };
    let is_latin = |c: char| c.script() == Script::Latin && !is_odd(&c);
    let mut odd = word.chars().filter(is_odd);
    let foreign = odd.find(|c| prototype(*c).is_some_and(|like| like.is_ascii_alphanumeric()))?;
    word.chars().any(is_latin).then_some(foreign)
}

/// Finds names that appear and look like another one in the same directory.
pub(in crate::rules) fn siblings(context: &Context<'_>, report: &mut FindingBuffer) {
    // A hash stands for the looks: those of all names may be more than all else in memory.
    let key = RandomState::new();
    let looks_of = |path: &RelPath| key.hash_one((path.parent(), looks(path)));
    let mut appear: HashMap<u64, Vec<&RelPath>> = HashMap::new();
    let mut dirs: HashSet<Option<&RelPath>> = HashSet::new();
    for change in context.changes {
        let path = &change.path;
        let appears = change.before.is_none() && change.after.is_some();
        if appears && !path.file_name().is_ascii() && !context.is_git(path) {
            appear.entry(looks_of(path)).or_default().push(path);
            dirs.insert(path.parent());
        }
    }
    if appear.is_empty() {
        return;
    }
    let mut said: HashSet<&RelPath> = HashSet::new();
    for (other, _) in context.collected.entries() {
        if !dirs.contains(&other.parent()) {
            continue;
        }
        let Some(paths) = appear.get(&looks_of(other)) else {
            continue;
        };
        // Names that fold to one are said to collide.
        let name = fold(other.file_name());
        let shown = looks(other);
        let differ = |path: &&RelPath| {
            let is_like = path.parent() == other.parent() && looks(path) == shown;
            is_like && fold(path.file_name()) != name
        };
        for path in paths.iter().copied().filter(differ) {
            if said.insert(path) {
                let other = escape(other.file_name().as_bytes());
                say(path, format!("looks like `{other}` beside it"), report);
            }
        }
    }
}

fn looks(path: &RelPath) -> String {
    unicode_security::skeleton(path.file_name()).collect()
}
