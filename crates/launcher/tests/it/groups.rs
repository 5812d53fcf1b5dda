//! `group`: what is refused before anything is written, and how groups are listed.

use std::fs;

use crate::support::TestEnvironment;

fn bot() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write(
        "home/.config/lazaret/profiles/nova.toml",
        "image = \"base\"\ncommand = [\"sh\"]\n",
    );
    env.write("work/groups/family/note", "");
    env
}

const MEMBER: &str = "group add family --level member --profile nova --project . --folder";

#[test]
fn what_is_missing_or_wrong_is_said_and_nothing_is_written() {
    let env = bot();
    for (line, code, said) in [
        ("group add a", 2, "--level is missing"),
        ("group add a --level main", 2, "--profile is missing"),
        (
            "group add a --level main --profile nova",
            2,
            "--project is missing",
        ),
        (
            "group add a --level member --profile nova --project .",
            2,
            "--folder is missing",
        ),
        (
            "group add a --level main --profile nova --project . --network open",
            125,
            "groups.toml (not written):",
        ),
        (
            "group add nova --level main --profile nova --project .",
            1,
            "nova is the name of a profile",
        ),
        (
            "group add A --level main --profile nova --project .",
            2,
            "1 to 40",
        ),
    ] {
        let failed = env.run(line);
        assert_eq!(failed.code, code, "{line}: {}", failed.stderr);
        assert!(failed.stderr.contains(said), "{line}: {}", failed.stderr);
    }
    assert!(!env.path("home/.config/lazaret/groups.toml").exists());
}

#[test]
fn groups_are_listed_with_where_they_are() {
    let env = bot();
    assert_eq!(env.run("group ls").stderr.trim(), "there are no groups");
    assert_eq!(env.run(&format!("{MEMBER} groups/family")).code, 0);
    let main = env.run("group add owner --level main --profile nova --project .");
    assert_eq!(main.code, 0, "{}", main.stderr);
    insta::assert_snapshot!(env.run("group ls"), @"
    exit 0
    --- stdout
    family  member  nova  $ROOT/work/groups/family
    owner   main    nova  $ROOT/work
    [EOF]
    ");
    let file = env.path("home/.config/lazaret/groups.toml");
    fs::write(
        &file,
        format!("# mine\n{}", fs::read_to_string(&file).unwrap()),
    )
    .unwrap();
    assert_eq!(env.run("group rm owner").code, 0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# mine\n") && !text.contains("owner"),
        "{text}"
    );
}
