//! Rules over the text of single files.

use super::{Finding, Source};

/// Longest Rust file, its tests left out. About 400 is aimed at.
const MAX_LINES: usize = 600;

/// Folders in which no registry may be named: images come from packages and our own source.
const IMAGE_FOLDERS: [&str; 3] = ["images/", "profiles/", "crates/image-builder/"];

/// The one file that may hold unsafe code: the porter's syscall probes.
const UNSAFE_FILE: &str = "crates/porter/src/syscall.rs";

/// Checks one file.
pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    let mut report = |line: usize, rule: &'static str, message: String| {
        findings.push(Finding {
            path: source.path.clone(),
            line,
            rule,
            message,
        });
    };
    let path = source.path.as_str();
    if IMAGE_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        for (number, line) in numbered(&source.text) {
            for host in registry_hosts() {
                if line.contains(&host) {
                    report(
                        number,
                        "no-registry",
                        format!("names the registry `{host}`"),
                    );
                }
            }
        }
    }
    if is_prose_or_code(path) {
        for (number, line) in numbered(&source.text) {
            if line.ends_with([' ', '\t', '\r']) {
                report(number, "whitespace", "ends with white space".to_owned());
            }
        }
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            report(0, "whitespace", "does not end with a line feed".to_owned());
        }
    }
    if path.ends_with(".rs") {
        check_rust(path, &source.text, &mut report);
    }
}

fn check_rust(path: &str, text: &str, report: &mut impl FnMut(usize, &'static str, String)) {
    if !text.starts_with("//!") {
        report(1, "module-doc", "a module starts with `//!`".to_owned());
    }
    let length = product_lines(path, text);
    if length > MAX_LINES {
        report(
            0,
            "length",
            format!("{length} lines without tests, the limit is {MAX_LINES}"),
        );
    }
    // This file names what it forbids.
    if path == file!() {
        return;
    }
    for (number, line) in numbered(text) {
        let code = code(line);
        for (needle, message) in FORBIDDEN {
            if code.contains(needle) {
                report(number, "forbidden", format!("`{needle}`: {message}"));
            }
        }
        if path != UNSAFE_FILE && code.contains("unsafe_code") {
            report(
                number,
                "unsafe",
                format!("unsafe code is only in {UNSAFE_FILE}"),
            );
        }
    }
}

/// Reports files that no module declares: the compiler skips them without a warning.
pub(super) fn check_forgotten_modules(sources: &[Source], findings: &mut Vec<Finding>) {
    let text = |path: &str| {
        let source = sources.iter().find(|source| source.path == path);
        source.map(|source| source.text.as_str())
    };
    for source in sources {
        let Some((folder, name)) = module(&source.path) else {
            continue;
        };
        let parents = [
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
            format!("{folder}/mod.rs"),
            format!("{folder}.rs"),
        ];
        let mut texts = parents.iter().filter_map(|path| text(path)).peekable();
        // Without any of them it is a program of its own: a build script, a `src/bin`.
        if texts.peek().is_some() && !texts.any(|text| declares(text, name)) {
            findings.push(Finding {
                path: source.path.clone(),
                line: 0,
                rule: "forgotten",
                message: format!("no module declares `{name}`"),
            });
        }
    }
}

/// Folder of the parent module and name of the module that a file is; roots are none.
fn module(path: &str) -> Option<(&str, &str)> {
    let path = path
        .strip_suffix("/mod.rs")
        .or_else(|| path.strip_suffix(".rs"))?;
    let (folder, name) = path.rsplit_once('/')?;
    (!["lib", "main", "build"].contains(&name)).then_some((folder, name))
}

fn declares(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let declaration = line
            .trim()
            .strip_suffix(';')
            .and_then(|line| line.strip_suffix(name));
        declaration.is_some_and(|start| start.ends_with("mod "))
    })
}

/// Users read what changed in a section of its own.
pub(super) fn check_changelog(sources: &[Source], findings: &mut Vec<Finding>) {
    let changelog = sources.iter().find(|source| source.path == "CHANGELOG.md");
    let lines = changelog
        .map(|source| source.text.as_str())
        .unwrap_or_default();
    if !lines.lines().any(|line| line == "## Unreleased") {
        findings.push(Finding {
            path: "CHANGELOG.md".to_owned(),
            line: 0,
            rule: "changelog",
            message: "has no section `## Unreleased`".to_owned(),
        });
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n')
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

/// Snapshots and test data may hold what they like.
fn is_prose_or_code(path: &str) -> bool {
    [".rs", ".md", ".toml", ".yml", ".json", ".sh"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Lines up to the unit tests; none in a file that is all tests.
fn product_lines(path: &str, text: &str) -> usize {
    if path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs") {
        return 0;
    }
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "));
    tests.unwrap_or(lines.len())
}

/// A line without its comment. A `//` inside a string cuts too much, which hides nothing
/// that matters here.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Attributes that no lint forbids altogether.
const FORBIDDEN: [(&str, &str); 2] = [
    ("#[ignore", "a test that does not run proves nothing"),
    ("#[should_panic", "assert on the result instead"),
];

/// Registries, in pieces.
fn registry_hosts() -> [String; 10] {
    [
        "docker io",
        "ghcr io",
        "quay io",
        "gcr io",
        "crates io",
        "deb debian org",
        "npmjs org",
        "npmjs com",
        "pypi org",
        "ecr aws",
    ]
    .map(|pieces| pieces.replace(' ', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(path: &str, text: &str, expected: &[&str]) {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let mut findings = Vec::new();
        check(&source, &mut findings);
        let found: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}:{}", finding.line, finding.rule))
            .collect();
        assert_eq!(found, expected, "{findings:?}");
    }

    #[test]
    fn each_rule_has_a_file_that_breaks_it() {
        check_file("a.rs", "//! Doc.\nfn f() {}\n", &[]);
        check_file("a.rs", "fn f() {}\n", &["1:module-doc"]);
        check_file(
            "a.rs",
            "//! Doc. \nfn f() {}",
            &["1:whitespace", "0:whitespace"],
        );
        check_file("a.rs", "//! Doc.\n#[expect(unsafe_code)]\n", &["2:unsafe"]);
        check_file("a.rs", "//! Doc.\n// unsafe_code is fine in prose\n", &[]);
        check_file(UNSAFE_FILE, "//! Doc.\n#[expect(unsafe_code)]\n", &[]);
        check_file("a.rs", "//! Doc.\n#[ignore]\n", &["2:forbidden"]);
        check_file(
            "images/a/image.toml",
            &format!("base = \"{}/debian\"\n", registry_hosts()[0]),
            &["1:no-registry"],
        );
        check_file("a.toml", &format!("{}\n", registry_hosts()[4]), &[]);
        check_file("data.tar", "x ", &[]);
    }

    #[test]
    fn tests_do_not_count_as_length() {
        let long = "x\n".repeat(MAX_LINES);
        check_file("a.rs", &format!("//! Doc.\n{long}"), &["0:length"]);
        check_file("crates/a/tests/it/a.rs", &format!("//! Doc.\n{long}"), &[]);
        check_file(
            "a.rs",
            &format!("//! Doc.\n#[cfg(test)]\nmod tests {{\n{long}}}\n"),
            &[],
        );
    }

    #[test]
    fn a_file_that_no_module_declares_is_found() {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let sources = [
            source("crates/a/build.rs", ""),
            source("crates/a/src/lib.rs", "pub(crate) mod one;\nmod other;\n"),
            source("crates/a/src/one.rs", "mod part;\n"),
            source("crates/a/src/one/part.rs", ""),
            source("crates/a/src/other/mod.rs", ""),
            source("crates/a/src/other/lost.rs", ""),
            source("crates/a/src/bin/program.rs", ""),
            source("crates/a/tests/it/main.rs", "mod one;\n"),
            source("crates/a/tests/it/one.rs", ""),
            source("crates/a/tests/it/two/mod.rs", ""),
        ];
        let mut findings = Vec::new();
        check_forgotten_modules(&sources, &mut findings);
        let found: Vec<&str> = findings
            .iter()
            .map(|finding| finding.path.as_str())
            .collect();
        assert_eq!(
            found,
            ["crates/a/src/other/lost.rs", "crates/a/tests/it/two/mod.rs"]
        );
    }
}
