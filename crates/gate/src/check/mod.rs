//! The gate over any two trees: a base that is trusted, and a candidate that is not.
//!
//! The candidate is read as strictly as what comes out of a session: a directory by our own
//! walk, an archive by the one grammar. What is compared is what a session would compare:
//!
//! - Nothing that lies in the candidate chooses what is looked at: no ignore file, no cache
//!   tag. What the profile excludes is left out on both sides, and said to be.
//! - What the base's own rules keep out of a session (ignored files, caches, secrets) counts
//!   only where the candidate has it: absent, it is not deleted (APP-17); present and other,
//!   it is a change.
//! - Of a `.git`, what tells git what to run is compared with the base's, and is reported.
//!   A candidate without one is no deletion.

pub mod candidate;
mod hint;

use std::collections::BTreeSet;
use std::io::{self, Read};

use lazaret_protocol::{StreamError, StreamLimits};
use lazaret_transfer::{
    BlobStore, BlobStoreError, GitMode, Hashing, SelectError, SelectionSpec, WalkError,
    WorkspaceDir, walk, walk_untrusted,
};
use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};
use lazaret_validator::{Finding, Severity, Subject};
use tempfile::TempDir;

use self::candidate::{CandidateError, Collected};
use super::case::Case;
use super::git_config::{self, GitEnvironment};
use super::ignored::IgnoredFiles;
use super::input::{GateInput, GateLimits, policy};
use super::propose::CaseError;

/// What holds while two trees are compared.
#[derive(Debug, Clone, Copy)]
pub struct CheckOptions<'a> {
    /// Patterns, in the syntax of `.gitignore`, that are left out on both sides.
    pub exclude: &'a [String],
    /// How much there may be.
    pub limits: GateLimits,
    /// What git reads of its surroundings.
    pub git: GitEnvironment<'a>,
}

/// Why two trees can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no temporary directory.
    #[error("there is no place for copies")]
    NoSpool(#[source] io::Error),
    /// Copies can't be kept.
    #[error(transparent)]
    Quarantine(#[from] BlobStoreError),
    /// A pattern is wrong.
    #[error(transparent)]
    Exclude(#[from] SelectError),
    /// The base can't be read.
    #[error("the base can't be read")]
    Base(#[source] WalkError),
    /// The base is more than can be.
    #[error(transparent)]
    BaseLimit(StreamError),
    /// What of the base would be sent in can't be told.
    #[error(transparent)]
    Selection(WalkError),
    /// The candidate can't be read.
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// No case comes of it.
    #[error(transparent)]
    Case(#[from] CaseError),
}

/// What is to be judged.
pub enum Candidate<'a> {
    /// A directory.
    Dir(WorkspaceDir),
    /// An archive, read to its end.
    Tar(&'a mut dyn Read),
}

impl std::fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dir(dir) => f.debug_tuple("Dir").field(dir).finish(),
            Self::Tar(_) => f.debug_tuple("Tar").finish_non_exhaustive(),
        }
    }
}

/// Two trees, compared. Dropping it removes the copies of the candidate's files.
#[derive(Debug)]
pub struct Comparison {
    /// The case; of a rejected candidate an empty one.
    pub case: Case,
    /// Why the candidate was given up before it could be judged.
    pub rejection: Option<Finding>,
    _spool: TempDir,
}

/// Reads both sides and puts a case together. Nothing is written but copies of what changed,
/// in a private temporary directory.
///
/// # Errors
/// When the base can't be read, the candidate's reader or directory fails, or there is no
/// room for the copies. A candidate that breaks a rule is no error: it is rejected.
pub fn compare(
    base: WorkspaceDir,
    candidate: Candidate<'_>,
    options: CheckOptions<'_>,
) -> Result<Comparison, CheckError> {
    let spool = tempfile::Builder::new()
        .prefix("lazaret-check-")
        .tempdir()
        .map_err(CheckError::NoSpool)?;
    let quarantine = BlobStore::create(&spool.path().join("quarantine"))?;
    let selection = SelectionSpec {
        git: GitMode::None,
        exclude: options.exclude.to_vec(),
    };
    let everything = selection.compile_exclude_only()?;
    let unbounded = StreamLimits {
        entries: u64::MAX,
        total_bytes: u64::MAX,
        file_bytes: u64::MAX,
        meta_bytes: u64::MAX,
        name_bytes: u64::MAX,
    };
    let whole = match walk_untrusted(&base, &everything, &Tree::new(), unbounded) {
        Ok(whole) => whole,
        Err(WalkError::Limit(error)) => return Err(CheckError::BaseLimit(error)),
        Err(error) => return Err(CheckError::Base(error)),
    };
    let sent =
        walk(&base, &selection.compile()?, Hashing::SizesOnly).map_err(CheckError::Selection)?;
    let sent: BTreeSet<RelPathBuf> = sent.tree.entries().map(|(path, _)| path.clone()).collect();

    let limits = StreamLimits {
        entries: options.limits.max_entries,
        total_bytes: options.limits.max_bytes,
        file_bytes: options.limits.max_file_bytes,
        ..StreamLimits::DEFAULT
    };
    let collected = match candidate {
        Candidate::Dir(dir) => candidate::of_dir(&dir, &everything, &whole, limits, &quarantine),
        Candidate::Tar(reader) => candidate::of_tar(reader, &everything, limits, &quarantine),
    };
    let (collected, rejection) = match collected? {
        Ok(collected) => (collected, None),
        Err(lie) => (Collected::default(), Some(rejected(&lie))),
    };
    // Who applies it here, or checks it out, has git run what is configured here.
    let git = git_config::configuration(options.git, base.path(), &whole.tree);
    let policy = policy(options.limits, git);
    let baseline = match rejection {
        None => baseline(&whole.tree, &sent, &collected.tree),
        Some(_) => Tree::new(),
    };
    let Collected {
        mut tree,
        mut refusals,
        notes,
        left_out,
    } = collected;
    // A FIFO that the base has as well is as it was; it has no contents to change.
    refusals.retain(|refusal| {
        !refusal.code.id.starts_with("type.") || !whole.refusals.contains(refusal)
    });
    keep_refused(
        &mut tree,
        &baseline,
        refusals.iter().map(|refusal| &*refusal.name),
    );
    let case = Case::assemble(GateInput {
        baseline,
        collected: tree,
        refusals,
        notes,
        caches: left_out,
        ignored: IgnoredFiles::Offered,
        quarantine,
        base: None,
        workspace: base,
        policy,
        subject: None,
        session_dir: None,
    })?;
    Ok(Comparison {
        case,
        rejection,
        _spool: spool,
    })
}

/// What of the base is compared: what a session would be sent, and what the candidate has
/// besides.
fn baseline(whole: &Tree, sent: &BTreeSet<RelPathBuf>, candidate: &Tree) -> Tree {
    let git = |path: &RelPath| path.components().next() == Some(".git");
    let mut baseline: Tree = whole
        .entries()
        .filter(|(path, _)| {
            let is_there = candidate.get(path).is_some();
            is_there || (sent.contains(*path) && !git(path))
        })
        .map(|(path, entry)| (path.clone(), entry.clone()))
        .collect();
    // If the repository is new, the candidate made its configuration and hooks.
    if let Ok(git) = RelPath::new(".git")
        && candidate.get(git) == Some(&Entry::Dir)
        && baseline.get(git) != Some(&Entry::Dir)
    {
        baseline.insert(git.to_owned(), Entry::Dir);
    }
    baseline
}

/// What can't be carried is neither a change nor a deletion: its path stays as it was.
fn keep_refused<'a>(tree: &mut Tree, baseline: &Tree, names: impl Iterator<Item = &'a [u8]>) {
    for name in names {
        let Ok(path) = RelPath::from_bytes(name) else {
            continue;
        };
        for (below, entry) in baseline.below(path) {
            tree.insert(below.to_owned(), entry.clone());
        }
    }
}

/// Words the lie that ended a candidate.
fn rejected(lie: &StreamError) -> Finding {
    Finding {
        code: lie.code().id,
        severity: Severity::Block,
        subject: Subject::Batch,
        line: None,
        message: lie.to_string().into(),
        hint: hint::of(lie),
        allowed: false,
    }
}
