//! A command line that can't be understood: exit code 2, before anything else happens.

use insta::assert_snapshot;

use crate::support::TestEnvironment;

#[test]
fn usage_errors_exit_with_2() {
    let env = TestEnvironment::new();
    for arguments in [
        "",
        "nonsense",
        "run",
        "run base --apply maybe",
        "run base --timeout 5",
        "run base --timeout 0s",
        "run base -e PATH",
        "run base -e 1X=1",
        "run base --name Upper",
        "diff ../../etc",
        "show -- -rf",
        "profile",
        "profile check",
        "image build --force",
        "completions tcsh",
        "man a b",
        "-q -v ls",
        "--engine ssh://-host image ls",
        "--engine nonsense doctor",
    ] {
        let outcome = env.run_words(
            &arguments
                .split(' ')
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>(),
        );
        assert_eq!(outcome.code, 2, "{arguments}: {outcome}");
        assert!(outcome.stdout.is_empty(), "{arguments}: {outcome}");
    }
}

#[test]
fn lazaret_alone_prints_its_help() {
    let outcome = TestEnvironment::new().run_words(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(
        outcome.stderr.starts_with("Runs a coding agent"),
        "{outcome}"
    );
    assert!(!outcome.stderr.contains("error:"), "{outcome}");
}

#[test]
fn a_policy_is_checked_for_https_if_no_port_is_named() {
    let env = TestEnvironment::new();
    for target in ["api.anthropic.com", "api.anthropic.com:443"] {
        let outcome = env.run(&format!("policy check claude {target}"));
        assert_eq!(outcome.code, 0, "{outcome}");
    }
    let outcome = env.run("policy check claude example.org");
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(!outcome.stdout.contains("port is missing"), "{outcome}");
}

#[test]
fn a_usage_error_says_what_is_expected() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.run("run base --timeout 5"), @r#"
    exit 2
    --- stderr
    error: invalid value '5' for '--timeout <TIME>': found "5", expected a span of time such as "90s", "5m" or "2h" (units: s, m, h, d)

    For more information, try '--help'.
    [EOF]
    "#);
    assert_snapshot!(env.run("run base --name Upper"), @r#"
    exit 2
    --- stderr
    error: invalid value 'Upper' for '--name <NAME>': "Upper" is not a valid session name: expected a lower-case letter or digit, then those and `-`, at most 36 in all

    For more information, try '--help'.
    hint: `--name upper` is one.
    [EOF]
    "#);
    assert_snapshot!(env.run("run base -e PATH"), @"
    exit 2
    --- stderr
    error: profile base has no command of its own
    hint: Name one: `lazaret run base -- CMD …`.
    [EOF]
    ");
}

#[test]
fn what_was_meant_is_named() {
    let env = TestEnvironment::new();
    for (words, hint) in [
        (
            &["run", "base", "make", "check"][..],
            "hint: A command stands behind `--`: `lazaret run base -- make check`.",
        ),
        (
            &["start", "base", "/usr"],
            "hint: `-w /usr` names a workspace.",
        ),
        (
            &["run", "base", "--name", "My Session"],
            "hint: `--name my-session` is one.",
        ),
    ] {
        let outcome = env.run_words(words);
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(outcome.stderr.contains(hint), "{outcome}");
    }
}

#[test]
fn a_usage_error_is_json_when_json_was_asked_for() {
    let env = TestEnvironment::new();
    let outcome = env.run("--json ls --foo");
    let object: serde_json::Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(object["error"]["kind"], "usage");
    assert_eq!(object["error"]["exit_code"], 2);
    assert!(outcome.stdout.is_empty());
}

#[test]
fn ui_01_what_was_typed_is_shown_escaped() {
    let env = TestEnvironment::new();
    let outcome = env.run_words(&["run", "base", "--name", "\u{1b}]52;c;aGk=\u{7}"]);
    assert_eq!(outcome.code, 2);
    assert!(!outcome.stderr.contains('\u{1b}'), "{outcome}");
}
