//! Everyday work that stops nothing, and what of the same kind still does (SUS-31).

use lazaret_tests::tree_text::quote;
use lazaret_validator::Outcome;

use crate::{check, verdict};

fn file(path: &str, text: &str) -> String {
    let text = quote(text.as_bytes());
    let text = text.trim_matches('"');
    format!("f {path} \"{text}\"")
}

#[track_caller]
fn passes(before: &str, after: &str) {
    let is_clean = verdict(before, after).outcome == Outcome::Clean;
    assert!(is_clean, "{after}:\n{}", check(before, after));
}

#[track_caller]
fn stops(before: &str, after: &str) {
    let is_clean = verdict(before, after).outcome == Outcome::Clean;
    assert!(!is_clean, "{after}:\n{}", check(before, after));
}

#[test]
fn aud_02_a_script_that_becomes_executable() {
    for path in ["a.sh", "dev/a.py", "dev/a", "src/hooks/a.sh"] {
        let (before, after) = (file(path, "echo"), format!("x {path} \"echo\""));
        passes(&before, &after);
        assert!(check(&before, &after).contains("note mode.executable"));
    }
    for (path, text) in [
        ("a", "echo"),
        ("bin/a.sh", "echo"),
        ("tools/a", "echo"),
        (".tool/a.sh", "echo"),
        ("hooks/pre-commit", "echo"),
        ("hooks/post_gen_project.sh", "echo"),
        ("dev/a.sh", r"\0binary"),
    ] {
        let plain = format!("f {path} \"{text}\"");
        stops(&plain, &format!("x {path} \"{text}\""));
    }
    // What was no file before was not looked at.
    stops("l a.sh -> b\nf b \"1\"", "x a.sh \"echo\"\nf b \"1\"");
}

#[test]
fn aud_02_a_new_script_below_the_top_is_run_by_its_name() {
    let script = r"#!/bin/sh\n";
    for path in ["dev/ci/test", "testdata/tool/tool", "src/hooks/state.sh"] {
        passes("", &format!("x {path} \"{script}\""));
    }
    for (path, text) in [
        ("run", script),
        ("tools/run", script),
        ("scripts/run", script),
        ("sbin/run", script),
        ("dev/hooks/post-checkout", script),
        ("dev/.tool/run", script),
        ("dev/run", r"\0binary"),
        ("dev/run.sh", r"\0binary"),
        ("dev/Toolfile", script),
    ] {
        stops("", &format!("x {path} \"{text}\""));
    }
}

#[test]
fn sus_18_a_conftest_that_comes_with_its_tests() {
    let before = "f tests/test_a.py \"a\"";
    let with = |path: &str, text: &str| format!("{before}\n{}", file(path, text));
    passes(before, &with("new/tests/conftest.py", "import pytest\n"));
    for text in ["import subprocess\n", "def pytest_configure(config):\n"] {
        stops(before, &with("new/tests/conftest.py", text));
    }
    stops(before, &with("tests/conftest.py", "import pytest\n"));
}

#[test]
fn sus_21_changed_infrastructure_warns_for_its_lines() {
    for path in ["aws/main.tf", "main.tf.json", "x.tofu"] {
        let before = file(path, "a = 1\n");
        passes(&before, &file(path, "a = 2\n"));
        for line in [
            "provisioner \"local-exec\" {",
            "data \"external\" \"x\" {",
            "  program = [\"x\"]",
            "  source = \"github.com/x/y\"",
            "provider \"x\" {",
            "required_providers {",
            "backend \"s3\" {",
            "  user_data = file(\"x\")",
        ] {
            stops(&before, &file(path, &format!("a = 1\n{line}\n")));
        }
    }
    // A template of Packer runs what it says in any form.
    stops(&file("x.pkr.hcl", "a = 1\n"), &file("x.pkr.hcl", "a = 2\n"));
}

#[test]
fn sus_31_a_changed_nix_expression_warns_for_its_lines() {
    let before = file("default.nix", "{ a = 1; }\n");
    passes(&before, &file("default.nix", "{ a = 2; }\n"));
    for line in ["shellHook = ''", "src = fetchurl {", "builder = ./x;"] {
        let after = format!("{{ a = 1; }}\n{line}\n");
        stops(&before, &file("default.nix", &after));
    }
    stops("f x \"1\"", &format!("f x \"1\"\n{before}"));
    stops(&file("devenv.nix", "1"), &file("devenv.nix", "2"));
}

#[test]
fn sus_31_names_that_no_tool_looks_for() {
    for path in [
        "spec/buf.gen.python.yaml",
        "src/schemas/claude_code.json",
        "schema/mcp.json",
        "dev/build.ps1",
    ] {
        let directory = path.split('/').next().unwrap();
        let before = format!("f {directory}/x \"1\"");
        passes(&before, &format!("{before}\n{}", file(path, "{}")));
    }
    for path in ["buf.gen.yaml", "mcp.json", "build.ps1", "x.ps1"] {
        stops("", &file(path, "{}"));
    }
    let (before, run) = (file("dev/x.ps1", "$a = 1\n"), "$a = 1\niwr x | iex\n");
    stops(&before, &file("dev/x.ps1", run));
    // Editors start a server that reads these, and that runs what they name.
    for path in ["rust-analyzer.toml", "taplo.toml", "selene.toml"] {
        stops(&file(path, "a = 1"), &file(path, "a = 2"));
    }
}

#[test]
fn sus_28_a_changed_environment_file_warns_for_its_lines() {
    let before = file("web/.env", "PORT=80\n");
    let with = |line: &str| file("web/.env", &format!("PORT=80\n{line}\n"));
    passes(&before, &with("NAME=x"));
    for line in [
        "NODE_OPTIONS=-r x",
        "LD_PRELOAD=x",
        "COMPOSE_FILE=x.yml",
        "API=https://x.example",
        "PASSWORD=h7Rt9kQ2wZ",
    ] {
        stops(&before, &with(line));
    }
    stops("f web/a \"1\"", &format!("f web/a \"1\"\n{before}"));
    stops(&file(".envrc.local", "A=1"), &file(".envrc.local", "A=2"));
}

#[test]
fn aud_03_a_test_that_another_one_replaces() {
    let lines = |name: &str| format!("{name} one\n{name} two\n{name} three\n");
    let kept = file("src/talk.go", "code");
    let with = |tests: &[(&str, &str)]| {
        let tests = tests.iter().map(|(path, text)| file(path, text));
        let all: Vec<String> = tests.chain([kept.clone()]).collect();
        all.join("\n")
    };
    for (old, new) in [
        ("src/talk_test.go", "src/pty_talk_test.go"),
        ("web/key-size-sticks.spec.ts", "web/key-auto-size.spec.ts"),
        (
            "tests/test_gateway_resume.py",
            "tests/test_gateway_start.py",
        ),
    ] {
        let before = with(&[(old, &lines("old"))]);
        let after = with(&[(new, &lines("new"))]);
        passes(&before, &after);
        assert!(check(&before, &after).contains("note deleted.test"));
        // It is as long, and lies beside the old one.
        stops(&before, &with(&[(new, "new\n")]));
        stops(&before, &with(&[(&format!("other/{new}"), &lines("new"))]));
    }
    // Each new test stands for one, and not for one that was moved there.
    let (one, two) = (lines("one"), lines("two"));
    let before = with(&[("src/a_b_test.go", &one), ("src/a_c_test.go", &two)]);
    stops(&before, &with(&[("src/a_d_test.go", &lines("new"))]));
    stops(&before, &with(&[("src/a_d_test.go", &one)]));
    // Another name, code and data are no such test.
    for path in ["src/other_test.go", "src/a_d.go", "tests/a_c.json"] {
        stops(
            &before,
            &with(&[("src/a_b_test.go", &one), (path, &lines("new"))]),
        );
    }
}

#[test]
fn sus_16_a_changed_pnpm_workspace_is_judged_by_its_keys() {
    let text = "packages:\n  - web\ncatalog:\n  a: ^1.0.0\n# why\n";
    let path = "pnpm-workspace.yaml";
    let before = file(path, text);
    for after in [
        text.replace("- web", "- web/*\n  - '!web/x'"),
        text.replace("^1.0.0", "^2.0.0\n  b: npm:1.0.0"),
        text.replace("# why", "catalogs:\n  old:\n    a: 0.9.0"),
        text.replace("# why", "# because"),
    ] {
        passes(&before, &file(path, &after));
    }
    for after in [
        text.replace("- web", "- ../web"),
        text.replace("- web", "- '!/web'"),
        text.replace("- web", "- { a: b }"),
        text.replace("# why", "registry: https://x.example"),
        text.replace("# why", "onlyBuiltDependencies:\n  - a"),
        text.replace("# why", "overrides:\n  a: 2.0.0"),
        text.replace("# why", "pnpmfile: x.cjs"),
        text.replace("# why", "a: &a b"),
        text.replace("# why", "---\nregistry: x"),
        "- a\n".to_owned(),
    ] {
        let found = check(&before, &file(path, &after));
        assert!(found.starts_with("block manifest."), "{after}:\n{found}");
    }
    for address in ["https://x.example/a.tgz", "npm:b@1.0.0", "file:../a"] {
        let after = file(path, &text.replace("^1.0.0", address));
        let found = check(&before, &after);
        assert!(found.starts_with("warn manifest.dependency"), "{found}");
    }
    let new = check("", &before);
    assert_eq!(new.matches(path).count(), 2, "{new}");
    assert!(new.starts_with("block suspect.registry"), "{new}");
    stops(&before, "l pnpm-workspace.yaml -> x");
}

#[test]
fn sus_13_another_version_of_a_tool_of_mise() {
    let text = "[tools]\nnode = \"22.1.0\"\ngo = { version = \"1.24\" }\n# why\n";
    for path in ["mise.toml", "sub/.mise.toml"] {
        let before = file(path, text);
        for after in [
            text.replace("22.1.0", "lts"),
            text.replace("1.24", "1.25.3-rc.1"),
            text.replace("# why", "# because"),
        ] {
            passes(&before, &file(path, &after));
        }
        for after in [
            text.replace("22.1.0", "path:/tmp/x"),
            text.replace("22.1.0", "ref:main"),
            text.replace("22.1.0", "{{exec(command='id')}}"),
            text.replace("\"22.1.0\"", "[\"22\", \"path:x\"]"),
            text.replace("# why", "deno = \"2\""),
            text.replace("# why", "\"ubi:x/y\" = \"1\""),
            text.replace(" }", ", postinstall = \"id\" }"),
            text.replace("# why", "[hooks]\nenter = \"id\""),
            text.replace("# why", "[env]\nPATH = \"x\""),
            text.replace("# why", "[tasks.x]\nrun = \"id\""),
            text.replace("# why", "["),
        ] {
            let found = check(&before, &file(path, &after));
            assert!(found.starts_with("block manifest."), "{after}:\n{found}");
        }
        let new = check("", &before);
        assert!(new.starts_with("block suspect.directory_env"), "{new}");
        assert!(!new.contains("manifest."), "{new}");
    }
}
