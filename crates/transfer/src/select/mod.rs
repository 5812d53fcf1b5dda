//! `SelectionSpec`: what of a workspace goes in.

mod git;
mod ignores;
mod keys;
mod scope;
mod secrets;
mod skipped;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree, escape};

pub(crate) use git::{GitPart, git_part, is_ordinary};
pub(crate) use ignores::{BadLine, IgnoreFile, Ignores};
pub(crate) use keys::{LOOKED_INTO, holds_private_key};
pub use scope::Scope;
pub(crate) use scope::ScopeMatch;
pub(crate) use secrets::{PROBE_BYTES, SecretMatch, secret_match};
pub use skipped::{SkipReason, Skipped};

use crate::WorkspaceDir;

/// What goes in, as a profile says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionSpec {
    /// Whether the repository goes with it.
    pub git: GitMode,
    /// Lines in the syntax of `gitignore`, relative to the root. A `!` takes in what a weaker rule
    /// leaves out; profiles may not have one.
    pub exclude: Vec<String>,
}

/// What happens to the workspace's `.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GitMode {
    /// Objects, refs, the index, stashes, and a configuration made for the copy: never
    /// hooks, the real configuration, reflogs, attributes or alternates, so no token in a
    /// URL, no helper, no include and no path to another directory.
    Full,
    /// The commit that `HEAD` names, without its history, and the index. The caller has to
    /// make that: see [`FileSelector::with_made`].
    Shallow,
    /// Nothing.
    None,
}

/// A compiled [`SelectionSpec`].
///
/// For each path, the first of these rules that has an opinion decides:
///
/// 1. `.git` at the root follows [`GitMode`]; inside it no other rule looks at names. A
///    linked worktree's `.git` file becomes a repository of its own if what it names points
///    back, and so do the submodules that lie in the workspace, below `.git/modules`. Any
///    other `.git` stays out ([`Repository`](crate::Repository)).
/// 2. [`SelectionSpec::exclude`]. A profile only keeps files out by it: the reader of profiles
///    rejects a `!`, so no profile sends a secret file or a cache.
/// 3. Secret files, by name: `.env` and `.env.*` (not `.env.example`, `.sample`,
///    `.template`, `.dist`); keys: `id_rsa` and its like, `*.key`, `*.p12`, `*.pfx`,
///    `*.jks`, `*.keystore`, `*.kdbx`, `*.ppk`; `*.pem` unless it holds only public
///    things; credentials: `.netrc`, `_netrc`, `.git-credentials`, `.pgpass`,
///    `.my.cnf`, `.htpasswd`, `.dockercfg`, `.vault-token`, `.boto`, `.s3cfg`,
///    `.docker/config.json`, `.cargo/credentials`, `*.tfstate`; `.npmrc`,
///    `.yarnrc.yml` and `.pypirc` when they hold a token; `config` and `FETCH_HEAD` in a
///    `*.git` or `.bare` when an address in them has a user; `.dev.vars` and `.dev.vars.*`;
///    logins of agents and tools: `.credentials.json`, `oauth_creds.json`, `auth.json` in
///    `.codex` or `opencode`, `hosts.yml` in `gh`, `kubeconfig`, `*.kubeconfig`; histories of
///    shells and the like: `.*_history`, `fish_history`, `.histfile`; and the directories
///    `.aws`, `.ssh`, `.gnupg`, `.azure`, `.kube`, `.password-store`, `.gcloud`.
///    Nothing inside the workspace can overrule this.
/// 4. `.lazaretignore` files, nearest first. A line that does not parse is an error.
/// 5. What is a secret in most projects, and an example in some, so that a `!` of rule 4
///    takes it in: `*.env` (not `example.env` and its like); `secrets` and
///    `credentials` as `.yml`, `.yaml`, `.json`, `.toml`, `*credentials.json`; `*.tfvars`,
///    `*.tfvars.json`; `client_secret*.json`, `service-account*.json`; and any text of at most
///    64 KiB that holds a private key, whatever its name.
/// 6. Cache directories: with a right `CACHEDIR.TAG` (bford.info/cachedir), `target`
///    beside `Cargo.toml` or `pom.xml`, `node_modules` beside `package.json`,
///    `.gradle` beside a Gradle build, `.tox` and `.nox` beside their files, a
///    virtual environment (`pyvenv.cfg`), `__pycache__`.
///    What only its contents tell apart is looked at after rule 7, once it is open; so are
///    the private keys of rule 5.
/// 7. `.gitignore` files, nearest first, then `.git/info/exclude`. A line that does
///    not parse is no rule, as for git. Submodules have an `info/exclude` of their own. The user's global excludes are not read, nor
///    is the index: a tracked file that is ignored all the same stays out, until a
///    `.lazaretignore` or the profile takes it in.
///
/// Whatever no rule leaves out goes in, as far as it can be carried: other file
/// systems, sockets, FIFOs, devices and names outside [`RelPath`](lazaret_tree::RelPath)
/// stay behind by name, as does [`INCOMING_DIR`]. A directory that stays out is reported once, not entered.
#[derive(Debug, Clone)]
pub struct FileSelector {
    git: GitMode,
    exclude: Gitignore,
    rules: Rules,
    made: Arc<BTreeMap<RelPathBuf, WorkspaceDir>>,
    scope: Option<Arc<Scope>>,
}

/// Which rules a [`FileSelector`] knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// All of those that it documents.
    Usual,
    /// [`SelectionSpec::exclude`], and no other: nothing that lies in the directory itself has
    /// a say. Of a `.git` at the root, what git writes all day is left out.
    ExcludeOnly,
}

/// A line of [`SelectionSpec::exclude`] that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no pattern: {message}", escape(.line.as_bytes()))]
pub struct SelectError {
    /// The line.
    pub line: String,
    /// What is wrong with it.
    pub message: String,
}

impl SelectionSpec {
    /// Compiles the rules.
    ///
    /// # Errors
    /// The first line of `exclude` that is no pattern: a rule that silently does
    /// nothing would send what it was meant to keep out.
    pub fn compile(&self) -> Result<FileSelector, SelectError> {
        self.compile_with(Rules::Usual)
    }

    /// Compiles `exclude` alone, for a directory that is not trusted: it must not choose what the
    /// validator reads. Of the `.git` at the root everything goes in but objects, refs, logs and
    /// the index; [`SelectionSpec::git`] is ignored.
    ///
    /// # Errors
    /// As [`SelectionSpec::compile`].
    pub fn compile_exclude_only(&self) -> Result<FileSelector, SelectError> {
        self.compile_with(Rules::ExcludeOnly)
    }

    fn compile_with(&self, rules: Rules) -> Result<FileSelector, SelectError> {
        let mut builder = GitignoreBuilder::new("");
        for line in &self.exclude {
            let added = builder.add_line(None, line);
            added.map_err(|error| SelectError {
                line: line.clone(),
                message: ignores::reason(error),
            })?;
        }
        let exclude = builder.build().map_err(|error| SelectError {
            line: self.exclude.join(" "),
            message: ignores::reason(error),
        })?;
        Ok(FileSelector {
            git: self.git,
            exclude,
            rules,
            made: Arc::default(),
            scope: None,
        })
    }
}

/// What a rule says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreMatch {
    /// It goes in, whatever weaker rules say.
    Include,
    /// It stays out.
    Exclude,
}

impl FileSelector {
    /// Takes parts of repositories from directories that were made for the copy, by where
    /// the repository lies in it (`.git`, `.git/modules/x`): `HEAD`, `packed-refs`, `refs`
    /// and `shallow`, and `objects` where it has them. What lies there is held to the same
    /// rules as a repository's own parts.
    #[must_use]
    pub fn with_made(self, made: BTreeMap<RelPathBuf, WorkspaceDir>) -> Self {
        Self {
            made: Arc::new(made),
            ..self
        }
    }

    /// The same rules with more or less of the repository, and nothing made for it.
    #[must_use]
    pub fn with_git(self, git: GitMode) -> Self {
        Self {
            git,
            made: Arc::default(),
            ..self
        }
    }

    /// The same rules for a part of what lies below the root, without a repository: what is
    /// not of that part stays out before any rule is asked, and the way to it goes in whatever
    /// they say.
    #[must_use]
    pub fn with_scope(self, scope: Scope) -> Self {
        Self {
            git: GitMode::None,
            made: Arc::default(),
            scope: Some(Arc::new(scope)),
            ..self
        }
    }

    /// Says whether a path is of the part that is to go in.
    pub(crate) fn scope_match(&self, path: &[u8]) -> ScopeMatch {
        match &self.scope {
            None => ScopeMatch::Inside,
            Some(scope) => scope.scope_match(path),
        }
    }

    pub(crate) fn made(&self, repository: &[u8]) -> Option<&WorkspaceDir> {
        self.made.get(RelPath::from_bytes(repository).ok()?)
    }

    /// Returns what happens to the repository.
    pub fn git(&self) -> GitMode {
        self.git
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Takes out of a tree that came another way what a walk would leave out.
    pub fn filter(&self, tree: Tree) -> (Tree, Vec<Skipped>) {
        let mut kept = Tree::new();
        let mut skipped: Vec<Skipped> = Vec::new();
        for (path, entry) in tree.iter() {
            let name = path.as_str().as_bytes();
            let below = |above: &Skipped| {
                name.strip_prefix(&*above.name)
                    .is_some_and(|rest| rest.starts_with(b"/"))
            };
            if skipped.last().is_some_and(below) {
                continue;
            }
            if let Some(inside) = name.strip_prefix(b".git/") {
                if !is_ordinary(inside) {
                    kept.insert(path.to_owned(), entry.clone());
                }
                continue;
            }
            let (kind, bytes) = match entry {
                Entry::Dir => (Kind::Dir, None),
                Entry::File { size, .. } => (Kind::Other, Some(*size)),
                Entry::Symlink { .. } => (Kind::Other, None),
            };
            // As in a walk: no pattern hides a repository.
            let ignore_match = match path.file_name() {
                ".git" => None,
                _ => self.profile(name, kind),
            };
            match ignore_match {
                Some(IgnoreMatch::Exclude) => skipped.push(Skipped {
                    name: name.to_vec(),
                    reason: SkipReason::Profile,
                    bytes,
                }),
                Some(IgnoreMatch::Include) | None => {
                    drop(kept.insert(path.to_owned(), entry.clone()))
                }
            }
        }
        (kept, skipped)
    }

    /// Asks the profile's `exclude`.
    pub(crate) fn profile(&self, path: &[u8], kind: Kind) -> Option<IgnoreMatch> {
        ignore_match(&self.exclude, path, kind)
    }
}

/// Whether a path is a directory: patterns with a `/` at the end ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dir,
    Other,
}

fn ignore_match(rules: &Gitignore, path: &[u8], kind: Kind) -> Option<IgnoreMatch> {
    use std::os::unix::ffi::OsStrExt as _;
    if rules.is_empty() {
        return None;
    }
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    match rules.matched(path, kind == Kind::Dir) {
        Match::None => None,
        Match::Ignore(_) => Some(IgnoreMatch::Exclude),
        Match::Whitelist(_) => Some(IgnoreMatch::Include),
    }
}
