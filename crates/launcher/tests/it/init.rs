//! `lazaret init`, and which profile `run` takes where none is named.

use std::fs;

use insta::assert_snapshot;

use crate::support::TestEnvironment;

/// An environment with a project of two package managers.
fn shop() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("work/Cargo.toml", "");
    env.write("work/web/package.json", "{}");
    env
}

fn profiles(env: &TestEnvironment) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(env.path("home/.config/lazaret/profiles"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_project_gets_the_images_hosts_and_caches_of_its_package_managers() {
    let env = shop().variable("ANTHROPIC_API_KEY", "k");
    assert_snapshot!(env.run("init --print"), @r##"
    exit 0
    --- stdout
    # Written by `lazaret init`; yours to change. Keys: `lazaret profile schema`.
    extends = "claude"
    projects = ["$ROOT/work"]
    image = "claude+rust+node"

    # Where dependencies come from.
    [network]
    allow = ["@crates", "@npm"]

    # Room for rustc and the linker.
    [limits]
    memory = "6g"
    tmp = "1g"

    # Downloads lie beside the home, and last as long as the session.
    [[volumes]]
    cache = "cargo"
    [[volumes]]
    cache = "npm"
    [EOF]
    "##);
    assert!(profiles(&env).is_empty(), "nothing is written");
}

#[test]
fn the_agent_is_the_one_that_has_a_key_or_a_login() {
    let extends = |env: &TestEnvironment| env.run("init --json").json()["extends"].clone();
    assert_eq!(extends(&shop()), "base");
    let codex = shop().variable("OPENAI_API_KEY", "k");
    assert_eq!(extends(&codex), "codex");
    let both = shop()
        .variable("OPENAI_API_KEY", "k")
        .variable("ANTHROPIC_API_KEY", "k");
    assert_eq!(extends(&both), "claude");
    let login = shop();
    let file = login.write("home/.claude/.credentials.json", "{}");
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(extends(&login), "claude-login");
    let shown = login.run("profile show work").stdout;
    for host in ["api.anthropic.com:443", "@crates", "@npm"] {
        let rule = host.strip_prefix('@').unwrap_or(host);
        assert!(shown.contains(rule), "{host} in {shown}");
    }
    let chosen = shop().run("init --extends codex --json");
    assert_eq!(chosen.json()["extends"], "codex");
}

#[test]
fn what_is_there_is_not_replaced_unasked() {
    let env = shop();
    assert_eq!(env.run("init").code, 0);
    env.write("home/.config/lazaret/profiles/work.toml", &{
        let file = env.path("home/.config/lazaret/profiles/work.toml");
        fs::read_to_string(file).unwrap() + "# mine\n"
    });
    assert_snapshot!(env.run("init"), @"
    exit 1
    --- stderr
    error: the profile work is there already: $ROOT/home/.config/lazaret/profiles/work.toml
    hint: Edit that file, or let it be written anew with --force; the old one is kept beside it.
    [EOF]
    ");
    assert_eq!(env.run("init --name other").code, 1, "one for a project");
    assert_eq!(env.run("init --force").code, 0);
    assert_eq!(profiles(&env), ["work.toml", "work.toml~"]);
    let kept = fs::read_to_string(env.path("home/.config/lazaret/profiles/work.toml~")).unwrap();
    assert!(kept.ends_with("# mine\n"));
}

#[test]
fn a_name_is_free_plain_and_not_built_in() {
    let env = shop();
    for (arguments, code) in [
        ("init --name claude", 1),
        ("init --name a/b", 2),
        ("init --name .hidden", 2),
        ("init --name x.toml", 2),
        ("init --extends ./p.toml", 2),
        ("init --extends nope", 125),
        ("init -w nowhere", 125),
        ("init --print --force", 2),
    ] {
        assert_eq!(env.run(arguments).code, code, "{arguments}");
    }
    assert!(profiles(&env).is_empty());
    for dir in ["rust", "a b/work", "b/work"] {
        env.write(&format!("work/{dir}/x"), "");
        let outcome = env.run_words(&["init", "-w", dir]);
        assert_eq!(outcome.code, 0, "{dir}");
    }
    assert_eq!(profiles(&env), ["rust-2.toml", "work-2.toml", "work.toml"]);
}

#[test]
fn run_without_a_name_takes_the_profile_of_the_project_then_the_users_default() {
    let env = shop().engine("unix:///nowhere.sock");
    assert_snapshot!(env.run("run"), @"
    exit 2
    --- stderr
    error: no profile is for $ROOT/work
    hint: `lazaret init` writes one for this project; `lazaret run PROFILE` names one, such as claude, and `lazaret profile ls` lists them.
    [EOF]
    ");
    env.write("home/.config/lazaret/config.toml", "profile = \"base\"\n");
    assert_eq!(env.run("run --dry-run -- true").code, 0, "the default");
    env.write("home/.config/lazaret/config.toml", "profile = \"nope\"\n");
    let outcome = env.run("run --dry-run -- true");
    assert_eq!(outcome.code, 125);
    assert!(
        outcome.stderr.contains("`profile` of config.toml"),
        "{}",
        outcome.stderr
    );
    env.write(
        "home/.config/lazaret/profiles/own.toml",
        "image = \"base\"\nprojects = [\"~/../work\"]\n",
    );
    assert_eq!(env.run("run --dry-run -- true").code, 0, "the project's");
    assert_eq!(env.run("start --dry-run -- true").code, 0, "the project's");
}

#[test]
fn a_profile_of_the_workspace_is_for_no_project() {
    let env = shop();
    let projects = format!("projects = [\"{}\"]\n", env.path("work").display());
    env.write("work/p.toml", &format!("image = \"base\"\n{projects}"));
    env.write("work/lazaret.toml", &projects);
    assert_eq!(env.run("run").code, 2);
}

#[test]
fn the_engine_of_the_configuration_is_used_where_nothing_else_names_one() {
    // An empty variable counts as unset.
    let env = TestEnvironment::new().engine("");
    env.write(
        "home/.config/lazaret/config.toml",
        "engine = \"unix:///from-config.sock\"\n",
    );
    let stderr = |env: &TestEnvironment| env.run("run base -- true").stderr;
    let configured = stderr(&env);
    assert!(configured.contains("config.toml"), "{configured}");
    let env = env.variable("DOCKER_HOST", "unix:///from-variable.sock");
    let variable = stderr(&env);
    assert!(variable.contains("DOCKER_HOST"), "{variable}");
    assert!(!variable.contains("from-config"), "{variable}");
    let env = env.engine("unix:///from-flag.sock");
    let flag = stderr(&env);
    assert!(
        flag.contains("from-flag") && !flag.contains("from-variable"),
        "{flag}"
    );
}
