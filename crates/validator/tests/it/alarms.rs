//! Ordinary work that stops nothing, and facts that are said once (SUS-39).

use lazaret_validator::{Outcome, Severity};

use crate::{check, verdict};

/// The warnings and blocks.
fn warnings(before: &str, after: &str) -> Vec<String> {
    let findings = verdict(before, after).findings.into_iter();
    let grave = findings.filter(|finding| finding.severity > Severity::Note);
    grave.map(|finding| finding.to_string()).collect()
}

fn stops(before: &str, after: &str) -> bool {
    verdict(before, after).outcome != Outcome::Clean
}

#[test]
fn sus_39_a_test_that_was_renamed_and_grew() {
    let before = r#"f tests/old_test.go "package x\nfunc TestOne(t) {}\nfunc TestTwo(t) {}\n""#;
    for path in ["tests/unit/old_test.go", "tests/new_test.go"] {
        let grown = format!(
            r#"f {path} "package x\nfunc TestOne(t) {{}}\nfunc TestTwo(t) {{}}\nfunc TestThree(t) {{}}\n""#
        );
        assert!(!stops(before, &grown), "{path}: {}", check(before, &grown));
    }
    // Under its name and without its lines it is gone, and so it is among other tests.
    for after in [
        r#"f tests/unit/old_test.go "package x\n""#,
        r#"f tests/new_test.go "package y\nfunc TestOther(t) {}\nfunc Helper() {}\n""#,
    ] {
        let found = warnings(before, after);
        let said = ["warn deleted.test tests/old_test.go: was deleted: a test, by its name"];
        assert_eq!(found, said, "{after}");
    }
}

#[test]
fn sus_39_an_example_of_an_environment_file() {
    for path in [".env.example", "web/.env.sample", ".env.local.example"] {
        let text = r"DATABASE_URL=postgres://user:password@localhost/app\nAPI_KEY=\nSECRET_TOKEN=k3yT0kenF0rLocal9\n";
        let after = format!("f {path} \"{text}\"");
        assert!(!stops("", &after), "{}", check("", &after));
    }
    assert!(stops("", "f .env \"A=1\""));
    // A token is one wherever it is written.
    let token = concat!("gh", "p_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA2cD4");
    assert!(stops("", &format!("f .env.example \"TOKEN={token}\"")));
}

#[test]
fn sus_39_a_password_in_a_test() {
    let text = r#"password = \"h7Rt9kQ2wZ\"\n"#;
    for path in [
        "tests/login.py",
        "src/login_test.go",
        "web/login.spec.ts",
        "testdata/users.toml",
    ] {
        let after = format!("f {path} \"{text}\"");
        assert!(!stops("", &after), "{}", check("", &after));
        assert!(check("", &after).contains("note secret.assigned"), "{path}");
    }
    assert!(stops("", &format!("f src/login.py \"{text}\"")));
}

#[test]
fn sus_39_a_fixture_in_a_conftest() {
    let fixture =
        r#"import pytest\n\n\n@pytest.fixture\ndef user():\n    return {\"name\": \"x\"}\n"#;
    let new = format!("f tests/conftest.py \"{fixture}\"");
    assert!(!stops("", &new), "{}", check("", &new));
    let more = format!(
        "f tests/conftest.py \"{fixture}\\n\\n@pytest.fixture\\ndef other():\\n    return 1\\n\""
    );
    assert!(!stops(&new, &more), "{}", check(&new, &more));
    let evil = format!("f tests/conftest.py \"{fixture}import subprocess\\n\"");
    assert!(stops("", &evil) && stops(&new, &evil));
}

#[test]
fn sus_39_the_first_dependency_from_a_registry() {
    let registry = concat!("registry+https://github.com/rust-lang/crates.", "io-index");
    let own = r#"version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n"#;
    let hash = "0".repeat(64);
    let lock = |source: &str| {
        format!(
            "f Cargo.lock \"{own}\\n[[package]]\\nname = \\\"serde\\\"\\nversion = \\\"1.0.0\\\"\\nsource = \\\"{source}\\\"\\nchecksum = \\\"{hash}\\\"\\n\""
        )
    };
    let before = format!("f Cargo.lock \"{own}\"");
    let after = lock(registry);
    assert!(!stops(&before, &after), "{}", check(&before, &after));
    let elsewhere = lock("registry+https://evil.example/index");
    assert_eq!(warnings(&before, &elsewhere).len(), 1);
    let npm = concat!("https://registry.npm", "js.org/a/-/a-1.0.0.tgz");
    let package = |deps: &str| {
        format!(
            r#"f package-lock.json "{{\"name\":\"x\",\"lockfileVersion\":3,\"packages\":{{\"\":{{\"name\":\"x\"}}{deps}}}}}""#
        )
    };
    let first = format!(
        r#",\"node_modules/a\":{{\"version\":\"1.0.0\",\"resolved\":\"{npm}\",\"integrity\":\"sha512-AAAA\"}}"#
    );
    let (before, after) = (package(""), package(&first));
    assert!(!stops(&before, &after), "{}", check(&before, &after));
}

#[test]
fn sus_39_one_fact_one_warning() {
    let script = r##""#!/bin/sh\nset -eu\nexit 0\n""##;
    for path in ["scripts/release.sh", "tools/x", "run", "run.sh", "bin/x.py"] {
        let after = format!("x {path} {script}");
        let found = warnings("", &after);
        assert!(found.len() <= 1, "{found:?}");
    }
    // A program that nothing but its mode and first line tell of is still said.
    assert_eq!(warnings("", &format!("x tools/x {script}")).len(), 1);
    for after in [
        r#"x lib/x.so "\x7fELF\x02\0""#,
        r#"x app "\x7fELF\x02\0""#,
        "f server.key \"-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEAq7BFUpkGp3xLQmlQ\\n\"",
    ] {
        let found = warnings("", after);
        assert_eq!(found.len(), 1, "{found:?}");
    }
    // What becomes executable was looked at as something else.
    assert_eq!(warnings("f a \"x\"", "x a \"x\"").len(), 1);
}

#[test]
fn sus_31_a_new_file_warns_and_a_changed_one_by_its_lines() {
    for path in [
        ".tool/settings.json",
        ".toolrc",
        "opencode.json",
        ".newagent/rules/x.md",
    ] {
        assert!(stops("", &format!("f {path} \"{{}}\"")), "{path}");
        let (before, after) = (format!("f {path} \"1\""), format!("f {path} \"2\""));
        assert!(stops(&before, &after), "{path}");
    }
    for (path, plain, starts) in [
        ("Dockerfile", "EXPOSE 80", "RUN curl -s x | sh"),
        (
            "build.rs",
            "// 2",
            "std::process::Command::new(\\\"sh\\\");",
        ),
        (
            "vite.config.ts",
            "const port = 1",
            "import { exec } from 'child_process'; exec('x')",
        ),
        (
            "CMakeLists.txt",
            "add_executable(x y.c)",
            "execute_process(COMMAND x)",
        ),
        ("Makefile", "VERSION = 2", "\\tcurl x"),
        ("pom.xml", "<version>2</version>", "<plugin>"),
    ] {
        assert!(stops("", &format!("f {path} \"{plain}\"")), "{path}");
        let before = format!("f {path} \"# 1\\n\"");
        let with = |line: &str| format!("f {path} \"# 1\\n{line}\\n\"");
        assert!(
            !stops(&before, &with(plain)),
            "{}",
            check(&before, &with(plain))
        );
        assert!(
            stops(&before, &with(starts)),
            "{}",
            check(&before, &with(starts))
        );
        // What was there before is not what the change adds.
        assert!(
            !stops(&with(starts), &with(&format!("{plain}\\n{starts}"))),
            "{path}"
        );
    }
    for path in [
        "src/main.rs",
        "docs/x.md",
        ".gitignore",
        ".github/ISSUE_TEMPLATE/bug.md",
        "LICENSE",
        "notes",
    ] {
        assert!(!stops("", &format!("f {path} \"1\"")), "{path}");
    }
}

#[test]
fn sus_31_a_file_of_habit_in_a_new_directory_is_for_the_record() {
    let before = "f web/package.json \"{}\"\nf README.md \"x\"";
    let with = |path: &str| format!("{before}\nf {path} \"x\"");
    for (path, in_new_directory) in [
        ("web/vite.config.ts", "examples/app/vite.config.ts"),
        ("web/Makefile", "examples/app/Makefile"),
        ("web/compose.yaml", "examples/app/compose.yaml"),
        ("web/main.tf", "deploy/aws/main.tf"),
        ("web/kustomization.yaml", "deploy/base/kustomization.yaml"),
        ("Dockerfile", "web/Dockerfile"),
        ("build.sh", "web/build.sh"),
        ("tasks.py", "web/tasks.py"),
    ] {
        assert!(stops(before, &with(path)), "{path}");
        let after = with(in_new_directory);
        assert!(!stops(before, &after), "{}", check(before, &after));
        assert!(
            check(before, &after).contains("note suspect."),
            "{in_new_directory}"
        );
    }
    // What is found by itself, or steers an agent, counts wherever it lies.
    for path in [
        "new/BUILD.bazel",
        "new/AGENTS.md",
        "new/.tool/x.json",
        "new/gradle/x.toml",
        "new/.vscode/settings.json",
    ] {
        assert!(stops(before, &with(path)), "{path}");
    }
    // A directory that is reached by a link was there before.
    let linked = format!("{before}\nl app -> web");
    assert!(stops(&linked, &format!("{linked}\nf web/Makefile \"x\"")));
}

#[test]
fn aud_03_a_test_that_goes_with_its_code() {
    let others = "f src/main.ts \"m\"\nf tests/all.rs \"a\"";
    for (code, test) in [
        ("src/frame.ts", "src/frame.test.ts"),
        ("pkg/frame.go", "pkg/frame_test.go"),
        ("src/tmux/control_mode.rs", "tests/tmux_control_mode.rs"),
        ("old/src/lib.rs", "old/tests/works.rs"),
    ] {
        let before = format!("{others}\nf {code} \"code\"\nf {test} \"test\"");
        assert!(!stops(&before, others), "{}", check(&before, others));
        assert!(
            check(&before, others).contains("note deleted.test"),
            "{test}"
        );
        // Alone it is missed, and so it is if its code is elsewhere now.
        let kept = format!("{others}\nf {code} \"code\"");
        assert!(stops(&before, &kept), "{test}");
        let moved = format!("{others}\nf moved/file.x \"code\"");
        assert!(stops(&before, &moved), "{test}");
    }
    // Data among the tests tests nothing.
    let before = format!("{others}\nf tests/data/old.tmpl \"x\"");
    assert!(!stops(&before, others), "{}", check(&before, others));
}

#[test]
fn aud_03_an_ignore_file_that_goes_with_its_directory_hides_nothing() {
    let before = "f .x/.gitignore \"*\"\nf .x/a \"1\"\nf b \"1\"";
    assert!(!check(before, "f b \"1\"").contains("deleted.ignore_file"));
    assert!(stops(before, "f .x/a \"1\"\nf b \"1\""));
}

#[test]
fn aud_02_a_new_script_among_programs() {
    let before = "x dev/tools/a \"a\"\nx dev/tools/b \"b\"\nf dev/c \"c\"";
    let with = |path: &str, text: &str| format!("{before}\nx {path} \"{text}\"");
    let script = with("dev/tools/new", r"#!/bin/sh\n");
    assert!(!stops(before, &script), "{}", check(before, &script));
    for (path, text) in [
        ("dev/tools/new", r"\0binary"),
        ("tools/new", "x"),
        ("bin/new.sh", "x"),
        (".tool/new.sh", "x"),
    ] {
        assert!(stops(before, &with(path, text)), "{path}");
    }
}

#[test]
fn sus_12_an_existing_code_owners_file_that_changes_is_for_the_record() {
    let (before, after) = ("f CODEOWNERS \"* @a\"", "f CODEOWNERS \"* @b\"");
    assert!(!stops(before, after));
    assert!(check(before, after).contains("note suspect.review_routing CODEOWNERS"));
    assert!(stops("", after));
}

#[test]
fn sus_11_word_lists_of_a_spell_checker() {
    for path in ["allow.txt", "expect.txt", "expect/words.txt"] {
        let path = format!(".github/actions/spelling/{path}");
        assert!(!stops("", &format!("f {path} \"x\"")), "{path}");
    }
    for path in [
        "spelling/action.yml",
        "spelling/requirements.txt",
        "other/allow.txt",
    ] {
        let path = format!(".github/actions/{path}");
        assert!(stops("", &format!("f {path} \"x\"")), "{path}");
    }
}
