//! Manifests (SUS-15, SUS-18, and `Cargo.toml`): what a package manager or a build tool
//! runs, and where it looks for packages.
//!
//! They change all the time, for good reasons; so each key is looked at by itself, and
//! only what runs something, or fetches from elsewhere, is pointed at.

mod cargo_toml;
mod go_mod;
mod mise_toml;
mod package_json;
mod pnpm_workspace;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod properties;
mod pyproject;
mod requirements;
mod setup_cfg;

use std::collections::HashSet;

use lazaret_tree::{Change, Entry, FindingCode, RelPath};

use crate::Severity::{self, Block, Note, Warn};
use crate::codes;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::names::fold::skeleton;
use crate::rules::structured::driver::{Before, DocumentKind};
use crate::rules::structured::key_diff::{Difference, differences};
use crate::rules::structured::{Document, Unreadable, Value, ini, json, toml};
use crate::rules::{Context, FilePair};
use crate::shown::shown;

/// One kind of manifest.
struct Format {
    /// The file name, folded.
    name: &'static str,
    read: for<'a> fn(&'a str) -> Result<Document<'a>, Unreadable>,
    judge: fn(&Difference<'_, '_>, &Manifest) -> Option<Remark>,
    /// What follows from a change that nothing is to be said of.
    on_unmatched: OnUnmatched,
    /// What follows where no such file was.
    on_new: OnNew,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnUnmatched {
    Ignore,
    Note,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnNew {
    Judge,
    /// The rule for suspect files blocks it by its name.
    Ignore,
}

/// What there is to say of one difference.
#[derive(Debug, Clone, Copy)]
struct Remark {
    severity: Severity,
    code: &'static FindingCode,
    /// Follows the key in the message.
    reason: &'static str,
}

const fn warn(code: &'static FindingCode, reason: &'static str) -> Option<Remark> {
    Some(Remark {
        severity: Warn,
        code,
        reason,
    })
}

const fn block(code: &'static FindingCode, reason: &'static str) -> Option<Remark> {
    Some(Remark {
        severity: Block,
        code,
        reason,
    })
}

/// What the formats of Python say alike.
const CHOOSES_BACKEND: Option<Remark> = warn(
    codes::MANIFEST_BUILD,
    "chooses the code that builds the package",
);
const CHOOSES_INDEX: Option<Remark> =
    block(codes::MANIFEST_REGISTRY, "chooses where packages come from");
const DEPENDS_ELSEWHERE: Option<Remark> = warn(
    codes::MANIFEST_DEPENDENCY,
    "has a dependency from elsewhere than the registry",
);
const RUNS_OR_LOADS: Option<Remark> =
    warn(codes::MANIFEST_SCRIPT, "says what a tool runs or loads");

/// Whose manifest it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Workspace,
    /// Its scripts ran when it was installed, and its code runs in any case.
    Dependency,
}

/// The manifest that is judged.
#[derive(Debug, Clone, Copy)]
struct Manifest {
    owner: Owner,
    /// How many directories of the workspace it lies in.
    depth: usize,
}

impl Manifest {
    fn at(path: &RelPath) -> Self {
        let owner = match path.components().any(|name| name == "node_modules") {
            true => Owner::Dependency,
            false => Owner::Workspace,
        };
        Self {
            owner,
            depth: path.components().count().saturating_sub(1),
        }
    }

    /// Whether a path that the manifest names leads out of the workspace.
    fn leads_out(&self, path: &str) -> bool {
        if path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":") {
            return true;
        }
        let mut depth = self.depth;
        for name in path.split(['/', '\\']) {
            match name {
                "" | "." => {}
                ".." if depth == 0 => return true,
                ".." => depth -= 1,
                _ => depth += 1,
            }
        }
        false
    }
}

#[rustfmt::skip]
const FORMATS: &[Format] = {
    use OnUnmatched::{Ignore, Note};
    &[
        Format { name: "package.json", read: json::read, judge: package_json::judge, on_unmatched: Ignore, on_new: OnNew::Judge },
        Format { name: "pyproject.toml", read: toml::read, judge: pyproject::judge, on_unmatched: Note, on_new: OnNew::Judge },
        Format { name: "setup.cfg", read: ini::read, judge: setup_cfg::judge, on_unmatched: Note, on_new: OnNew::Judge },
        Format { name: "cargo.toml", read: toml::read, judge: cargo_toml::judge, on_unmatched: Ignore, on_new: OnNew::Judge },
        Format { name: "go.mod", read: go_mod::read, judge: go_mod::judge, on_unmatched: Ignore, on_new: OnNew::Judge },
        Format { name: "go.work", read: go_mod::read, judge: go_mod::judge, on_unmatched: Ignore, on_new: OnNew::Judge },
        Format { name: "requirements.txt", read: requirements::read, judge: requirements::judge, on_unmatched: Ignore, on_new: OnNew::Judge },
        Format { name: "pnpm-workspace.yaml", read: pnpm_workspace::read, judge: pnpm_workspace::judge, on_unmatched: Note, on_new: OnNew::Ignore },
        Format { name: "mise.toml", read: toml::read, judge: mise_toml::judge, on_unmatched: Note, on_new: OnNew::Ignore },
        Format { name: ".mise.toml", read: toml::read, judge: mise_toml::judge, on_unmatched: Note, on_new: OnNew::Ignore },
    ]
};

fn format_of(path: &RelPath) -> Option<&'static Format> {
    let name = skeleton(path.components().last()?);
    let dir = path.parent().map(|dir| skeleton(dir.file_name()));
    let name = match is_requirements(&name, dir.as_deref()) {
        true => "requirements.txt",
        false => &name,
    };
    FORMATS.iter().find(|format| format.name == name)
}

/// `requirements-dev.txt`, `dev_requirements.in`, `constraints.txt`, `requirements/dev.txt`.
fn is_requirements(name: &str, dir: Option<&str>) -> bool {
    let Some((stem, "txt" | "in")) = name.rsplit_once('.') else {
        return false;
    };
    let words = ["requirements", "constraints"];
    words
        .iter()
        .any(|word| stem.contains(word) || dir == Some(word))
}

const MANIFEST: DocumentKind = DocumentKind {
    noun: "manifest",
    link: codes::MANIFEST_LINK,
    deleted: codes::MANIFEST_DELETED,
    unreadable: codes::MANIFEST_UNREADABLE,
};

/// What is not about contents: a manifest that goes, or that becomes a link.
pub(super) fn entries(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    if let Some(format) = format_of(&change.path) {
        let message = format!("the {} was deleted", format.name);
        MANIFEST.check_entry(context, change, &message, report);
    }
}

/// Compares both sides, key by key.
pub(super) fn contents(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let path = pair.path();
    let Some(format) = format_of(path) else {
        return;
    };
    let is_new = !matches!(pair.change().before, Some(Entry::File { .. }));
    if is_new && format.on_new == OnNew::Ignore {
        return;
    }
    if let Some(sides) = MANIFEST.read(pair, format.read, report) {
        let found = compare(format, &Manifest::at(path), &sides.before, &sides.after);
        found.report(path, sides.text, report);
    }
}

/// Compares two documents; without the first everything is new.
fn compare(
    format: &Format,
    manifest: &Manifest,
    before: &Before<Document<'_>>,
    after: &Document<'_>,
) -> FileFindings {
    let known = before.known();
    let mut remarks = FileFindings::default();
    if let Before::Unknown(why) = before {
        remarks.add(Warn, codes::MANIFEST_NO_BASELINE, None, || {
            format!("there is nothing to compare with, because what was there before {why}")
        });
    }
    for repeated in &after.repeated {
        let old = known.map_or(&[][..], |known| &known.repeated);
        // One that was there before is no reason to hold back another change.
        let severity = match old.iter().any(|old| old.key == repeated.key) {
            true => Warn,
            false => Block,
        };
        remarks.add(
            severity,
            codes::MANIFEST_REPEATED_KEY,
            Some(repeated.at),
            || {
                let key = shown(&repeated.key);
                format!("`{key}` is there twice, and readers differ in which they take")
            },
        );
    }
    let said = remarks.count();
    let root = known.map(|known| &known.root);
    differences(root, Some(&after.root), &mut |difference| {
        if let Some(remark) = (format.judge)(difference, manifest) {
            say(difference, remark, &mut remarks);
        }
    });
    if format.on_unmatched == OnUnmatched::Note && remarks.count() == said {
        remarks.add(Note, codes::MANIFEST_CHANGED, None, || {
            "nothing changed that runs or fetches something".to_owned()
        });
    }
    remarks
}

/// Adds a remark about one difference: its key, why it matters, and what it says now.
fn say(difference: &Difference<'_, '_>, remark: Remark, remarks: &mut FileFindings) {
    let Remark {
        severity,
        code,
        reason,
    } = remark;
    let at = difference.after.map(|value| value.at);
    remarks.add(severity, code, at, || {
        let key = match difference.path {
            [] => "what it holds".to_owned(),
            path => format!("`{}`", shown(&path.join("."))),
        };
        match difference.after {
            None => format!("{key} was removed: it {reason}"),
            Some(value) => match value.text() {
                Some(text) => {
                    // Lists of an INI file go over lines.
                    let words: Vec<&str> = text.split_ascii_whitespace().take(64).collect();
                    format!("{key} {reason}: {}", shown(&words.join(" ")))
                }
                None => format!("{key} {reason}"),
            },
        }
    });
}

/// Whether a requirement of PEP 508 names an address: `name @ https://…`.
fn names_address(requirement: &str) -> bool {
    let bare = requirement.split(';').next().unwrap_or_default();
    bare.contains('@') || bare.contains("://")
}

/// Whether a requirement that was not there before names an address. Lists of an INI file go
/// over lines.
fn adds_address(difference: &Difference<'_, '_>) -> bool {
    fn texts<'v>(side: Option<&'v Value<'_>>) -> impl Iterator<Item = &'v str> {
        let items = side
            .into_iter()
            .flat_map(|value| value.items().iter().chain([value]));
        items
            .filter_map(|item| item.text())
            .flat_map(|text| text.lines())
    }
    let old: HashSet<&str> = texts(difference.before).collect();
    texts(difference.after).any(|text| !old.contains(text) && names_address(text))
}

/// Keys of Python tools that choose where packages or interpreters come from.
fn chooses_index(key: &str) -> bool {
    let key = key.replace('_', "-");
    [
        "index-url",
        "extra-index-url",
        "default-index",
        "find-links",
        "allow-insecure-host",
        "trusted-host",
        "trusted-hosts",
        "index-strategy",
        "no-index",
        "keyring-provider",
        "publish-url",
        "python-install-mirror",
        "pypy-install-mirror",
        "python-downloads-json-url",
        "allow-hosts",
    ]
    .contains(&&*key)
}

/// Words of which one in a key says that something is run.
fn runs_something(key: &str) -> bool {
    const WORDS: [&str; 23] = [
        "script",
        "scripts",
        "hook",
        "hooks",
        "plugin",
        "plugins",
        "cmdclass",
        "build",
        "task",
        "tasks",
        "command",
        "commands",
        "cmd",
        "addopts",
        "pythonpath",
        "exec",
        "before",
        "after",
        "pre",
        "post",
        "tox",
        "entry",
        "aliases",
    ];
    let mut words = key.split(['-', '_', '.', ':']);
    words.any(|word| WORDS.contains(&&*word.to_ascii_lowercase()))
}
