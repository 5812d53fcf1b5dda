//! Each format: what is read from a genuine file, and which lies are refused.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::lock::MOST_PINS;
use super::source::{Address, Source};
use super::{FORMATS, format_named};
use crate::rules::structured::{line_of, text_of_bytes};
use crate::samples;
use crate::shown::shown;

/// Reads a file under its name, and renders what it says: the line, the package, the
/// source, and the start of the hash.
fn read(name: &str, text: &str) -> String {
    let name = name.to_lowercase();
    let read = format_named(&name).unwrap().read;
    let text = match text_of_bytes(text.as_bytes()) {
        Ok(text) => text,
        Err(why) => return format!("! {why}"),
    };
    let lock = match read(text) {
        Ok(lock) => lock,
        Err(why) => {
            let line = why.at.map_or(0, |at| line_of(text, at));
            return format!("! {line}: {why}");
        }
    };
    let mut out = String::new();
    for locked_package in &lock.locked_packages {
        let line = line_of(text, locked_package.at);
        write!(
            out,
            "{line}: {} {}",
            shown(&locked_package.name),
            shown(&locked_package.version)
        )
        .unwrap();
        if !locked_package.file.is_empty() {
            write!(out, " [{}]", locked_package.file).unwrap();
        }
        match &locked_package.source {
            Source::Web(address) => write!(out, " {}", whole(address)).unwrap(),
            Source::Git(address, revision) => {
                let revision = revision.get(..8).unwrap_or(revision);
                write!(out, " git {} at {revision}", whole(address)).unwrap();
            }
            Source::Path(path) => write!(out, " path {path:?}").unwrap(),
            Source::Unstated => {}
            Source::Bundled => out.push_str(" bundled"),
        }
        if let Some(alias) = &locked_package.alias {
            write!(out, " is {alias}").unwrap();
        }
        if let Some(hash) = &locked_package.integrity {
            write!(out, " = {}", hash.get(..14).unwrap_or(hash)).unwrap();
        }
        out.push('\n');
    }
    for repeated in &lock.repeated {
        let line = line_of(text, repeated.at);
        writeln!(out, "{line}: {} repeated", repeated.key).unwrap();
    }
    out
}

fn whole(address: &Address<'_>) -> String {
    let Address { scheme, host, rest } = address;
    format!("{scheme}|{host}|{rest}")
}

/// Each sample says what its snapshot lists; a format without a sample fails.
#[test]
fn sus_23_33_each_sample_reads_as_listed() {
    let samples = samples::lockfiles();
    for sample in &samples {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(sample.path.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| assert_snapshot!("packages", read(&sample.name, &sample.text)));
    }
    for format in FORMATS {
        let has_sample = samples
            .iter()
            .any(|sample| format.names.contains(&&*sample.name));
        assert!(has_sample, "{:?} has no sample", format.names);
    }
}

/// A small file must not become many statements: here, each hash counts for each package.
#[test]
fn sus_23_statements_are_bounded() {
    let lines: String = (0..=MOST_PINS).map(|n| format!("a v{n} h1:x=\n")).collect();
    assert!(super::go_sum::read(&lines).is_err());
    let packages = "[[package]]\nname = \"a\"\nversion = \"1\"\n".repeat(1000);
    let hashes = "\"x\", ".repeat(1000);
    let text = format!("{packages}[metadata.hashes]\na = [{hashes}]\n");
    assert!(super::poetry::read(&text).is_err());
}

/// What no tool writes, and what a reader of another format would make of it.
#[test]
fn sus_23_refused() {
    for (name, text) in [
        ("Cargo.lock", "[[package]]\nname = \"a\"\n"),
        ("Cargo.lock", "[[package]]\nname = \"a\"\nversion = 1\n"),
        ("package-lock.json", "[]"),
        (
            "package-lock.json",
            "{\"packages\": {\"node_modules/a\": {\"version\": 1}}}",
        ),
        (
            "package-lock.json",
            "{\"packages\": {\"node_modules/a\": {\"integrity\": [\"x\"]}}}",
        ),
        ("yarn.lock", ""),
        ("yarn.lock", "a: 1\n"),
        (
            "yarn.lock",
            "# yarn lockfile v1\na@1:\n  version \"1\"\n   x \"2\"\n",
        ),
        ("yarn.lock", "# yarn lockfile v1\n  version \"1\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1:\n  resolved \"x\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1\n  version \"1\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1:\n  version: \"1\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1:\n\tversion \"1\"\n"),
        (
            "yarn.lock",
            "__metadata:\n  version: 8\n\na@npm:1:\n  version: 1\n",
        ),
        ("pnpm-lock.yaml", "packages: {}\n"),
        (
            "pnpm-lock.yaml",
            "lockfileVersion: '9.0'\npackages:\n  a@1:\n    resolution: x\n",
        ),
        (
            "uv.lock",
            "[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { ftp = \"x\" }\n",
        ),
        (
            "poetry.lock",
            "[[package]]\nname = \"a\"\nversion = \"1\"\n[package.source]\ntype = \"x\"\nurl = \"y\"\n",
        ),
        ("go.sum", "a v1.0.0\n"),
        ("go.sum", "a v1.0.0 h1:x= y\n"),
        ("Gemfile.lock", "GEMS\n  specs:\n"),
        ("Gemfile.lock", "  specs:\n"),
        ("Gemfile.lock", "GEM\n  specs:\n    a (1) x\n"),
        (
            "Gemfile.lock",
            "CHECKSUMS\n  a (1) sha256=x\n  a (1) sha256=y\n",
        ),
    ] {
        let shown = read(name, text);
        assert!(shown.starts_with('!'), "{name} {text:?}: {shown}");
    }
}

#[test]
fn sus_23_addresses() {
    let show = |text: &'static str| {
        let address = Address::new(text);
        let insecure = if address.is_insecure() {
            " insecure"
        } else {
            ""
        };
        format!("{}{insecure}", whole(&address))
    };
    let texts = [
        "https://Registry.Example:8443/a?b#c",
        "HTTP://registry.example",
        "git+https://user@code.example/a",
        "git@code.example:team/a",
        "github:team/a",
        "git://code.example/a",
        "https://registry.example\\@evil.example/a",
        "https://registry.example\t.evil.example/a",
        "https:///a",
        "registry.example/a",
        "",
    ];
    assert_snapshot!(texts.map(show).join("\n"), @r#"
    https|registry.example:8443|/a?b#c
    http|registry.example| insecure
    git+https|user@code.example|/a
    ssh|git@code.example|team/a
    github||team/a
    git|code.example|/a insecure
    |https://registry.example\@evil.example/a| insecure
    |https://registry.example	.evil.example/a| insecure
    |https:///a| insecure
    |registry.example/a| insecure
    || insecure
    "#);
}
