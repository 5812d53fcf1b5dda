//! Words that no text of the repository uses, because they hide who acts.
//!
//! `docs/contributing/voice.md` says what to write instead: the launcher, the porter, the agent,
//! the user, another process.

use super::{Finding, Source};

/// In two pieces each, so that this file does not break its own rule.
const BANNED: [[&str; 2]; 4] = [
    ["no", "body"],
    ["some", "body"],
    ["any", "body"],
    ["who", "ever"],
];

/// Files whose text is quoted from elsewhere, or names the words in order to ban them.
const QUOTES: [&str; 2] = ["Cargo.lock", "docs/contributing/voice.md"];

/// Names each line of a file with a banned word.
pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if QUOTES.contains(&source.path.as_str()) || !is_text_of_ours(&source.path) {
        return;
    }
    for (index, line) in source.text.lines().enumerate() {
        if let Some(word) = banned_word(line) {
            findings.push(Finding {
                path: source.path.clone(),
                line: index + 1,
                rule: "words",
                message: format!("`{word}` does not name the actor"),
            });
        }
    }
}

/// Returns true for prose, code, configuration and snapshots of output; data is left out.
fn is_text_of_ours(path: &str) -> bool {
    let is_data = path.contains("/samples/") || path.starts_with("tests/corpus/");
    let endings = [".rs", ".md", ".toml", ".yml", ".sh", ".snap"];
    !is_data && endings.iter().any(|ending| path.ends_with(ending))
}

/// Returns the first banned word of a line, in lower case.
fn banned_word(line: &str) -> Option<String> {
    let words = line.split(|c: char| !c.is_ascii_alphabetic());
    words
        .map(str::to_ascii_lowercase)
        .find(|word| BANNED.iter().any(|pieces| pieces.concat() == *word))
}

#[test]
fn a_word_is_found_in_prose_and_in_identifiers() {
    let word = BANNED[0].concat();
    for line in [
        format!("// {word} reads it"),
        format!("fn {word}_waits() {{}}"),
    ] {
        assert_eq!(banned_word(&line).as_deref(), Some(word.as_str()), "{line}");
    }
    assert_eq!(banned_word("the launcher reads it"), None);
    assert_eq!(banned_word(&format!("{word}s")), None);
}

#[test]
fn data_and_the_voice_guide_may_quote() {
    let mut findings = Vec::new();
    let text = format!("{}\n", BANNED[1].concat());
    for path in [
        "docs/contributing/voice.md",
        "tests/corpus/a.md",
        "logo.svg",
    ] {
        let path = path.to_owned();
        check(
            &Source {
                path,
                text: text.clone(),
            },
            &mut findings,
        );
    }
    assert_eq!(findings, []);
    let path = "docs/README.md".to_owned();
    check(&Source { path, text }, &mut findings);
    assert_eq!(findings.len(), 1);
}
