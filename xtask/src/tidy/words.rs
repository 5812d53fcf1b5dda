//! Words that no text of the repository uses: those that hide who acts, and names that the code
//! no longer has.
//!
//! `docs/contributing/voice.md` says what to write instead of the first: the launcher, the porter,
//! the agent, the user, another process.

use super::{Finding, Source};

/// In two pieces each, so that this file does not break its own rule.
const BANNED: [[&str; 2]; 4] = [
    ["no", "body"],
    ["some", "body"],
    ["any", "body"],
    ["who", "ever"],
];

/// Names that the code had for a type or a step before it was named by what it does, in two
/// pieces each. None of them is a word of the field, so none has another meaning here.
const RENAMED: [[&str; 2]; 20] = [
    ["be", "longings"],
    ["bench", "error"],
    ["ch", "ores"],
    ["engine", "memory"],
    ["fo", "oting"],
    ["ground", "answer"],
    ["hat", "ched"],
    ["lent", "event"],
    ["lent", "file"],
    ["lent", "mode"],
    ["look", "error"],
    ["odd", "type"],
    ["out", "wait"],
    ["paus", "able"],
    ["place", "file"],
    ["sealed", "error"],
    ["sh", "elf"],
    ["st", "ance"],
    ["update", "order"],
    ["watch", "dog"],
];

/// Files whose text is quoted from elsewhere, or names the words in order to ban them.
const QUOTES: [&str; 2] = ["Cargo.lock", "docs/contributing/voice.md"];

/// Names each line of a file with a banned word.
pub(super) fn check(source: &Source, findings: &mut Vec<Finding>) {
    if QUOTES.contains(&source.path.as_str()) || !is_text_of_ours(&source.path) {
        return;
    }
    for (index, line) in source.text.lines().enumerate() {
        let unclear = banned_word(line, &BANNED).map(|word| (word, "does not name the actor"));
        let renamed = banned_word(line, &RENAMED).map(|word| (word, "has another name now"));
        for (word, why) in unclear.into_iter().chain(renamed) {
            findings.push(Finding {
                path: source.path.clone(),
                line: index + 1,
                rule: "words",
                message: format!("`{word}` {why}"),
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

/// Returns the first word of a line that is in `list`, in lower case.
fn banned_word(line: &str, list: &[[&str; 2]]) -> Option<String> {
    let words = line.split(|c: char| !c.is_ascii_alphabetic());
    words
        .map(str::to_ascii_lowercase)
        .find(|word| list.iter().any(|pieces| pieces.concat() == *word))
}

#[test]
fn a_word_is_found_in_prose_and_in_identifiers() {
    let word = BANNED[0].concat();
    for line in [
        format!("// {word} reads it"),
        format!("fn {word}_waits() {{}}"),
    ] {
        let found = banned_word(&line, &BANNED);
        assert_eq!(found.as_deref(), Some(word.as_str()), "{line}");
    }
    assert_eq!(banned_word("the launcher reads it", &BANNED), None);
    assert_eq!(banned_word(&format!("{word}s"), &BANNED), None);
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
