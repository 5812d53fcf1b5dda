//! `lazaret check`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lazaret_gate::check::{Candidate, CheckOptions, Comparison, compare};
use lazaret_gate::choices::Choices;
use lazaret_gate::export::document::Document;
use lazaret_gate::export::{self, Checked, Form, IfExists, ReportInput, ReportSubject};
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;
use lazaret_validator::{Finding, Outcome};

use crate::app::App;
use crate::decide::output_target::{self, OutputTarget};
use crate::decide::summary;
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::profile;
use crate::ui::{OutputFormat, TextTone};
use lazaret_session::cancel::Cancel;
use lazaret_session::store::record::GateLimits;

/// Judge a directory or an archive against a base, by the rules of the gate
///
/// For CI: exits with 0 if nothing graver than a note is found, with 120 if the candidate needs a
/// review, and with 121 if it is rejected as a whole. Applies nothing, runs nothing of the
/// candidate, and follows none of its links. Needs no engine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Candidate: a directory, an uncompressed tar archive, or `-` for one on stdin
    #[arg(value_name = "CANDIDATE")]
    pub candidate: PathBuf,
    /// Directory that the candidate is compared with
    #[arg(long, value_name = "DIR")]
    pub base: PathBuf,
    /// Profile whose gate limits and excludes apply
    #[arg(long, value_name = "PROFILE", default_value = "base")]
    pub profile: String,
    /// Complete report as JSON, as --json prints it
    #[arg(long, value_name = "FILE")]
    pub report: Option<OutputTarget>,
    /// Complete report as one page for a browser, without script
    #[arg(long, value_name = "FILE")]
    pub html: Option<OutputTarget>,
    /// Findings as SARIF 2.1.0, for the code scanning of a forge
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<OutputTarget>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let if_exists = match args.force {
        true => IfExists::Replace,
        false => IfExists::Keep,
    };
    let asked = [
        (Form::Json, &args.report),
        (Form::Html, &args.html),
        (Form::Sarif, &args.sarif),
    ];
    let places = output_target::choose(asked, &app.env.cwd, app.ui.format())?;
    for (_, place) in &places {
        place.check(if_exists)?;
    }
    let cwd = &app.env.cwd;
    let base = open_dir(&cwd.join(&args.base), "base")?;
    let profile = profile::load(&args.profile, &app.env)?;
    // Its limits may be stricter. Its exclusions are ignored: they would keep entries unjudged.
    let gate = profile.clone().tightened_by(base.path())?.profile.gate;
    let limits = GateLimits {
        max_entries: u64::from(gate.max_entries),
        max_bytes: gate.max_bytes,
        max_file_bytes: gate.max_file_bytes,
    };
    let options = CheckOptions {
        exclude: &profile.workspace.exclude,
        limits,
        git: app.env.for_git(),
    };
    let comparison = match args.candidate.as_os_str() == "-" {
        true => {
            if app.env.streams.stdin == StreamKind::Terminal {
                let text = "stdin is a terminal, and an archive can't be typed";
                return Err(Failure::message(FailureKind::Usage, text));
            }
            let mut stdin = app.ui.take_stdin().ok_or_else(|| {
                Failure::message(
                    FailureKind::Internal,
                    "cannot read stdin: it is already in use",
                )
            })?;
            let mut reader = Interruptible(&mut stdin, &app.cancel);
            compare(base, Candidate::Tar(&mut reader), options).map_err(Failure::from)
        }
        false => {
            let path = cwd.join(&args.candidate);
            match std::fs::metadata(&path) {
                Ok(metadata) if !metadata.is_dir() => {
                    let file = File::open(&path).map_err(|error| unreadable(&path, error))?;
                    let mut reader = Interruptible(file, &app.cancel);
                    compare(base, Candidate::Tar(&mut reader), options).map_err(Failure::from)
                }
                Ok(_) => {
                    let dir = open_dir(&path, "candidate")?;
                    compare(base, Candidate::Dir(dir), options).map_err(Failure::from)
                }
                Err(error) => Err(unreadable(&path, error)),
            }
        }
    };
    app.cancel.check()?;
    let checked = Checked {
        base: args.base.to_string_lossy().into_owned(),
        candidate: args.candidate.to_string_lossy().into_owned(),
        profile: args.profile,
    };
    report(&comparison?, &checked, &places, if_exists, app)
}

/// Writes what was asked for, shows the rest, and says how it ends.
fn report(
    comparison: &Comparison,
    checked: &Checked,
    places: &[(Form, OutputTarget)],
    if_exists: IfExists,
    app: &App,
) -> Result<ExitCode, Failure> {
    let (case, ui) = (&comparison.case, &app.ui);
    let proposal = case.propose(&Choices::all())?;
    let now = SystemTime::now();
    let mut input = ReportInput::new(
        ReportSubject::Check(checked),
        case,
        &proposal,
        now,
        Vec::new(),
    )?;
    if let Some(finding) = &comparison.rejection {
        input.reject(finding);
    }
    for (form, place) in places {
        place.write(if_exists, ui, |out| export::write(*form, &input, case, out))?;
        if *place != OutputTarget::Stdout {
            ui.status(&format!("wrote {}", place.describe()));
        }
    }
    let shown = places
        .iter()
        .any(|(_, place)| *place == OutputTarget::Stdout);
    match (ui.format(), &comparison.rejection) {
        (OutputFormat::Json, _) => ui.json(&Document::new(&input, case)?),
        (OutputFormat::Text, _) if shown => {}
        (OutputFormat::Text, Some(finding)) => show_rejection(finding, app),
        (OutputFormat::Text, None) => {
            ui.results(|out| summary::write(out, case, &proposal, ui));
            if places.is_empty() && summary::is_partial(&proposal, ui) {
                ui.hint("`--report FILE` writes the full list.");
            }
            let tone = match input.outcome {
                Outcome::Clean => TextTone::Good,
                Outcome::NeedsReview => TextTone::Warning,
                Outcome::Rejected => TextTone::Error,
            };
            ui.result(&ui.paint_result(tone, input.outcome.as_str()));
        }
    }
    Ok(match input.outcome {
        Outcome::Clean => ExitCode::SUCCESS,
        Outcome::NeedsReview => ExitCode::KEPT,
        Outcome::Rejected => ExitCode::REJECTED,
    })
}

fn show_rejection(finding: &Finding, app: &App) {
    let ui = &app.ui;
    ui.result(&format!(
        "{}  {}: {}",
        ui.paint_result(TextTone::Error, "rejected"),
        finding.code,
        finding.message
    ));
    if let Some(hint) = &finding.hint {
        ui.hint(hint);
    }
}

fn open_dir(path: &Path, what: &str) -> Result<WorkspaceDir, Failure> {
    WorkspaceDir::open_ambient(path).map_err(|error| {
        let name = escape(path.as_os_str().as_encoded_bytes());
        Failure::new(FailureKind::Workspace, error.source)
            .context(format!("the {what} {name} can't be read as a directory"))
    })
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let name = escape(path.as_os_str().as_encoded_bytes());
    Failure::new(FailureKind::Workspace, error)
        .context(format!("the candidate {name} can't be read"))
}

/// A reader that ends with an error once the user asked for an end.
struct Interruptible<'a, R>(R, &'a Cancel);

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.check().is_err() {
            return Err(io::Error::other("interrupted"));
        }
        self.0.read(buffer)
    }
}
