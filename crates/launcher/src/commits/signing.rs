//! Signs the commits of the tips that are landed.

use lazaret_commits::sign::{SignError, Signer, SigningSettings};

use super::land_report::LeftReport;
use super::open::{FetchedRepository, OpenCommits, TipState};
use super::pick::Picked;
use crate::app::App;
use crate::decide::case::workspace_of;
use crate::failure::Failure;
use crate::user_programs::UserPrograms;
use lazaret_gate::tip_report::RefusalReport;
use lazaret_session::commits::signed::{read_signed, write_signed};
use lazaret_session::store::LockedSession;

/// Makes the commits of each tip anew, signed with the user's key. A tip of which one can't be
/// signed stays.
///
/// # Errors
/// When git can't be run, an end is wanted, or the disk fails.
pub(crate) fn sign<'a>(
    session: &LockedSession,
    opened: &'a OpenCommits,
    picked: Picked<'a>,
    app: &App,
) -> Result<Picked<'a>, Failure> {
    let dir = session.dir();
    let is_cancelled = || app.cancel.check().is_err();
    let workspace = workspace_of(session.record())?;
    let programs = UserPrograms::of(&app.env, &workspace, &app.cancel);
    let all_before = read_signed(dir);
    // What was signed in a repository of which nothing waits now counts as well.
    let mut signed = all_before.clone();
    let mut left = picked.left;
    let mut tips = Vec::new();
    for (FetchedRepository { inside, commits }, _) in opened.fetched() {
        let quarantine = &commits.quarantine;
        let settings = SigningSettings::read(
            quarantine.git(),
            workspace.path(),
            programs.environment().to_vec(),
            &is_cancelled,
        )?;
        let mut before = all_before.clone();
        let known: Vec<_> = before.values().copied().collect();
        let known = commits.linked.having(&known, &is_cancelled)?;
        before.retain(|_, signed| known.contains(signed));
        let mut signer = Signer::new(quarantine, settings, before);
        for (one, state) in opened.examined() {
            let TipState::Good(tip) = state else { continue };
            let is_picked = picked.tips.iter().any(|picked| picked.tip == one.tip);
            if one.tip.repository != *inside || !is_picked {
                continue;
            }
            match signer.sign(one.tip.id, tip, &opened.examination, &is_cancelled) {
                Ok(_) => tips.push(one),
                Err(SignError::Git(error)) => return Err(error.into()),
                Err(error @ (SignError::Refused { .. } | SignError::Tag)) => {
                    left.push(LeftReport {
                        name: one.tip.label(),
                        why: RefusalReport {
                            code: "commit.not_signed",
                            message: error.to_string(),
                        },
                    });
                }
            }
        }
        signed.extend(signer.into_signed());
    }
    write_signed(dir, &signed)?;
    Ok(Picked { tips, left, signed })
}
