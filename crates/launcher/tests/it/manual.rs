//! Manual pages, completions, and `docs/cli.md`, which is generated.

use crate::support::TestEnvironment;

#[test]
fn docs_cli_md_is_current() {
    let page = TestEnvironment::new().run("man --markdown").stdout;
    let path = TestEnvironment::repository().join("docs/cli.md");
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/cli.md is out of date: run `cargo run -- man --markdown > docs/cli.md`"
    );
}

#[test]
fn there_is_a_page_for_every_verb() {
    let env = TestEnvironment::new();
    assert_eq!(env.run("man pages/man1").code, 0);
    let mut names: Vec<_> = std::fs::read_dir(env.path("work/pages/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in [
        "lazaret.1",
        "lazaret-run.1",
        "lazaret-image-build.1",
        "lazaret-profile-check.1",
    ] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
    assert!(env.run("man").stdout.contains(".TH lazaret"));
}

#[test]
fn completions_exist_for_every_shell() {
    let env = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = env.run(&format!("completions {shell}"));
        assert_eq!(outcome.code, 0);
        assert!(outcome.stdout.contains("LAZARET_COMPLETE"), "{shell}");
    }
}
