//! `lazaret acp`: an agent in a container, behind an editor.

mod agent;
mod session;
mod turn;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_acp::{Paths, Streams, serve};
use lazaret_protocol::exit;
use lazaret_runtime::SessionId;
use lazaret_session::keeper::message::{Exec, Role};
use lazaret_session::store::SessionDir;
use rustix::event::{PollFd, PollFlags, poll};

use self::agent::{AgentEnd, AgentInput, AgentOutput};
use self::session::EditorSession;
use super::target::{Target, TargetArgs, be_keeper};
use crate::app::{App, CommandLine};
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::keeper::is_keeper;
use crate::profile::ApplyMode;
use crate::resolve::scope::WorkspaceScope;
use crate::resolve::workspace;
use crate::verb_runner::{VerbRunner, take_streams};

/// How long an agent that another editor left may take to end.
const OTHER_EDITOR: Duration = Duration::from_secs(20);

/// Put an agent behind an editor, by the Agent Client Protocol
///
/// An editor starts this, and speaks with the program that `acp` names in the profile. That runs in
/// a session, which stays when the editor goes. The agent gets no files, terminals or logins of the
/// editor's. Your saved changes go in with each prompt; after each turn you are told what the agent
/// changed. With `gate.apply = "auto"` a change set without findings is applied; everything else
/// waits for `lazaret review`.
#[derive(Debug, clap::Args)]
#[group(id = "acp")]
pub struct Args {
    /// Profile, whose session for this workspace is started if need be; or a session
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Workspace [default: the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Name of the session [default: one for each profile and workspace]
    #[arg(long, value_name = "NAME")]
    pub name: Option<SessionId>,
}

impl Args {
    fn wanted(&self) -> TargetArgs<'_> {
        TargetArgs {
            verb: "acp",
            target: &self.target,
            workspace: self.workspace.as_deref(),
            name: self.name.as_ref(),
        }
    }
}

pub(crate) fn run(args: Args, line: CommandLine, app: &App) -> Result<ExitCode, Failure> {
    if is_keeper(app) {
        return be_keeper(args.wanted(), |_| None, app);
    }
    let streams = app.env.streams;
    if [streams.stdin, streams.stdout].contains(&StreamKind::Terminal) {
        let text = "stdin and stdout are for an editor, and one of them is a terminal";
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Put this command into the editor's configuration."));
    }
    let target = Target::find(args.wanted(), app)?;
    let argv = target.profile().acp.clone();
    if argv.is_empty() {
        let name = &target.profile().name;
        let text = format!("profile {name} names no program that speaks the protocol");
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Give the profile one: acp = [\"claude-agent-acp\"]."));
    }
    let (stdin, stdout) =
        take_streams().or_fail(FailureKind::Internal, "the streams can't be used")?;
    let exec = Exec {
        argv,
        env: [].into(),
        workdir: None,
        terminal: None,
        stdin: true,
        leave: false,
        // One editor at a time.
        role: Role::Turn,
    };
    let until = Instant::now().checked_add(OTHER_EDITOR);
    let (dir, connection, _) = target.exec(&exec, until, app).map_err(|failure| {
        failure.hinted("If another editor uses the session, name one of its own: --name NAME.")
    })?;
    let apply = apply_mode(&target, &dir, app)?;
    let paths = paths(&args, &dir, app)?;
    let session = Arc::new(EditorSession::new(
        dir,
        apply,
        connection.clone(),
        VerbRunner::new(line, app),
        app,
    ));
    let watching = Arc::clone(&session);
    let hung_up = stdin.try_clone();
    let hung_up = hung_up.or_fail(FailureKind::Internal, "the streams can't be used")?;
    // An editor that is gone is missed even if an agent that reads nothing holds its messages up.
    thread::spawn(move || {
        let mut hang_up = [PollFd::new(&hung_up, PollFlags::empty())];
        if poll(&mut hang_up, None).is_ok() {
            watching.is_gone();
        }
    });
    let signalled = connection.clone();
    let _guard = app.cancel.guard(move |_| signalled.close());
    let end = AgentEnd::default();
    let streams = Streams {
        from_editor: Box::new(File::from(stdin)),
        to_editor: Box::new(File::from(stdout)),
        from_agent: Box::new(AgentOutput::new(connection.clone(), end.clone(), app)),
        to_agent: Box::new(AgentInput(connection.clone())),
    };
    let mut was_left = false;
    serve(session.clone(), paths, streams, || {
        // An editor that hears of the end leaves, too.
        was_left = session.was_left();
        end.words()
    });
    connection.close();
    app.cancel.acknowledge();
    // A program that is not there has failed, whether or not the editor waited.
    let never_ran = matches!(end.code(), Some(exit::NOT_EXECUTABLE | exit::NOT_FOUND));
    match (was_left && !never_ran, app.cancel.level(), end.code()) {
        (_, Some(_), _) => Err(Failure::message(FailureKind::Interrupted, "interrupted")),
        (true, None, _) => Ok(ExitCode::SUCCESS),
        (false, None, Some(code)) => {
            app.ui.error(&end.words());
            Ok(ExitCode::of_command(i32::from(code)))
        }
        (false, None, None) => {
            let id = session.id();
            Err(Failure::message(FailureKind::State, end.words())
                .hinted(format!("`lazaret show {id}` says where the session is.")))
        }
    }
}

/// Returns what becomes of changes, by the profile and what the workspace's own file makes of it.
fn apply_mode(target: &Target, dir: &SessionDir, app: &App) -> Result<ApplyMode, Failure> {
    let record = dir.record()?;
    let folder = record.bounds.folder.as_deref().unwrap_or_default();
    let opened = workspace::open(&record.workspace.join(folder), &app.env)?;
    let profile = target.profile().clone();
    Ok(WorkspaceScope::of(profile, opened, &app.env)?
        .profile
        .gate
        .apply)
}

/// Returns the ways to name the workspace: where it is, and as the user named it.
fn paths(args: &Args, dir: &SessionDir, app: &App) -> Result<Paths, Failure> {
    let root = dir.record()?.workspace;
    let root = std::fs::canonicalize(&root).unwrap_or(root);
    let typed = args.workspace.as_ref().map(|path| app.env.cwd.join(path));
    let names = [typed, app.env.os("PWD").map(PathBuf::from)];
    let is_root = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == root);
    let names: Vec<PathBuf> = names.into_iter().flatten().filter(is_root).collect();
    Ok(Paths::new(&root, names.iter().map(PathBuf::as_path)))
}
