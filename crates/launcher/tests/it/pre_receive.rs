//! The pre-receive hook of the documentation, with git.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use lazaret_tests::tree_text;

use crate::support::TestEnvironment;

/// The hook of `docs/how-to/ci-check.md`, in a bare repository that git pushes to.
#[test]
fn the_documented_pre_receive_hook_judges_a_push() {
    let page = TestEnvironment::repository().join("docs/how-to/ci-check.md");
    let page = fs::read_to_string(page).unwrap();
    let script: Vec<&str> = (page.lines())
        .skip_while(|line| *line != "    #!/bin/sh")
        .take_while(|line| line.is_empty() || line.starts_with("    "))
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    assert!(script.len() > 20, "{script:?}");

    let env = TestEnvironment::new();
    let lazaret = Path::new(env!("CARGO_BIN_EXE_lazaret")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", lazaret.display());
    let git = |dir: &str, arguments: &[&str]| {
        let settings = [
            "user.name=a",
            "user.email=a@example.org",
            "init.defaultBranch=main",
        ];
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let home = env.path("home").display().to_string();
        let variables = [
            ("PATH", &*path),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("HOME", &home),
        ];
        let output = duct::cmd("git", settings.chain(arguments.iter().copied()))
            .dir(env.path(dir))
            .full_env(variables)
            .stderr_capture()
            .unchecked()
            .run()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    let ok = |dir: &str, arguments: &[&str]| {
        let (is_ok, said) = git(dir, arguments);
        assert!(is_ok, "{arguments:?}: {said}");
    };
    ok("work", &["init", "-q", "--bare", "bare.git"]);
    let hook = env.write(
        "work/bare.git/hooks/pre-receive",
        &(script.join("\n") + "\n"),
    );
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    ok("work", &["init", "-q", "clone"]);
    let commit = |edit: &str| {
        tree_text::build(edit, &env.path("work/clone"));
        ok("work/clone", &["add", "-A"]);
        ok("work/clone", &["commit", "-qm", "change"]);
    };
    commit("f a \"1\\n\"");
    ok("work/clone", &["push", "-q", "../bare.git", "main"]);

    // What a `.gitattributes` would hide from an archive is judged.
    commit("f .gitattributes \"* export-ignore\\n\"\nf .vscode/tasks.json \"{}\"");
    let (is_ok, said) = git("work/clone", &["push", "-q", "../bare.git", "HEAD:evil"]);
    assert!(!is_ok, "{said}");
    assert!(said.contains("suspect.vscode"), "{said}");
    let (has_it, _) = git(
        "work/bare.git",
        &["rev-parse", "--verify", "refs/heads/evil"],
    );
    assert!(!has_it);

    ok("work/clone", &["reset", "-q", "--hard", "HEAD~1"]);
    commit("f a \"1\\n2\\n\"");
    ok("work/clone", &["push", "-q", "../bare.git", "main"]);
}
