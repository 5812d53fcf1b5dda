//! Links of Markdown pages lead to files and headings of this repository, and from a page of the
//! archive (`cargo xtask dist`) to other pages of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source};
use crate::dist::is_paper;

/// Checks every link that names no other place.
pub(super) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let paths: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let pages = sources
        .iter()
        .filter(|source| source.path.ends_with(".md"))
        .map(|source| (source.path.as_str(), prose(&source.text)));
    let pages: BTreeMap<&str, Vec<(usize, &str)>> = pages.collect();
    for (page, lines) in &pages {
        for (line, target) in lines.iter().flat_map(|(line, text)| links(*line, text)) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = resolve(page, file);
            let has_heading = || {
                let lines = pages.get(file.as_str());
                lines.is_some_and(|lines| lines.iter().any(|(_, text)| anchor(text) == heading))
            };
            let message = if !paths.contains(file.as_str()) {
                format!("`{target}` leads to no file")
            } else if !heading.is_empty() && !has_heading() {
                format!("`{target}` leads to no heading")
            } else if is_paper(page) && !is_paper(&file) {
                format!("`{target}` is not in the archive that this page is in")
            } else {
                continue;
            };
            findings.push(Finding {
                path: (*page).to_owned(),
                line,
                rule: "links",
                message,
            });
        }
    }
}

/// Returns the lines that are no code block, counted from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| {
        is_code ^= line.starts_with("```");
        !is_code && !line.starts_with("    ")
    });
    lines.collect()
}

/// Returns the targets in a line that are relative paths.
fn links(line: usize, text: &str) -> Vec<(usize, String)> {
    // What is between backticks is code.
    let text: String = text.split('`').step_by(2).collect();
    let targets = text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        (!target.contains("://") && !target.starts_with("mailto:")).then(|| target.to_owned())
    });
    targets.map(|target| (line, target)).collect()
}

/// Returns the path from the root of what a page names.
fn resolve(page: &str, target: &str) -> String {
    if target.is_empty() {
        return page.to_owned();
    }
    let mut path = Vec::from_iter(page.split('/'));
    path.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(path.pop()),
            "." | "" => {}
            part => path.push(part),
        }
    }
    path.join("/")
}

/// Returns the anchor of a heading, as forges make it; empty if the line is none.
fn anchor(line: &str) -> String {
    let Some((_, title)) = line.split_once("# ").filter(|_| line.starts_with('#')) else {
        return String::new();
    };
    let kept = title.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || ['-', '_', ' '].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_page(path: &str, text: &str, expected: &[&str]) {
        let files = [
            (path, text),
            ("docs/two.md", "# Two\n\n## `x` and *y*, again\n"),
            ("crates/a/src/lib.rs", ""),
        ];
        let sources = files.map(|(path, text)| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        let mut findings = Vec::new();
        check(&sources, &mut findings);
        let found: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.line, finding.message))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn links_lead_somewhere() {
        check_page(
            "docs/how/one.md",
            "# One\n[a](../two.md) [b](../two.md#x-and-y-again) [c](#one) [d](https://a.test/x)\n\
             `[e](none.md)`\n```\n[f](none.md)\n```\n",
            &[],
        );
        check_page(
            "docs/one.md",
            "![a](b.svg)\n[c](two.md#three), [d](#one)\n",
            &[
                "1: `b.svg` leads to no file",
                "2: `two.md#three` leads to no heading",
                "2: `#one` leads to no heading",
            ],
        );
        let code = "[a](crates/a/src/lib.rs)\n";
        check_page(
            "README.md",
            code,
            &["1: `crates/a/src/lib.rs` is not in the archive that this page is in"],
        );
        check_page("bench/README.md", "[a](../crates/a/src/lib.rs)\n", &[]);
    }
}
