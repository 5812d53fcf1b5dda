//! Groups: chats that are answered by one session each, with a folder, a home and limits of their
//! own.
//!
//! They are written in `groups.toml` in lazaret's configuration directory, which no workspace can
//! hold. A *member* sees its folder of a project and what is shared with it; *main* sees all of the
//! project.

mod check;
mod edit;
mod file;

use std::path::PathBuf;

use lazaret_runtime::SessionId;
use lazaret_session::mail::roster::{Rank, Roster, RosterEntry};
use lazaret_session::store::Store;
use lazaret_tree::{Digest, RelPathBuf};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::profile::{self, GroupLimits, GroupNetwork, Isolation, Profile, Source};
use crate::resolve::extra::ExtraRule;
use crate::resolve::scope::WorkspaceScope;
use crate::resolve::workspace;

pub use self::edit::{check_name, edit};
pub use self::file::Groups;

/// What a group may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It has the whole project, and every chat and task.
    Main,
    /// It has its folder, its chats and its tasks.
    Member,
}

/// A group.
#[derive(Debug)]
pub struct Group {
    /// Its name, of `[a-z0-9-]{1,40}`.
    pub name: String,
    /// What it may do.
    pub level: Level,
    /// The name or path of its profile.
    pub profile: String,
    /// The project's directory, links resolved if it is there.
    pub project: PathBuf,
    /// Its folder in the project; a member has one.
    pub folder: Option<RelPathBuf>,
    /// What of the project it may read.
    pub shared: Vec<RelPathBuf>,
    /// Directories of the host that it may read, by name.
    pub extra: Vec<ExtraRule>,
    /// Its chats, by whatever name the host's program gives them.
    pub chats: Vec<String>,
    limits: GroupLimits,
    network: GroupNetwork,
}

impl Level {
    /// Returns the word of the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Member => "member",
        }
    }
}

impl Group {
    /// Returns the name of the session that answers for it.
    ///
    /// # Errors
    /// None that a name of a group leads to.
    pub fn session(&self) -> Result<SessionId, Failure> {
        /// The most bytes of a session's name that are a group's.
        const MOST: usize = 30;
        let name = match self.name.get(..MOST - 11) {
            Some(start) if self.name.len() > MOST => {
                let hex = Digest::of(self.name.as_bytes()).to_hex();
                format!("{start}-{}", hex.get(..10).unwrap_or_default())
            }
            _ => self.name.clone(),
        };
        let session = format!("group-{name}").parse();
        session.or_fail(FailureKind::Internal, "the name of the group's session")
    }

    fn roster_entry(&self) -> RosterEntry {
        RosterEntry {
            group: self.name.clone(),
            level: match self.level {
                Level::Main => Rank::Main,
                Level::Member => Rank::Member,
            },
            folder: self.folder.as_ref().map(ToString::to_string),
            chats: self.chats.clone(),
            project: self.project.display().to_string(),
        }
    }

    /// Refuses a change while its session is there, whose copy and home hold what it saw so far.
    ///
    /// # Errors
    /// The session is there.
    pub fn refuse_with_session(&self, env: &Environment) -> Result<(), Failure> {
        let session = self.session()?;
        let store = Store::open_if_there(&env.state_dir()?)?;
        match store.map(|store| store.find(&session)) {
            Some(Ok(_)) => {
                let text = format!("group {} still has its session {session}", self.name);
                Err(Failure::message(FailureKind::Refused, text).hinted(format!(
                    "Remove it first, with all that it holds: `lazaret rm {session}`."
                )))
            }
            _ => Ok(()),
        }
    }

    /// Works out what of its project goes in.
    ///
    /// # Errors
    /// The project or its folder is not there, or leads elsewhere.
    pub fn scope(
        &self,
        mut profile: Profile,
        env: &Environment,
    ) -> Result<WorkspaceScope, Failure> {
        let root = workspace::open(&self.project, env)?;
        let rules = &mut profile.workspace;
        rules.isolation = Isolation::Workspace;
        rules.project = None;
        // Only the groups' own file says what a group sees.
        rules.share.clear();
        let shared = self.shared.iter().map(ToString::to_string).collect();
        let scope = match (self.level, self.folder.clone()) {
            (Level::Member, Some(folder)) => {
                WorkspaceScope::of_member(profile, root, folder, shared, env)
            }
            (Level::Main, folder) => WorkspaceScope::of_project(profile, root, folder, env),
            (Level::Member, None) => {
                let text = format!("group {} has no folder", self.name);
                Err(Failure::message(FailureKind::Profile, text))
            }
        }?;
        scope.with_extra(self.extra.clone(), env)
    }
}

impl Groups {
    /// Returns the groups as one of them sees them.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn roster(&self, name: &str) -> Result<Roster, Failure> {
        let own = self.get(name)?.roster_entry();
        let others = self.all().filter(|group| group.name != name);
        Ok(Roster {
            own,
            others: others.map(Group::roster_entry).collect(),
        })
    }

    /// Reads the profile of a group, with what the group changes of it.
    ///
    /// # Errors
    /// The profile is none, or the group makes it looser.
    pub fn profile(&self, group: &Group, env: &Environment) -> Result<Profile, Failure> {
        let profile = profile::load(&group.profile, env)
            .map_err(|failure| failure.context(format!("the profile of group {}", group.name)))?;
        let source = Source {
            file: self.file(),
            text: self.text(),
        };
        Ok(profile.of_group(&source, &group.limits, &group.network)?)
    }
}
