//! `Tip`: what of a session's commits can be fetched by its id.

use lazaret_commits::ObjectId;
use lazaret_commits::land_name::Source;
use lazaret_gate::unlanded::{Unlanded, UnlandedKind, UnlandedRef};
use lazaret_tree::{RelPathBuf, escape, unescape};

/// Whether commits that only a reflog names are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// They stay where they are.
    Leave,
    /// They are wanted as well.
    Take,
}

/// Something that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tip {
    /// Where its repository lies inside: `.git`, or a directory below `.git/modules`.
    pub(crate) repository: RelPathBuf,
    /// Where it lies in its repository.
    pub(crate) source: Source,
    /// What it names.
    pub(crate) id: ObjectId,
}

/// What waits in a session, sorted by whether it can be fetched.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// What can be fetched, in order, each object under each of its names.
    pub(crate) tips: Vec<Tip>,
    /// What stays in the copy, in words.
    pub(crate) stays: Vec<String>,
}

impl Tip {
    /// Returns the name by which users say which one they mean, escaped. Git takes no `:` in the
    /// name of a ref.
    pub(crate) fn label(&self) -> String {
        let label = self.source.label();
        match self.submodule() {
            Some(name) => format!("{name}:{label}"),
            None => label,
        }
    }

    /// Returns the name of the submodule whose repository it lies in, escaped; `None` if that is
    /// the workspace's.
    pub(crate) fn submodule(&self) -> Option<String> {
        let name = self.repository.as_str().strip_prefix(".git/modules/")?;
        Some(escape(name.replace("/modules/", "/").as_bytes()))
    }
}

impl Pending {
    /// Sorts what waits.
    pub(crate) fn of(commits: &Unlanded, lost: Lost) -> Self {
        let mut waiting = Self::default();
        for one in commits.iter() {
            let tips = tips_of(one, lost);
            if tips.is_empty() {
                waiting.stays.push(one.to_string());
            }
            waiting.tips.extend(tips);
        }
        waiting
    }
}

/// Returns what one line of the list names; nothing where that is not to be fetched.
fn tips_of(one: &UnlandedRef, lost: Lost) -> Vec<Tip> {
    let path = unescape(&one.repository).and_then(|path| String::from_utf8(path).ok());
    let Some(repository) = path.and_then(|path| path.parse::<RelPathBuf>().ok()) else {
        return Vec::new();
    };
    let tip = |source, id| Tip {
        repository: repository.clone(),
        source,
        id,
    };
    let id = |text: &String| ObjectId::from_hex(text.as_bytes());
    let name = one.name.as_deref().and_then(unescape);
    let named = |source: fn(Vec<u8>) -> Source| {
        let named = name.clone().zip(one.tip.as_ref().and_then(id));
        let tip = named.map(|(name, id)| tip(source(name), id));
        tip.into_iter().collect()
    };
    let logged = one.logged.iter().filter_map(id);
    match one.kind {
        UnlandedKind::Branch => named(Source::Branch),
        UnlandedKind::Tag => named(Source::Tag),
        UnlandedKind::Worktree => named(Source::Worktree),
        UnlandedKind::Ref => named(Source::Ref),
        UnlandedKind::Head => {
            let id = one.tip.as_ref().and_then(id);
            id.map(|id| tip(Source::Head, id)).into_iter().collect()
        }
        UnlandedKind::Stash => {
            let entries = one.logged.iter().chain(match one.logged.is_empty() {
                true => &one.tip,
                false => &None,
            });
            let entries = entries.filter_map(id).enumerate();
            entries
                .map(|(number, id)| tip(Source::Stash(number), id))
                .collect()
        }
        UnlandedKind::Reflog if lost == Lost::Take => {
            logged.map(|id| tip(Source::Lost(id), id)).collect()
        }
        UnlandedKind::Reflog | UnlandedKind::Unreadable | UnlandedKind::More => Vec::new(),
    }
}
