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

#[test]
fn con_32_extra_directories_are_those_of_a_list_that_no_group_can_write() {
    let env = bot();
    env.write("home/projects/webapp/index.html", "hi");
    env.write("home/private/key", "");
    std::os::unix::fs::symlink(env.path("home/private"), env.path("home/projects/link")).unwrap();
    let list = "home/.config/lazaret/config.toml";
    let add = |extra: &str| env.run(&format!("{MEMBER} groups/family --extra {extra}"));
    let webapp = "webapp=../home/projects/webapp";
    for (roots, extra, code, said) in [
        ("", webapp, 1, "webapp is not allowed"),
        ("[extra]", webapp, 1, "below it roots = ["),
        (
            "[extra]\nroots = [\"~/projects/w\"]",
            webapp,
            1,
            "not allowed",
        ),
        (
            "[extra]\nroots = [\"projects\"]",
            webapp,
            125,
            "is relative",
        ),
        ("[extra]\nroot = []", webapp, 125, "unknown key `root`"),
        ("", "webapp", 2, "expected a name, `=` and a value"),
        ("", "webapp=gone", 125, "can't be used"),
    ] {
        env.write(list, roots);
        let failed = add(extra);
        assert_eq!(failed.code, code, "{roots} {extra}: {}", failed.stderr);
        assert!(
            failed.stderr.contains(said),
            "{roots} {extra}: {}",
            failed.stderr
        );
    }
    env.write(
        list,
        &format!("[extra]\nroots = [\"~/projects\", {:?}]", env.path("work")),
    );
    for (extra, code, said) in [
        ("link=../home/projects/link", 1, "private is not allowed"),
        ("a/b=../home/projects/webapp", 125, "a name has 1 to 64"),
        (".a=../home/projects/webapp", 125, "a name has 1 to 64"),
        (
            "own=groups",
            125,
            "overlaps with the folder of group family",
        ),
        (
            "own=groups/family",
            125,
            "overlaps with the folder of group family",
        ),
    ] {
        let failed = add(extra);
        assert_eq!(failed.code, code, "{extra}: {}", failed.stderr);
        assert!(failed.stderr.contains(said), "{extra}: {}", failed.stderr);
    }
    assert!(!env.path("home/.config/lazaret/groups.toml").exists());
    let added = add(webapp);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let shown = env.run("group show family --json");
    assert!(
        shown.stdout.contains("home/projects/webapp\""),
        "{}",
        shown.stdout
    );
    // Main has the whole project, in which they would lie.
    env.write("work/extra/x", "");
    let main = env.run(&format!(
        "group add owner --level main --profile nova --project . --extra {webapp}"
    ));
    assert!(
        main.stderr.contains("has an entry \"extra\""),
        "{}",
        main.stderr
    );
    assert_eq!(env.run("group set family --unset extra").code, 0);
}
