//! The rules, as a table that grows.
//!
//! A rule looks at one change, or at the batch, and says what it finds. It never
//! decides what follows from that: severities do.

pub(crate) mod content;
pub(crate) mod deletions;
pub(crate) mod facts;
pub(crate) mod git;
pub(crate) mod links;
pub(crate) mod lockfiles;
pub(crate) mod manifests;
pub(crate) mod names;
pub(crate) mod secrets;
mod sizes;
pub(crate) mod structured;
pub(crate) mod suspects;

use lazaret_tree::{Change, ChangeSet, Changed, RelPath, Tree};

use crate::finding_buffer::FindingBuffer;
use crate::{Contents, Policy};
pub(crate) use content::file_pair::{FilePair, FileSide};
pub(crate) use names::fold::fold;

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
    Change(fn(&Context<'_>, &Change, &mut FindingBuffer)),
    /// Called for every change that brings contents.
    Contents(fn(&Context<'_>, &FilePair<'_>, &mut FindingBuffer)),
    /// Called once.
    Batch(fn(&Context<'_>, &mut FindingBuffer)),
}

/// All rules by name. Their order does not matter.
pub(crate) const RULES: &[(&str, Rule)] = &[
    ("sizes", Rule::Batch(sizes::check)),
    ("path limits", Rule::Change(sizes::path)),
    ("names", Rule::Change(names::paths::names)),
    ("lookalikes", Rule::Change(names::confusables::names)),
    (
        "lookalikes beside each other",
        Rule::Batch(names::confusables::siblings),
    ),
    ("deletions", Rule::Batch(deletions::deleted::check)),
    ("reserved", Rule::Change(names::paths::reserved)),
    ("mass deletion", Rule::Batch(deletions::losses::many)),
    ("untracked files", Rule::Batch(deletions::losses::untracked)),
    (
        "uncommitted changes",
        Rule::Contents(deletions::losses::reverted),
    ),
    ("protected", Rule::Change(names::paths::protected)),
    ("collisions", Rule::Batch(names::paths::collisions)),
    ("links", Rule::Change(links::targets::check)),
    ("redirected links", Rule::Batch(links::targets::redirected)),
    (
        "links to what was left out",
        Rule::Change(links::left_out::check),
    ),
    ("modes", Rule::Change(content::modes::check)),
    ("contents", Rule::Contents(content::text::examined)),
    (
        "unseen characters",
        Rule::Contents(content::text::invisible),
    ),
    (
        "wide characters",
        Rule::Contents(content::disguised::wide_characters),
    ),
    (
        "declared encodings",
        Rule::Contents(content::disguised::declared),
    ),
    ("escapes", Rule::Contents(content::disguised::escapes)),
    ("far right", Rule::Contents(content::disguised::far_right)),
    ("shebangs", Rule::Contents(content::text::shebang)),
    ("secrets", Rule::Contents(secrets::scan::check)),
    ("handed out", Rule::Contents(secrets::handed::contents)),
    ("handed out names", Rule::Change(secrets::handed::names)),
    ("new programs", Rule::Contents(content::modes::new_programs)),
    ("machine code", Rule::Contents(content::modes::machine_code)),
    ("git", Rule::Change(git::repository::check)),
    ("git runs", Rule::Change(git::runs::check)),
    ("git configuration", Rule::Batch(git::runs::unknown)),
    ("git attributes", Rule::Contents(git::attributes::check)),
    ("submodules", Rule::Contents(git::submodules::check)),
    ("ignored files", Rule::Contents(git::hidden::check)),
    (
        "new files that git ignores",
        Rule::Batch(git::ignored::check),
    ),
    ("packages out of place", Rule::Batch(git::ignored::packages)),
    ("bare repositories", Rule::Batch(git::repository::bare)),
    ("suspects", Rule::Change(suspects::check::check)),
    (
        "lines of suspects",
        Rule::Contents(suspects::check::contents),
    ),
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
