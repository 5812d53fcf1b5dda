//! `Tip`: what of a session's commits can be fetched by its id.

use lazaret_commits::ObjectId;
use lazaret_commits::land_name::Source;
use lazaret_gate::unlanded::{Unlanded, UnlandedKind, UnlandedRef};
use lazaret_tree::unescape;

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
    /// Where it lies inside.
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
    // The repositories of submodules stay: the host's are not one with the workspace's.
    if one.repository != ".git" {
        return Vec::new();
    }
    let id = |text: &String| ObjectId::from_hex(text.as_bytes());
    let name = one.name.as_deref().and_then(unescape);
    let named = |source: fn(Vec<u8>) -> Source| {
        let tip = name.clone().zip(one.tip.as_ref().and_then(id));
        let tip = tip.map(|(name, id)| Tip {
            source: source(name),
            id,
        });
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
            let tip = id.map(|id| Tip {
                source: Source::Head,
                id,
            });
            tip.into_iter().collect()
        }
        UnlandedKind::Stash => {
            let entries = one.logged.iter().chain(match one.logged.is_empty() {
                true => &one.tip,
                false => &None,
            });
            let entries = entries.filter_map(id).enumerate();
            entries
                .map(|(number, id)| Tip {
                    source: Source::Stash(number),
                    id,
                })
                .collect()
        }
        UnlandedKind::Reflog if lost == Lost::Take => logged
            .map(|id| Tip {
                source: Source::Lost(id),
                id,
            })
            .collect(),
        UnlandedKind::Reflog | UnlandedKind::Unreadable | UnlandedKind::More => Vec::new(),
    }
}
