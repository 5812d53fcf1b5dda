//! Brings the user's history into a copy whose repository moved as well (GIT-28).
//!
//! An update leaves the repository of a copy alone if the command has committed there. Then one
//! of two things happens here. If the user's branches hold everything that the copy's repository
//! names, the copy follows the user's repository. Otherwise the user's branches go in as
//! `refs/remotes/host/*`, with a pack of what the copy lacks; the copy's `HEAD`, index and
//! branches stay.
//!
//! The user's git works in a repository of the launcher's own; no git runs in the copy's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use lazaret_commits::git::GitError;
use lazaret_commits::linked::LinkedRepository;
use lazaret_commits::outgoing::{OutgoingError, empty_dir};
use lazaret_transfer::{
    GitMode, HostRefs, ObjectId, Overlay, RefsObstacle, RefsSides, Repository, RepositoryPlan,
    SyncPlan, Tips, Walked, check_copy, follow, lost_objects,
};
use lazaret_tree::{Digest, Entry, PathError, RelPath, is_git};

use crate::cancel::{Cancel, Interrupted};
use crate::commits::history_source::{BranchRefs, HistorySource};
use crate::commits::repository_news::{HeldBack, RepositoryNews};
use crate::commits::signed::read_signed;
use crate::lifecycle::file_limit::FileLimit;
use crate::spec::Source;
use crate::store::SessionDir;
use crate::store::record::WriteScope;
use crate::store::sync_state::{SyncState, read_own_work, read_sent};

/// What an update of a repository goes by.
#[derive(Debug, Clone)]
pub(crate) struct BothWays<'a> {
    pub(crate) dir: &'a SessionDir,
    /// Where packs are made: a directory that is emptied, and removed afterwards.
    pub(crate) made: PathBuf,
    pub(crate) source: Source<'a>,
    pub(crate) limit: FileLimit,
    pub(crate) write_scope: Option<&'a WriteScope>,
    pub(crate) cancel: &'a Cancel,
}

/// A plan in which the repository is decided.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) plan: SyncPlan,
    pub(crate) overlay: Overlay,
    pub(crate) news: RepositoryNews,
    /// What the copy's repository has of the user's afterwards; `None` if that stays as it is.
    pub(crate) sent: Option<Tips>,
    _files: Option<HistoryDir>,
}

/// The directory for packs. It is removed when this is dropped.
#[derive(Debug)]
struct HistoryDir(PathBuf);

impl Drop for HistoryDir {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Why nothing was decided.
enum Stop {
    HeldBack(HeldBack),
    Interrupted(Interrupted),
}

impl From<HeldBack> for Stop {
    fn from(held_back: HeldBack) -> Self {
        Self::HeldBack(held_back)
    }
}

impl From<RefsObstacle> for Stop {
    fn from(obstacle: RefsObstacle) -> Self {
        Self::HeldBack(obstacle.into())
    }
}

impl From<GitError> for Stop {
    fn from(error: GitError) -> Self {
        Self::HeldBack(HeldBack::Failed(error.to_string()))
    }
}

impl From<PathError> for Stop {
    fn from(error: PathError) -> Self {
        Self::HeldBack(HeldBack::Failed(error.to_string()))
    }
}

impl From<OutgoingError> for Stop {
    fn from(error: OutgoingError) -> Self {
        match error {
            OutgoingError::Git(error) => error.into(),
            OutgoingError::Io(error) => error.into(),
        }
    }
}

impl From<Interrupted> for Stop {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

/// The user's repository, as far as an update needs it.
struct Host {
    linked: LinkedRepository,
    refs: HostRefs,
    /// The commit that is checked out.
    head: Option<ObjectId>,
    /// Where packs are made.
    dir: PathBuf,
    files: HistoryDir,
}

impl BothWays<'_> {
    /// Decides the repository of a plan that was made without the user's git.
    ///
    /// # Errors
    /// When an end is wanted.
    pub(crate) fn settle(
        &self,
        plan: SyncPlan,
        state: &SyncState,
        walked: &Walked,
    ) -> Result<Settled, Interrupted> {
        let settled = |plan: SyncPlan, news| Settled {
            sent: match plan.repository {
                RepositoryPlan::BecomesHosts => Some(walked.tips.clone()),
                RepositoryPlan::Stays => None,
            },
            plan,
            overlay: Overlay::default(),
            news,
            _files: None,
        };
        if !plan.keeps_repository() {
            return Ok(settled(plan, RepositoryNews::Nothing));
        }
        let decided = self.open(walked).and_then(|host| {
            if self.is_merged(&host, state)? {
                let SyncState { baseline, volume } = state;
                let followed = follow(baseline, walked, volume);
                let follows = followed.repository == RepositoryPlan::BecomesHosts;
                if follows && !self.is_protected(&followed) {
                    return Ok(settled(followed, RepositoryNews::Follows));
                }
            }
            self.add_history(host, plan.clone(), state, walked)
        });
        self.cancel.check()?;
        match decided {
            Ok(settled) => Ok(settled),
            Err(Stop::HeldBack(held_back)) => {
                Ok(settled(plan, RepositoryNews::HeldBack(held_back)))
            }
            Err(Stop::Interrupted(interrupted)) => Err(interrupted),
        }
    }

    /// Opens the user's repository.
    fn open(&self, walked: &Walked) -> Result<Host, Stop> {
        let Source { dir, history, .. } = self.source;
        let HistorySource { git, branches } = history.ok_or(HeldBack::NoGit)?;
        let repository = match Repository::find(dir) {
            Ok(Some(repository)) => repository,
            Ok(None) => return Err(HeldBack::Failed("you have no repository".to_owned()).into()),
            Err(problem) => {
                let text = format!("your repository {problem}");
                return Err(HeldBack::Failed(text).into());
            }
        };
        let files = HistoryDir(self.made.clone());
        empty_dir(&files.0)?;
        let linked = files.0.join("linked.git");
        let linked = LinkedRepository::create(git.clone(), &linked, &repository)?;
        let is_cancelled = || self.cancel.check().is_err();
        let all = linked.refs(&["refs/heads/", "refs/remotes/host/"], &is_cancelled)?;
        let head_text = RelPath::new(".git/HEAD").ok();
        let head_text = head_text.and_then(|path| walked.tree.get(path));
        let says = |text: String| {
            let digest = Digest::of(text.as_bytes());
            matches!(head_text, Some(Entry::File { digest: held, .. }) if *held == digest)
        };
        let checked_out = all.iter().find(|(name, _)| says(format!("ref: {name}\n")));
        let detached = match checked_out {
            Some(_) => None,
            None => (walked.tips.ids().into_iter()).find(|id| says(format!("{id}\n"))),
        };
        let prefix = match branches {
            BranchRefs::Heads => "refs/heads/",
            BranchRefs::Clone => "refs/remotes/host/",
        };
        let is_sent = |branch: &&str| {
            let is_landed = branches == &BranchRefs::Heads && branch.starts_with("lazaret/");
            // A name that is not UTF-8 was replaced.
            !is_landed && !branch.contains('\u{fffd}') && *branch != "HEAD"
        };
        let named = all.iter().filter_map(|(name, id)| {
            let branch = name.strip_prefix(prefix).filter(is_sent)?;
            Some((branch.to_owned(), *id))
        });
        let named: BTreeMap<String, ObjectId> = named.collect();
        let head_branch = checked_out.and_then(|(name, _)| name.strip_prefix(prefix));
        let head_branch = match branches {
            BranchRefs::Heads => head_branch.map(ToOwned::to_owned),
            BranchRefs::Clone => named.keys().next().cloned(),
        };
        Ok(Host {
            head: checked_out.map(|(_, id)| *id).or(detached),
            refs: HostRefs {
                head: head_branch.filter(|branch| named.contains_key(branch)),
                detached,
                branches: named,
            },
            linked,
            dir: files.0.join("made"),
            files,
        })
    }

    /// Whether the user's branches hold everything that the copy's repository names: then nothing
    /// is lost if the copy follows the user's repository.
    fn is_merged(&self, host: &Host, state: &SyncState) -> Result<bool, Stop> {
        let SyncState { baseline, volume } = state;
        let own = read_own_work(self.dir).filter(|own| own.is_of(baseline, volume));
        let (Some(own), Some(host_head)) = (own, host.head) else {
            return Ok(false);
        };
        let is_cancelled = || self.cancel.check().is_err();
        // A commit that was landed with the user's signature has another id there.
        let signed = read_signed(self.dir);
        let landed = |id: ObjectId| signed.get(&id).copied().unwrap_or(id);
        let tips: Vec<ObjectId> = own.tips.ids().into_iter().map(landed).collect();
        let held = own.held.ids().into_iter().map(landed);
        let all: Vec<ObjectId> = tips.iter().copied().chain(held).collect();
        let having = host.linked.having(&all, &is_cancelled)?;
        let having: BTreeSet<ObjectId> = having.into_iter().collect();
        if !all.iter().all(|id| having.contains(id)) {
            return Ok(false);
        }
        let mut branches = host.linked.refs_of_user(&is_cancelled)?;
        branches.push(host_head);
        let own_head: Vec<ObjectId> = own.head.into_iter().map(landed).collect();
        Ok(host.linked.holds(&branches, &tips, &is_cancelled)?
            && host.linked.holds(&[host_head], &own_head, &is_cancelled)?)
    }

    /// Whether a plan would write to what the command can only read, in its repository.
    fn is_protected(&self, plan: &SyncPlan) -> bool {
        let Some(scope) = self.write_scope else {
            return false;
        };
        let sent = plan.request.send.iter().map(|(path, _)| path);
        let removed = plan.request.remove.iter().map(|path| &**path);
        let mut paths = sent.chain(removed).filter(|path| is_git(path));
        paths.any(|path| scope.touches(path).unwrap_or(true))
    }

    /// Adds the user's branches, and a pack of what the copy lacks of them.
    fn add_history(
        &self,
        host: Host,
        mut plan: SyncPlan,
        SyncState { baseline, volume }: &SyncState,
        walked: &Walked,
    ) -> Result<Settled, Stop> {
        if self.source.selector.git() == GitMode::Shallow {
            return Err(HeldBack::OneCommit.into());
        }
        check_copy(&walked.tree, baseline, volume)?;
        let Host {
            linked,
            mut refs,
            dir,
            files,
            ..
        } = host;
        let is_cancelled = || self.cancel.check().is_err();
        let sent = match lost_objects(baseline, volume) {
            true => Tips::default(),
            false => read_sent(self.dir),
        };
        refs.keep_news(&|id| sent.has(id), volume);
        let tips = refs.branches.values().chain(&refs.detached);
        let new: Vec<ObjectId> = tips.filter(|id| !sent.has(id)).copied().collect();
        let mut overlay = Overlay::default();
        if !new.is_empty() {
            let known = linked.having(&sent.ids(), &is_cancelled)?;
            if let Some(made) = linked.pack(&new, &known, &dir, &is_cancelled)? {
                for file in [made.pack, made.index] {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    let path = format!(".git/objects/pack/{name}").parse();
                    let path = path.map_err(|_| RefsObstacle::InTheWay)?;
                    overlay.add_file(path, &file)?;
                }
            }
        }
        let sides = RefsSides {
            baseline,
            host: &walked.tree,
            volume,
        };
        let planned = plan.add_host_refs(&refs, &mut overlay, sides)?;
        if !overlay.tree().larger_than(self.limit.bytes()).is_empty() {
            return Err(HeldBack::TooLarge.into());
        }
        if self.is_protected(&plan) {
            return Err(HeldBack::Protected.into());
        }
        let mut all = sent;
        all.extend(&new.into_iter().collect());
        let is_news = !planned.sent.is_empty() || !planned.stay.is_empty();
        Ok(Settled {
            plan,
            overlay,
            news: match is_news {
                true => RepositoryNews::Has {
                    sent: in_order(planned.sent, refs.head),
                    stay: planned.stay,
                },
                false => RepositoryNews::Nothing,
            },
            sent: Some(all),
            _files: Some(files),
        })
    }
}

/// Whether the copy's index or one of its reflogs names what was made inside, as far as that is
/// known: no ref need have moved for that.
pub(crate) fn holds_own(dir: &SessionDir, SyncState { baseline, volume }: &SyncState) -> bool {
    let own = read_own_work(dir).filter(|own| own.is_of(baseline, volume));
    own.is_none_or(|own| !own.held.is_empty())
}

/// Returns the names of branches with the one that is checked out first. `HEAD` names that one.
fn in_order(mut names: Vec<String>, head: Option<String>) -> Vec<String> {
    names.retain(|name| name != "HEAD" || head.is_none());
    names.sort_by_key(|name| Some(name) != head.as_ref());
    names
}

#[cfg(test)]
mod kit;
#[cfg(test)]
mod tests;
