//! A listing for people: 80 columns are enough.

use lazaret_transfer::GitMode;
use lazaret_tree::escape;

use super::listing::{Group, Left};
use super::{EstimatedSize, Listing, Repository};
use crate::ui::{TextTone, Ui, bytes, count, elide, sanitize};

/// How many of the largest files are listed; `--json` has them all.
const MOST_FILES: usize = 20;
/// The same for each reason.
const MOST_LEFT: usize = 10;
/// What a size and the blanks around it take, in columns.
const MARGIN: usize = 16;

pub(super) fn print(listing: &Listing, ui: &Ui) {
    for line in lines(listing, ui.width()) {
        match line {
            Line::Heading(text) => ui.result(&ui.paint_result(TextTone::Strong, &text)),
            Line::Plain(text) => ui.result(&text),
        }
    }
}

#[derive(Debug)]
enum Line {
    Heading(String),
    Plain(String),
}

fn lines(listing: &Listing, width: usize) -> Vec<Line> {
    let room = width.saturating_sub(MARGIN).max(20);
    let row =
        |size: String, name: &str| Line::Plain(format!("  {size:>11}  {}", elide(name, room)));
    let files = listing.files.len();
    let from = listing.from.as_ref();
    let clone = from.map(|from| Line::Heading(format!("a clone of {from}")));
    let mut lines = Vec::from_iter(clone);
    lines.push(Line::Heading(format!(
        "goes in: {} files, {} entries, {}",
        count(files as u64),
        count(listing.entries as u64),
        bytes(listing.bytes)
    )));
    for (path, size) in listing.files.iter().take(MOST_FILES) {
        lines.push(row(bytes(*size), &escape(path.as_bytes())));
    }
    if files > MOST_FILES {
        let rest: u64 = listing.files[MOST_FILES..].iter().map(|file| file.1).sum();
        let smaller = format!("… and {} smaller files", count((files - MOST_FILES) as u64));
        lines.push(row(bytes(rest), &smaller));
    }
    if let Some(git) = &listing.git {
        lines.extend(repository(git, width));
    }
    if !listing.groups.is_empty() {
        let number: usize = listing.groups.iter().map(|group| group.left.len()).sum();
        let total = listing.groups.iter().map(|group| group.weight.bytes).sum();
        let unknown = listing.groups.iter().map(|group| group.not_counted).sum();
        lines.push(Line::Heading(format!(
            "stays out: {}, {}",
            count(number as u64),
            at_least(total, unknown)
        )));
    }
    for group in &listing.groups {
        lines.push(Line::Plain(elide(&heading(group), width)));
        let most = match group.is_secret() {
            true => usize::MAX,
            false => MOST_LEFT,
        };
        for left in group.left.iter().take(most) {
            lines.push(row(size(left), &left.name));
        }
        if let Some(rest) = group.left.get(most..).filter(|rest| !rest.is_empty()) {
            let total = rest.iter().filter_map(|left| left.weight);
            let total = total.map(|weight| weight.bytes).sum();
            lines.push(row(
                bytes(total),
                &format!("… and {} more", count(rest.len() as u64)),
            ));
        }
    }
    for line in listing.reach.lines() {
        let line = elide(&line, width);
        lines.push(match line.starts_with(' ') {
            true => Line::Plain(line),
            false => Line::Heading(line),
        });
    }
    lines
}

fn heading(group: &Group) -> String {
    let number = count(group.left.len() as u64);
    let total = at_least(group.weight.bytes, group.not_counted);
    format!("  {}: {number}, {total}", group.reason)
}

fn size(left: &Left) -> String {
    match left.weight {
        Some(weight) => bytes(weight.bytes),
        None => "not counted".to_owned(),
    }
}

fn at_least(total: u64, not_counted: usize) -> String {
    match not_counted {
        0 => bytes(total),
        _ => format!("{} and what was not counted", bytes(total)),
    }
}

/// What the repository weighs by mode, and why where it can't be said.
fn repository(git: &Repository, width: usize) -> Vec<Line> {
    let shown = |mode, estimated: &EstimatedSize| {
        let weight = match estimated {
            Ok(weight) => bytes(*weight),
            Err(_) => "not to be had".to_owned(),
        };
        let chosen = if git.chosen == mode { " (chosen)" } else { "" };
        format!("{} {weight}{chosen}", word(mode))
    };
    let modes = [
        shown(GitMode::Full, &git.full),
        shown(GitMode::Shallow, &git.shallow),
        shown(GitMode::None, &Ok(0)),
    ];
    let mut lines = vec![Line::Heading(format!(
        "the repository: {}",
        modes.join(", ")
    ))];
    for (mode, estimated) in [(GitMode::Full, &git.full), (GitMode::Shallow, &git.shallow)] {
        if let Err(why) = estimated {
            let text = format!("  {}: {}", word(mode), sanitize(why));
            lines.push(Line::Plain(elide(&text, width)));
        }
    }
    lines
}

/// As a profile says it.
pub(super) fn word(mode: GitMode) -> &'static str {
    match mode {
        GitMode::Full => "full",
        GitMode::Shallow => "shallow",
        GitMode::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use lazaret_transfer::{SizeEstimate, SkipReason};

    use super::super::command_reach::CommandReach;
    use super::super::listing::groups;
    use super::*;
    use crate::environment::Environment;
    use lazaret_session::store::record::WriteScope;

    fn listing() -> Listing {
        let long = "directory/".repeat(20) + "file";
        let files = (0..22).map(|n| (format!("f{n}"), 22 - n));
        let left = |name: &str, reason, bytes: Option<u64>| Left {
            name: name.to_owned(),
            reason,
            weight: bytes.map(|bytes| SizeEstimate { entries: 1, bytes }),
        };
        let kind = crate::environment::StreamKind::Other;
        let streams = crate::environment::StreamKinds {
            stdin: kind,
            stdout: kind,
            stderr: kind,
        };
        let env = Environment::new([], streams, None, 0, "/".into());
        let profile = crate::profile::load("claude", &env).expect("it comes with lazaret");
        let bounds = WriteScope {
            protect: vec!["AGENTS.md".to_owned(), "docs".to_owned()],
            ..WriteScope::default()
        };
        Listing {
            reach: CommandReach::of(&profile, &bounds, &env),
            files: [(long.clone(), 1 << 30)].into_iter().chain(files).collect(),
            entries: 1030,
            bytes: (1 << 30) + 253,
            from: None,
            git: Some(Repository {
                chosen: GitMode::Full,
                full: Ok(5 << 20),
                shallow: Err("git can't pack HEAD and the index: an object".repeat(3)),
            }),
            groups: groups(
                (0..12)
                    .map(|n| left(&format!("l{n}"), SkipReason::GitIgnore, Some(n)))
                    .chain([
                        left(&long, SkipReason::Cache, None),
                        left("target", SkipReason::Cache, Some(3 << 30)),
                    ])
                    .collect(),
            ),
        }
    }

    #[test]
    fn it_fits_eighty_columns() {
        let shown: Vec<String> = lines(&listing(), 80)
            .into_iter()
            .map(|line| match line {
                Line::Heading(text) | Line::Plain(text) => text,
            })
            .collect();
        for line in &shown {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let short: Vec<&String> = shown
            .iter()
            .filter(|line| !line.contains(" B  f"))
            .collect();
        assert_snapshot!(short.iter().map(|line| format!("{line}\n")).collect::<String>(), @"
        goes in: 23 files, 1,030 entries, 1.0 GiB
              1.0 GiB  directory/directory/directory/di…ectory/directory/directory/file
                  6 B  … and 3 smaller files
        the repository: full 5.0 MiB (chosen), shallow not to be had, none 0 B
          shallow: git can't pack HEAD and the i…an't pack HEAD and the index: an object
        stays out: 14, 3.0 GiB and what was not counted
          a cache directory: 2, 3.0 GiB and what was not counted
          not counted  directory/directory/directory/di…ectory/directory/directory/file
              3.0 GiB  target
          left out by .gitignore: 12, 66 B
                 11 B  l11
                 10 B  l10
                  9 B  l9
                  8 B  l8
                  7 B  l7
                  6 B  l6
                  5 B  l5
                  4 B  l4
                  3 B  l3
                  2 B  l2
                  1 B  … and 2 more
        network: allowlist
          broker   api.anthropic.com:443, key AN…e variable ANTHROPIC_API_KEY is not set
        read only
          AGENTS.md
          docs
        ");
    }
}
