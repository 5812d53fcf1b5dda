//! `Picked`: which tips are landed, and which stay.

use lazaret_commits::sign::Signed;
use lazaret_gate::tip_report::RefusalReport;
use lazaret_runtime::SessionId;
use lazaret_tree::{Severity, escape};

use super::land_report::LeftReport;
use super::open::{OpenCommits, OpenTip, TipState};
use super::text::findings;
use crate::app::App;
use crate::failure::{Failure, FailureKind};

/// The tips that are landed, and what stays of those that were asked for.
#[derive(Debug)]
pub(crate) struct Picked<'a> {
    /// In the order of the list.
    pub(crate) tips: Vec<&'a OpenTip>,
    /// What is blocked or refused.
    pub(crate) left: Vec<LeftReport>,
    /// What the commits became that the user signed.
    pub(crate) signed: Signed,
}

impl<'a> Picked<'a> {
    /// Sorts the tips of these labels into what can be landed and what can't; without labels,
    /// all tips.
    ///
    /// # Errors
    /// When a label is no tip's.
    pub(crate) fn of(
        opened: &'a OpenCommits,
        branches: &[String],
        session: &SessionId,
    ) -> Result<Self, Failure> {
        let labels: Vec<String> = opened.tips.iter().map(|one| one.tip.label()).collect();
        if let Some(unknown) = branches.iter().find(|name| !labels.contains(name)) {
            let text = format!(
                "session {session} has no {} that could be landed",
                escape(unknown.as_bytes())
            );
            let hint = match labels.is_empty() {
                true => "Nothing that waits there can be landed.".to_owned(),
                false => format!("There are: {}.", labels.join(", ")),
            };
            return Err(Failure::message(FailureKind::Refused, text).hinted(hint));
        }
        let is_wanted = |label: &String| branches.is_empty() || branches.contains(label);
        let wanted = labels.iter().map(is_wanted);
        Ok(Self::sort(opened, wanted))
    }

    /// Sorts the tips of these places in the list.
    pub(crate) fn at(opened: &'a OpenCommits, places: &[usize]) -> Self {
        let all = 0..opened.tips.len();
        Self::sort(opened, all.map(|place| places.contains(&place)))
    }

    fn sort(opened: &'a OpenCommits, wanted: impl Iterator<Item = bool>) -> Self {
        let mut picked = Self {
            tips: Vec::new(),
            left: Vec::new(),
            signed: Signed::new(),
        };
        let all = opened.examined().zip(wanted);
        for ((one, state), _) in all.filter(|(_, is_wanted)| *is_wanted) {
            let name = one.tip.label();
            let why = match state {
                TipState::Good(_) => {
                    picked.tips.push(one);
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
            picked.left.push(LeftReport { name, why });
        }
        picked
    }

    /// Fails unless there is something to land.
    ///
    /// # Errors
    /// Says why there is nothing.
    pub(crate) fn some(self, session: &SessionId) -> Result<Self, Failure> {
        if !self.tips.is_empty() {
            return Ok(self);
        }
        let failure = |text: &str| Failure::message(FailureKind::Refused, text.to_owned());
        if self.left.is_empty() {
            return Err(
                failure("nothing waits that could be landed").hinted(format!(
                    "`lazaret commits {session} --lost` shows what only a reflog holds."
                )),
            );
        }
        let failure = failure("nothing was landed: what waits is blocked or refused");
        Err(match self.is_blocked() {
            true => failure.hinted(format!(
                "`lazaret commits land {session} --allow PATH` lands what a rule blocks at PATH."
            )),
            false => failure,
        })
    }

    /// Whether a person wants the tips landed.
    pub(crate) fn is_confirmed(&self, opened: &OpenCommits, app: &App) -> bool {
        let warnings: usize = opened
            .examined()
            .filter(|(one, _)| self.tips.iter().any(|picked| picked.tip == one.tip))
            .filter_map(|(_, state)| match state {
                TipState::Good(tip) => Some(findings(tip, &opened.examination)),
                _ => None,
            })
            .flatten()
            .filter(|(_, finding)| finding.severity == Severity::Warn)
            .count();
        let what = match self.tips.len() {
            1 => "it".to_owned(),
            number => format!("these {number}"),
        };
        let warned = match warnings {
            0 => String::new(),
            1 => ", with 1 warning".to_owned(),
            number => format!(", with {number} warnings"),
        };
        let text = format!("Put {what} into your repository{warned}?");
        app.ui.confirms(&text, &app.cancel)
    }

    fn is_blocked(&self) -> bool {
        self.left.iter().any(|one| one.why.code == "commit.blocked")
    }
}
