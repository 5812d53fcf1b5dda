//! A survey of anything against a baseline: what is collected is a tree.

use lazaret_protocol::{Checksum, FileTime, Receipt, Survey, Trailer, VolumeIdentity};
use lazaret_protocol::{FoundEntry, FoundKind, SpecialType};
use lazaret_transfer::{VolumeState, verify_received};
use lazaret_tree::{Digest, Entry, Mode, Tree, diff};

use crate::input::Input;

/// The bytes are entries: a kind, then a name up to a line feed. Those with the high bit
/// are the baseline's.
pub(crate) fn collected(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut baseline = Tree::new();
    let mut survey = Survey::default();
    while !input.is_empty() {
        let kind = input.byte();
        let name = input.until(b'\n').to_vec();
        if kind & 0x80 != 0 {
            add(&mut baseline, kind, &name);
            continue;
        }
        let kind = match kind % 9 {
            0 => FoundKind::Dir {
                identity: identity(0o40755, 0),
            },
            1 | 2 => FoundKind::File {
                identity: identity(0o100_644 | u32::from(kind) << 4, u64::from(kind)),
                links: u32::from(kind % 3),
                digest: (kind & 0x40 == 0).then(|| Digest::of(&[kind])),
            },
            3 => FoundKind::Symlink {
                identity: identity(0o120_777, 0),
                target: name.clone(),
            },
            4 => FoundKind::Special(SpecialType::Fifo),
            5 => FoundKind::Cache,
            6 => FoundKind::BadName,
            _ => {
                survey.gone.push(name);
                continue;
            }
        };
        survey.found.push(FoundEntry { name, kind });
    }
    let Ok(surveyed) = received(&baseline).surveyed(survey, &baseline) else {
        return;
    };
    // What is asked for, and nothing less, has to arrive.
    let wanted = surveyed.wanted(&baseline);
    let arrived: Tree = wanted
        .iter()
        .map(|wanted| {
            let entry = Entry::File {
                mode: Mode::Plain,
                size: wanted.identity.size,
                digest: wanted.digest.unwrap_or(Digest::of(b"")),
            };
            (wanted.path.clone(), entry)
        })
        .collect();
    verify_received(&wanted, &arrived).expect("all of it arrived");
    assert_eq!(
        verify_received(&wanted, &Tree::new()).is_ok(),
        wanted.is_empty()
    );
    let unread = wanted.iter().any(|wanted| wanted.digest.is_none());
    assert_eq!(surveyed.clone().whole().is_err(), unread);
    assert_eq!(surveyed.clone().arrived(&Tree::new()).is_err(), unread);
    let state = surveyed.arrived(&arrived).expect("all of it arrived");
    let collection = state.collect(&baseline);
    // Every parent is there, as a directory: the invariant of a tree.
    for (path, _) in collection.tree.iter() {
        if let Some(parent) = path.parent() {
            assert_eq!(collection.tree.get(parent), Some(&Entry::Dir), "{path}");
        }
    }
    // Changes lead from the one tree to the other.
    let mut tree = baseline.clone();
    for change in diff(&baseline, &collection.tree).iter() {
        assert_eq!(baseline.get(&change.path), change.before.as_ref());
        match &change.after {
            Some(entry) => drop(tree.insert(change.path.clone(), entry.clone())),
            None => drop(tree.remove(&change.path)),
        }
    }
    assert_eq!(tree, collection.tree);
}

/// The volume as it was when the baseline had arrived.
fn received(baseline: &Tree) -> VolumeState {
    let identities = baseline
        .iter()
        .map(|(path, _)| (path.to_owned(), identity(0, 0)));
    let receipt = Receipt {
        arrived: Trailer {
            entries: baseline.len() as u64,
            bytes: 0,
            stream: Checksum::of(b""),
        },
        identities: identities.collect(),
    };
    VolumeState::received(baseline, &receipt).expect("a receipt for the same paths")
}

fn identity(mode: u32, size: u64) -> VolumeIdentity {
    let time = FileTime {
        seconds: 0,
        nanos: 0,
    };
    VolumeIdentity {
        ino: 1,
        size,
        mode,
        mtime: time,
        ctime: time,
    }
}

/// Adds to the baseline, with parents, where that is possible.
fn add(baseline: &mut Tree, kind: u8, name: &[u8]) {
    let Ok(path) = lazaret_tree::RelPath::from_bytes(name) else {
        return;
    };
    let is_dir = |entry: Option<&Entry>| matches!(entry, None | Some(Entry::Dir));
    if !path.ancestors().all(|path| is_dir(baseline.get(path))) || baseline.get(path).is_some() {
        return;
    }
    let ancestors: Vec<_> = path.ancestors().map(ToOwned::to_owned).collect();
    for ancestor in ancestors {
        baseline.insert(ancestor, Entry::Dir);
    }
    let entry = match kind & 1 {
        0 => Entry::Dir,
        _ => Entry::File {
            mode: Mode::Plain,
            size: u64::from(kind & 0x7f),
            digest: Digest::of(&[kind & 0x7f]),
        },
    };
    baseline.insert(path.to_owned(), entry);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        &b"\x81a\n\x80d\n\x81d/x\n\x01a\n\x07d/x\n\x00d\n"[..],
        b"\x81a/b/c\n\x07a\n\x07a/b\n\x07a/b/c\n\x01a\n",
        b"\x03link\n\x04fifo\n\x05node_modules\n\x06\xff\n\x02hard\n",
        b"\x81a\n\x41a\n\x40d\n\x41d/x\n\x42z\n",
        b"\x81.git/config\n\x01.git/config\n\x00.git\n",
    ]
    .map(<[u8]>::to_vec)
    .to_vec()
}
