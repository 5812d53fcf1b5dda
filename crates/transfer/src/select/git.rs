//! Which parts of `.git` go in, and the configuration that replaces the real one.

use super::Kind;

/// What becomes of a path below `.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitPart {
    /// It goes in.
    Send,
    /// It stays out.
    LeaveOut,
}

/// Judges a raw path relative to `.git`.
///
/// A list of what goes in, not of what stays out: hooks, `config`, `config.worktree`,
/// `info/`, `modules/`, `worktrees/`, `commondir`, `FETCH_HEAD` (it names URLs) and
/// whatever a later git adds stay out by default.
pub(crate) fn git_part(path: &[u8], kind: Kind) -> GitPart {
    let first = path.split(|&byte| byte == b'/').next().unwrap_or_default();
    let sent = match (first, kind) {
        // Paths to other directories, and URLs.
        (b"objects", _) => !matches!(
            path,
            b"objects/info/alternates" | b"objects/info/http-alternates"
        ),
        (b"refs" | b"logs" | b"reftable", _) => first.len() < path.len() || kind == Kind::Dir,
        (b"HEAD" | b"packed-refs" | b"index" | b"shallow", Kind::Other) => true,
        _ => false,
    };
    match sent {
        true => GitPart::Send,
        false => GitPart::LeaveOut,
    }
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

/// Makes the copy's `.git/config`: what the format of the repository needs and
/// nothing else of `original`.
pub(crate) fn synthetic_config(original: &[u8]) -> Vec<u8> {
    let mut extensions = String::new();
    for (key, name, values) in [
        ("objectformat", "objectFormat", &["sha1", "sha256"]),
        ("refstorage", "refStorage", &["files", "reftable"]),
    ] {
        let value = extension(original, key);
        let value = value.and_then(|value| values.iter().find(|known| **known == value));
        if let Some(value) = value {
            extensions.push_str(&format!("\t{name} = {value}\n"));
        }
    }
    let version = if extensions.is_empty() { 0 } else { 1 };
    let mut config = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n"
    );
    if !extensions.is_empty() {
        config.push_str("[extensions]\n");
        config.push_str(&extensions);
    }
    config.into_bytes()
}

/// Looks up the last `extensions.KEY`. Only a known word of it is ever used, so a
/// file that git would read otherwise can make no worse than a wrong format.
fn extension(config: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(config);
    let (mut inside, mut found) = (false, None);
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (section, rest) = rest.split_once(']').unwrap_or((rest, ""));
            inside = section.trim().eq_ignore_ascii_case("extensions");
            line = rest.trim();
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if inside && name.trim().eq_ignore_ascii_case(key) {
            let value = value.split(['#', ';']).next().unwrap_or_default();
            found = Some(value.trim().trim_matches('"').to_ascii_lowercase());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let sent = |path: &str, kind| git_part(path.as_bytes(), kind) == GitPart::Send;
        for path in [
            "objects",
            "objects/pack",
            "refs",
            "refs/heads/a",
            "logs",
            "reftable",
        ] {
            assert!(sent(path, Kind::Dir), "{path}");
        }
        for path in [
            "HEAD",
            "index",
            "packed-refs",
            "shallow",
            "objects/ab/cd",
            "logs/HEAD",
        ] {
            assert!(sent(path, Kind::Other), "{path}");
        }
        for path in [
            "hooks",
            "info",
            "modules",
            "worktrees",
            "HEAD",
            "lfs",
            "rr-cache",
        ] {
            assert!(!sent(path, Kind::Dir), "{path}");
        }
        for path in [
            "config",
            "config.worktree",
            "commondir",
            "gitdir",
            "FETCH_HEAD",
            "refs",
            "index.lock",
            "objects/info/alternates",
            "objects/info/http-alternates",
            "hooks/pre-commit",
        ] {
            assert!(!sent(path, Kind::Other), "{path}");
        }
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

    #[test]
    fn config_keeps_formats_only() {
        let config =
            |text: &str| String::from_utf8(synthetic_config(text.as_bytes())).expect("ASCII");
        insta::assert_snapshot!(config("[core]\n\tfsmonitor = evil\n[remote \"o\"]\nurl = https://t@x\n"), @r"
        [core]
        	repositoryformatversion = 0
        	filemode = true
        	bare = false
        ");
        insta::assert_snapshot!(config("[Extensions] objectFormat = SHA256 ; x\n\trefstorage=\"reftable\"\n"), @r"
        [core]
        	repositoryformatversion = 1
        	filemode = true
        	bare = false
        [extensions]
        	objectFormat = sha256
        	refStorage = reftable
        ");
        assert_eq!(config("[extensions]\nobjectformat = !sh\n"), config(""));
    }
}
