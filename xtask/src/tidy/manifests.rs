//! Rules over the manifests: every crate takes lints, versions and package fields from
//! the workspace.

use super::{Finding, Source};

/// Fields that a member's `[package]` inherits.
const INHERITED: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

/// Checks one file, if it is a member's manifest.
pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if !source.path.ends_with("/Cargo.toml") {
        return;
    }
    let mut report = |line: usize, message: String| {
        findings.push(Finding {
            path: source.path.clone(),
            line,
            rule: "manifest",
            message,
        });
    };
    let lines = Vec::from_iter(source.text.lines().map(str::trim));
    if !lines
        .windows(2)
        .any(|pair| pair == ["[lints]", "workspace = true"])
    {
        report(0, "does not inherit the workspace's lints".to_owned());
    }
    for field in INHERITED {
        if !lines.contains(&format!("{field}.workspace = true").as_str()) {
            report(0, format!("`{field}` does not come from the workspace"));
        }
    }
    let mut in_dependencies = false;
    for (index, line) in lines.iter().enumerate() {
        if let Some(table) = line.strip_prefix('[') {
            in_dependencies = table.trim_end_matches(']').ends_with("dependencies");
        } else if in_dependencies
            && line.contains('=')
            && !line.starts_with('#')
            && !line.contains("workspace = true")
        {
            report(index + 1, format!("a version of its own: `{line}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n\
        [dependencies]\nserde.workspace = true\ntoml = { workspace = true, optional = true }\n\
        [lints]\nworkspace = true\n";

    #[track_caller]
    fn check_manifest(text: &str, expected: &[&str]) {
        let source = Source {
            path: "crates/a/Cargo.toml".to_owned(),
            text: text.to_owned(),
        };
        let mut findings = Vec::new();
        check(&source, &mut findings);
        let found: Vec<&str> = findings
            .iter()
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_does_not_come_from_the_workspace_is_found() {
        check_manifest(GOOD, &[]);
        check_manifest(
            &GOOD.replace("serde.workspace = true", "serde = \"1\""),
            &["a version of its own: `serde = \"1\"`"],
        );
        check_manifest(
            &GOOD.replace("[lints]\nworkspace = true\n", ""),
            &["does not inherit the workspace's lints"],
        );
        check_manifest(
            &GOOD.replace("edition.workspace = true", "edition = \"2024\""),
            &["`edition` does not come from the workspace"],
        );
    }
}
