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

/// The tables are written by hand, since they link; that nothing is missing is not.
#[test]
fn docs_images_md_has_a_row_for_every_image_and_component() {
    let root = TestEnvironment::repository();
    let page = std::fs::read_to_string(root.join("docs/reference/images.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let firsts = rows.filter_map(|row| row.split(" | ").next());
    let named: Vec<&str> = firsts
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let names = |dir: &str| {
        let entries = std::fs::read_dir(root.join(dir)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let names = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let declared = [names("images"), names("images/components")].concat();
    // The porter is lazaret's own, and `components` no image.
    let declared = declared
        .iter()
        .filter(|name| !["porter", "components"].contains(&name.as_str()));
    let missing: Vec<&String> = declared
        .filter(|name| !named.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
