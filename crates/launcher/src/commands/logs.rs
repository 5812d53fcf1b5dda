//! `lazaret logs`.

mod run_list;

use std::io::Write as _;
use std::time::Duration;

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, escape};
use serde::Serialize;
use serde_json::json;

use crate::app::App;
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::{OneSession, Unnamed};
use crate::ui::terminal::TextSanitizer;
use crate::ui::{Output, OutputFormat};
use lazaret_session::store::run_log::{Piece, RunLog, kept_input, runs};
use lazaret_session::store::{SessionDir, Store, StoreError};

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Show what a session's command wrote
///
/// Each run of a session has a log of its own. Of more than 7.5 MiB, the first 2.5 MiB and at
/// least the last 2.5 MiB are kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub session: OneSession,
    /// The log of this run, counted from 1 [default: the last]
    #[arg(long, value_name = "N")]
    pub run: Option<u32>,
    /// The log of this service, since its session last started
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    pub service: Option<String>,
    /// The log of this setup step, counted from 1: of its last run
    #[arg(long, value_name = "N", conflicts_with_all = ["run", "service"])]
    pub setup: Option<usize>,
    /// What a run was sent on stdin, kept by `run --log-level debug`
    #[arg(long, conflicts_with_all = ["service", "setup", "follow"])]
    pub input: bool,
    /// List the runs: when each started, how it ended, and what it ran
    #[arg(long, conflicts_with_all = ["run", "service", "setup", "input", "follow"])]
    pub list: bool,
    /// Go on until the command has ended
    #[arg(short, long)]
    pub follow: bool,
}

/// What `--json` prints: one object, or with `--follow` one a line.
#[derive(Debug, Serialize)]
struct Report<'a> {
    session: &'a str,
    run: u32,
    /// What was printed, escaped.
    log: String,
    /// How many bytes are not in the log.
    missing: u64,
    /// How many bytes of `log`, before they were escaped, come before those.
    missing_at: usize,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let id = args.session.find(Unnamed::Newest, &store, app)?;
    let dir = store.find(&id)?;
    if args.list {
        return run_list::show(&id, &dir, app);
    }
    if args.input {
        return input(&id, &dir, args.run, app);
    }
    let log = match (&args.service, args.setup) {
        (Some(service), _) => of_service(&dir, service),
        (None, Some(number)) => RunLog::of_setup_step(&dir, number),
        (None, None) => RunLog::open(&dir, args.run)?,
    };
    let Some(mut log) = log else {
        return Err(no_log(&args, &id, &runs(&dir)?));
    };
    let mut shown = Shown {
        app,
        id: &id,
        run: log.run,
        sanitizer: TextSanitizer::default(),
    };
    if !args.follow {
        shown.all(&mut log)?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        // What was printed before it ended is read after that.
        let is_live = match store.is_live(&id) {
            Err(StoreError::NotFound { .. }) => false,
            live => live?,
        };
        while let Some(piece) = log.next_piece()? {
            shown.piece(piece);
        }
        if !is_live {
            return Ok(ExitCode::SUCCESS);
        }
        if app.cancel.sleep(LOOK).is_err() {
            return Ok(ExitCode::INTERRUPTED);
        }
    }
}

/// Shows what a run was sent on stdin, byte for byte where stdout is no terminal.
fn input(
    id: &SessionId,
    dir: &SessionDir,
    run: Option<u32>,
    app: &App,
) -> Result<ExitCode, Failure> {
    let Some(path) = kept_input(dir, run)? else {
        let text = format!("session {id} has not kept what its command was sent on stdin");
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("`lazaret run -i --log-level debug` keeps it."));
    };
    let bytes = std::fs::read(&path).at(&path)?;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({
            "session": id.as_str(),
            "input": escape(&bytes),
        })),
        OutputFormat::Text => print(&bytes, &mut TextSanitizer::default(), app),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints bytes of the command's.
fn print(bytes: &[u8], sanitizer: &mut TextSanitizer, app: &App) {
    // The user interface remembers a failure and reports it at the end.
    drop(match app.env.streams.stdout {
        StreamKind::Terminal => {
            let text = sanitizer.pass(bytes);
            app.ui.writer(Output::Stdout).write_all(text.as_bytes())
        }
        StreamKind::Other => app.ui.writer(Output::Stdout).write_all(bytes),
    });
}

fn of_service(dir: &SessionDir, name: &str) -> Option<RunLog> {
    RunLog::of_service(dir, &name.parse().ok()?)
}

fn no_log(args: &Args, id: &SessionId, runs: &[u32]) -> Failure {
    if let Some(service) = &args.service {
        let text = format!("session {id} has no service {service}");
        return Failure::message(FailureKind::Refused, text);
    }
    if let Some(number) = args.setup {
        let text = format!("session {id} has no log of a setup step {number}");
        return Failure::message(FailureKind::Refused, text);
    }
    let text = match (args.run, runs.last()) {
        (Some(run), Some(last)) => format!("session {id} has no run {run}: the last is {last}"),
        _ => format!("session {id} has no log: its command never started"),
    };
    Failure::message(FailureKind::Refused, text)
}

/// Where a log is shown.
struct Shown<'a> {
    app: &'a App,
    id: &'a SessionId,
    run: u32,
    sanitizer: TextSanitizer,
}

impl Shown<'_> {
    /// Shows all that there is.
    fn all(&mut self, log: &mut RunLog) -> Result<(), Failure> {
        if self.app.ui.format() == OutputFormat::Text {
            while let Some(piece) = log.next_piece()? {
                self.piece(piece);
            }
            return Ok(());
        }
        let (mut printed, mut missing, mut missing_at) = (Vec::new(), 0, 0);
        while let Some(piece) = log.next_piece()? {
            match piece {
                Piece::Bytes(bytes) => printed.extend(bytes),
                Piece::Missing(number) => {
                    missing += number;
                    missing_at = printed.len();
                }
            }
        }
        self.app.ui.json(&Report {
            missing_at,
            ..self.report(&printed, missing)
        });
        Ok(())
    }

    fn report(&self, printed: &[u8], missing: u64) -> Report<'_> {
        Report {
            session: self.id.as_str(),
            run: self.run,
            log: escape(printed),
            missing,
            missing_at: 0,
        }
    }

    /// Shows what came next.
    fn piece(&mut self, piece: Piece) {
        let ui = &self.app.ui;
        match (ui.format(), piece) {
            (OutputFormat::Json, Piece::Bytes(bytes)) => {
                ui.json_line(&self.report(&bytes, 0));
            }
            (OutputFormat::Json, Piece::Missing(number)) => {
                ui.json_line(&self.report(&[], number));
            }
            (OutputFormat::Text, Piece::Missing(number)) => {
                ui.warn(&format!("{number} bytes of output are not in the log"));
            }
            (OutputFormat::Text, Piece::Bytes(bytes)) => {
                print(&bytes, &mut self.sanitizer, self.app);
            }
        }
    }
}
