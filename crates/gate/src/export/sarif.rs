//! SARIF 2.1.0 (OASIS): the findings of a batch, for the code scanning of a forge.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use lazaret_tree::Severity;
use lazaret_validator::{Finding, Subject, catalog};
use serde::Serialize;

use super::report_input::ReportInput;

/// Where the schema of the form is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The root of the candidate, from which artifacts are named.
const ROOT: &str = "%SRCROOT%";

/// The whole log: one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    invocations: [Invocation; 1],
    column_kind: &'static str,
    results: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Text,
    help: Text,
}

#[derive(Debug, Serialize)]
struct Text {
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
}

/// A `result` object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    uri_base_id: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

#[derive(Debug, Serialize)]
struct Suppression {
    kind: &'static str,
}

impl SarifLog {
    /// Describes the findings of a batch; the codes are the ids of the rules.
    pub fn new(input: &ReportInput<'_>) -> Self {
        let codes: BTreeSet<&'static str> = input.findings.iter().map(|found| found.code).collect();
        let codes: Vec<&'static str> = codes.into_iter().collect();
        let results = input
            .findings
            .iter()
            .map(|finding| Found::new(finding, &codes));
        Self {
            schema: SCHEMA,
            version: "2.1.0",
            runs: [Run {
                results: results.collect(),
                tool: Tool {
                    driver: Driver {
                        name: "lazaret",
                        semantic_version: env!("CARGO_PKG_VERSION"),
                        rules: codes.iter().map(|code| Rule::new(code)).collect(),
                    },
                },
                invocations: [Invocation {
                    execution_successful: true,
                }],
                column_kind: "unicodeCodePoints",
            }],
        }
    }
}

impl Rule {
    fn new(code: &'static str) -> Self {
        let entry = catalog().iter().find(|entry| entry.code == code);
        let reason = entry.map_or(code, |entry| entry.reason);
        Self {
            id: code,
            short_description: Text {
                text: reason.to_owned(),
            },
            help: Text {
                text: format!("`lazaret rules {code}` explains it."),
            },
        }
    }
}

impl Found {
    fn new(finding: &Finding, codes: &[&'static str]) -> Self {
        let hint = finding.hint.map(|hint| format!(" {hint}"));
        let text = format!(
            "{}: {}.{}",
            finding.subject,
            finding.message,
            hint.unwrap_or_default()
        );
        let suppression = Suppression { kind: "external" };
        Self {
            rule_id: finding.code,
            rule_index: codes.binary_search(&finding.code).unwrap_or_default(),
            level: match finding.severity {
                Severity::Block => "error",
                Severity::Warn => "warning",
                Severity::Note => "note",
            },
            message: Text { text },
            locations: [Location {
                physical_location: PhysicalLocation {
                    artifact_location: ArtifactLocation {
                        uri: uri(&finding.subject),
                        uri_base_id: ROOT,
                    },
                    region: finding.line.map(|start_line| Region { start_line }),
                },
            }],
            suppressions: finding.allowed.then_some(suppression).into_iter().collect(),
        }
    }
}

/// Returns the relative reference of what a finding is about (RFC 3986); `.` for the batch.
fn uri(subject: &Subject) -> String {
    let name = match subject {
        Subject::Batch => b".".as_slice(),
        Subject::Path(path) => path.as_str().as_bytes(),
        Subject::Raw(name) => name,
    };
    let mut uri = String::new();
    for &byte in name {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            // A string takes everything.
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use lazaret_validator::Subject;

    use super::uri;

    #[test]
    fn names_are_relative_references() {
        let path = |path: &str| uri(&Subject::Path(path.parse().unwrap()));
        assert_eq!(path("src/main.rs"), "src/main.rs");
        assert_eq!(path("a b/ä:#?%.js"), "a%20b/%C3%A4%3A%23%3F%25.js");
        assert_eq!(uri(&Subject::Raw(b"\xff\n".to_vec())), "%FF%0A");
        assert_eq!(uri(&Subject::Batch), ".");
    }
}
