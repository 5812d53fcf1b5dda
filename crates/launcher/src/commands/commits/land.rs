//! `lazaret commits land`.

use std::collections::BTreeSet;

use lazaret_commits::ObjectId;
use lazaret_commits::land::{LandError, Landed, LandedHow, Landing, Wanted};
use lazaret_runtime::SessionId;
use lazaret_tree::{Change, Severity, escape};

use crate::app::App;
use crate::commands::diff;
use crate::commits::land_report::{LandReport, LandedReport, LeftReport};
use crate::commits::open::{OpenCommits, OpenRequest, OpenTip, TipState, open};
use crate::commits::report::RefusalReport;
use crate::commits::text::{findings, listing};
use crate::commits::tips::Lost;
use crate::decide::case::open_case;
use crate::decide::settle::finish;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::session_context;
use crate::ui::{Answer, Choice, OutputFormat, Question};
use lazaret_gate::choices::Choices;
use lazaret_gate::proposal::ItemState;
use lazaret_gate::unlanded::UnlandedKind;
use lazaret_session::commits::landed::note_landed;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::history::applies;
use lazaret_session::store::record::Outcome;
use lazaret_session::store::{LockedSession, Store};

/// Put commits made inside into your repository
///
/// Branches become `lazaret/NAME/BRANCH`, stashes `lazaret/NAME/stash-N`, a detached HEAD
/// `lazaret/NAME/HEAD`, and tags tags of such names. Your HEAD, index, working tree, configuration
/// and other refs stay as they are, and no hook runs. What a branch of such a name held before and
/// the new one does not is kept under `refs/lazaret/old/`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Session
    #[arg(value_name = "NAME")]
    session: SessionId,
    /// Land only these, by the names that `lazaret commits` shows: branches, tags, HEAD, stash-0
    #[arg(value_name = "BRANCH")]
    branches: Vec<String>,
    /// Also commits that only a reflog holds, as after a reset, an amend or a rebase
    #[arg(long)]
    lost: bool,
    /// Land although a rule blocks this path; repeatable
    #[arg(long, value_name = "PATH")]
    allow: Vec<String>,
    /// Land without asking; what is blocked stays
    #[arg(long)]
    yes: bool,
}

const CHOICES: [Choice; 2] = [
    Choice {
        key: "y",
        word: "yes",
    },
    Choice {
        key: "n",
        word: "no",
    },
];

pub(super) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let request = OpenRequest {
        session: &args.session,
        lost: match args.lost {
            true => Lost::Take,
            false => Lost::Leave,
        },
        allow: diff::parse_paths(&args.allow)?,
    };
    let mut opened = open(&store, request, app)?;
    let (picked, mut left) = pick(&opened, &args)?;
    if app.ui.format() == OutputFormat::Text {
        app.ui.result(&listing(&opened));
    }
    if picked.is_empty() {
        return Err(nothing_to_land(&left, &args.session));
    }
    ask(&opened, &picked, &args, app)?;
    let landed = land(&opened, &picked, &mut left, app)?;
    tell(&landed, &left, &args.session, app);
    let ids = landed_ids(&opened, &landed);
    let open = open_changes(&opened.session, app)?;
    let holding = holding(&opened, &landed, &open);
    note_landed(&mut opened.session, &ids, holding)?;
    let outcome = settle(&mut opened.session, open.len(), &store, app)?;
    let commits = opened.session.record().commits.clone();
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&LandReport {
            session: args.session.to_string(),
            landed: landed
                .iter()
                .map(|(name, landed)| LandedReport::of(name, landed))
                .collect(),
            left,
            commits: commits.clone(),
            outcome,
        });
    }
    Ok(match commits.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::KEPT,
    })
}

/// Sorts what is asked for into what can be landed and what can't.
fn pick<'a>(
    opened: &'a OpenCommits,
    args: &Args,
) -> Result<(Vec<&'a OpenTip>, Vec<LeftReport>), Failure> {
    let labels: Vec<String> = opened
        .tips
        .iter()
        .map(|one| one.tip.source.label())
        .collect();
    if let Some(unknown) = args.branches.iter().find(|name| !labels.contains(name)) {
        let text = format!(
            "session {} has no {} that could be landed",
            args.session,
            escape(unknown.as_bytes())
        );
        let hint = match labels.is_empty() {
            true => "Nothing that waits there can be landed.".to_owned(),
            false => format!("There are: {}.", labels.join(", ")),
        };
        return Err(Failure::message(FailureKind::Refused, text).hinted(hint));
    }
    let (mut picked, mut left) = (Vec::new(), Vec::new());
    for (one, state) in opened.examined() {
        let name = one.tip.source.label();
        if !args.branches.is_empty() && !args.branches.contains(&name) {
            continue;
        }
        let why = match state {
            TipState::Good(_) => {
                picked.push(one);
                continue;
            }
            TipState::Refused(refusal) => RefusalReport {
                code: refusal.code(),
                message: refusal.to_string(),
            },
            TipState::Blocked(tip) => {
                let block = opened.examination.blocks(tip).next();
                RefusalReport {
                    code: "commit.blocked",
                    message: block.map_or(String::new(), |(_, finding)| finding.to_string()),
                }
            }
        };
        left.push(LeftReport { name, why });
    }
    Ok((picked, left))
}

fn nothing_to_land(left: &[LeftReport], session: &SessionId) -> Failure {
    let failure = |text: &str| Failure::message(FailureKind::Refused, text.to_owned());
    if left.is_empty() {
        return failure("nothing waits that could be landed").hinted(format!(
            "`lazaret commits {session} --lost` shows what only a reflog holds."
        ));
    }
    let failure = failure("nothing was landed: what waits is blocked or refused");
    match left.iter().any(|one| one.why.code == "commit.blocked") {
        true => failure.hinted("Allow what blocks by its path: `--allow PATH`."),
        false => failure,
    }
}

/// Asks, unless the user has said yes.
fn ask(opened: &OpenCommits, picked: &[&OpenTip], args: &Args, app: &App) -> Result<(), Failure> {
    if args.yes {
        return Ok(());
    }
    let warnings: usize = opened
        .examined()
        .filter(|(one, _)| picked.iter().any(|picked| picked.tip == one.tip))
        .filter_map(|(_, state)| match state {
            TipState::Good(tip) => Some(findings(tip, &opened.examination)),
            _ => None,
        })
        .flatten()
        .filter(|(_, finding)| finding.severity == Severity::Warn)
        .count();
    let what = match picked.len() {
        1 => "it".to_owned(),
        number => format!("these {number}"),
    };
    let warned = match warnings {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        number => format!(", with {number} warnings"),
    };
    let text = format!("Put {what} into your repository{warned}?");
    let question = Question {
        text: &text,
        choices: &CHOICES,
    };
    match app.ui.prompt(&question, &app.cancel) {
        Answer::Chosen("y") => Ok(()),
        _ => Err(
            Failure::message(FailureKind::Refused, "nothing is landed without a yes")
                .hinted("Answer at a terminal, or say --yes."),
        ),
    }
}

/// Lands what was picked. What git refuses is added to what is left.
fn land(
    opened: &OpenCommits,
    picked: &[&OpenTip],
    left: &mut Vec<LeftReport>,
    app: &App,
) -> Result<Vec<(String, Landed)>, Failure> {
    let Some(fetched) = &opened.fetched else {
        return Ok(Vec::new());
    };
    let is_cancelled = || app.cancel.check().is_err();
    let mut landing = Landing::open(
        &fetched.linked,
        &opened.repository,
        &fetched.quarantine,
        &is_cancelled,
    )?;
    let wanted: Vec<Wanted> = picked
        .iter()
        .map(|one| Wanted {
            name: one.name.clone(),
            id: one.tip.id,
        })
        .collect();
    let mut landed = Vec::new();
    for (one, done) in picked.iter().zip(landing.land(&wanted)?) {
        let name = one.tip.source.label();
        match done {
            Ok(done) => landed.push((name, done)),
            Err(error) => left.push(LeftReport {
                name,
                why: not_landed(&error),
            }),
        }
    }
    Ok(landed)
}

fn not_landed(error: &LandError) -> RefusalReport {
    RefusalReport {
        code: match error {
            LandError::Git(_) => "commit.git",
            LandError::CheckedOut(_) => "commit.checked_out",
        },
        message: error.to_string(),
    }
}

fn tell(landed: &[(String, Landed)], left: &[LeftReport], session: &SessionId, app: &App) {
    for (name, landed) in landed {
        let words = match &landed.how {
            LandedHow::New => format!("landed {name} as {}", landed.name),
            LandedHow::Already => format!("{name} is there already as {}", landed.name),
            LandedHow::Forwarded => format!("moved {} on to {name}", landed.name),
            LandedHow::Replaced(aside) => format!(
                "landed {name} as {}; what that held before is {}",
                landed.name,
                aside.as_str()
            ),
        };
        app.ui.status(&words);
    }
    for one in left {
        app.ui
            .warn(&format!("{} stays: {}", one.name, one.why.message));
    }
    if left.iter().any(|one| one.why.code == "commit.blocked") {
        app.ui.hint(&format!(
            "`lazaret commits land {session} --allow PATH` lands what a rule blocks at PATH."
        ));
    }
}

/// Returns everything that is in the user's repository now.
fn landed_ids(opened: &OpenCommits, landed: &[(String, Landed)]) -> BTreeSet<ObjectId> {
    let mut ids: BTreeSet<ObjectId> = landed.iter().map(|(_, landed)| landed.id).collect();
    for (one, state) in opened.examined() {
        if let (true, TipState::Good(tip)) = (ids.contains(&one.tip.id), state) {
            ids.extend(&tip.commits);
            ids.insert(tip.commit);
        }
    }
    ids
}

/// Returns the name of what was landed and holds every change of the session's files that waits;
/// `None` where nothing does, or nothing waits.
fn holding(opened: &OpenCommits, landed: &[(String, Landed)], open: &[Change]) -> Option<String> {
    let mut names = opened.examined().filter_map(|(one, state)| {
        let (_, landed) = landed.iter().find(|(_, landed)| landed.id == one.tip.id)?;
        let TipState::Good(tip) = state else {
            return None;
        };
        let holds = |change: &Change| {
            let landed = tip.changes.get(&change.path);
            landed.is_some_and(|landed| landed.after == change.after)
        };
        let holds_all = !open.is_empty() && open.iter().all(holds);
        holds_all.then(|| landed.name.to_string())
    });
    names.next()
}

/// Returns the changes of files that the workspace has not.
fn open_changes(session: &LockedSession, app: &App) -> Result<Vec<Change>, Failure> {
    let case = open_case(session, &app.env)?;
    let whole = case.propose(&Choices::all())?;
    let items = whole.items().iter();
    let open = items.filter(|item| item.state != ItemState::AlreadyApplied);
    let changes = open.filter_map(|item| case.change(item.path()).cloned());
    Ok(changes.collect())
}

/// Settles the session if nothing of it waits any more: no commit, and no change of a file that
/// nothing landed holds.
fn settle(
    session: &mut LockedSession,
    open: usize,
    store: &Store,
    app: &App,
) -> Result<Option<Outcome>, Failure> {
    let record = session.record();
    let id = record.id.clone();
    if !record.commits.is_empty() {
        app.ui
            .status(&format!("session {id} holds still: {}", record.commits));
        if record
            .commits
            .iter()
            .any(|one| one.kind == UnlandedKind::Reflog)
        {
            app.ui.hint(&format!(
                "`lazaret commits land {id} --lost` lands what only a reflog holds; `lazaret \
                 discard {id}` throws away what waits."
            ));
        }
        return Ok(None);
    }
    let outcome = match (open, &record.landed_as) {
        (0, _) if applies(session.dir())?.is_empty() => Outcome::Nothing,
        (0, _) => Outcome::Applied,
        (_, Some(name)) => {
            app.ui
                .status(&format!("{name} holds all changes of session {id}"));
            Outcome::Landed
        }
        (number, None) => {
            app.ui.hint(&format!(
                "{number} changes of files wait: `lazaret apply {id}`, or `lazaret discard {id}`."
            ));
            return Ok(None);
        }
    };
    let detected = app.engine_of(record);
    let cx = detected
        .ok()
        .map(|detected| session_context(app, store, detected));
    let volume = cx
        .as_ref()
        .map_or(VolumeDisposal::Keep, VolumeDisposal::Remove);
    finish(session, outcome, volume, &app.ui)?;
    Ok(Some(outcome))
}
