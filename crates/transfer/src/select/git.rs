//! Which files of a repository go in, by their names.

use super::Kind;
use crate::repository::is_hex;

/// What becomes of a path in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitPart {
    /// It goes in.
    Send,
    /// It stays out.
    Exclude,
    /// It stays out, and says that the pack beside it lacks what its source promised.
    Promise,
}

/// Judges a raw path in `objects` or `refs`, relative to the repository.
///
/// A list of what goes in, not of what stays out, by the names that git gives: notes of
/// other programs, locks, halves of downloads, alternates, what belongs to one worktree,
/// and whatever a later git adds stay out by default.
pub(crate) fn git_part(path: &[u8], kind: Kind) -> GitPart {
    let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let hex = |name: &[u8], lengths: &[usize]| lengths.contains(&name.len()) && is_hex(name);
    let sent = match (&parts[..], kind) {
        ([b"objects" | b"refs"], Kind::Dir) => true,
        ([b"objects", name], Kind::Dir) => matches!(*name, b"pack" | b"info") || hex(name, &[2]),
        ([b"objects", b"pack", name], Kind::Other) => match name.ends_with(b".promisor") {
            true => return GitPart::Promise,
            false => is_pack_file(name),
        },
        ([b"objects", b"info", b"commit-graphs"], Kind::Dir) => true,
        ([b"objects", b"info", b"commit-graph"], Kind::Other) => true,
        ([b"objects", b"info", b"commit-graphs", name], Kind::Other) => {
            *name == b"commit-graph-chain" || is_named(name, b"graph-", &[b".graph"])
        }
        ([b"objects", one, rest], Kind::Other) => hex(one, &[2]) && hex(rest, &[38, 62]),
        ([b"refs", b"bisect" | b"rewritten" | b"worktree", ..], _) => false,
        ([b"refs", _, ..], _) => true,
        _ => false,
    };
    match sent {
        true => GitPart::Send,
        false => GitPart::Exclude,
    }
}

fn is_pack_file(name: &[u8]) -> bool {
    const PARTS: &[&[u8]] = &[b".pack", b".idx", b".rev", b".bitmap", b".mtimes"];
    name == b"multi-pack-index"
        || is_named(name, b"multi-pack-index-", &[b".bitmap", b".rev"])
        || is_pack_name(name, PARTS)
}

/// `pack-ID.pack`, `loose-ID.pack` (of `git maintenance`), and other words before the id.
fn is_pack_name(name: &[u8], ends: &[&[u8]]) -> bool {
    let Some(dash) = name.iter().rposition(|&byte| byte == b'-') else {
        return false;
    };
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'-';
    dash > 0 && name[..dash].iter().all(is_word) && is_named(name, &name[..=dash], ends)
}

/// Whether a name is an object id between two words.
fn is_named(name: &[u8], start: &[u8], ends: &[&[u8]]) -> bool {
    let Some(rest) = name.strip_prefix(start) else {
        return false;
    };
    let mut ids = ends.iter().filter_map(|end| rest.strip_suffix(*end));
    ids.any(|id| matches!(id.len(), 40 | 64) && is_hex(id))
}

/// Whether a raw path relative to `.git` is of the kind that git writes all day and that
/// leads nowhere: objects, refs, logs, the index. Everything else tells git what to run, to
/// fetch or to believe, or may come to.
pub(crate) fn is_ordinary(path: &[u8]) -> bool {
    let first = path.split(|&byte| byte == b'/').next().unwrap_or_default();
    match first {
        b"refs" | b"logs" | b"reftable" => true,
        b"objects" => path.len() > first.len() && !path.starts_with(b"objects/info"),
        b"HEAD" | b"ORIG_HEAD" | b"FETCH_HEAD" | b"COMMIT_EDITMSG" | b"index" | b"packed-refs" => {
            path.len() == first.len()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let sent = |path: &str, kind| git_part(path.as_bytes(), kind) == GitPart::Send;
        let id = "0123456789abcdef0123456789abcdef01234567";
        for path in [
            "objects",
            "objects/pack",
            "objects/info",
            "objects/info/commit-graphs",
            "objects/0a",
            "refs",
            "refs/heads/a",
        ] {
            assert!(sent(path, Kind::Dir), "{path}");
        }
        for path in [
            "refs/heads/a",
            "refs/stash",
            "objects/info/commit-graph",
            "objects/pack/multi-pack-index",
            &format!("objects/01/{}", &id[2..]),
            &format!("objects/pack/pack-{id}.pack"),
            &format!("objects/pack/pack-{id}.idx"),
            &format!("objects/pack/loose-{id}.pack"),
            &format!("objects/info/commit-graphs/graph-{id}.graph"),
        ] {
            assert!(sent(path, Kind::Other), "{path}");
        }
        for path in [
            "objects/0A",
            "objects/notes",
            "refs/bisect",
            "refs/worktree",
            "hooks",
        ] {
            assert!(!sent(path, Kind::Dir), "{path}");
        }
        for path in [
            "refs",
            "objects/info/alternates",
            "objects/info/http-alternates",
            "objects/info/packs",
            "objects/pack/notes.txt",
            "objects/pack/pack-token.pack",
            &format!("objects/pack/-{id}.pack"),
            &format!("objects/pack/T0ken-{id}.pack"),
            "objects/pack/tmp_pack_x",
            "objects/01/note",
            "refs/bisect/bad",
            &format!("objects/pack/pack-{id}.keep"),
            &format!("objects/pack/{id}.pack"),
        ] {
            assert!(!sent(path, Kind::Other), "{path}");
        }
        let promise = format!("objects/pack/pack-{id}.promisor");
        assert_eq!(git_part(promise.as_bytes(), Kind::Other), GitPart::Promise);
    }

    #[test]
    fn what_tells_git_what_to_run_is_not_ordinary() {
        for path in [
            "refs",
            "refs/heads/a",
            "logs/HEAD",
            "objects/ab/cd",
            "index",
            "HEAD",
        ] {
            assert!(is_ordinary(path.as_bytes()), "{path}");
        }
        for path in [
            "config",
            "hooks/pre-commit",
            "info/attributes",
            "objects",
            "objects/info",
            "objects/info/alternates",
            "HEAD/x",
            "shallow",
            "modules/refs/config",
            "commondir",
        ] {
            assert!(!is_ordinary(path.as_bytes()), "{path}");
        }
    }
}
