//! Judges what is changed by every name that links give it (SUS-30): where `.vscode` is a
//! link to `dev/vscode`, an editor reads `dev/vscode/tasks.json` as `.vscode/tasks.json`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lazaret_tree::{Change, Entry, RelPath, RelPathBuf, escape};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::guard::completes;
use crate::rules::links::names::{MOST_NAMES, Name, Names};
use crate::rules::{BY_NAME, Context, FilePair, Rule};
use crate::{Finding, Severity, Subject};

/// The most bytes that rules read by other names in one batch: a file that has many is read
/// again for each under which a rule looks into it.
const MOST_BYTES: usize = 1 << 30;

/// Has the rules that go by names judge each change by its other names. What they say is said
/// of the changed path, with the link; what was said of it by its own name is not said again.
pub(crate) fn check(rules: &[(&str, Rule)], context: &Context<'_>, report: &mut FindingBuffer) {
    let names = Names::of(context);
    if names.is_empty() {
        return;
    }
    let has_names = |change: &&Change| {
        let is_dir = |side: &Option<Entry>| matches!(side, None | Some(Entry::Dir));
        let holds = !is_dir(&change.before) || !is_dir(&change.after);
        holds && !context.is_git(&change.path) && names.has(&change.path)
    };
    let changes: Vec<&Change> = context.changes.iter().filter(has_names).collect();
    let mut judged = Judged {
        rules,
        context,
        reported: reported(report, &changes),
        left: MOST_BYTES,
    };
    for change in changes {
        if report.is_full() {
            return;
        }
        let found = names.leading_to(&change.path);
        if found.is_err() || judged.left == 0 {
            let message = format!("links give it more than {MOST_NAMES} names, or too long ones");
            report.block(&change.path, codes::LINK_NAMES, message);
        }
        for name in found.unwrap_or_default() {
            judged.name(change, &name, report);
        }
    }
}

/// The gravest severity that was reported of a path, for each code and line.
type Reported = HashMap<(RelPathBuf, &'static str, Option<u32>), Severity>;

fn reported(report: &FindingBuffer, changes: &[&Change]) -> Reported {
    let paths: HashSet<&RelPath> = changes.iter().map(|change| &*change.path).collect();
    let mut reported = Reported::new();
    for finding in &report.findings {
        if let Subject::Path(path) = &finding.subject
            && paths.contains(&**path)
        {
            note(&mut reported, path, finding);
        }
    }
    reported
}

/// Notes a finding, and returns whether it is graver than what was reported before.
fn note(reported: &mut Reported, path: &RelPathBuf, finding: &Finding) -> bool {
    let key = (path.clone(), finding.code, finding.line);
    let known = reported.get(&key).copied();
    let is_new = known.is_none_or(|known| known < finding.severity);
    if is_new {
        reported.insert(key, finding.severity);
    }
    is_new
}

struct Judged<'a> {
    rules: &'a [(&'a str, Rule)],
    context: &'a Context<'a>,
    reported: Reported,
    /// How many bytes may still be read.
    left: usize,
}

impl Judged<'_> {
    fn name(&mut self, change: &Change, name: &Name<'_>, report: &mut FindingBuffer) {
        let renamed = Change {
            path: name.path.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
        };
        let mut aside = FindingBuffer::default();
        let pair = FilePair::new(&renamed, self.context.contents);
        for (rule_name, rule) in self.rules.iter().filter(|(name, _)| BY_NAME.contains(name)) {
            let done = completes(|| match (rule, &pair) {
                (Rule::Change(check), _) => check(self.context, &renamed, &mut aside),
                (Rule::Contents(check), Some(pair)) if self.left > 0 => {
                    check(self.context, pair, &mut aside);
                }
                (Rule::Contents(_) | Rule::Batch(_), _) => {}
            });
            if !done {
                report.failed(&change.path, rule_name);
            }
        }
        let read = pair.as_ref().map_or(0, FilePair::bytes_read);
        self.left = self.left.saturating_sub(read);
        report.rejected |= aside.rejected;
        for finding in aside.findings {
            let mut finding = Arc::unwrap_or_clone(finding);
            if finding.subject.path() == Some(&name.path) {
                finding.subject = Subject::Path(change.path.clone());
                let [other, link] =
                    [&name.path, name.link].map(|path| escape(path.as_str().as_bytes()));
                finding.message = match name.path == *name.link {
                    true => format!("by the link `{link}`: {}", finding.message),
                    false => format!("as `{other}`, by the link `{link}`: {}", finding.message),
                }
                .into();
            }
            if note(&mut self.reported, &change.path, &finding) {
                report.push(finding);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::{BY_NAME, RULES};

    #[test]
    fn sus_30_each_rule_that_goes_by_names_is_one() {
        for name in BY_NAME {
            assert!(RULES.iter().any(|(rule, _)| rule == name), "{name}");
        }
    }
}
