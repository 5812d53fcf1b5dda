//! `Target`: a profile or a session, and the session that stays ready for it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lazaret_protocol::Verb;
use lazaret_runtime::SessionId;
use lazaret_session::keeper::connection::{Connection, KeeperError};
use lazaret_session::keeper::message::{Accepted, Exec, RefusalCode, Request};
use lazaret_session::store::{SessionDir, Store};
use lazaret_tree::Digest;

use super::live_run::{self, Begin, LiveRun, Stay, TimeLimit};
use super::run::args::{Args as RunArgs, KeptLog};
use crate::app::App;
use crate::attach::OnSignal;
use crate::attach::beside::StdinMode;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::groups::{Group, Groups};
use crate::keeper::{Begun, Front};
use crate::profile::{self, Profile};
use crate::resolve::workspace;
use crate::session_access::live::{not_live, unanswered};
use crate::session_access::named::named;
use crate::session_access::with_ignored::WithIgnored;

/// How soon to look again whether a turn has come.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// What was typed.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetArgs<'a> {
    /// The verb.
    pub(super) verb: &'a str,
    /// A profile or a session.
    pub(super) target: &'a str,
    /// `None` for the current directory.
    pub(super) workspace: Option<&'a Path>,
    /// The name of a profile's session; `None` for that of the verb, the profile and the workspace.
    pub(super) name: Option<&'a SessionId>,
}

/// A profile or a session, and the session that stays ready for it.
#[derive(Debug)]
pub(super) enum Target {
    /// A profile, in the session that it has for a workspace.
    Profile {
        profile: Box<Profile>,
        session: SessionId,
        workspace: PathBuf,
    },
    /// A group, in its session.
    Group {
        group: Box<Group>,
        profile: Box<Profile>,
        session: SessionId,
    },
    /// A session that was started before.
    Session {
        profile: Box<Profile>,
        session: SessionId,
    },
}

impl Target {
    /// Finds what is meant.
    ///
    /// # Errors
    /// There is no such profile or session, or its workspace can't be used.
    pub(super) fn find(wanted: TargetArgs<'_>, app: &App) -> Result<Self, Failure> {
        let unknown = match profile::load(wanted.target, &app.env) {
            Ok(profile) => return Self::of_profile(profile, wanted, app),
            Err(unknown) => unknown,
        };
        let groups = Groups::load(&app.env)?;
        if groups.get(wanted.target).is_ok() {
            return Self::of_group(groups, wanted, app);
        }
        let store = Store::open_if_there(&app.env.state_dir()?)?;
        let id = wanted.target.parse::<SessionId>().ok();
        let Some(session) =
            (store.zip(id)).and_then(|(store, id)| Some((named(&store, &id).ok()?, store)))
        else {
            return Err(unknown);
        };
        let (session, store) = session;
        let is_its = |group: &&Group| group.session().is_ok_and(|its| its == session);
        if let Some(group) = groups.all().find(is_its) {
            let text = format!("{session} is the session of group {}", group.name);
            return Err(Failure::message(FailureKind::Usage, text)
                .hinted(format!("Ask the group: `lazaret ask {}`.", group.name)));
        }
        let record = store.find(&session)?.record()?;
        let profile = Box::new(profile::load(&record.profile, &app.env)?);
        Ok(Self::Session { profile, session })
    }

    fn of_group(mut groups: Groups, wanted: TargetArgs<'_>, app: &App) -> Result<Self, Failure> {
        let name = wanted.target;
        if wanted.workspace.is_some() {
            let text = format!("group {name} has a project of its own");
            return Err(Failure::message(FailureKind::Usage, text)
                .hinted("Leave --workspace out; `lazaret group show` says where it is."));
        }
        let profile = groups.profile(groups.get(name)?, &app.env)?;
        let group = groups.take(name);
        let group = group.ok_or_else(|| Failure::message(FailureKind::Internal, "no group"))?;
        // What is wrong with its folder is said before anything is started.
        group.scope(profile.clone(), &app.env)?;
        Ok(Self::Group {
            session: group.session()?,
            profile: Box::new(profile),
            group: Box::new(group),
        })
    }

    fn of_profile(profile: Profile, wanted: TargetArgs<'_>, app: &App) -> Result<Self, Failure> {
        let path = wanted.workspace.map(Path::to_path_buf);
        let path = path.unwrap_or_else(|| app.env.cwd.clone());
        workspace::open(&path, &app.env)?;
        let workspace = std::fs::canonicalize(&path).unwrap_or(path);
        let session = match wanted.name {
            Some(name) => name.clone(),
            None => own_session(wanted.verb, &profile, &workspace)?,
        };
        let profile = Box::new(profile);
        Ok(Self::Profile {
            profile,
            session,
            workspace,
        })
    }

    /// Returns its profile.
    pub(super) fn profile(&self) -> &Profile {
        match self {
            Self::Profile { profile, .. }
            | Self::Group { profile, .. }
            | Self::Session { profile, .. } => profile,
        }
    }

    /// Returns its session.
    pub(super) fn session(&self) -> &SessionId {
        match self {
            Self::Profile { session, .. }
            | Self::Group { session, .. }
            | Self::Session { session, .. } => session,
        }
    }

    /// Returns the group that is asked, if it is one.
    pub(super) fn group(&self) -> Option<&Group> {
        match self {
            Self::Group { group, .. } => Some(group),
            Self::Profile { .. } | Self::Session { .. } => None,
        }
    }

    /// Starts a process in the session, which is started before if need be. A turn that is just
    /// being ended is waited for.
    pub(super) fn exec(
        &self,
        exec: &Exec,
        until: Option<Instant>,
        app: &App,
    ) -> Result<(SessionDir, Connection, Accepted), Failure> {
        let store = Store::open(&app.env.state_dir()?)?;
        let request = Request::Exec(exec.clone());
        loop {
            let id = self.session();
            let dir = store.find(id).ok();
            let asked = match &dir {
                Some(dir) => Connection::ask(dir, &request),
                None => Ok(None),
            };
            match (dir, asked) {
                (Some(dir), Ok(Some((connection, accepted)))) => {
                    return Ok((dir, connection, accepted));
                }
                (_, Err(error)) if !passes(&error) => return Err(unanswered(id, error)),
                (_, Err(error)) if until.is_some_and(|until| Instant::now() >= until) => {
                    return Err(unanswered(id, error));
                }
                (_, Err(_)) => interrupted(app.cancel.sleep(LOOK))?,
                (dir, Ok(None)) => self.start(dir.as_ref(), &store, until, app)?,
                (None, Ok(Some(_))) => {}
            }
        }
    }

    /// Starts the session, or waits for one that is just ending.
    fn start(
        &self,
        dir: Option<&SessionDir>,
        store: &Store,
        until: Option<Instant>,
        app: &App,
    ) -> Result<(), Failure> {
        let id = self.session();
        let is_late = until.is_some_and(|until| Instant::now() >= until);
        match (dir, self) {
            (Some(dir), Self::Session { .. }) => return Err(not_live(store, dir)),
            (Some(dir), Self::Profile { .. } | Self::Group { .. }) if store.is_live(id)? => {
                return match is_late {
                    true => Err(not_live(store, dir)),
                    false => interrupted(app.cancel.sleep(LOOK)),
                };
            }
            _ => {}
        }
        let begin = Begin {
            front: Front::Starts,
            stdin: StdinMode::Empty,
            on_signal: OnSignal::Leave,
        };
        match live_run::front(&self.run(), begin, app)? {
            Begun::Reachable(..) => Ok(()),
            Begun::Ended(code) => {
                let text = format!("session {id} can't be started (exit code {})", code.value());
                let failure = Failure::message(FailureKind::Engine, text);
                // One that is new is removed if it can't be started.
                Err(match store.find(id) {
                    Ok(_) => failure.hinted(format!(
                        "`lazaret show {id}` and `lazaret recover {id}` say more."
                    )),
                    Err(_) => failure,
                })
            }
        }
    }

    /// Returns the run that holds the session: a command that only makes the place for what is
    /// spilled, and ends.
    fn run(&self) -> RunArgs {
        let profile = self.profile();
        let spill = Verb::Spill {
            directory: profile.ask.spill.clone(),
            name: "0.out".to_owned(),
        };
        let workspace = match self {
            Self::Profile { workspace, .. } => Some(workspace.clone()),
            Self::Group { .. } | Self::Session { .. } => None,
        };
        RunArgs {
            profile: Some(match &profile.origin {
                profile::Origin::File(path) => path.display().to_string(),
                profile::Origin::BuiltIn => profile.name.clone(),
            }),
            workspace,
            name: Some(self.session().clone()),
            from: None,
            apply: None,
            timeout: None,
            env: Vec::new(),
            publish: Vec::new(),
            prompt: None,
            terminal: false,
            image: None,
            with: Vec::new(),
            allow: Vec::new(),
            keep: true,
            ignored: WithIgnored::default(),
            log_level: KeptLog::Info,
            dry_run: false,
            command: spill.to_command(),
        }
    }
}

/// Whether what keeps a request from being taken goes away by itself.
fn passes(error: &KeeperError) -> bool {
    matches!(
        error.refusal(),
        Some(RefusalCode::Turn | RefusalCode::Ending | RefusalCode::Busy)
    )
}

/// Returns the name of the one session that a verb has for a profile and a workspace.
fn own_session(verb: &str, profile: &Profile, workspace: &Path) -> Result<SessionId, Failure> {
    let of = format!("{:?}\0{}", profile.origin, workspace.display());
    let hex = Digest::of(of.as_bytes()).to_hex();
    let name: String = (profile.name.to_ascii_lowercase().chars())
        .filter(char::is_ascii_alphanumeric)
        .take(16)
        .collect();
    let id = format!("{verb}-{name}-{}", hex.get(..10).unwrap_or_default());
    let session = id.parse::<SessionId>();
    session.map_err(|error| Failure::new(FailureKind::Internal, error))
}

/// Is the keeper of the session, which is stopped when nothing has happened for `idle`, or for what
/// the profile says if that is less.
pub(super) fn be_keeper(
    wanted: TargetArgs<'_>,
    idle: impl FnOnce(&Profile) -> Option<Duration>,
    app: &App,
) -> Result<ExitCode, Failure> {
    let target = Target::find(wanted, app)?;
    let scope = match target.group() {
        Some(group) => Some(group.scope(target.profile().clone(), &app.env)?),
        None => None,
    };
    let mut run = target.run();
    // As it was typed: a name is looked for where the front looked for it.
    run.profile = Some(wanted.target.to_owned());
    let kept = LiveRun {
        run,
        stay: Stay::Asked,
        limit: TimeLimit::None,
        idle: idle(target.profile()),
        scope,
    };
    live_run::be_keeper(kept, app)
}

/// Words an end by the user.
pub(super) fn interrupted<T, E>(result: Result<T, E>) -> Result<T, Failure> {
    result.map_err(|_| Failure::message(FailureKind::Interrupted, "interrupted"))
}
