//! `.git` never crosses, under any name, at any depth (GIT-01 to GIT-10, GIT-13).

use std::collections::BTreeMap;

use lazaret_tree::{Change, Entry, FindingCode, RelPath, is_git_name};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::Context;
use crate::rules::git::names::GitFile;
use crate::rules::names::fold::skeleton;
use crate::{Severity, Subject};

/// What makes git run, fetch or believe something: a file or a
/// directory, the code, and why. Anything else there is ordinary use.
pub(crate) const SENSITIVE: &[(&str, &FindingCode, &str)] = &[
    (".git/hooks", codes::GIT_HOOK, "hooks run by themselves"),
    (
        ".git/config",
        codes::GIT_CONFIG,
        "the configuration names programs that git runs",
    ),
    (
        ".git/config.worktree",
        codes::GIT_CONFIG,
        "the configuration names programs that git runs",
    ),
    (
        ".git/config.lock",
        codes::GIT_CONFIG,
        "the configuration names programs that git runs",
    ),
    (".git/branches", codes::GIT_CONFIG, "an old form of remotes"),
    (".git/remotes", codes::GIT_CONFIG, "an old form of remotes"),
    (
        ".git/info",
        codes::GIT_INFO,
        "attributes and grafts choose filters and history",
    ),
    (".git/grafts", codes::GIT_INFO, "grafts rewrite history"),
    (
        ".git/shallow",
        codes::GIT_SHALLOW,
        "the history would end elsewhere",
    ),
    (
        ".git/objects/info/alternates",
        codes::GIT_ALTERNATES,
        "objects would come from elsewhere",
    ),
    (
        ".git/objects/info/http-alternates",
        codes::GIT_ALTERNATES,
        "objects would come from elsewhere",
    ),
    (
        ".git/worktrees",
        codes::GIT_WORKTREE,
        "worktrees lead git to other directories",
    ),
    (
        ".git/commondir",
        codes::GIT_WORKTREE,
        "git would read another repository",
    ),
    (
        ".git/gitdir",
        codes::GIT_WORKTREE,
        "git would read another repository",
    ),
    (
        ".git/modules",
        codes::GIT_MODULES,
        "a submodule's repository has hooks and configuration",
    ),
];

pub(in crate::rules) fn check(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    if context.is_git(path) {
        match path.as_str().split_once('/') {
            None => repository(change, report),
            Some((_, inside)) => content(context, change, inside, report),
        }
        return;
    }
    nested(context, change, report);
    if let Some(Entry::Symlink { .. }) = change.after
        && GitFile::ALL.iter().any(|file| file.is(path.file_name()))
    {
        let message = "git reads this file and would follow the link";
        report.block(path, codes::GIT_SYMLINK, message);
    }
}

/// `.git` itself.
fn repository(change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    match (&change.before, &change.after) {
        (_, Some(Entry::File { .. } | Entry::Symlink { .. })) => report.reject(
            Subject::Path(path.to_owned()),
            codes::GIT_REDIRECT,
            "`.git` was replaced by something that leads elsewhere".to_owned(),
            "discard the batch; nothing in the workspace was touched",
        ),
        (_, Some(Entry::Dir)) => {
            let message = "a repository was made in the copy; it stays there";
            report.path(path, Severity::Note, codes::GIT_CREATED, message);
        }
        (_, None) => {
            let message = "the copy's repository was deleted; yours stays";
            report.path(path, Severity::Warn, codes::GIT_DELETED, message);
        }
    }
    report.withhold_silently(path);
}

/// Something in `.git`: never applied, and what matters is said.
fn content(context: &Context<'_>, change: &Change, inside: &str, report: &mut FindingBuffer) {
    let path = &change.path;
    report.withhold_silently(path);
    // A repository that is gone has been reported as that; a directory does nothing.
    let git = RelPath::new(".git").ok();
    let is_dir = |entry: Option<&Entry>| entry == Some(&Entry::Dir);
    if !is_dir(git.and_then(|git| context.collected.get(git))) || change.after == Some(Entry::Dir) {
        return;
    }
    let inside = skeleton(below_module(context, path).unwrap_or(inside));
    // What `git init` and `git gc` write by themselves.
    let sample = inside.starts_with("hooks/") && inside.ends_with(".sample");
    let is_new = !is_dir(git.and_then(|git| context.baseline.get(git)));
    let initial = is_new && matches!(&*inside, "config" | "info/exclude");
    if sample || initial || inside == "info/refs" {
        return;
    }
    let found = SENSITIVE.iter().find(|(prefix, ..)| {
        let prefix = prefix.strip_prefix(".git/").unwrap_or(prefix);
        inside
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if let Some((_, code, why)) = found {
        report.block(path, code, format!("never applied: {why}"));
    }
}

/// The rest of a path in the repository of a submodule that went in: what is ordinary in
/// `.git` is ordinary there.
fn below_module<'a>(context: &Context<'_>, path: &'a RelPath) -> Option<&'a str> {
    let is_file = |path: &RelPath| matches!(context.baseline.get(path), Some(Entry::File { .. }));
    let went_in = |above: &&RelPath| {
        above.as_str().starts_with(".git/modules/")
            && above.join("HEAD").is_ok_and(|head| is_file(&head))
    };
    let module = path
        .ancestors()
        .filter(went_in)
        .max_by_key(|above| above.as_str().len())?;
    path.as_str()
        .strip_prefix(module.as_str())?
        .strip_prefix('/')
}

/// Repositories below the root (GIT-06).
fn nested(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let path = &change.path;
    let message = "a repository in a subdirectory brings its own hooks and configuration";
    let outermost = path
        .ancestors()
        .filter(|above| is_git_name(above.file_name()))
        .last();
    match outermost {
        // Said about that one, and everything below goes with it.
        Some(git) if context.changes.get(git).is_some() => {}
        Some(_) => report.block(path, codes::GIT_NESTED, message),
        None if path.file_name() == ".git" => report.block(path, codes::GIT_NESTED, message),
        None => {}
    }
}

/// What of a repository makes git run or believe something, when it needs no `.git`.
const BARE_PARTS: &[&str] = &[
    "head",
    "objects",
    "refs",
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "info",
];

/// Directories that git takes for a repository without a `.git` (GIT-09): enough are
/// `HEAD`, `objects` and `refs`, or `HEAD` and a `commondir` that says where the others are
/// (git, setup.c, `is_git_directory`).
pub(in crate::rules) fn bare(context: &Context<'_>, report: &mut FindingBuffer) {
    // The parts that are there after the change, by the directory that they would make one.
    let mut dirs: BTreeMap<Option<&RelPath>, Vec<&Change>> = BTreeMap::new();
    for change in context.changes {
        if change.after.is_some() && !context.is_git(&change.path) {
            for dir in repositories(&change.path).into_iter().flatten() {
                dirs.entry(dir).or_default().push(change);
            }
        }
    }
    for (dir, parts) in dirs {
        if is_bare(context, dir, &parts) {
            for change in parts {
                let message = "git takes this directory for a repository";
                report.block(&change.path, codes::GIT_BARE, message);
            }
        }
    }
}

/// The directories of which a path would be a part if they were repositories: its own, and
/// for a file in `hooks` or `info` the one above.
fn repositories(path: &RelPath) -> [Option<Option<&RelPath>>; 2] {
    let is_part = |path: &RelPath| BARE_PARTS.contains(&&*skeleton(path.file_name()));
    let holds = |dir: &&RelPath| matches!(&*skeleton(dir.file_name()), "hooks" | "info");
    let above = path.parent().filter(holds);
    [
        is_part(path).then(|| path.parent()),
        above.map(|dir| dir.parent()),
    ]
}

fn is_bare(context: &Context<'_>, dir: Option<&RelPath>, parts: &[&Change]) -> bool {
    let has = |name: &str| {
        let path = match dir {
            Some(dir) => dir.join(name),
            None => name.parse(),
        };
        let is_there = |path: &RelPath| context.collected.get(path).is_some();
        let mut names = parts.iter().map(|change| &*change.path);
        // Where names fold, other names are these.
        let is_new =
            |path: &RelPath| path.parent() == dir && skeleton(path.file_name()) == skeleton(name);
        path.is_ok_and(|path| is_there(&path)) || names.any(is_new)
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}
