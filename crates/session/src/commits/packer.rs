//! Has git pack commits of a session's volume, in a container.
//!
//! Of the copy's repository, git reads the objects and the list of shallow commits. What arrives
//! is as hostile as everything of the volume's: the caller indexes and checks it.

use std::io::Read;
use std::time::Duration;

use lazaret_image_builder::Pinned;
use lazaret_transfer::ObjectId;
use lazaret_tree::RelPathBuf;

use crate::commits::git_container::{GitScript, run};
use crate::context::{SessionContext, WORKSPACE};
use crate::store::record::Record;

pub use crate::commits::git_container::PackError;
pub use lazaret_commits::limits::MAX_PACK_BYTES;

/// How long git may take, unless a caller says otherwise.
pub const PACK_TIMEOUT: Duration = Duration::from_mins(10);

/// What is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackRequest {
    /// The repository's directory in the workspace: `.git`, or one below `.git/modules`.
    pub repository: RelPathBuf,
    /// What is wanted, with all that it reaches. A tip that the repository lacks is left out;
    /// so is one of another object format than the first tip's.
    pub tips: Vec<ObjectId>,
    /// What the host has: it is left out, with all that it reaches. The repository may lack it.
    pub known: Vec<ObjectId>,
    /// The most bytes of the pack.
    pub max_bytes: u64,
    /// How long git may take; the consumer's time counts.
    pub timeout: Duration,
}

/// What runs in the container. Its arguments are the object format and the directory of the
/// copy's repository; its stdin is a list of revisions that ends with an empty line.
///
/// `rev-list` makes the list of objects, since `pack-objects --revs` fails on a revision that
/// the repository lacks. Objects that are missing below one, as in a partial clone, are left
/// out: `index-pack --strict` on the host needs each of them from the pack or the host. A commit
/// graph is not believed, since it may name other parents than the commits do. Nothing makes the
/// pack thin.
const SCRIPT: &str = r#"cd "$2/objects" || exit
git init --quiet --bare --template= --object-format="$1" || exit
export GIT_OBJECT_DIRECTORY="$2/objects" GIT_SHALLOW_FILE="$2/shallow"
git -c core.commitGraph=false --no-replace-objects \
  rev-list --objects --ignore-missing --missing=allow-any --stdin |
git -c pack.threads=1 -c pack.windowMemory=128m -c pack.deltaCacheSize=64m \
  -c core.bigFileThreshold=16m --no-replace-objects \
  pack-objects --stdout --delta-base-offset --quiet
"#;

/// Packs commits, and has `consume` read the pack while git writes it. What `consume` returns
/// counts only if all of this succeeds: a pack that was cut off is never taken for a whole one.
/// `consume` need not read to the end. `image` is the one that has git, `base`.
///
/// # Errors
/// Why there is no pack; or `consume`'s own error, where that stopped reading because of it.
pub fn pack<T, E: From<PackError>>(
    cx: &SessionContext<'_>,
    record: &Record,
    image: &Pinned,
    request: &PackRequest,
    consume: impl FnOnce(&mut dyn Read) -> Result<T, E>,
) -> Result<T, E> {
    let format = (request.tips.first()).map_or("sha1", ObjectId::object_format);
    let repository = format!("{WORKSPACE}/{}", request.repository.as_str());
    let script = GitScript {
        text: SCRIPT,
        arguments: &[format, &repository],
        input: &revisions(request),
        max_bytes: request.max_bytes,
        timeout: request.timeout,
    };
    run(cx, record, image, &script, consume)
}

/// Returns the input of `rev-list`, with the empty line that ends it.
fn revisions(request: &PackRequest) -> String {
    let tips = request.tips.iter().map(|tip| format!("{tip}\n"));
    let known = request.known.iter().map(|known| format!("^{known}\n"));
    tips.chain(known).chain(["\n".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char, length: usize) -> ObjectId {
        let text: String = std::iter::repeat_n(digit, length).collect();
        ObjectId::from_hex(text.as_bytes()).expect("an id")
    }

    fn request() -> PackRequest {
        PackRequest {
            repository: ".git".parse().expect("a path"),
            tips: vec![id('a', 40), id('b', 40)],
            known: vec![id('c', 40)],
            max_bytes: MAX_PACK_BYTES,
            timeout: PACK_TIMEOUT,
        }
    }

    #[test]
    fn git_reads_the_tips_then_what_is_known_then_an_empty_line() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        assert_eq!(revisions(&request()), format!("{a}\n{b}\n^{c}\n\n"));
        let nothing = PackRequest {
            tips: Vec::new(),
            known: Vec::new(),
            ..request()
        };
        assert_eq!(revisions(&nothing), "\n");
    }
}
