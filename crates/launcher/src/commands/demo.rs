//! `lazaret run demo`: two acts on a scratch copy of a small sample project.

use lazaret_protocol::verb::CommandStdin;
use lazaret_transfer::{FileSelector, WorkspaceDir};
use serde_json::json;
use tempfile::TempDir;

use super::dry_run::command_reach::CommandReach;
use crate::app::App;
use crate::demo::{GOOD, HOSTILE, materialise};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::gate::{Asked, RunEnd};
use crate::profile::{ApplyMode, Profile};
use crate::report::Report;
use crate::resolve::copy_source::CopySource;
use crate::resolve::run_spec::gate_limits;
use crate::resolve::run_spec::{Connected, RunRequest};
use crate::resolve::scope;
use crate::ui::{OutputFormat, TextTone};
use lazaret_session::lifecycle::file_limit::FileLimit;
use lazaret_session::spec::{LogLevel, TerminalMode};
use lazaret_session::store::Store;
use lazaret_session::store::record::Outcome;
use lazaret_session::store::record::{KeepVolume, WriteScope};

/// One act: who plays, and what becomes of the changes.
struct Act {
    title: &'static str,
    script: &'static str,
    apply: ApplyMode,
}

const ACTS: [Act; 2] = [
    Act {
        title: "Act 1: a well-behaved agent. Its change is clean, so it is applied.",
        script: GOOD,
        apply: ApplyMode::Auto,
    },
    Act {
        title: "Act 2: a hostile agent. What it tries fails, what it plants stays in quarantine.",
        script: HOSTILE,
        apply: ApplyMode::Auto,
    },
];

/// Lists what would go in.
pub(crate) fn dry_run(profile: &Profile, app: &App) -> Result<ExitCode, Failure> {
    let project = SampleProject::write(profile)?;
    super::dry_run::run(
        &CopySource::of_files(&project.workspace),
        &project.selector,
        CommandReach::of(profile, &WriteScope::default(), &app.env),
        FileLimit::of(gate_limits(profile)),
        app,
    )
}

/// The sample project, until it is dropped.
struct SampleProject {
    dir: TempDir,
    workspace: WorkspaceDir,
    selector: FileSelector,
}

impl SampleProject {
    fn write(profile: &Profile) -> Result<Self, Failure> {
        let dir = tempfile::Builder::new()
            .prefix("lazaret-demo-")
            .tempdir()
            .or_fail(FailureKind::State, "make a scratch directory for the demo")?;
        materialise(dir.path()).or_fail(FailureKind::State, "write the sample project")?;
        Ok(Self {
            workspace: WorkspaceDir::open_ambient(dir.path())?,
            selector: scope::of_profile(profile, None, &WriteScope::default())?,
            dir,
        })
    }
}

pub(crate) fn run(profile: &Profile, app: &App) -> Result<ExitCode, Failure> {
    let project = SampleProject::write(profile)?;
    let ui = &app.ui;
    ui.status(&format!(
        "the sample project is at {}",
        project.dir.path().display()
    ));
    let mut ends = Vec::new();
    for act in ACTS {
        ui.status("");
        ui.status(&ui.paint(TextTone::Strong, act.title));
        let job = RunRequest {
            id: None,
            command: ["sh", "-c", act.script].map(str::to_owned).to_vec(),
            apply: act.apply,
            asked: Asked::Here,
            timeout: Some(profile.limits.timeout),
            env: profile.env.clone(),
            ports: Vec::new(),
            volume: KeepVolume::UntilSettled,
            bounds: WriteScope::default(),
            shared: None,
            from: None,
            terminal: TerminalMode::None,
            stdin: CommandStdin::Empty,
            extra: Vec::new(),
            fills: None,
            log: LogLevel::Info,
            profile: profile.clone(),
        };
        ends.push(job.run(&project.workspace, &project.selector, Connected::User, app)?);
    }
    let verdict = verdict(&ends);
    let kept: Vec<_> = ends.iter().map(|end| end.report.session.clone()).collect();
    if ui.format() == OutputFormat::Json {
        let reports: Vec<&Report> = ends.iter().map(|end| &end.report).collect();
        ui.json(&json!({ "acts": reports, "as_expected": verdict.is_ok() }));
    }
    // The scratch project goes, so its sessions have nothing left to be applied to.
    let store = Store::open(&app.env.state_dir()?)?;
    for id in kept {
        let id = id
            .parse()
            .or_fail(FailureKind::Internal, "a session's name")?;
        let session = super::rm::lock(&store, &id)?;
        let detected = app.engine_of(session.record())?;
        super::rm::remove(&store, session, &*detected.engine)?;
    }
    verdict?;
    ui.status("");
    ui.status(&ui.paint(
        TextTone::Good,
        "The demo went as it should: the first change was applied, and nothing of the second \
         reached the host. The sample project and both sessions are removed again.",
    ));
    Ok(ExitCode::SUCCESS)
}

/// The demo is a promise too: when an act ends otherwise, it says so and fails.
fn verdict(ends: &[RunEnd]) -> Result<(), Failure> {
    let outcome = |index: usize| {
        ends.get(index)
            .map(|end| (end.report.exit_code, end.report.outcome))
    };
    let fail = |text: &str| Err(Failure::message(FailureKind::Internal, text));
    if outcome(0) != Some((Some(0), Some(Outcome::Applied))) {
        return fail("the well-behaved agent's change was not applied");
    }
    match outcome(1) {
        Some((Some(0), Some(Outcome::Kept | Outcome::Rejected))) => Ok(()),
        Some((Some(0), _)) => fail("the hostile agent's change was not held back"),
        _ => fail("the hostile agent found a way out, or could not play its part"),
    }
}
