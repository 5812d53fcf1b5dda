//! `Target`: what is asked, and the session in which it is.

use std::path::PathBuf;
use std::time::Instant;

use lazaret_protocol::Verb;
use lazaret_runtime::SessionId;
use lazaret_session::keeper::connection::{Connection, KeeperError};
use lazaret_session::keeper::message::{Accepted, Exec, RefusalCode, Request};
use lazaret_session::store::{SessionDir, Store};
use lazaret_tree::Digest;

use super::{Args, LOOK, interrupted};
use crate::app::App;
use crate::attach::OnSignal;
use crate::attach::beside::StdinMode;
use crate::commands::live_run::{self, Begin, LiveRun, Stay, TimeLimit};
use crate::commands::run::args::{Args as RunArgs, KeptLog};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::keeper::{Begun, Front};
use crate::profile::{self, Profile};
use crate::resolve::workspace;
use crate::session_access::live::{not_live, unanswered};
use crate::session_access::named::named;

/// What is asked.
#[derive(Debug)]
pub(super) enum Target {
    /// A profile, in the session that it has for a workspace.
    Profile {
        profile: Box<Profile>,
        session: SessionId,
        workspace: PathBuf,
    },
    /// A session that was started before.
    Session {
        profile: Box<Profile>,
        session: SessionId,
    },
}

impl Target {
    /// Finds what is meant.
    pub(super) fn find(args: &Args, app: &App) -> Result<Self, Failure> {
        let unknown = match profile::load(&args.target, &app.env) {
            Ok(profile) => return Self::of_profile(profile, args, app),
            Err(unknown) => unknown,
        };
        let store = Store::open_if_there(&app.env.state_dir()?)?;
        let id = args.target.parse::<SessionId>().ok();
        let Some(session) =
            (store.zip(id)).and_then(|(store, id)| Some((named(&store, &id).ok()?, store)))
        else {
            return Err(unknown);
        };
        let (session, store) = session;
        let record = store.find(&session)?.record()?;
        let profile = Box::new(profile::load(&record.profile, &app.env)?);
        Self::Session { profile, session }.checked()
    }

    fn of_profile(profile: Profile, args: &Args, app: &App) -> Result<Self, Failure> {
        let path = args.workspace.clone();
        let path = path.unwrap_or_else(|| app.env.cwd.clone());
        workspace::open(&path, &app.env)?;
        let workspace = std::fs::canonicalize(&path).unwrap_or(path);
        // One session for each profile and workspace.
        let of = format!("{:?}\0{}", profile.origin, workspace.display());
        let hex = Digest::of(of.as_bytes()).to_hex();
        let name: String = (profile.name.to_ascii_lowercase().chars())
            .filter(char::is_ascii_alphanumeric)
            .take(16)
            .collect();
        let id = format!("ask-{name}-{}", hex.get(..10).unwrap_or_default());
        let session = id.parse::<SessionId>();
        let session = session.map_err(|error| Failure::new(FailureKind::Internal, error))?;
        let profile = Box::new(profile);
        Self::Profile {
            profile,
            session,
            workspace,
        }
        .checked()
    }

    fn checked(self) -> Result<Self, Failure> {
        let profile = self.profile();
        if profile.command.is_empty() {
            let text = format!("profile {} has no command that could answer", profile.name);
            return Err(Failure::message(FailureKind::Usage, text)
                .hinted("Give the profile one: command = [\"node\", \"/app/agent.js\"]."));
        }
        Ok(self)
    }

    /// Returns its profile.
    pub(super) fn profile(&self) -> &Profile {
        match self {
            Self::Profile { profile, .. } | Self::Session { profile, .. } => profile,
        }
    }

    /// Returns its session.
    pub(super) fn session(&self) -> &SessionId {
        match self {
            Self::Profile { session, .. } | Self::Session { session, .. } => session,
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
            (Some(dir), Self::Profile { .. }) if store.is_live(id)? => {
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
                Err(Failure::message(FailureKind::Engine, text).hinted(format!(
                    "`lazaret show {id}` and `lazaret recover {id}` say more."
                )))
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
            Self::Session { .. } => None,
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

/// Is the keeper of the session.
pub(super) fn be_keeper(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    let target = Target::find(args, app)?;
    let mut run = target.run();
    // As it was typed: a name is looked for where the front looked for it.
    run.profile = Some(args.target.clone());
    let kept = LiveRun {
        run,
        stay: Stay::Asked,
        limit: TimeLimit::None,
        idle: Some(target.profile().ask.idle),
    };
    live_run::be_keeper(kept, app)
}
