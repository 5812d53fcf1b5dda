//! `lazaret run --dry-run`: what would go in, and what would stay out and why.

pub(crate) mod command_reach;
mod listing;
mod text;

use lazaret_transfer::{
    FileSelector, GitMode, Hashing, SizeEstimator, SkipReason, Skipped, Walked, WorkspaceDir, walk,
};
use lazaret_tree::{Entry, Tree, escape};
use serde_json::{Value, json};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::resolve::copy_source::CopySource;
use crate::resolve::git;
use crate::ui::OutputFormat;
use command_reach::CommandReach;
use lazaret_session::lifecycle::file_limit::FileLimit;
use lazaret_session::store::from_branch::FromBranch;
use listing::{Group, Left, groups};

/// How many names are looked at to weigh what stays out: some tenths of a second.
const MOST_NAMES: u64 = 200_000;

/// What would happen.
#[derive(Debug)]
struct Listing {
    /// Files that go in, largest first.
    files: Vec<(String, u64)>,
    entries: usize,
    bytes: u64,
    git: Option<Repository>,
    /// What is cloned; `None` if the workspace's own files go in.
    from: Option<FromBranch>,
    /// What stays out by reason, heaviest first.
    groups: Vec<Group>,
    /// What the command reaches.
    reach: CommandReach,
}

/// What the repository weighs in the copy, in bytes.
#[derive(Debug)]
struct Repository {
    chosen: GitMode,
    full: EstimatedSize,
    shallow: EstimatedSize,
}

type EstimatedSize = Result<u64, String>;

pub(crate) fn run(
    copy: &CopySource<'_>,
    selector: &FileSelector,
    reach: CommandReach,
    limit: FileLimit,
    app: &App,
) -> Result<ExitCode, Failure> {
    let dir = copy.dir();
    let walked = walked(dir, selector, app)?;
    let git = repository(dir, selector, &walked.tree, app)?;
    let mut files: Vec<(String, u64)> = walked
        .tree
        .iter()
        .filter_map(|(path, entry)| match entry {
            Entry::File { size, .. } => Some((path.to_string(), *size)),
            Entry::Dir | Entry::Symlink { .. } => None,
        })
        .collect();
    files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let large = walked.tree.larger_than(limit.bytes());
    let mut estimator = SizeEstimator::new(dir, MOST_NAMES);
    // That goes in, as far as it is here.
    let is_partial = |skipped: &&Skipped| skipped.reason == SkipReason::GitPartial;
    for skipped in walked.skipped.iter().filter(is_partial) {
        let name = escape(&skipped.name);
        app.ui.warn(&format!("{name} goes in: {}", skipped.reason));
    }
    let left = walked.skipped.iter().filter(|skipped| !is_partial(skipped));
    let left = left.map(|skipped| Left {
        name: escape(&skipped.name),
        reason: skipped.reason,
        weight: estimator.estimate(skipped),
    });
    let listing = Listing {
        entries: walked.tree.len(),
        bytes: walked.tree.total_bytes(),
        groups: groups(left.collect()),
        files,
        git,
        from: copy.from_branch().cloned(),
        reach,
    };
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&document(copy.workspace(), &listing)),
        OutputFormat::Text => text::print(&listing, &app.ui),
    }
    // As the run would end.
    limit.refuse(large)?;
    Ok(ExitCode::SUCCESS)
}

fn walked(workspace: &WorkspaceDir, selector: &FileSelector, app: &App) -> Result<Walked, Failure> {
    let made = git::make(workspace, selector, &app.env, &app.cancel)?;
    Ok(walk(workspace, &made.selector, Hashing::SizesOnly)?)
}

/// Weighs the repository in every mode; `None` where there is none.
fn repository(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    chosen: &Tree,
    app: &App,
) -> Result<Option<Repository>, Failure> {
    if let Ok(None) = lazaret_transfer::Repository::find(workspace) {
        return Ok(None);
    }
    let estimate = |mode| -> Result<EstimatedSize, Failure> {
        if mode == selector.git() {
            return Ok(weight(chosen));
        }
        match walked(workspace, &selector.clone().with_git(mode), app) {
            Ok(walked) => Ok(weight(&walked.tree)),
            Err(failure) => {
                app.cancel.check()?;
                Ok(Err(failure.chain().join(": ")))
            }
        }
    };
    Ok(Some(Repository {
        chosen: selector.git(),
        full: estimate(GitMode::Full)?,
        shallow: estimate(GitMode::Shallow)?,
    }))
}

fn weight(tree: &Tree) -> EstimatedSize {
    let inside = tree
        .iter()
        .filter(|(path, _)| path.components().next() == Some(".git"));
    let (mut entries, mut bytes) = (0, 0);
    for (_, entry) in inside {
        entries += 1;
        if let Entry::File { size, .. } = entry {
            bytes += size;
        }
    }
    match entries {
        0 => Err("stays out".to_owned()),
        _ => Ok(bytes),
    }
}

fn document(workspace: &WorkspaceDir, listing: &Listing) -> Value {
    let file = |(path, size): &(String, u64)| json!({ "path": path, "bytes": size });
    let left = |group: &Group| {
        let (code, reason) = (group.code, group.reason.clone());
        let left = group.left.iter().map(move |left| {
            json!({
                "path": left.name,
                "code": code,
                "reason": reason,
                "bytes": left.weight.map(|weight| weight.bytes),
                "entries": left.weight.map(|weight| weight.entries),
            })
        });
        left.collect::<Vec<_>>()
    };
    let total = |group: &Group| {
        json!({
            "code": group.code,
            "reason": group.reason,
            "count": group.left.len(),
            "bytes": group.weight.bytes,
            "entries": group.weight.entries,
            "not_counted": group.not_counted,
        })
    };
    let mut all: Vec<Value> = listing.groups.iter().flat_map(left).collect();
    // Stable: what weighs the same stays in the order of reasons and names.
    all.sort_by_key(|left| std::cmp::Reverse(left["bytes"].as_u64()));
    let mut document = json!({
        "workspace": workspace.path().to_string_lossy(),
        "from": listing.from,
        "entries": listing.entries,
        "bytes": listing.bytes,
        "files": listing.files.iter().map(file).collect::<Vec<_>>(),
        "git": listing.git.as_ref().map(|git| json!({
            "mode": text::word(git.chosen),
            "bytes": { "full": git.full.as_ref().ok(), "shallow": git.shallow.as_ref().ok(), "none": 0 },
            "problems": { "full": git.full.as_ref().err(), "shallow": git.shallow.as_ref().err() },
        })),
        "left_out": all,
        "reasons": listing.groups.iter().map(total).collect::<Vec<_>>(),
    });
    if let (Value::Object(all), Value::Object(reach)) = (&mut document, listing.reach.document()) {
        all.extend(reach);
    }
    document
}
