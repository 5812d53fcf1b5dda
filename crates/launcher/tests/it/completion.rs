//! What bash completes, by the script that `lazaret completions` prints.

use std::path::Path;

use crate::support::TestEnvironment;

/// Has bash complete the last of these words.
fn completed(env: &TestEnvironment, words: &[&str]) -> Vec<String> {
    let script = env.run("completions bash");
    assert_eq!(script.code, 0, "{script}");
    let script = env.write("completion.bash", &script.stdout);
    let program = Path::new(env!("CARGO_BIN_EXE_lazaret"));
    let ask = "source \"$0\"; COMP_WORDS=(lazaret \"$@\"); COMP_CWORD=$#; COMP_TYPE=9; \
        _clap_complete_lazaret lazaret \"${!#}\" x; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let bash = duct::cmd("bash", ["--norc", "-c", ask].map(Path::new).iter())
        .full_env([
            ("PATH", path),
            ("HOME", env.path("home").display().to_string()),
        ])
        .dir(env.path("work"));
    let bash = bash.before_spawn({
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        move |command| {
            command.arg(&script).args(&words);
            Ok(())
        }
    });
    let answer = bash.read().unwrap();
    answer.lines().map(str::to_owned).collect()
}

#[test]
fn verbs_options_and_names_are_completed() {
    let env = TestEnvironment::new();
    env.write(
        "home/.config/lazaret/profiles/nova.toml",
        "image = \"base\"\ncommand = [\"sh\"]\n",
    );
    env.write(
        "home/.config/lazaret/images/mine/image.toml",
        "description = \"Mine\"\nbase = \"base\"\n",
    );
    let group = "group add family --level main --profile nova --project .";
    let added = env.run(group);
    assert_eq!(added.code, 0, "{added}");
    for (words, expected) in [
        (&["comp"][..], &["completions"][..]),
        (&["run", "--dry"], &["--dry-run"]),
        (&["run", "claude-"], &["claude-login"]),
        (&["run", "no"], &["node", "nova"]),
        (&["run", "--image", "mi"], &["mine"]),
        (&["run", "base", "--with", "nod"], &["node"]),
        (&["image", "verify", "mi"], &["mine"]),
        (&["policy", "check", "nov"], &["nova"]),
        (&["group", "show", "f"], &["family"]),
        (&["ask", "fa"], &["family"]),
        (&["rules", "git.ho"], &["git.hook"]),
    ] {
        let found = completed(&env, words);
        assert_eq!(found, expected, "{words:?}");
    }
    // Names come before options; there is no session, and nothing else is taken for one.
    let found = completed(&env, &["group", "show", ""]);
    assert_eq!(found[0], "family", "{found:?}");
    let found = completed(&env, &["policy", "log", ""]);
    assert!(found.iter().all(|word| word.starts_with("--")), "{found:?}");
}
