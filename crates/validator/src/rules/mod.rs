//! The rules, as a table that grows.
//!
//! A rule looks at one change, or at the batch, and says what it finds. It never
//! decides what follows from that: severities do.

pub(crate) mod attributes;
pub(crate) mod codes;
mod commands;
mod confusables;
mod content;
mod deleted;
mod deleted_code;
mod disguised;
mod documents;
pub(crate) mod facts;
pub(crate) mod family_table;
pub(crate) mod fold;
mod found_lines;
pub(crate) mod git;
mod git_names;
mod git_runs;
mod handed;
mod hidden;
mod ignored;
pub(crate) mod left_out;
mod links;
pub(crate) mod lockfiles;
mod losses;
pub(crate) mod manifests;
mod modes;
mod moves;
pub(crate) mod names;
mod opened;
mod paths;
mod patterns;
mod remarks;
pub(crate) mod secret_table;
mod secrets;
mod sizes;
mod submodules;
pub(crate) mod suspect_table;
mod suspects;
pub(crate) mod test_files;
mod unseen;

use lazaret_tree::{Change, ChangeSet, Changed, RelPath, Tree};

use crate::report::Report;
use crate::{Contents, Policy};
pub(crate) use fold::fold;
pub(crate) use opened::{Opened, Side};

/// What rules may look at.
pub(crate) struct Context<'a> {
    pub(crate) baseline: &'a Tree,
    pub(crate) collected: Changed<'a>,
    pub(crate) changes: &'a ChangeSet,
    pub(crate) policy: &'a Policy,
    pub(crate) contents: &'a dyn Contents,
}

/// One rule.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Called for every change.
    Change(fn(&Context<'_>, &Change, &mut Report)),
    /// Called for every change that brings contents.
    Contents(fn(&Context<'_>, &Opened<'_>, &mut Report)),
    /// Called once.
    Batch(fn(&Context<'_>, &mut Report)),
}

/// All rules by name. Their order does not matter.
pub(crate) const RULES: &[(&str, Rule)] = &[
    ("sizes", Rule::Batch(sizes::check)),
    ("path limits", Rule::Change(sizes::path)),
    ("names", Rule::Change(paths::names)),
    ("lookalikes", Rule::Change(confusables::names)),
    (
        "lookalikes beside each other",
        Rule::Batch(confusables::siblings),
    ),
    ("deletions", Rule::Batch(deleted::check)),
    ("reserved", Rule::Change(paths::reserved)),
    ("mass deletion", Rule::Batch(losses::many)),
    ("untracked files", Rule::Batch(losses::untracked)),
    ("uncommitted changes", Rule::Contents(losses::reverted)),
    ("protected", Rule::Change(paths::protected)),
    ("collisions", Rule::Batch(paths::collisions)),
    ("links", Rule::Change(links::check)),
    ("redirected links", Rule::Batch(links::redirected)),
    ("links to what was left out", Rule::Change(left_out::check)),
    ("modes", Rule::Change(modes::check)),
    ("contents", Rule::Contents(content::examined)),
    ("unseen characters", Rule::Contents(content::unseen)),
    (
        "wide characters",
        Rule::Contents(disguised::wide_characters),
    ),
    ("declared encodings", Rule::Contents(disguised::declared)),
    ("escapes", Rule::Contents(disguised::escapes)),
    ("far right", Rule::Contents(disguised::far_right)),
    ("shebangs", Rule::Contents(content::shebang)),
    ("secrets", Rule::Contents(secrets::check)),
    ("handed out", Rule::Contents(handed::contents)),
    ("handed out names", Rule::Change(handed::names)),
    ("new programs", Rule::Contents(modes::new_programs)),
    ("machine code", Rule::Contents(modes::machine_code)),
    ("git", Rule::Change(git::check)),
    ("git runs", Rule::Change(git_runs::check)),
    ("git configuration", Rule::Batch(git_runs::unknown)),
    ("git attributes", Rule::Contents(attributes::check)),
    ("submodules", Rule::Contents(submodules::check)),
    ("ignored files", Rule::Contents(hidden::check)),
    ("new files that git ignores", Rule::Batch(ignored::check)),
    ("packages out of place", Rule::Batch(ignored::packages)),
    ("bare repositories", Rule::Batch(git::bare)),
    ("suspects", Rule::Change(suspects::check)),
    ("lines of suspects", Rule::Contents(suspects::contents)),
    ("lockfile entries", Rule::Change(lockfiles::entries)),
    ("lockfiles", Rule::Contents(lockfiles::contents)),
    ("manifest entries", Rule::Change(manifests::entries)),
    ("manifests", Rule::Contents(manifests::contents)),
];

/// The rules that judge a file by what it is called: they judge it by every name that links
/// give it as well (SUS-30).
pub(crate) const BY_NAME: &[&str] = &[
    "protected",
    "git runs",
    "git attributes",
    "submodules",
    "suspects",
    "lines of suspects",
    "lockfile entries",
    "lockfiles",
    "manifest entries",
    "manifests",
];

impl Context<'_> {
    /// Whether a change lies in the workspace's own `.git`, which never crosses:
    /// only the git rules have something to say about it.
    pub(crate) fn is_git(&self, path: &RelPath) -> bool {
        path.components().next() == Some(".git")
    }
}
