//! `Desk`: a case as a review knows it, and the choices of a review as the gate knows them.

mod items;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use lazaret_transfer::{RelPath, RelPathBuf, escape};
use lazaret_validator::{Allowance as Allowed, Finding, Severity, Subject, is_allowable};

use self::items::{change_item, facts, mentioned, sign, standing};
use super::bench::Bench;
use super::body::{Body, Parts};
use super::item::{Allowance, Choice, Item, Standing};
use super::plan::{Left, Plan, Said, Taken};
use crate::failure::{Failure, FailureKind};
use crate::gate::case::Case;
use crate::gate::choices::{Choices, Pick};
use crate::gate::export::side::Side;
use crate::gate::export::{self, Batch};
use crate::gate::proposal::{self, ItemState, Origin, Proposal};
use crate::ui::Ui;

/// A case under review.
#[derive(Debug)]
pub struct Desk<'a> {
    case: &'a Case,
    /// What taking everything comes to.
    whole: Proposal,
    /// The path of each item; none of those that are no change.
    paths: Vec<Option<RelPathBuf>>,
    /// What was shown last on the apply screen.
    shown: Option<Proposal>,
    /// Who is told of what is written; without, nothing is.
    ui: Option<&'a Ui>,
}

impl<'a> Desk<'a> {
    /// Lays a case out; `choices` is what was chosen before.
    ///
    /// # Errors
    /// When the case can't be judged.
    pub fn new(case: &'a Case, choices: &Choices) -> Result<(Self, Vec<Item>), Failure> {
        let mut everything = Choices::all();
        for allowed in choices.allowed() {
            everything.allow(allowed.clone());
        }
        let whole = case.propose(&everything)?;
        let mut desk = Self {
            case,
            whole,
            paths: Vec::new(),
            shown: None,
            ui: None,
        };
        let items = desk.items(choices);
        Ok((desk, items))
    }

    /// Lets it write patches, next to where the user is.
    pub fn exporting(self, ui: &'a Ui) -> Self {
        Self {
            ui: Some(ui),
            ..self
        }
    }

    /// Returns what taking everything comes to.
    pub fn whole(&self) -> &Proposal {
        &self.whole
    }

    /// Takes what was shown last on the apply screen: what a yes is to.
    pub fn take_shown(&mut self) -> Option<Proposal> {
        self.shown.take()
    }

    /// Returns what is to be allowed from now on, of what `shown` would apply.
    pub fn remembered(&self, items: &[Item], shown: &Proposal) -> Vec<Allowed> {
        let items = items.iter().zip(&self.paths);
        items
            .filter(|(item, _)| item.allowance == Allowance::Remembered)
            .filter_map(|(item, path)| Some((item, shown.item(path.as_deref()?)?)))
            .filter(|(_, proposed)| proposed.state == ItemState::Applies)
            .flat_map(|(item, proposed)| allowances(item, proposed))
            .collect()
    }

    /// In path order; what is no path comes last, and what is about everything first.
    fn items(&mut self, choices: &Choices) -> Vec<Item> {
        let (mut batch, mut raw) = (Vec::new(), BTreeMap::<&[u8], Vec<&Finding>>::new());
        let mut paths: BTreeMap<&RelPath, Vec<&Finding>> = BTreeMap::new();
        for item in self.whole.items() {
            paths.insert(item.path(), Vec::new());
        }
        for finding in self.whole.findings() {
            match &finding.subject {
                Subject::Batch => batch.push(finding),
                Subject::Path(path) => paths.entry(path).or_default().push(finding),
                Subject::Raw(name) => raw.entry(name).or_default().push(finding),
            }
        }
        let mut items = Vec::with_capacity(paths.len());
        let mut names = Vec::with_capacity(paths.len());
        let caches = &self.case.caches;
        if !batch.is_empty() || !caches.is_empty() {
            let mut item = mentioned(".".to_owned(), &batch);
            item.facts = vec!["the batch as a whole".to_owned()];
            item.facts.extend(caches.iter().map(|cache| {
                format!(
                    "stays in the copy: {} ({})",
                    escape(&cache.name),
                    cache.reason
                )
            }));
            items.push(item);
            names.push(None);
        }
        for (path, findings) in paths {
            match self.whole.item(path) {
                Some(proposed) => {
                    items.push(change_item(proposed, &findings, choices));
                    names.push(Some(path.to_owned()));
                }
                None => {
                    items.push(mentioned(escape(path.as_str().as_bytes()), &findings));
                    names.push(None);
                }
            }
        }
        for (name, findings) in raw {
            items.push(mentioned(escape(name), &findings));
            names.push(None);
        }
        self.paths = names;
        items
    }

    fn hunks(&self, item: &proposal::Item) -> usize {
        let hunks = self.case.hunks(item.proposed());
        hunks.map_or(0, |hunks| hunks.len())
    }

    /// What was chosen, in the gate's words. What was allowed is allowed for exactly what
    /// would be written, and for the codes that were on the screen.
    fn choices(&self, items: &[Item]) -> Result<Choices, Failure> {
        let mut choices = Choices::none();
        let mut allowed = Vec::new();
        for (item, path) in items.iter().zip(&self.paths) {
            let Some(path) = path else { continue };
            let pick = match (&item.choice, &item.standing, item.allowance) {
                (Choice::Leave, ..) => Pick::Leave,
                (_, Standing::Conflict(_), Allowance::Once | Allowance::Remembered) => Pick::Theirs,
                (Choice::Take, ..) => Pick::Take,
                (Choice::Hunks(hunks), ..) => Pick::Hunks(hunks.clone()),
            };
            choices.pick(path, pick);
            if item.allowance != Allowance::None && item.choice != Choice::Leave {
                allowed.push((item, path));
            }
        }
        if allowed.is_empty() {
            return Ok(choices);
        }
        let judged = self.case.propose(&choices)?;
        for (item, path) in allowed {
            let proposed = judged.item(path);
            for allowance in proposed
                .into_iter()
                .flat_map(|proposed| allowances(item, proposed))
            {
                choices.allow(allowance);
            }
        }
        Ok(choices)
    }
}

/// What a word for an item allows: what was on the screen.
fn allowances(item: &Item, proposed: &proposal::Item) -> Vec<Allowed> {
    let blocks = item
        .remarks
        .iter()
        .filter(|remark| remark.severity == Severity::Block);
    let codes: BTreeSet<&str> = blocks.map(|remark| remark.code).collect();
    codes
        .into_iter()
        .filter(|code| is_allowable(code))
        .map(|code| Allowed::of(proposed.proposed(), code))
        .collect()
}

impl Bench for Desk<'_> {
    fn body(&mut self, item: usize) -> Result<Body, Failure> {
        let path = self.paths[item].as_deref();
        let Some(proposed) = path.and_then(|path| self.whole.item(path)) else {
            return Ok(Body::default());
        };
        let change = proposed.proposed();
        let mut body = match self.case.texts(change) {
            Some((old, new)) => Body::compare(&old, &new),
            None => {
                let (old, new) = Side::both(self.case, change)?;
                described(old, new)
            }
        };
        body.words.splice(0..0, facts(proposed));
        Ok(body)
    }

    fn standings(&mut self, items: &[Item]) -> Result<Vec<Standing>, Failure> {
        let mut choices = self.choices(items)?;
        // What is left for now is judged as if it were taken, so that it can be.
        for (item, path) in items.iter().zip(&self.paths) {
            if let (Choice::Leave, Some(path)) = (&item.choice, path) {
                choices.pick(path, Pick::Take);
            }
        }
        let judged = self.case.propose(&choices)?;
        let standings = items.iter().zip(&self.paths).map(|(item, path)| {
            let proposed = path.as_deref().and_then(|path| judged.item(path));
            match (proposed, &item.standing, item.allowance) {
                (None, standing, _) => standing.clone(),
                // It was in conflict, and is passed: it must be possible to take that back.
                (Some(proposed), Standing::Conflict(what), Allowance::Once)
                    if proposed.state == ItemState::Applies =>
                {
                    Standing::Conflict(what.clone())
                }
                (Some(_), Standing::Conflict(what), Allowance::Once) => {
                    Standing::Stays(format!("it {what}, and yours can't be replaced"))
                }
                (Some(proposed), _, allowance) => standing(proposed, allowance != Allowance::None),
            }
        });
        Ok(standings.collect())
    }

    fn propose(&mut self, items: &[Item]) -> Result<Plan, Failure> {
        let proposal = self.case.propose(&self.choices(items)?)?;
        let mut plan = Plan {
            changes: proposal.items().len(),
            ..Plan::default()
        };
        let applied: BTreeSet<&RelPath> = proposal
            .changes()
            .iter()
            .map(|change| &*change.path)
            .collect();
        let by_path: BTreeMap<&RelPath, &Item> = items
            .iter()
            .zip(&self.paths)
            .filter_map(|(item, path)| Some((path.as_deref()?, item)))
            .collect();
        for proposed in proposal.items() {
            let Some(item) = by_path.get(proposed.path()) else {
                continue;
            };
            if applied.contains(proposed.path()) {
                let hunks = self.hunks(proposed);
                plan.hunks += hunks;
                let whole = self.whole.item(proposed.path());
                plan.taken.push(Taken {
                    sign: sign(proposed.proposed()),
                    path: item.path.clone(),
                    note: match proposed.origin {
                        Origin::Hunks => {
                            let all = whole.map_or(0, |whole| self.hunks(whole));
                            format!("{hunks} of {all} hunks")
                        }
                        _ => note(proposed, item),
                    },
                });
            } else {
                plan.left.push(Left {
                    path: item.path.clone(),
                    why: why(proposed),
                });
            }
        }
        for (item, path) in items.iter().zip(&self.paths) {
            if path.is_none() && item.severity() == Some(Severity::Block) {
                let codes: Vec<&str> = item.remarks.iter().map(|remark| remark.code).collect();
                plan.left.push(Left {
                    path: item.path.clone(),
                    why: format!("blocked: {}", codes.join(", ")),
                });
            }
        }
        let findings = proposal.findings().iter();
        let said = findings.filter(|finding| {
            let path = finding.subject.path();
            path.is_some_and(|path| applied.contains(path)) && finding.severity > Severity::Note
        });
        plan.findings = said.map(said_of).collect();
        if proposal.digest().is_none() {
            plan.hindrance =
                Some("The batch is rejected: nothing of it can be applied.".to_owned());
        }
        self.shown = Some(proposal);
        Ok(plan)
    }

    fn export(&mut self, items: &[Item]) -> Result<String, Failure> {
        let (Some(ui), Some(record)) = (self.ui, &self.case.session) else {
            let text = "only a session is exported";
            return Err(Failure::message(FailureKind::Refused, text));
        };
        let proposal = self.case.propose(&self.choices(items)?)?;
        let now = SystemTime::now();
        let batch = Batch::new(
            export::Subject::Session(record),
            self.case,
            &proposal,
            now,
            Vec::new(),
        )?;
        let written = export::write_all(&batch, self.case, Path::new("."), ui)?;
        let names = written.iter().filter_map(|path| path.file_name());
        let names: Vec<String> = names.map(|name| escape(name.as_encoded_bytes())).collect();
        Ok(format!("Wrote {}.", names.join(", ")))
    }
}

fn said_of(finding: &Finding) -> Said {
    let line = finding
        .line
        .map_or(String::new(), |line| format!(":{line}"));
    let allowed = match finding.allowed {
        true => "allowed by you, ",
        false => "",
    };
    Said {
        severity: finding.severity,
        place: format!("{}{line}", finding.subject),
        words: format!("{}: {allowed}{}", finding.code, finding.message),
    }
}

fn note(proposed: &proposal::Item, item: &Item) -> String {
    let mut notes = Vec::new();
    match proposed.origin {
        Origin::Merged => notes.push("merged with yours"),
        Origin::Theirs => notes.push("in place of yours"),
        Origin::Session | Origin::Hunks => {}
    }
    if item.standing == Standing::Blocked {
        notes.push("allowed by you");
    }
    notes.join(", ")
}

/// Why something that would be in a plan is not.
fn why(proposed: &proposal::Item) -> String {
    match &proposed.state {
        ItemState::LeftOut => "you left it out".to_owned(),
        ItemState::Blocked(codes) => format!("blocked: {}", codes.join(", ")),
        ItemState::Conflict(kind) => format!("conflict: {kind}"),
        ItemState::Already => "your workspace has it already".to_owned(),
        ItemState::Depends(path) => {
            format!("it depends on {}", escape(path.as_str().as_bytes()))
        }
        ItemState::Applies => "the batch is rejected".to_owned(),
    }
}

/// What is said of contents that are no text on one side at least. They never look
/// unchanged (AUD-05).
fn described(old: Side, new: Side) -> Body {
    let whole = |body: Body, words: String| Body {
        words: vec![words],
        parts: Parts::Whole,
        ..body
    };
    match (old, new) {
        (Side::Absent, Side::Words(words)) | (Side::Words(words), Side::Absent) => {
            Body::of_words(vec![words])
        }
        (Side::Words(old), Side::Words(new)) if old == new => Body::of_words(vec![old]),
        (Side::Words(old), Side::Words(new)) => {
            Body::of_words(vec![format!("was {old}"), format!("now {new}")])
        }
        (Side::Words(old), Side::Text(new)) => whole(Body::compare("", &new), format!("was {old}")),
        (Side::Text(old), Side::Words(new)) => whole(Body::compare(&old, ""), format!("now {new}")),
        (old, new) => {
            let text = |side| match side {
                Side::Text(text) => text,
                Side::Absent | Side::Words(_) => String::new(),
            };
            Body {
                parts: Parts::Whole,
                ..Body::compare(&text(old), &text(new))
            }
        }
    }
}
