//! Secrets in what a change brings. Each kind has its hit and its near miss beside the
//! table; here is what is said of them, and when.

use insta::assert_snapshot;

use crate::{check, verdict};

/// In pieces, so that no secret scanner reports these.
const AWS: &str = concat!("AK", "IAQ2ZRX7TVDW5S3JN6");
const GITHUB: &str = concat!("gh", "p_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA2cD4");
const PEM: &str = concat!("-----BEGIN RSA PRIVATE ", "KEY-----");
const BODY: &str = "MIIEpAIBAAKCAQEAq7BFUpkGp3xLQmlQ";
const OTHER_BODY: &str = "MIIEowIBAAKCAQEAvWqWqTFNAbCnxyZ0";

#[test]
fn sus_28_kind_path_and_line_and_nothing_of_it() {
    let text = format!(
        "f a \"x\\n\\nid = {AWS}\\n\"\nf b \"token = \\\"{GITHUB}\\\"\\n{AWS} {AWS}\\n\"\n\
         f c \"\\0\\0{GITHUB}\"\nf key \"{PEM}\\n{BODY}\\n\""
    );
    let found = check("", &text);
    for secret in [AWS, GITHUB, BODY] {
        for part in 0..secret.len() - 6 {
            assert!(!found.contains(&secret[part..part + 6]), "{found}");
        }
    }
    assert_snapshot!(found, @"
    warn secret.aws_access_key a:3: looks like an AWS access key id
    warn secret.github_token b:1: looks like a GitHub token
    warn secret.aws_access_key b:2: looks like an AWS access key id
    warn secret.github_token c:1: looks like a GitHub token
    warn secret.private_key key:1: looks like a private key
    = needs review
    + a
    + b
    + c
    + key
    ");
}

#[test]
fn sus_28_only_what_the_change_brings() {
    let before = format!("f a \"one\\n{AWS}\\n{PEM}\\n{BODY}\\n\"");
    // Elsewhere in the file, on a line with more, and with other line ends.
    for after in [
        format!("f a \"{AWS}\\none\\n{PEM}\\n{BODY}\\n\""),
        format!("f a \"two\\nkey: {AWS} # used in CI\\n{PEM}\\n{BODY}\\n\""),
        format!("f a \"one\\r\\n{AWS}\\r\\n{PEM}\\r\\n{BODY}\\r\\n\""),
        "f a \"one\"".to_owned(),
    ] {
        assert_eq!(check(&before, &after), "= clean\n~ a\n", "{after}");
    }
    // The same header, another key.
    let after = before.replace(BODY, OTHER_BODY);
    assert_snapshot!(check(&before, &after), @"
    warn secret.private_key a:3: looks like a private key
    = needs review
    ~ a
    ");
    // In another file it is new.
    assert_snapshot!(check(&before, &format!("{before}\nf b \"{AWS}\"")), @"
    warn secret.aws_access_key b:1: looks like an AWS access key id
    = needs review
    + b
    ");
}

#[test]
fn sus_28_deleting_or_making_executable_brings_nothing() {
    let before = format!("f a \"{AWS}\"\nf b \"{AWS}\"");
    let codes: Vec<_> = verdict(&before, &format!("x a \"{AWS}\""))
        .findings
        .iter()
        .map(|finding| finding.code)
        .collect();
    assert_eq!(codes, ["mode.executable"]);
}

#[test]
fn sus_28_passwords_that_are_written_out() {
    assert_snapshot!(check("", r#"
        f config.py "import os\nDB_PASSWORD = \"h7Rt9kQ2wZ\"\nOTHER = os.environ[\"DB_PASSWORD\"]\n"
        f app.yaml "password: ${DB_PASSWORD}\napiKey: 'Zk4nP0qLx8vB'\n"
        f doc.md "Set `TOKEN=<your token>` or `password = \"changeme123\"`.\n"
        f test.rs "assert_eq!(token, \"identifier\");\nlet password = prompt();\n"
        f url "redis://default:h7Rt9kQ2wZ@cache.internal:6379\nhttp://user:password@example.org\n"
        f program "\0secret = \"h7Rt9kQ2wZ4x\""
    "#), @"
    warn secret.assigned app.yaml:2: looks like a password, a key or a token that is written out
    warn secret.assigned config.py:2: looks like a password, a key or a token that is written out
    warn secret.url_password url:1: looks like a password in a URL
    = needs review
    + app.yaml
    + config.py
    + doc.md
    + program
    + test.rs
    + url
    ");
}

#[test]
fn aud_04_a_file_full_of_words_and_secrets() {
    let line = format!("{AWS} password = ");
    let text = line.repeat((8 << 20) / line.len());
    let verdict = verdict("", &format!("f a \"{text}\""));
    assert_eq!(verdict.findings.len(), 1);
    let text = format!("{AWS}\\n").repeat(5000);
    let verdict = crate::verdict("", &format!("f a \"{text}\""));
    assert_eq!(verdict.findings.len(), 11);
}
