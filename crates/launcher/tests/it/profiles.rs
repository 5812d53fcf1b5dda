//! `lazaret profile`, and what is wrong with profiles: exit 125, file, line, expectation.

use insta::assert_snapshot;

use crate::support::TestEnvironment;

#[test]
fn a_wrong_profile_names_file_line_and_expectation() {
    let env = TestEnvironment::new();
    env.write(
        "work/p.toml",
        "image = \"base\"\n\n[limits]\nmemroy = \"8g\"\n",
    );
    assert_snapshot!(env.run("profile check ./p.toml"), @r#"
    exit 125
    --- stderr
    error: ./p.toml:4:1: unknown key `memroy`, expected one of `memory`, `cpus`, `pids`, `tmp`, `timeout`, `idle`, `life`, `disk`, `inodes` (did you mean `memory`?)
        4 | memroy = "8g"
          | ^^^^^^
    [EOF]
    "#);
    env.write(
        "work/p.toml",
        "image = \"base\"\n[limits]\nmemory = \"8q\"\n",
    );
    assert_snapshot!(env.run("profile check p.toml"), @r#"
    exit 125
    --- stderr
    error: p.toml:3:10: found "8q", expected a size such as "512m" or "8g" (units: k, m, g, t)
        3 | memory = "8q"
          |          ^^^^
    [EOF]
    "#);
}

#[test]
fn a_wrong_profile_is_json_on_stderr() {
    let env = TestEnvironment::new();
    env.write("work/p.toml", "image = 7\n");
    let outcome = env.run("profile show p.toml --json");
    assert_eq!(outcome.code, 125);
    let object: serde_json::Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(object["error"]["kind"], "profile");
}

#[test]
fn check_goes_through_all_and_says_which_are_good() {
    let env = TestEnvironment::new();
    env.write("work/bad.toml", "imagine = 1\n");
    let outcome = env.run("profile check base ./bad.toml demo");
    assert_eq!(outcome.code, 125);
    assert_eq!(outcome.stdout, "base: ok\ndemo: ok\n");
}

#[test]
fn an_unknown_profile_says_where_it_was_looked_for() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.run("profile show nope"), @r#"
    exit 125
    --- stderr
    error: there is no profile "nope": it is not built in, and $ROOT/home/.config/lazaret/profiles/nope.toml does not exist
    hint: There are: base, claude, claude-login, codex, demo, dev, go, node, postgres, python, rust. A path must hold a `/` or end in `.toml`.
    [EOF]
    "#);
    assert_snapshot!(env.run("profile show ./nope"), @"
    exit 125
    --- stderr
    error: there is no profile ./nope
    [EOF]
    ");
    assert_snapshot!(env.run_words(&["profile", "show", "a\u{1b}b"]), @r#"
    exit 125
    --- stderr
    error: there is no profile "a\u{1b}b": it is not built in
    hint: There are: base, claude, claude-login, codex, demo, dev, go, node, postgres, python, rust. A path must hold a `/` or end in `.toml`.
    [EOF]
    "#);
}

#[test]
fn own_profiles_are_found_by_name_and_do_not_shadow_built_in_ones() {
    let env = TestEnvironment::new();
    env.write(
        "home/.config/lazaret/profiles/mine.toml",
        "image = \"base\"\ndescription = \"Mine\"\n",
    );
    env.write("home/.config/lazaret/profiles/base.toml", "image = 7\n");
    env.write("home/.config/lazaret/profiles/broken.toml", "image = 7\n");
    assert_eq!(env.run("profile show mine").code, 0);
    assert_eq!(env.run("profile show base").code, 0);
    assert_snapshot!(env.run("profile ls"), @"
    exit 0
    --- stdout
    base          Any command on the base image, without network  (built in)
    claude        Claude Code; its key stays outside, and it reaches nothing but its own API  (built in)
    claude-login  Claude Code with a subscription's login, which the agent holds; its own hosts only  (built in)
    codex         Codex; its key stays outside, and it reaches nothing but its own API  (built in)
    demo          A first look: a command that leaves a file behind, without network  (built in)
    dev           Everything at once: Rust, Node.js, Python, PostgreSQL, Claude Code, Codex; without network  (built in)
    go            Go projects, without network: dependencies must be in the workspace  (built in)
    node          Node.js projects, without network: dependencies must be in the workspace  (built in)
    postgres      A PostgreSQL server of its own, for one command  (built in)
    python        Python projects, without network: dependencies must be in the workspace  (built in)
    rust          Rust projects, without network: dependencies must be vendored  (built in)
    broken        wrong, see `lazaret profile check`  ($ROOT/home/.config/lazaret/profiles/broken.toml)
    mine          Mine  ($ROOT/home/.config/lazaret/profiles/mine.toml)
    [EOF]
    ");
}

#[test]
fn the_shown_profile_is_a_profile_with_the_same_meaning() {
    let env = TestEnvironment::new();
    for name in ["base", "demo"] {
        let shown = env.run(&format!("profile show {name}"));
        env.write("work/again.toml", &shown.stdout);
        let again = env.run("profile show ./again.toml");
        assert_eq!(again.stdout, shown.stdout, "{again}");
    }
}

#[test]
fn the_schema_is_json() {
    let env = TestEnvironment::new();
    let schema = env.run("profile schema").json();
    assert_eq!(schema["required"], serde_json::json!(["image"]));
}

#[test]
fn the_file_of_a_workspace_is_checked_by_its_own_rules() {
    let env = TestEnvironment::new();
    assert_eq!(env.run("profile check lazaret.toml").code, 125);
    env.write("work/lazaret.toml", "[limits]\nmemory = \"1g\"\n");
    assert_eq!(env.run("profile check lazaret.toml").code, 0);
    env.write("work/sub/lazaret.toml", "command = [\"sh\"]\n");
    assert_snapshot!(env.run("profile check sub/lazaret.toml"), @r#"
    exit 125
    --- stderr
    error: lazaret.toml:1:11: `command` can't be set by a workspace without your trust, and trust is not available yet in this version
        1 | command = ["sh"]
          |           ^^^^^^
    hint: A workspace's lazaret.toml can only tighten: `limits`, `gate`, `network`, `workspace.exclude`, `workspace.git`, `workspace.isolation` and `workspace.protect`.
    [EOF]
    "#);
}

#[test]
fn an_extended_profile_is_shown_with_what_it_extends() {
    let env = TestEnvironment::new();
    let profile = |name: &str| format!("home/.config/lazaret/profiles/{name}.toml");
    env.write(
        &profile("shop"),
        "extends = \"claude\"\nimage = \"dev\"\n[network]\nallow = [\"@crates\"]\n",
    );
    env.write(&profile("twice"), "extends = \"shop\"\n");
    env.write(&profile("lost"), "extends = \"nowhere\"\n");
    env.write(&profile("path"), "extends = \"./shop.toml\"\n");
    let shown = env.run("profile show shop");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for line in [
        "image = \"dev\"",
        "mode = \"allowlist\"",
        concat!("\"index.crates.", "io:443\""),
        "host = \"api.anthropic.com:443\"",
        "timeout = \"4h\"",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    let twice = env.run("profile show twice");
    assert_ne!(twice.code, 0);
    for file in ["shop.toml:1:11", "twice.toml extends"] {
        assert!(twice.stderr.contains(file), "{file}: {}", twice.stderr);
    }
    for name in ["lost", "path"] {
        let failed = env.run(&format!("profile show {name}"));
        assert_ne!(failed.code, 0);
        let said = format!("{name}.toml:1:11: `extends`: there is no profile");
        assert!(failed.stderr.contains(&said), "{}", failed.stderr);
        assert!(failed.stderr.contains("claude-login"), "{}", failed.stderr);
    }
}
