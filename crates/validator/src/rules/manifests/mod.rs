//! Manifests (SUS-15, SUS-18, and `Cargo.toml`): what a package manager or a build tool
//! runs, and where it looks for packages.
//!
//! They change all the time, for good reasons; so each key is looked at by itself, and
//! only what runs something, or fetches from elsewhere, is pointed at.

mod cargo_toml;
mod go_mod;
mod package_json;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod properties;
mod pyproject;
mod requirements;
mod setup_cfg;

use lazaret_tree::{Change, RelPath};

use crate::Severity::{self, Block, Note, Warn};
use crate::codes::{self, Code};
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::names::fold::skeleton;
use crate::rules::structured::driver::{Before, DocumentKind};
use crate::rules::structured::key_diff::{Difference, differences};
use crate::rules::structured::{Document, Unreadable, ini, json, toml};
use crate::rules::{Context, Opened};
use crate::shown::shown;

/// One kind of manifest.
struct Format {
    /// The file name, folded.
    name: &'static str,
    read: for<'a> fn(&'a str) -> Result<Document<'a>, Unreadable>,
    judge: fn(&Difference<'_, '_>, &Manifest, &mut FileFindings),
    /// Whether a change that nothing is to be said of is still noted.
    rest: Rest,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Quiet,
    Noted,
}

/// Whose manifest it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Of the workspace.
    Own,
    /// Of an installed dependency: its scripts ran when it was installed, and its code
    /// runs in any case.
    Installed,
}

/// The manifest that is judged.
#[derive(Debug, Clone, Copy)]
struct Manifest {
    place: Place,
    /// How many directories of the workspace it lies in.
    depth: usize,
}

impl Manifest {
    fn at(path: &RelPath) -> Self {
        let place = match path.components().any(|name| name == "node_modules") {
            true => Place::Installed,
            false => Place::Own,
        };
        Self {
            place,
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

const FORMATS: &[Format] = &[
    Format {
        name: "package.json",
        read: json::read,
        judge: package_json::judge,
        rest: Rest::Quiet,
    },
    Format {
        name: "pyproject.toml",
        read: toml::read,
        judge: pyproject::judge,
        rest: Rest::Noted,
    },
    Format {
        name: "setup.cfg",
        read: ini::read,
        judge: setup_cfg::judge,
        rest: Rest::Noted,
    },
    Format {
        name: "cargo.toml",
        read: toml::read,
        judge: cargo_toml::judge,
        rest: Rest::Quiet,
    },
    Format {
        name: "go.mod",
        read: go_mod::read,
        judge: go_mod::judge,
        rest: Rest::Quiet,
    },
    Format {
        name: "go.work",
        read: go_mod::read,
        judge: go_mod::judge,
        rest: Rest::Quiet,
    },
    Format {
        name: "requirements.txt",
        read: requirements::read,
        judge: requirements::judge,
        rest: Rest::Quiet,
    },
];

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
pub(super) fn contents(_: &Context<'_>, opened: &Opened<'_>, report: &mut FindingBuffer) {
    let path = opened.path();
    let Some(format) = format_of(path) else {
        return;
    };
    if let Some(sides) = MANIFEST.read(opened, format.read, report) {
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
        (format.judge)(difference, manifest, &mut remarks);
    });
    if format.rest == Rest::Noted && remarks.count() == said {
        remarks.add(Note, codes::MANIFEST_CHANGED, None, || {
            "nothing changed that runs or fetches something".to_owned()
        });
    }
    remarks
}

/// Says something about one difference: its key, why it matters, and what it says now.
fn say(
    difference: &Difference<'_, '_>,
    severity: Severity,
    code: &'static Code,
    reason: &str,
    remarks: &mut FileFindings,
) {
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
