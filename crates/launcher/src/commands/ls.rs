//! `lazaret ls`.

use std::path::Path;
use std::time::{Duration, SystemTime};

use lazaret_gate::waiting::WaitingChanges;
use lazaret_runtime::SessionId;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;
use serde::{Serialize, Serializer};

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, recover_hint};
use crate::session_access::live;
use crate::ui::{OutputFormat, TextTone, elapsed};
use lazaret_review::text::columns;
use lazaret_session::keeper::message::{KeeperState, KeeperStatus};
use lazaret_session::services::status::ServiceStatus;
use lazaret_session::store::from_branch::FromBranch;
use lazaret_session::store::record::{KeepVolume, Record};
use lazaret_session::store::status::{State, Status};
use lazaret_session::store::unlanded::Unlanded;
use lazaret_session::store::{SessionDir, Store};

/// List sessions, newest first
///
/// Sessions in which nothing runs, waits or is kept are counted only; `--all` lists them, and so
/// does `--json`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List settled sessions too
    #[arg(short, long)]
    pub all: bool,
    /// List the sessions of this workspace only
    #[arg(short, long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

/// One row of `ls --json`.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(serialize_with = "as_text")]
    session: SessionId,
    #[serde(flatten)]
    status: Status,
    /// What its keeper says; null if it has none.
    keeper: Option<KeeperStatus>,
    profile: String,
    workspace: String,
    created: u64,
    services: Vec<ServiceStatus>,
    /// What it is a clone of; null if it copies the workspace's own files.
    from: Option<FromBranch>,
    /// The volume that outlives the gate; null where none does.
    volume: Option<String>,
    /// What waits for a decision; null if nothing does.
    waiting: Option<WaitingChanges>,
    /// What was committed inside and is not in the workspace's repository.
    commits: Unlanded,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open_if_there(&app.env.state_dir()?)?;
    let wanted = match &args.workspace {
        None => None,
        Some(path) => Some(crate::resolve::workspace::open(path, &app.env)?),
    };
    let mut rows = Vec::new();
    for (store, dir) in dirs(store.as_ref())? {
        let record = match dir.record() {
            Ok(record) => record,
            Err(error) => {
                app.ui.warn(&escape(error.to_string().as_bytes()));
                continue;
            }
        };
        // A folder of a project is the workspace of a session that has the project.
        let is_its = |wanted: &WorkspaceDir| {
            let folder = record.bounds.folder.as_deref().unwrap_or_default();
            [&record.workspace, &record.workspace.join(folder)]
                .into_iter()
                .any(|place| wanted.path() == place)
        };
        if wanted.as_ref().is_some_and(|wanted| !is_its(wanted)) {
            continue;
        }
        let status = Status::of(store, &dir, &record);
        let keeper = (status.state == State::Running)
            .then(|| live::status(&dir))
            .flatten();
        rows.push(Row {
            session: record.id.clone(),
            status,
            services: services(&keeper, &record),
            keeper,
            profile: record.profile.clone(),
            workspace: record.workspace.to_string_lossy().into_owned(),
            created: record.created,
            from: record.from_branch().cloned(),
            volume: is_kept(&record).then(|| record.volume().to_string()),
            waiting: record.waiting.filter(|_| status.state == State::Kept),
            commits: record.commits,
        });
    }
    rows.sort_by(|a, b| (b.created, &a.session).cmp(&(a.created, &b.session)));
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let before = rows.len();
    rows.retain(|row| args.all || !row.is_settled());
    let hidden = before - rows.len();
    match rows.is_empty() {
        true if hidden == 0 => app.ui.status("no sessions"),
        true => app.ui.status("nothing runs, waits or is kept"),
        false => print(&rows, app),
    }
    if hidden > 0 {
        let sessions = if hidden == 1 { "session" } else { "sessions" };
        let text = format!("{hidden} settled {sessions} not listed: `lazaret ls --all`");
        app.ui.status(&text);
    }
    Ok(ExitCode::SUCCESS)
}

impl Row {
    /// Whether nothing of it is left but its history.
    fn is_settled(&self) -> bool {
        let is_over = matches!(
            self.status.state,
            State::Applied | State::Discarded | State::Landed | State::Done
        );
        is_over && self.volume.is_none() && self.commits.is_empty()
    }

    /// Whether changes wait for a decision.
    fn waits(&self) -> bool {
        self.status.state == State::Kept
    }

    fn age(&self) -> String {
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(self.created);
        let age = SystemTime::now().duration_since(created);
        age.map_or_else(|_| "-".to_owned(), elapsed)
    }
}

fn dirs(store: Option<&Store>) -> Result<Vec<(&Store, SessionDir)>, Failure> {
    let Some(store) = store else {
        return Ok(Vec::new());
    };
    let dirs = store.list()?.into_iter();
    Ok(dirs.map(|dir| (store, dir)).collect())
}

/// A column before the workspace: its heading, and what stands in it.
struct Column {
    heading: &'static str,
    text: fn(&Row) -> String,
}

const COLUMNS: [Column; 5] = [
    Column {
        heading: "SESSION",
        text: |row| row.session.to_string(),
    },
    Column {
        heading: "STATE",
        text: |row| state(row).to_owned(),
    },
    Column {
        heading: CHANGES,
        text: |row| {
            row.waiting
                .map_or(String::new(), |waiting| waiting.to_string())
        },
    },
    Column {
        heading: "AGE",
        text: Row::age,
    },
    Column {
        heading: "PROFILE",
        text: |row| escape(row.profile.as_bytes()),
    },
];
/// Columns that a narrow terminal does without, the first one first.
const SPARED: [&str; 3] = ["PROFILE", "AGE", CHANGES];
/// A column that is there only if something waits.
const CHANGES: &str = "CHANGES";
/// What the workspace gets at least.
const LEAST_PLACE: usize = 16;
/// Between two columns.
const GAP: usize = 2;

/// A column with the texts of all rows, the heading first.
struct Filled {
    heading: &'static str,
    texts: Vec<String>,
    width: usize,
}

impl Filled {
    fn of(column: Column, rows: &[Row]) -> Self {
        let mut texts = vec![column.heading.to_owned()];
        texts.extend(rows.iter().map(column.text));
        Self {
            heading: column.heading,
            width: texts.iter().map(|text| columns(text)).max().unwrap_or(0),
            texts,
        }
    }

    fn cell(&self, line: usize) -> String {
        let (text, width) = (&self.texts[line], self.width);
        let gap = " ".repeat(GAP);
        match self.heading {
            "AGE" => format!("{text:>width$}{gap}"),
            _ => format!("{text:<width$}{gap}"),
        }
    }
}

/// The columns that a terminal of some width has room for.
fn fitting(rows: &[Row], width: usize) -> Vec<Filled> {
    let mut all = Vec::from_iter(COLUMNS.map(|column| Filled::of(column, rows)));
    all.retain(|column| column.heading != CHANGES || rows.iter().any(|row| row.waiting.is_some()));
    for spared in SPARED {
        let taken: usize = all.iter().map(|column| column.width + GAP).sum();
        if taken + LEAST_PLACE > width {
            all.retain(|column| column.heading != spared);
        }
    }
    all
}

fn print(rows: &[Row], app: &App) {
    let ui = &app.ui;
    let columns = fitting(rows, ui.result_width());
    let line = |line| -> String { columns.iter().map(|column| column.cell(line)).collect() };
    ui.result(&ui.paint_result(TextTone::Strong, &format!("{}WORKSPACE", line(0))));
    for (number, row) in (1..).zip(rows) {
        let place = ui.place(Path::new(&row.workspace));
        let text = format!("{}{place}{}", line(number), beside(row));
        ui.result(&ui.wrapped_result(&text, GAP));
    }
    let mut waiting = rows.iter().filter(|row| row.waits());
    match (waiting.next(), waiting.count()) {
        (None, _) => {}
        (Some(row), 0) => {
            ui.hint(&format!(
                "`lazaret review {}` decides about what waits.",
                row.session
            ));
        }
        (Some(_), more) => ui.hint(&format!(
            "{} sessions wait for you: `lazaret review NAME` decides about one.",
            more + 1
        )),
    }
    for row in rows {
        if let Some(what) = row.status.unfinished {
            let id = &row.session;
            ui.warn(&format!("session {id}: {what}"));
            ui.hint(&recover_hint(id));
        }
    }
}

/// What else there is to say of a session, each in parentheses.
fn beside(row: &Row) -> String {
    let volume = row.volume.as_ref().map_or("", |_| "  (volume kept)");
    let commits = match row.commits.is_empty() {
        true => String::new(),
        false => format!("  ({})", row.commits),
    };
    let services = match row.services.as_slice() {
        [] => String::new(),
        services => format!("  ({})", shown(services)),
    };
    let attached = row.keeper.as_ref().map_or("", attached);
    format!("{attached}{services}{volume}{commits}")
}

/// Where a session is; its keeper knows more than its record.
fn state(row: &Row) -> &'static str {
    match row.keeper.as_ref().map(|keeper| keeper.state) {
        Some(KeeperState::Idle) => "idle",
        Some(KeeperState::Paused) => "paused",
        Some(KeeperState::Ending) => "ending",
        Some(KeeperState::Running) | None => row.status.state.as_str(),
    }
}

fn attached(keeper: &KeeperStatus) -> &'static str {
    match (keeper.attached, keeper.driven) {
        (0, _) => "",
        (_, true) => "  (attached)",
        (_, false) => "  (watched)",
    }
}

/// Returns the services of a session: where its keeper says that they are, or stopped.
fn services(keeper: &Option<KeeperStatus>, record: &Record) -> Vec<ServiceStatus> {
    match keeper {
        Some(keeper) => keeper.services.clone(),
        None => record.services.iter().map(ServiceStatus::stopped).collect(),
    }
}

/// Shows services in one line.
pub(super) fn shown(services: &[ServiceStatus]) -> String {
    let one = |service: &ServiceStatus| format!("{} {}", service.name, service.state.as_str());
    services.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Whether the volume of a session outlives the gate.
pub(crate) fn is_kept(record: &Record) -> bool {
    record.keep == KeepVolume::Always
}

fn as_text<S: Serializer>(id: &SessionId, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(id.as_str())
}
