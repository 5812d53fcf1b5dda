//! `lazaret sync`.

use lazaret_image_builder::Pinned;
use lazaret_protocol::Writers;
use lazaret_runtime::{ContainerLease, SessionId};
use lazaret_transfer::{FileSelector, GitMode, SyncPlan, WorkspaceDir};
use lazaret_tree::{Entry, escape};
use serde::Serialize;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::report::{Live, SyncConflictReport, SyncReport};
use crate::resolve::copy_source::{CopyRequest, CopySource};
use crate::resolve::git::{self, History};
use crate::resolve::{scope, workspace};
use crate::session_access::named::{OneSession, Unnamed};
use crate::session_access::running::{Running, live};
use crate::session_access::{reopen, session_context, waiting};
use crate::ui::session_events::{describe, foretell, report_update};
use crate::ui::{OutputFormat, TextTone, Ui, bytes, count};
use lazaret_session::context::SessionContext;
use lazaret_session::engine::resources::VolumePresence;
use lazaret_session::lifecycle::file_limit::FileLimit;
use lazaret_session::lifecycle::forecast::{Forecast, foresee};
use lazaret_session::lifecycle::merge_base;
use lazaret_session::lifecycle::open::{fits, standing};
use lazaret_session::lifecycle::protect::ProtectionContainer;
use lazaret_session::lifecycle::update::{Started, Update, UpdateOptions, quiet_since};
use lazaret_session::lifecycle::update_summary::UpdateSummary;
use lazaret_session::live::remote_pause::RemoteTurn;
use lazaret_session::settle::workspace_lock::lock_whole_workspace;
use lazaret_session::spec::Source;
use lazaret_session::store::from_branch::FromBranch;
use lazaret_session::store::record::{GitSelection, OutsideFolder, Phase, Record};
use lazaret_session::store::{SessionDir, Store};

/// Send what you changed in the workspace into a session's copy
///
/// Works on a kept session, and on one whose command runs: the command is paused during the update.
/// Sends what only you changed, and keeps what the session changed. If both sides changed a file
/// differently, it is listed and stays as it is in the copy; then the exit code is 1, and the rest
/// was sent.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// Only list what would be sent, and say what would become of the copy's repository, compared
    /// with the last known state of the copy
    #[arg(long)]
    pub dry_run: bool,
}

/// What `sync --json` prints.
#[derive(Debug, Serialize)]
struct Done<'a> {
    session: &'a str,
    #[serde(flatten)]
    sync: SyncReport,
    /// Only where the command runs.
    live: Option<Live>,
}

/// What `--dry-run --json` prints for a session that is kept.
#[derive(Debug, Serialize)]
struct Planned<'a> {
    session: &'a str,
    /// What would be cloned; null if the workspace's own files are read.
    from: Option<&'a FromBranch>,
    /// Paths that would be sent, escaped.
    sent: Vec<String>,
    bytes: u64,
    /// Paths that would go from the copy, escaped.
    removed: Vec<String>,
    adopted: u64,
    conflicts: Vec<SyncConflictReport>,
    /// What would become of the copy's repository, in a sentence each.
    repository: Vec<String>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = &args.session.find(Unnamed::KeptOrRunning, &store, app)?;
    let record = store.find(id)?.record()?;
    let workspace = workspace::open(&record.workspace, &app.env)?;
    fits(&record, &workspace)?;
    let selector = selector(&record)?;
    let copy = CopyRequest {
        from: None,
        session: id,
        record: Some(&record),
        history: History::of(selector.git()),
    };
    let copy = CopySource::choose(&workspace, copy, app)?;
    let made = git::make(copy.dir(), &selector, &app.env, &app.cancel)?;
    let history = copy.history(&app.env);
    let source = Source {
        dir: copy.dir(),
        selector: &made.selector,
        history: history.as_ref(),
    };
    if args.dry_run {
        return dry_run(&store, id, &copy, source.selector, app);
    }
    // What goes in is a whole tree, not one that is half changed.
    drop(lock_whole_workspace(
        &store,
        &workspace,
        &app.events,
        &app.cancel,
    )?);
    let (summary, live) = match Running::find(&store, id)? {
        Some(running) => while_it_runs(&store, running, source, app)?,
        None => (at_rest(&store, id, &workspace, source, app)?, None),
    };
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&Done {
            session: id.as_str(),
            sync: SyncReport::from(&summary),
            live,
        }),
        OutputFormat::Text => {
            report_update(&app.ui, &summary);
            if let Some(Live { paused_ms }) = live {
                app.ui
                    .status(&format!("the command stood still for {paused_ms} ms"));
            }
        }
    }
    Ok(match summary.conflicts.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::REFUSED,
    })
}

/// Lists what would be sent, without the engine: by what was last seen of the volume.
///
/// # Errors
/// When the session was broken off, or the workspace can't be read.
pub(crate) fn dry_run(
    store: &Store,
    id: &SessionId,
    copy: &CopySource<'_>,
    selector: &FileSelector,
    app: &App,
) -> Result<ExitCode, Failure> {
    let dir = store.find(id)?;
    let record = dir.record()?;
    let is_whole = match record.phase {
        Phase::Collected | Phase::Rejected | Phase::Settled => true,
        Phase::Running => store.is_live(id)?,
        _ => false,
    };
    if !is_whole {
        return Err(waiting::not_waiting(&record));
    }
    let history = copy.history(&app.env);
    let source = Source {
        dir: copy.dir(),
        selector,
        history: history.as_ref(),
    };
    let Forecast { plan, repository } = foresee(&dir, &record, source, &app.cancel)?;
    let repository = repository.map_or(Vec::new(), |repository| foretell(&repository));
    let limit = FileLimit::of(record.gate);
    let ui = &app.ui;
    let shown = |path: &lazaret_tree::RelPath| escape(path.as_str().as_bytes());
    let size = |entry: &Entry| match entry {
        Entry::File { size, .. } => *size,
        Entry::Dir | Entry::Symlink { .. } => 0,
    };
    if ui.format() == OutputFormat::Json {
        ui.json(&Planned {
            session: id.as_str(),
            from: copy.from_branch(),
            sent: plan
                .request
                .send
                .iter()
                .map(|(path, _)| shown(path))
                .collect(),
            bytes: plan.request.send.total_bytes(),
            removed: plan.request.remove.iter().map(|path| shown(path)).collect(),
            adopted: plan.adopted.len() as u64,
            conflicts: plan
                .conflicts
                .iter()
                .map(SyncConflictReport::from)
                .collect(),
            repository,
        });
        limit.check_order(&plan.request)?;
        return Ok(ExitCode::SUCCESS);
    }
    list(&plan, ui, size);
    for line in &repository {
        ui.result(line);
    }
    limit.check_order(&plan.request)?;
    Ok(ExitCode::SUCCESS)
}

fn list(plan: &SyncPlan, ui: &Ui, size: impl Fn(&Entry) -> u64) {
    let send = &plan.request.send;
    let heading = format!(
        "would be sent: {} ({})",
        count(send.len() as u64),
        bytes(send.total_bytes())
    );
    ui.result(&ui.paint_result(TextTone::Strong, &heading));
    for (path, entry) in send.iter() {
        let path = escape(path.as_str().as_bytes());
        ui.result(&format!("  {:>10}  {path}", bytes(size(entry))));
    }
    if !plan.request.remove.is_empty() {
        let heading = format!("would go: {}", count(plan.request.remove.len() as u64));
        ui.result(&ui.paint_result(TextTone::Strong, &heading));
    }
    for path in &plan.request.remove {
        ui.result(&format!(
            "  {:>10}  {}",
            "",
            escape(path.as_str().as_bytes())
        ));
    }
    for conflict in &plan.conflicts {
        ui.warn(&describe(conflict));
    }
}

/// Compiles what goes in, out of what the record says.
fn selector(record: &Record) -> Result<FileSelector, Failure> {
    let Some(picked) = &record.selection else {
        let id = &record.id;
        let text = format!("session {id} was started by an earlier lazaret");
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted(format!("Run it again first: `lazaret run --name {id} …`.")));
    };
    let git = match picked.git {
        GitSelection::None => GitMode::None,
        GitSelection::Shallow => GitMode::Shallow,
        GitSelection::Full => GitMode::Full,
    };
    let exclude = picked.exclude.clone();
    scope::selector(git, exclude, picked.shared.as_deref(), &record.bounds)
}

/// Makes the command stand still, and brings its copy up to date.
fn while_it_runs(
    store: &Store,
    running: Running,
    source: Source<'_>,
    app: &App,
) -> Result<(UpdateSummary, Option<Live>), Failure> {
    let (cx, porter) = running.cx(store, app)?;
    let (dir, record) = (&running.dir, &running.record);
    let bounds = &record.bounds;
    if bounds.outside == OutsideFolder::Closed {
        let text = format!("session {} sees its own folder only", record.id);
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Send your changes when its command has ended, with `sync` or the next run."));
    }
    let ended = || {
        let text = format!("the command of session {} has just ended", record.id);
        Failure::message(FailureKind::Refused, text)
    };
    let turn = RemoteTurn::take(dir, &app.cancel)?.ok_or_else(ended)?;
    let importer = importer(&cx, record, &porter)?;
    let summary = cx.phase("sync", |counter| {
        let update = Update {
            cx: &cx,
            container: importer.name(),
            dir,
            source,
            options: UpdateOptions::of(record),
            counter,
            writers: Writers::Paused,
            quiet_since: None,
            write_scope: bounds.is_fenced().then_some(bounds),
        };
        let started = update.start()?;
        if dir.record()?.phase != Phase::Running {
            return Err(ended());
        }
        let paused = turn.pause()?.ok_or_else(ended)?;
        let (summary, deferred) = started.finish()?;
        let paused = paused.end()?;
        deferred.sync()?;
        merge_base::keep_all(cx.events, dir, source.dir);
        Ok::<_, Failure>((summary, Some(live(paused))))
    })?;
    importer.release()?;
    Ok(summary)
}

/// Brings the volume of a session up to date while no command runs in it.
fn at_rest(
    store: &Store,
    id: &SessionId,
    workspace: &WorkspaceDir,
    source: Source<'_>,
    app: &App,
) -> Result<UpdateSummary, Failure> {
    let Some(mut session) = reopen::take(store, id, workspace)? else {
        return Err(store.find(id).err().map_or_else(
            || Failure::message(FailureKind::Refused, format!("session {id} is gone")),
            Failure::from,
        ));
    };
    let detected = app.engine_of(session.record())?;
    let porter = image::ensure(app, &detected, "porter")?.pinned;
    let cx = session_context(app, store, detected);
    if standing(&*cx.engine, session.record())? == VolumePresence::Missing {
        let text = format!("session {id} has no volume");
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "`lazaret run --name {id} --keep …` makes one that is kept."
        )));
    }
    let before = session.record().phase;
    session.update(|record| {
        record.phase_before = Some(before);
        record.phase = Phase::Syncing;
    })?;
    let summary = in_a_container(&cx, session.dir(), session.record(), &porter, source);
    // A container that is still there may still write: then `recover` has to see to it.
    let record = session.record();
    if cx.engine.container(&record.importer())?.is_none()
        && cx.engine.container(&record.guard())?.is_none()
    {
        session.update(|record| {
            record.phase = before;
            record.phase_before = None;
            record.reset &= summary.is_err();
        })?;
    }
    summary
}

fn in_a_container(
    cx: &SessionContext<'_>,
    dir: &SessionDir,
    record: &Record,
    porter: &Pinned,
    source: Source<'_>,
) -> Result<UpdateSummary, Failure> {
    if record.bounds.is_fenced() {
        // The next command has it protected again.
        let guard = ProtectionContainer::start(cx, record, porter, |lease| lease)?;
        guard.release()?;
        guard.end()?;
    }
    let importer = importer(cx, record, porter)?;
    let summary = cx.phase("sync", |counter| {
        let update = Update {
            cx,
            container: importer.name(),
            dir,
            source,
            options: UpdateOptions::of(record),
            counter,
            writers: Writers::Stopped,
            quiet_since: quiet_since(cx, record),
            write_scope: None,
        };
        let (summary, deferred) = update.start().and_then(Started::finish)?;
        deferred.sync()?;
        Ok::<_, Failure>(summary)
    })?;
    importer.release()?;
    Ok(summary)
}

/// Starts the container through which the volume is written.
fn importer(
    cx: &SessionContext<'_>,
    record: &Record,
    porter: &Pinned,
) -> Result<ContainerLease, Failure> {
    // One that is there was left by a dead launcher: this one holds the pause lock or the session.
    cx.engine.remove_container(&record.importer())?;
    let spec = cx.importer_spec(record, porter)?;
    let importer = ContainerLease::create(&cx.engine, &spec)?;
    cx.engine.start_container(importer.name())?;
    Ok(importer)
}
