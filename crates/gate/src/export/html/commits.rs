//! The commits of the page: branches that wait, with their commits.

use std::io::{self, Write};

use lazaret_validator::Finding;

use super::tables::{badge, message};
use super::text::{escaped, plain};
use crate::export::report_input::{ReportInput, ReportSubject};
use crate::format::{count, date};
use crate::tip_report::{CommitReport, TipReport, TipVerdict, WaitingReport};

/// How many commits of one tip are shown.
const MOST_COMMITS: usize = 500;
/// How many findings of one tip or commit are shown.
const MOST_FINDINGS: usize = 100;

/// Writes what is known of the commits that wait.
pub(super) fn write(input: &ReportInput<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(waiting) = &input.commits else {
        return Ok(());
    };
    writeln!(
        out,
        "<section aria-labelledby=\"commits\">\n<h2 id=\"commits\">Commits</h2>"
    )?;
    if let Some(why) = &waiting.not_fetched {
        recorded(input, why, out)?;
    }
    for tip in &waiting.tips {
        self::tip(tip, out)?;
    }
    stays(waiting, out)?;
    writeln!(out, "</section>")
}

/// Writes the list of the record.
fn recorded(input: &ReportInput<'_>, why: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<p>The commits were not fetched, so they were not examined: {}</p>",
        escaped(why)
    )?;
    let ReportSubject::Session(session) = input.subject else {
        return Ok(());
    };
    writeln!(out, "<ul>")?;
    for one in session.commits.iter() {
        let subject = one
            .subject
            .as_deref()
            .map_or(String::new(), |subject| format!(" · {}", escaped(subject)));
        writeln!(out, "<li>{}{subject}</li>", escaped(&one.to_string()))?;
    }
    writeln!(out, "</ul>")
}

fn stays(waiting: &WaitingReport, out: &mut dyn Write) -> io::Result<()> {
    for one in &waiting.stays {
        writeln!(out, "<p>Stays in the copy: {}</p>", escaped(one))?;
    }
    Ok(())
}

fn tip(tip: &TipReport, out: &mut dyn Write) -> io::Result<()> {
    let state = match tip.state {
        TipVerdict::Good => "",
        TipVerdict::Blocked => " <span class=\"tag block\">blocked</span>",
        TipVerdict::Refused => " <span class=\"tag block\">refused</span>",
    };
    writeln!(
        out,
        "<details class=\"file\" open><summary><h3 class=\"path\">{} {}</h3>{state}</summary>\n\
         <div class=\"body\">",
        tip.kind,
        escaped(&tip.name)
    )?;
    match &tip.refusal {
        Some(refusal) => writeln!(
            out,
            "<p>{} <span class=\"code\">{}</span></p>",
            escaped(&refusal.message),
            plain(refusal.code)
        )?,
        None => examined(tip, out)?,
    }
    writeln!(out, "</div></details>")
}

fn examined(tip: &TipReport, out: &mut dyn Write) -> io::Result<()> {
    let base = match &tip.base {
        Some(base) => format!("on <code>{}</code>", short(base)),
        None => "a history of its own".to_owned(),
    };
    writeln!(
        out,
        "<p>Lands as <span class=\"path\">{}</span> · {} · {base} · {}</p>",
        escaped(&tip.lands_as),
        number(tip.commits.len(), "commit"),
        number(tip.changes, "change")
    )?;
    findings(&tip.findings, out)?;
    if tip.commits.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<table class=\"list\"><thead><tr><th scope=\"col\" class=\"thin\">Commit</th>\
         <th scope=\"col\">Subject</th><th scope=\"col\">Author</th>\
         <th scope=\"col\" class=\"thin\">Time</th><th scope=\"col\" class=\"num\">Changes</th>\
         </tr></thead>\n<tbody>"
    )?;
    for commit in tip.commits.iter().rev().take(MOST_COMMITS) {
        self::commit(commit, out)?;
    }
    writeln!(out, "</tbody></table>")?;
    more(tip.commits.len(), MOST_COMMITS, "commit", out)
}

fn commit(commit: &CommitReport, out: &mut dyn Write) -> io::Result<()> {
    let signed = match commit.signed {
        true => " <span class=\"tag plain\">signed, not verified</span>",
        false => "",
    };
    writeln!(
        out,
        "<tr><td><code>{}</code></td><td class=\"wide\">{}{signed}",
        short(&commit.id),
        escaped(&commit.subject)
    )?;
    findings(&commit.findings, out)?;
    writeln!(
        out,
        "</td><td>{}</td><td class=\"thin\">{}</td><td class=\"num\">{}</td></tr>",
        escaped(&commit.author),
        date(u64::try_from(commit.time).unwrap_or(0)),
        count(commit.changes as u64)
    )
}

fn findings(findings: &[impl AsRef<Finding>], out: &mut dyn Write) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ul>")?;
    for finding in findings.iter().take(MOST_FINDINGS).map(AsRef::as_ref) {
        let line = finding
            .line
            .map_or(String::new(), |line| format!(", line {line}"));
        writeln!(
            out,
            "<li>{} <span class=\"path\">{}</span>{line}: {}</li>",
            badge(finding),
            escaped(&finding.subject.to_string()),
            message(finding)
        )?;
    }
    writeln!(out, "</ul>")?;
    more(findings.len(), MOST_FINDINGS, "finding", out)
}

fn more(all: usize, most: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "<p>and {} more</p>", number(more, what)),
    }
}

fn number(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{} {what}s", count(number as u64)),
    }
}

fn short(id: &str) -> String {
    plain(&id.chars().take(10).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lazaret_validator::{Severity, Subject};

    use super::*;
    use crate::tip_report::RefusalReport;

    fn page(tip: &TipReport) -> String {
        let mut page = Vec::new();
        self::tip(tip, &mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    fn blocked() -> TipReport {
        let finding = Arc::new(Finding {
            code: "suspect.ci",
            severity: Severity::Block,
            subject: Subject::Raw(b"<i>\xff".to_vec()),
            line: Some(3),
            message: "runs it with its secrets".into(),
            hint: None,
            allowed: false,
        });
        TipReport {
            repository: ".git".to_owned(),
            kind: "branch",
            name: "<b>".to_owned(),
            id: "0b81c55e2d".repeat(4),
            lands_as: "lazaret/shop/-b-".to_owned(),
            state: TipVerdict::Blocked,
            refusal: None,
            base: Some("4f1c2a9b03".repeat(4)),
            changes: 1,
            findings: vec![Arc::clone(&finding)],
            commits: vec![CommitReport {
                id: "0b81c55e2d".repeat(4),
                author: "A <a@example.org>".to_owned(),
                committer: "A <a@example.org>".to_owned(),
                time: 951_782_400,
                subject: "\\u{202e}<script>".to_owned(),
                signed: true,
                changes: 1,
                findings: vec![finding],
            }],
        }
    }

    #[test]
    fn texts_of_commits_are_inert() {
        insta::assert_snapshot!(page(&blocked()), @r#"
        <details class="file" open><summary><h3 class="path">branch &lt;b&gt;</h3> <span class="tag block">blocked</span></summary>
        <div class="body">
        <p>Lands as <span class="path">lazaret/shop/-b-</span> · 1 commit · on <code>4f1c2a9b03</code> · 1 change</p>
        <ul>
        <li><span class="tag block">block</span> <span class="path">&lt;i&gt;<b class="esc">\xff</b></span>, line 3: runs it with its secrets <span class="code">suspect.ci</span></li>
        </ul>
        <table class="list"><thead><tr><th scope="col" class="thin">Commit</th><th scope="col">Subject</th><th scope="col">Author</th><th scope="col" class="thin">Time</th><th scope="col" class="num">Changes</th></tr></thead>
        <tbody>
        <tr><td><code>0b81c55e2d</code></td><td class="wide"><b class="esc">\u{202e}</b>&lt;script&gt; <span class="tag plain">signed, not verified</span>
        <ul>
        <li><span class="tag block">block</span> <span class="path">&lt;i&gt;<b class="esc">\xff</b></span>, line 3: runs it with its secrets <span class="code">suspect.ci</span></li>
        </ul>
        </td><td>A &lt;a@example.org&gt;</td><td class="thin">2000-02-29 00:00 UTC</td><td class="num">1</td></tr>
        </tbody></table>
        </div></details>
        "#);
    }

    #[test]
    fn a_refused_tip_says_why() {
        let refused = TipReport {
            state: TipVerdict::Refused,
            refusal: Some(RefusalReport {
                code: "commit.name",
                message: "commit 0b81 has .git".to_owned(),
            }),
            ..blocked()
        };
        insta::assert_snapshot!(page(&refused), @r#"
        <details class="file" open><summary><h3 class="path">branch &lt;b&gt;</h3> <span class="tag block">refused</span></summary>
        <div class="body">
        <p>commit 0b81 has .git <span class="code">commit.name</span></p>
        </div></details>
        "#);
    }
}
