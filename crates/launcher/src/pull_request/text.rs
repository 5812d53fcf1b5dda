//! `RequestText`: what a pull request says, as a command left it or as its commits say it.

use serde::Deserialize;

use super::branch_name::{BranchName, BranchNameError};
use lazaret_session::store::request_text::MAX_BYTES;

/// The longest title, in characters.
const MAX_TITLE: usize = 256;
/// The longest body, in bytes.
const MAX_BODY: usize = 64 << 10;
/// The most labels.
const MAX_LABELS: usize = 20;
/// The longest label, in characters.
const MAX_LABEL: usize = 100;

/// What a pull request says.
///
/// Invariants: the title is one line without control characters; the body has no control
/// characters but line feeds and tabs; a label has no control characters, commas or quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestText {
    pub(crate) title: String,
    pub(crate) body: String,
    /// The branch that it is to be merged into, if the text names one.
    pub(crate) base: Option<BranchName>,
    pub(crate) draft: bool,
    pub(crate) labels: Vec<String>,
}

/// Why a text is none for a pull request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TextError {
    /// The file is too large.
    #[error("it has more than {} KiB", MAX_BYTES >> 10)]
    Large,
    /// It is no JSON of the expected form.
    #[error("expected JSON such as {{\"title\": \"…\", \"body\": \"…\"}}")]
    Json(#[from] serde_json::Error),
    /// The title can't be used.
    #[error("the title {0}")]
    Title(&'static str),
    /// The body can't be used.
    #[error("the body {0}")]
    Body(&'static str),
    /// The base can't be used.
    #[error("the base is {0}")]
    Base(#[from] BranchNameError),
    /// The labels can't be used.
    #[error("{0}")]
    Labels(&'static str),
}

/// The file, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawText {
    title: String,
    body: String,
    base: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    labels: Vec<String>,
}

impl RequestText {
    /// Reads the file that a command left.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(crate) fn parse(file: &[u8]) -> Result<Self, TextError> {
        if file.len() as u64 > MAX_BYTES {
            return Err(TextError::Large);
        }
        let raw: RawText = serde_json::from_slice(file)?;
        check_labels(&raw.labels)?;
        let base = raw.base.map(|base| base.parse()).transpose()?;
        Ok(Self {
            base,
            draft: raw.draft,
            labels: raw.labels,
            ..Self::new(&raw.title, &raw.body)?
        })
    }

    /// Makes a text of a title and a body alone. Blanks around them go.
    ///
    /// # Errors
    /// The first rule that they break.
    pub(crate) fn new(title: &str, body: &str) -> Result<Self, TextError> {
        let title = title.trim();
        if title.is_empty() {
            return Err(TextError::Title("is empty"));
        }
        if title.contains(char::is_control) {
            return Err(TextError::Title(
                "holds a line break or a control character",
            ));
        }
        if title.chars().count() > MAX_TITLE {
            return Err(TextError::Title("has more than 256 characters"));
        }
        let body = body.replace("\r\n", "\n");
        let body = body.trim_end();
        if body.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(TextError::Body("holds a control character"));
        }
        if body.len() > MAX_BODY {
            return Err(TextError::Body("has more than 64 KiB"));
        }
        Ok(Self {
            title: title.to_owned(),
            body: body.to_owned(),
            base: None,
            draft: false,
            labels: Vec::new(),
        })
    }

    /// Makes a text of the subjects of commits, newest first: the newest is the title, the others
    /// are the body, oldest first. `branch` is the title if there is no subject. Characters and
    /// lengths that a text can't have are made to fit.
    pub(crate) fn of_subjects(subjects: &[String], branch: &str) -> Self {
        let lines: Vec<String> = subjects.iter().map(|subject| one_line(subject)).collect();
        let mut lines = lines.iter().filter(|line| !line.is_empty());
        let title = lines.next().cloned();
        let body: Vec<String> = lines.rev().map(|line| format!("- {line}")).collect();
        Self {
            title: title.unwrap_or_else(|| one_line(branch)),
            body: body.join("\n"),
            base: None,
            draft: false,
            labels: Vec::new(),
        }
    }
}

fn check_labels(labels: &[String]) -> Result<(), TextError> {
    if labels.len() > MAX_LABELS {
        return Err(TextError::Labels("there are more than 20 labels"));
    }
    let is_odd = |c: char| c.is_control() || matches!(c, ',' | '"');
    for label in labels {
        if label.trim().is_empty() || label.chars().count() > MAX_LABEL {
            return Err(TextError::Labels(
                "a label is empty or has more than 100 characters",
            ));
        }
        if label.contains(is_odd) {
            return Err(TextError::Labels(
                "a label holds a comma, a quote or a control character",
            ));
        }
    }
    Ok(())
}

/// Makes text fit into a title.
fn one_line(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = plain.take(MAX_TITLE).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read() {
        let file = br#"{"title": " Fix it ", "body": "one\r\n\ttwo\n\n", "base": "main",
            "draft": true, "labels": ["bug", "good first issue"]}"#;
        assert_eq!(
            RequestText::parse(file).unwrap(),
            RequestText {
                title: "Fix it".to_owned(),
                body: "one\n\ttwo".to_owned(),
                base: Some("main".parse().unwrap()),
                draft: true,
                labels: vec!["bug".to_owned(), "good first issue".to_owned()],
            }
        );
        let least = RequestText::parse(br#"{"title": "--force", "body": ""}"#).unwrap();
        assert_eq!(least, RequestText::new("--force", "").unwrap());
        let title = "ü".repeat(256);
        let body = "x".repeat(64 << 10);
        let largest = serde_json::json!({ "title": title, "body": body }).to_string();
        assert_eq!(RequestText::parse(largest.as_bytes()).unwrap().body, body);
    }

    #[track_caller]
    fn refused(file: &str, why: &str) {
        let error = RequestText::parse(file.as_bytes()).expect_err(file);
        assert_eq!(error.to_string(), why, "{file}");
    }

    #[test]
    fn git_30_a_text_that_breaks_a_rule_is_refused_by_name() {
        let json = "expected JSON such as {\"title\": \"…\", \"body\": \"…\"}";
        for file in [
            "",
            "[]",
            "{}",
            r#"{"title": "a"}"#,
            r#"{"title": 1, "body": ""}"#,
            r#"{"title": "a", "body": "", "web": true}"#,
            r#"{"title": "a", "title": "b", "body": ""}"#,
            r#"{"title": "a", "body": ""} x"#,
        ] {
            refused(file, json);
        }
        let control = "the title holds a line break or a control character";
        for (title, why) in [
            (r" \n ", "the title is empty"),
            (r"a\nb", control),
            (r"a\rb", control),
            (r"a\u001b]0;x\u0007", control),
            (r"a\u009bb", control),
            (r"a\u0000b", control),
            (&"x".repeat(257), "the title has more than 256 characters"),
        ] {
            refused(&format!(r#"{{"title": "{title}", "body": ""}}"#), why);
        }
        let control = "the body holds a control character";
        for (body, why) in [
            (r"\u001b[2J", control),
            (r"a\rb", control),
            (r"a\u0000", control),
            (&"x".repeat((64 << 10) + 1), "the body has more than 64 KiB"),
        ] {
            refused(&format!(r#"{{"title": "a", "body": "{body}"}}"#), why);
        }
        for base in ["--force", "a..b", "main:x", "", "a b"] {
            let file = format!(r#"{{"title": "a", "body": "", "base": "{base}"}}"#);
            refused(&file, "the base is not a name that git takes for a branch");
        }
        let odd = "a label holds a comma, a quote or a control character";
        let long = format!("\"{}\"", "x".repeat(101));
        let many = vec!["\"a\""; 21].join(",");
        for (labels, why) in [
            (r#""a,b""#, odd),
            (r#""a\"b""#, odd),
            (r#""a\nb""#, odd),
            (r#"" ""#, "a label is empty or has more than 100 characters"),
            (&long, "a label is empty or has more than 100 characters"),
            (&many, "there are more than 20 labels"),
        ] {
            let file = format!(r#"{{"title": "a", "body": "", "labels": [{labels}]}}"#);
            refused(&file, why);
        }
        refused(&" ".repeat((256 << 10) + 1), "it has more than 256 KiB");
    }

    #[test]
    fn commits_make_a_text() {
        let of = |subjects: &[&str]| {
            let subjects: Vec<String> = subjects.iter().map(|&one| one.to_owned()).collect();
            let text = RequestText::of_subjects(&subjects, "lazaret/shop/fix");
            // It keeps the rules of every text.
            RequestText::new(&text.title, &text.body).unwrap();
            (text.title, text.body)
        };
        assert_eq!(of(&["b", "a"]), ("b".to_owned(), "- a".to_owned()));
        assert_eq!(of(&["c", "b", "a"]).1, "- a\n- b");
        assert_eq!(of(&[]), ("lazaret/shop/fix".to_owned(), String::new()));
        assert_eq!(of(&["\u{1b}[2J", "a"]).0, "[2J");
        assert_eq!(of(&["\u{7}", "a"]).0, "a");
        assert_eq!(of(&[&"x".repeat(1000)]).0.len(), 256);
    }
}
