//! `lazaret pr`.

use lazaret_runtime::SessionId;

use crate::app::App;
use crate::decide::case::workspace_of;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::pull_request::branch_name::BranchName;
use crate::pull_request::edit::edit;
use crate::pull_request::forge::{Branches, Forge, OpenWith, Tool};
use crate::pull_request::landed::LandedBranches;
use crate::pull_request::remote::Remote;
use crate::pull_request::request::PullRequest;
use crate::pull_request::text::RequestText;
use crate::session_access::named::named;
use crate::ui::OutputFormat;
use crate::user_programs::{UserGit, UserPrograms};
use lazaret_session::store::{SessionDir, Store, request_text};

/// Push a landed branch and open a pull request
///
/// Your git pushes the branch, with your configuration and hooks and never by force; `gh`, `glab`
/// or `tea` opens the request. Without one of them, prints the address at which you open it. The
/// text is what the command left in the file that the profile's `pr.file` names, else the subjects
/// of the commits. It is shown before anything is pushed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    session: SessionId,
    /// Landed branch, by its name inside [default: the one that holds all changes, else the only
    /// one]
    #[arg(value_name = "BRANCH")]
    branch: Option<String>,
    /// Remote to push to [default: the only one, else origin]
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// Name of the branch at the remote [default: lazaret/NAME/BRANCH]
    #[arg(long = "as", value_name = "BRANCH")]
    pushed_as: Option<BranchName>,
    /// Branch to merge into [default: the file's, else the remote's default branch, else the one
    /// that is checked out]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// Title [default: the file's, else the newest commit's subject]
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// Open it as a draft
    #[arg(long)]
    draft: bool,
    /// Edit title and body before, with VISUAL, EDITOR or vi
    #[arg(long)]
    edit: bool,
    /// Program that opens the request [default: by the name of the remote's host]
    #[arg(long, value_name = "PROGRAM")]
    with: Option<OpenWith>,
    /// Push and open without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let args = Args {
        session: named(&store, &args.session)?,
        ..args
    };
    let dir = store.find(&args.session)?;
    let record = dir.record()?;
    let workspace = workspace_of(&record)?;
    let programs = UserPrograms::of(&app.env, &workspace, &app.cancel);
    let git = programs.git()?;
    let landed = LandedBranches::of(&args.session, &git)?;
    let branch = landed.pick(args.branch.as_deref(), record.landed_as.as_deref())?;
    let request = prepare(&args, branch, &dir, &programs, &git, app)?;
    if !record.commits.is_empty() {
        let commits = &record.commits;
        app.ui
            .warn(&format!("commits wait that are not landed: {commits}"));
    }
    match (app.ui.format(), args.yes) {
        (OutputFormat::Text, _) => app.ui.result(&request.shown()),
        (OutputFormat::Json, false) => app.ui.status(&request.shown()),
        (OutputFormat::Json, true) => {}
    }
    if !args.yes && !app.ui.confirms(&request.question(), &app.cancel) {
        let text = "nothing is pushed without a yes";
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Answer at a terminal, or say --yes."));
    }
    let report = request.open(args.session.as_str(), &programs, &git)?;
    match (app.ui.format(), &report.url) {
        (OutputFormat::Json, _) => app.ui.json(&report),
        (OutputFormat::Text, Some(url)) => {
            app.ui.status(match request.tool {
                Some(_) => "opened",
                None => "pushed; open the request at",
            });
            app.ui.result(url);
        }
        (OutputFormat::Text, None) => {
            let remote = request.remote.url.shown();
            app.ui.status(&format!(
                "pushed to {remote}, which has no page to open a request at"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds out all that the request is made of.
fn prepare(
    args: &Args,
    branch: &str,
    dir: &SessionDir,
    programs: &UserPrograms<'_>,
    git: &UserGit<'_>,
    app: &App,
) -> Result<PullRequest, Failure> {
    let remote = Remote::find(args.remote.as_deref(), git)?;
    let left = left_text(args, dir, app)?;
    let named = args.base.clone();
    let named = named.or_else(|| left.as_ref().and_then(|text| text.base.clone()));
    let base = match named {
        Some(base) => base,
        None => remote.base(git)?,
    };
    let head = match &args.pushed_as {
        Some(name) => name.clone(),
        None => branch
            .parse()
            .or_fail(FailureKind::Refused, "cannot push the branch by its name")?,
    };
    if head == base || remote.is_default(&head) {
        let text = format!("cannot push to {head}: requests are merged into it");
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Name another branch with --as or --base."));
    }
    let text = match left {
        Some(text) => text,
        None => RequestText::of_subjects(&remote.subjects(branch, &base, git)?, branch),
    };
    let mut text = titled(text, args)?;
    text.draft |= args.draft;
    if args.edit {
        text = edit(text, programs, app)?;
    }
    let by_host = remote.url.host().and_then(Forge::of);
    let tool = match args.with {
        Some(with) => with.tool(),
        None => by_host.map(Forge::tool),
    };
    let forge = by_host.or_else(|| tool.map(Tool::forge));
    let is_there = |tool: &Tool| programs.find(tool.as_str()).is_some();
    if let (Some(_), Some(tool)) = (args.with, tool.filter(|tool| !is_there(tool))) {
        let text = format!("there is no {} in PATH", tool.as_str());
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Install it, or say --with none and open the request in a browser."));
    }
    let tool = tool.filter(is_there);
    Ok(PullRequest {
        branch: branch.to_owned(),
        remote,
        branches: Branches { head, base },
        text,
        tool,
        forge: forge.unwrap_or(Forge::GitHub),
    })
}

/// Reads the text that the command left; `None` if it left nothing, or what can't be used while
/// `--title` is given.
fn left_text(args: &Args, dir: &SessionDir, app: &App) -> Result<Option<RequestText>, Failure> {
    let Some(file) = request_text::read(dir)? else {
        return Ok(None);
    };
    match RequestText::parse(&file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if args.title.is_some() => {
            let what = "the text that the command left is not used";
            app.ui.warn(&format!("{what}: {error}"));
            Ok(None)
        }
        Err(error) => Err(Failure::new(FailureKind::Refused, error)
            .context("cannot use the text that the command left")
            .hinted("Give a title with --title; the body is then made of the commits.")),
    }
}

fn titled(text: RequestText, args: &Args) -> Result<RequestText, Failure> {
    let Some(title) = &args.title else {
        return Ok(text);
    };
    let titled = RequestText::new(title, &text.body);
    let titled = titled.or_fail(FailureKind::Usage, "cannot use --title")?;
    Ok(RequestText {
        title: titled.title,
        ..text
    })
}
