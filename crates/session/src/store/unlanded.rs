//! What was committed in a copy: where it is looked for, and what can be done with it.

use std::io::Read as _;

use lazaret_gate::unlanded::{Exactness, UnlandedKind};
use lazaret_runtime::SessionId;
use lazaret_transfer::{Quarantine, Tips, VolumeState, new_refs};
use lazaret_tree::{Digest, Tree};

pub use lazaret_gate::unlanded::Unlanded;

/// Finds what lies in a volume that was just collected.
pub(crate) fn find(
    baseline: &Tree,
    volume: &VolumeState,
    tips: &Tips,
    quarantine: &Quarantine,
) -> Unlanded {
    let text = |digest: &Digest, size: u64| {
        let mut bytes = Vec::new();
        let mut blob = quarantine.blob(digest, size).ok()?;
        blob.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    new_refs(baseline, volume, tips, &text).into()
}

/// Says what can be done with it today.
pub fn hint(commits: &Unlanded, id: &SessionId, profile: &str) -> String {
    let branch = commits.iter().find(|one| one.kind == UnlandedKind::Branch);
    let patches = branch.and_then(|one| {
        let (name, number) = (one.name.as_deref()?, one.count?);
        let is_plain = |word: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
            !word.starts_with('-') && word.bytes().all(plain)
        };
        let is_usable = one.exact == Exactness::Exactly
            && one.repository == ".git"
            && is_plain(name)
            && is_plain(profile);
        is_usable.then(|| {
            format!(
                "`lazaret run {profile} --name {id} -- git format-patch -{number} -o patches \
                 {name} --` brings branch {name} out as patches for `git am`"
            )
        })
    });
    let way = patches.unwrap_or_else(|| {
        format!("another `lazaret run … --name {id}` goes on there, and can write them as patches")
    });
    format!("Commits and stashes stay in the copy: {way}; `lazaret discard {id}` throws them away.")
}
