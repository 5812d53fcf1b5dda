//! Lands what was picked, tells of it, and notes it in the session.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_commits::ObjectId;
use lazaret_commits::examine::ExaminedTip;
use lazaret_commits::land::{LandError, LandRequest, LandedHow, Landing};
use lazaret_commits::sign::Signed;
use lazaret_gate::tip_report::RefusalReport;
use lazaret_runtime::SessionId;
use lazaret_tree::{Change, RelPathBuf};

use super::land_report::{LandedTip, LeftReport};
use super::open::{OpenCommits, OpenTip, TipState};
use super::pick::Picked;
use super::settle::open_changes;
use crate::app::App;
use crate::failure::Failure;
use lazaret_session::commits::landed::note_landed;
use lazaret_session::store::LockedSession;

/// What is in the user's repository now, and what stays in the copy.
#[derive(Debug)]
pub(crate) struct LandResult {
    pub(crate) landed: Vec<LandedTip>,
    /// What was blocked or refused, by the rules or by git.
    pub(crate) left: Vec<LeftReport>,
}

/// Lands what was picked, says so, and notes it: what was landed no longer waits.
///
/// # Errors
/// When git fails as a whole, the workspace is not where it was, or the disk fails. What was
/// landed until then is in the repository; landing it again changes nothing.
pub(crate) fn land(
    session: &mut LockedSession,
    opened: &OpenCommits,
    picked: Picked<'_>,
    app: &App,
) -> Result<LandResult, Failure> {
    let signed = picked.signed.clone();
    let result = write_refs(opened, picked, app)?;
    tell(&result, &session.record().id, app);
    let landed = Found {
        opened,
        signed: &signed,
        landed: &result.landed,
    };
    let ids = landed.ids();
    let open = open_changes(session, &app.env)?;
    let holding = landed.holding(&open);
    note_landed(session, &ids, holding)?;
    Ok(result)
}

/// Makes or moves the refs. What git refuses is added to what is left.
fn write_refs(opened: &OpenCommits, picked: Picked<'_>, app: &App) -> Result<LandResult, Failure> {
    let Picked { tips, left, signed } = picked;
    let mut result = LandResult {
        landed: Vec::new(),
        left,
    };
    let is_cancelled = || app.cancel.check().is_err();
    for (fetched, repository) in opened.fetched() {
        let here = |one: &&&OpenTip| one.tip.repository == fetched.inside;
        let here: Vec<&OpenTip> = tips.iter().filter(here).copied().collect();
        let wanted: Vec<LandRequest> = here
            .iter()
            .map(|one| LandRequest {
                name: one.name.clone(),
                id: signed.get(&one.tip.id).copied().unwrap_or(one.tip.id),
            })
            .collect();
        let commits = &fetched.commits;
        let mut landing = Landing::open(
            &commits.linked,
            repository,
            &commits.quarantine,
            &is_cancelled,
        )?;
        for (one, done) in here.iter().zip(landing.land(&wanted)?) {
            match done {
                Ok(landed) => result.landed.push(LandedTip {
                    tip: one.tip.clone(),
                    landed,
                }),
                Err(error) => result.left.push(LeftReport {
                    name: one.tip.label(),
                    why: not_landed(&error),
                }),
            }
        }
    }
    Ok(result)
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

fn tell(result: &LandResult, session: &SessionId, app: &App) {
    let LandResult { landed, left } = result;
    for LandedTip { tip, landed } in landed {
        let name = tip.label();
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
        let place = tip.submodule();
        let place = place.map_or(String::new(), |name| format!(" in submodule {name}"));
        app.ui.status(&format!("{words}{place}"));
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

/// What was landed, found again among the tips by what they became.
struct Found<'a> {
    opened: &'a OpenCommits,
    signed: &'a Signed,
    landed: &'a [LandedTip],
}

impl Found<'_> {
    /// Iterates over the tips that were landed.
    fn tips(&self) -> impl Iterator<Item = (&LandedTip, &ExaminedTip)> {
        self.opened.examined().filter_map(|(one, state)| {
            let id = self.signed.get(&one.tip.id).unwrap_or(&one.tip.id);
            let is_it = |landed: &&LandedTip| {
                landed.landed.id == *id && landed.tip.repository == one.tip.repository
            };
            let landed = self.landed.iter().find(is_it)?;
            let TipState::Good(tip) = state else {
                return None;
            };
            Some((landed, tip))
        })
    }

    /// Returns everything that is in the user's repositories now, or was signed and is there by
    /// another id, by where the repository lies inside.
    fn ids(&self) -> BTreeMap<RelPathBuf, BTreeSet<ObjectId>> {
        let mut all: BTreeMap<RelPathBuf, BTreeSet<ObjectId>> = BTreeMap::new();
        for one in self.landed {
            let ids = all.entry(one.tip.repository.clone()).or_default();
            ids.extend([one.landed.id, one.tip.id]);
        }
        for (one, tip) in self.tips() {
            let ids = all.entry(one.tip.repository.clone()).or_default();
            ids.insert(tip.commit);
            ids.extend(&tip.commits);
            ids.extend(tip.commits.iter().filter_map(|id| self.signed.get(id)));
        }
        all
    }

    /// Returns the name of what was landed and holds every change of the session's files that
    /// waits; `None` where nothing does, or nothing waits.
    fn holding(&self, open: &[Change]) -> Option<String> {
        let is_own = |(one, _): &(&LandedTip, _)| one.tip.submodule().is_none();
        let mut names = self.tips().filter(is_own).filter_map(|(one, tip)| {
            let holds = |change: &Change| {
                let landed = tip.changes.get(&change.path);
                landed.is_some_and(|landed| landed.after == change.after)
            };
            let holds_all = !open.is_empty() && open.iter().all(holds);
            holds_all.then(|| one.landed.name.to_string())
        });
        names.next()
    }
}
