//! `Preloaded`: the small objects of a pack, read in one go. Asking for one object after the
//! other costs a round trip to git each.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use lazaret_transfer::ObjectId;

use crate::git::{Git, IsCancelled};
use crate::limits::ProcessLimits;
use crate::object_header::{Header, ObjectKind, header};

/// The largest object that is read ahead, in bytes.
const MAX_OBJECT_BYTES: u64 = 128 << 10;
/// The most bytes of all that are read ahead: commits and trees of some thousand commits.
const MAX_ALL_BYTES: u64 = 48 << 20;

/// Objects in memory.
#[derive(Debug, Default)]
pub(crate) struct Preloaded {
    bytes: Vec<u8>,
    places: HashMap<ObjectId, (ObjectKind, Range<usize>)>,
}

impl Preloaded {
    /// Reads of these objects those that are small, in order, until there are too many bytes.
    /// What can't be read is left out: it is asked for by itself then, and says why.
    pub(crate) fn read(
        git: &Git,
        dir: &Path,
        ids: &[ObjectId],
        is_cancelled: IsCancelled<'_>,
    ) -> Self {
        // A small pack may hold objects that are huge, so sizes come first.
        let sizes = run(git, dir, "--batch-check", ids, is_cancelled);
        let mut left = MAX_ALL_BYTES;
        let lines = sizes.split(|&byte| byte == b'\n');
        let small = ids.iter().zip(lines).filter(|(id, line)| {
            let Ok(Header { size, .. }) = header(line, id) else {
                return false;
            };
            let fits = size <= MAX_OBJECT_BYTES && size <= left;
            left -= if fits { size } else { 0 };
            fits
        });
        let small: Vec<ObjectId> = small.map(|(id, _)| *id).collect();
        let bytes = run(git, dir, "--batch", &small, is_cancelled);
        let mut places = HashMap::new();
        let mut at = 0;
        for id in small {
            let Some((kind, range)) = next(&bytes, at, &id) else {
                break;
            };
            at = range.end + 1;
            places.insert(id, (kind, range));
        }
        Self { bytes, places }
    }

    /// Returns an object.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<(ObjectKind, &[u8])> {
        let (kind, range) = self.places.get(id)?;
        Some((*kind, self.bytes.get(range.clone())?))
    }
}

/// Returns what git prints of objects; nothing if it can't be run.
fn run(
    git: &Git,
    dir: &Path,
    mode: &str,
    ids: &[ObjectId],
    is_cancelled: IsCancelled<'_>,
) -> Vec<u8> {
    if ids.is_empty() {
        return Vec::new();
    }
    let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let call = git.call(dir, &["cat-file", mode, "--buffer"]);
    let ended = call
        .limits(ProcessLimits::HOSTILE)
        .run(&mut asked.as_bytes(), is_cancelled);
    ended.map_or(Vec::new(), |ended| ended.stdout)
}

/// Finds the object that is printed at `at`: a line, its contents, a line feed.
fn next(bytes: &[u8], at: usize, id: &ObjectId) -> Option<(ObjectKind, Range<usize>)> {
    let rest = bytes.get(at..)?;
    let line = rest.iter().position(|&byte| byte == b'\n')?;
    let Header { kind, size } = header(rest.get(..line)?, id).ok()?;
    let start = at + line + 1;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    (bytes.get(end) == Some(&b'\n')).then_some((kind, start..end))
}
