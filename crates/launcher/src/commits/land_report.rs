//! What `commits land --json` prints.

use lazaret_commits::land::{Landed, LandedHow};
use lazaret_gate::tip_report::RefusalReport;
use lazaret_gate::unlanded::Unlanded;
use serde::Serialize;

use super::tips::Tip;
use lazaret_session::store::record::Outcome;
use lazaret_tree::escape;

/// What was landed, and what was not.
#[derive(Debug, Serialize)]
pub(crate) struct LandReport {
    pub(crate) session: String,
    pub(crate) landed: Vec<LandedReport>,
    pub(crate) left: Vec<LeftReport>,
    /// What waits in the copy still.
    pub(crate) commits: Unlanded,
    /// How the session ended; null while something waits.
    pub(crate) outcome: Option<Outcome>,
}

/// Something that was landed.
#[derive(Debug)]
pub(crate) struct LandedTip {
    /// What it was inside.
    pub(crate) tip: Tip,
    /// What it is in the user's repository.
    pub(crate) landed: Landed,
}

/// One ref of the user's repository.
#[derive(Debug, Serialize)]
pub(crate) struct LandedReport {
    /// What it is called inside, escaped.
    pub(crate) name: String,
    /// Where its repository lies inside: `.git`, or a directory below `.git/modules`; escaped.
    repository: String,
    /// The full name of the ref.
    reference: String,
    id: String,
    /// `new`, `already`, `forwarded` or `replaced`.
    how: &'static str,
    /// Where what it replaced is kept; null where it replaced nothing.
    aside: Option<String>,
}

/// What stays in the copy.
#[derive(Debug, Serialize)]
pub(crate) struct LeftReport {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) why: RefusalReport,
}

impl LandedReport {
    /// Tells of one.
    pub(crate) fn of(one: &LandedTip) -> Self {
        let landed = &one.landed;
        let (how, aside) = match &landed.how {
            LandedHow::New => ("new", None),
            LandedHow::Already => ("already", None),
            LandedHow::Forwarded => ("forwarded", None),
            LandedHow::Replaced(aside) => ("replaced", Some(aside.as_str().to_owned())),
        };
        Self {
            name: one.tip.label(),
            repository: escape(one.tip.repository.as_str().as_bytes()),
            reference: landed.name.as_str().to_owned(),
            id: landed.id.to_string(),
            how,
            aside,
        }
    }
}
