//! `lazaret check`: any two trees through the gate, as a process. The candidate is hostile.

mod archives;

use insta::assert_snapshot;
use lazaret_tests::hostile_tar::TarBuilder;
use lazaret_tests::tree_text;
use lazaret_tree::unescape;
use serde_json::Value;

use crate::support::{Outcome, TestEnvironment, assert_bounded};

/// A base in the tree language, in a world of its own.
fn world(base: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("work/base")).unwrap();
    tree_text::build(base, &env.path("work/base"));
    env
}

/// Checks a copy of the base that was edited in the tree language.
#[track_caller]
fn edited(base: &str, edit: &str) -> Outcome {
    let env = world(base);
    std::fs::create_dir(env.path("work/candidate")).unwrap();
    tree_text::build(base, &env.path("work/candidate"));
    tree_text::build(edit, &env.path("work/candidate"));
    env.run("check candidate --base base")
}

/// The exit code, then each finding as `severity code path`.
fn verdict(report: &Value) -> String {
    let findings = report["findings"].as_array().unwrap().iter();
    let lines = findings.map(|finding| {
        let word = |key: &str| finding[key].as_str().unwrap().to_owned();
        format!("\n{} {} {}", word("severity"), word("code"), word("path"))
    });
    format!("{}{}", report["exit"], lines.collect::<String>())
}

#[test]
fn g10_a_clean_candidate() {
    assert_snapshot!(edited("f a \"1\\n\"", ""), @"
    exit 0
    --- stdout
    0 modified, 0 added, 0 deleted
    clean
    [EOF]
    ");
    assert_snapshot!(edited("f a \"1\\n\"\nf b \"\"", "f a \"2\\n\"\nf c \"\"\n- b"), @"
    exit 0
    --- stdout
      ~ a
      - b
      + c
    1 modified, 1 added, 1 deleted (+1 -1)
    clean
    [EOF]
    ");
}

#[test]
fn g10_a_person_has_to_look() {
    assert_snapshot!(edited("f a \"1\\n\"", "f Makefile \"all:\\n\""), @"
    exit 120
    --- stdout
      + Makefile
    0 modified, 1 added, 0 deleted (+1 -0)
    warn   suspect.entry_point  Makefile  holds commands that `make` and its like run
    needs review
    [EOF]
    ");
    assert_snapshot!(edited("f a \"1\\n\"", "f .vscode/tasks.json \"{}\"\nl out -> /etc"), @"
    exit 120
    --- stdout
      + .vscode  skipped: needs a change that is not applied
      + .vscode/tasks.json  blocked
      + out  blocked
    0 modified, 3 added, 0 deleted (+1 -0)
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened
    block  link.absolute   out                 leads to the absolute path `/etc`
    needs review
    [EOF]
    ");
}

#[test]
fn g10_a_rejected_candidate() {
    assert_snapshot!(edited("d .git", "- .git\nf .git \"gitdir: /elsewhere\""), @"
    exit 121
    --- stdout
    0 modified, 0 added, 0 deleted
    block  git.redirect  .git  `.git` was replaced by something that leads elsewhere
    The batch is rejected: nothing of it can be applied.
    rejected
    [EOF]
    ");
    let env = world("");
    let profile = "image = \"base\"\n[gate]\nmax_entries = 2\n";
    env.write("work/few.toml", profile);
    std::fs::create_dir(env.path("work/candidate")).unwrap();
    tree_text::build("f a \"\"\nf b \"\"\nf c \"\"", &env.path("work/candidate"));
    assert_snapshot!(env.run("check candidate --base base --profile ./few.toml"), @"
    exit 121
    --- stdout
    rejected  limit.entries: more than 2 entries
    [EOF]
    --- stderr
    hint: If this much is expected, raise the limit in a profile's [gate] table and name it with --profile.
    [EOF]
    ");
    // What is as it was counts for nothing.
    tree_text::build("f b \"\"\nf c \"\"", &env.path("work/base"));
    assert_eq!(
        env.run("check candidate --base base --profile ./few.toml")
            .code,
        0
    );
}

/// Whatever lies in the candidate does not choose what is looked at.
#[test]
fn g10_nothing_hides_in_the_candidate() {
    for edit in [
        "f .gitignore \"hidden\\n\"\nf hidden/.vscode/tasks.json \"\"",
        "f .lazaretignore \"hidden\\n\"\nf hidden/.vscode/tasks.json \"\"",
        "f .lazaretignore \"[\"\nf .vscode/tasks.json \"\"",
        "f new/CACHEDIR.TAG \"Signature: 8a477f597d28d172789f06886806bc55\"\nf new/.vscode/tasks.json \"\"",
        "f package.json \"{}\"\nf node_modules/x/.vscode/tasks.json \"\"",
        "f venv/pyvenv.cfg \"\"\nf venv/.vscode/tasks.json \"\"",
        "f lazaret.toml \"[workspace]\\nexclude = [\\\"*\\\"]\\n\"\nf .vscode/tasks.json \"\"",
    ] {
        let outcome = edited("f a \"1\\n\"", edit);
        assert_eq!(outcome.code, 120, "{outcome}");
        assert!(outcome.stdout.contains("suspect.vscode"), "{outcome}");
    }
    // Nor does a file of the base's that loosens: its limits hold, what it leaves out not.
    let tightened = "f lazaret.toml \"[workspace]\\nexclude = [\\\"Makefile\\\"]\\n\"";
    let outcome = edited(tightened, "f Makefile \"\"");
    assert_eq!(outcome.code, 120, "{outcome}");
}

/// What the base keeps out of a session: gone it is no deletion, changed it is a change.
#[test]
fn app_17_what_the_base_ignores() {
    let base = "f .gitignore \"*.log\\nout/\\n\"\nf a.log \"1\"\nf out/x \"1\"\nf .env \"K=1\"";
    let outcome = edited(base, "- a.log\n- out\n- .env");
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(
        outcome.stdout.contains("0 modified, 0 added, 0 deleted"),
        "{outcome}"
    );
    assert_eq!(edited(base, "").code, 0);
    let outcome = edited(base, "f a.log \"2\"\nf out/y \"\"");
    assert!(outcome.stdout.contains("~ a.log"), "{outcome}");
    assert!(outcome.stdout.contains("+ out/y"), "{outcome}");
    let outcome = edited(base, "f .env \"NODE_OPTIONS=-r x\"");
    assert_eq!(outcome.code, 120, "{outcome}");
}

#[test]
fn g10_what_the_profile_excludes_is_left_out_and_said() {
    let env = world("f a \"\"\nf big/old \"\"");
    env.write(
        "work/x.toml",
        "image = \"base\"\n[workspace]\nexclude = [\"/big\"]\n",
    );
    std::fs::create_dir(env.path("work/candidate")).unwrap();
    tree_text::build("f a \"\"\nf big/Makefile \"\"", &env.path("work/candidate"));
    assert_snapshot!(env.run("check candidate --base base --profile ./x.toml"), @"
    exit 0
    --- stdout
    0 modified, 0 added, 0 deleted
    not compared: big (left out by the profile)
    clean
    [EOF]
    ");
    let tar = TarBuilder::new()
        .file("a", "")
        .file("big/Makefile", "")
        .end();
    let words = ["check", "-", "--base", "base", "--profile", "./x.toml"];
    let outcome = env.run_reading(&words, &tar);
    assert_eq!(
        outcome.to_string(),
        env.run("check candidate --base base --profile ./x.toml")
            .to_string()
    );
}

#[test]
fn git_01_02_hooks_and_configuration_are_reported() {
    let base =
        "f .git/HEAD \"ref: x\"\nf .git/config \"[core]\\n\"\nf .git/hooks/own \"\"\nf a \"\"";
    let codes = |edit: &str| {
        let outcome = edited(base, edit);
        let codes: Vec<&str> = outcome.stdout.split_whitespace().collect();
        let codes = codes.into_iter().filter(|word| word.starts_with("git."));
        format!("{} {}", outcome.code, codes.collect::<Vec<_>>().join(" "))
    };
    // Ordinary use, and a clone without the hooks that the user has installed.
    assert_eq!(
        codes("f .git/HEAD \"ref: y\"\nf .git/index \"\"\nf .git/objects/ab/c \"\""),
        "0 "
    );
    assert_eq!(codes("- .git/hooks"), "0 ");
    assert_eq!(codes("- .git"), "0 ");
    assert_eq!(codes("f .git/hooks/pre-commit \"\""), "120 git.hook");
    assert_eq!(
        codes("f .git/config \"[core]\\nfsmonitor = x\\n\""),
        "120 git.config"
    );
    assert_eq!(
        codes("f .git/objects/info/alternates \"/x\""),
        "120 git.alternates"
    );
    assert_eq!(codes("- .git\nl .git -> /elsewhere"), "121 git.redirect");
    assert_eq!(codes("f sub/.git/config \"\""), "120 git.nested");
    // A repository where the base has none: the candidate made its configuration.
    let outcome = edited("f a \"\"", "f .git/config \"[core]\\nfsmonitor = x\\n\"");
    assert_eq!(outcome.code, 120, "{outcome}");
    assert!(outcome.stdout.contains("git.config"), "{outcome}");
}

#[test]
fn tar_28_41_42_oddities_of_a_directory_are_refusals() {
    let outcome = edited(
        "f a \"1\"\np old-pipe",
        "
        p pipe
        s socket
        f \"raw\\xff\" \"\"
        d \"ctrl\\e[31m\"
        - a
        p a
        ",
    );
    assert_snapshot!(outcome, @r"
    exit 120
    --- stdout
    0 modified, 0 added, 0 deleted
    block  type.fifo      a               a FIFO
    block  type.fifo      pipe            a FIFO
    block  type.socket    socket          a socket
    block  name.control   ctrl\u{1b}[31m  the path has a control character
    block  name.encoding  raw\xff         the path is not UTF-8
    needs review
    [EOF]
    ");
}

#[test]
fn tar_06_a_link_is_never_followed() {
    let env = world("f out/x \"1\"");
    tree_text::build("f secret \"hush\\n\"", &env.path("home"));
    let candidate = env.path("work/candidate");
    std::fs::create_dir(&candidate).unwrap();
    let target = env.path("home").display().to_string();
    tree_text::build(
        &format!("l out -> {target}\nl file -> {target}/secret"),
        &candidate,
    );
    let outcome = env.run("check candidate --base base --json");
    assert_eq!(outcome.code, 120);
    assert!(!outcome.stdout.contains("hush") && !outcome.stdout.contains("out/secret"));
    // The candidate itself may be reached by a link: that is the user's own word.
    std::os::unix::fs::symlink("candidate", env.path("work/alias")).unwrap();
    assert_eq!(env.run("check alias --base base").code, 120);
}

/// What the documentation says to do with git: the tree of a commit, without the header
/// that names it.
#[test]
fn g10_what_git_archive_writes_is_taken() {
    let env = world("f a \"1\\n\"\nf old \"\"");
    let script = "
        git init -q . && git config user.name t && git config user.email t@example.org
        git add -A && git commit -qm one
        printf '2\\n' > a && mkdir -p d && : > d/new && ln -s a link && rm old
        git add -A && git commit -qm two
        git archive 'HEAD^{tree}' > ../it.tar && git archive HEAD > ../commit.tar
        git checkout -q HEAD~1";
    duct::cmd("sh", ["-euc", script])
        .dir(env.path("work/base"))
        .full_env([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/nonexistent"),
        ])
        .stdout_capture()
        .run()
        .unwrap();
    assert_snapshot!(env.run("check it.tar --base base"), @"
    exit 0
    --- stdout
      ~ a
      + d
      + d/new
      + link
      - old
    1 modified, 3 added, 1 deleted (+1 -1)
    clean
    [EOF]
    ");
    assert_snapshot!(env.run("check commit.tar --base base"), @"
    exit 121
    --- stdout
    rejected  typeflag: the typeflag g is outside the grammar
    [EOF]
    --- stderr
    hint: Git writes such a header to name the commit; `git archive 'HEAD^{tree}'` does not.
    [EOF]
    ");
}

#[test]
fn aud_05_a_binary_file_is_never_no_change() {
    let env = world("f bin \"a\\0b\"\nf late *100");
    std::fs::create_dir(env.path("work/candidate")).unwrap();
    tree_text::build("f bin \"a\\0c\"\nf late *101", &env.path("work/candidate"));
    let report = env.run("check candidate --base base --json").json();
    for change in report["changes"].as_array().unwrap() {
        assert_eq!(change["kind"], "modified");
        assert_eq!(change["lines_added"], Value::Null);
        assert_ne!(change["before"]["blake3"], change["after"]["blake3"]);
        assert!(change["after"]["size"].as_u64().unwrap() > 0);
    }
    assert_eq!(report["changes"].as_array().unwrap().len(), 2);
}

#[test]
fn aud_10_every_name_can_be_read_back() {
    let raw: &[u8] = b"raw\xff\x1b[31m\\";
    let stream = TarBuilder::new()
        .pax(&[("path", raw)])
        .file("x", "")
        .pax(&[("path", "bidi\u{202e}gnp\\".as_bytes())])
        .file("y", "")
        .end();
    let env = world("");
    let outcome = env.run_reading(&["check", "-", "--base", "base", "--json"], &stream);
    assert!(
        !outcome.stdout.contains(['\u{202e}', '\u{1b}']),
        "{outcome}"
    );
    let report = outcome.json();
    let names = |list: &str| -> Vec<Vec<u8>> {
        let entries = report[list].as_array().unwrap().iter();
        let names = entries.map(|entry| unescape(entry["path"].as_str().unwrap()).unwrap());
        names.collect()
    };
    assert!(names("findings").contains(&raw.to_vec()));
    assert!(names("changes").contains(&"bidi\u{202e}gnp\\".as_bytes().to_vec()));
}

/// A 30 MB line and 50,000 files: described, counted, and judged in bounded memory.
#[test]
fn aud_04_large_batches_take_bounded_memory() {
    let env = world("");
    let tmp = env.path("tmp").display().to_string();
    let env = env.variable("TMPDIR", &tmp);
    std::fs::create_dir(env.path("tmp")).unwrap();
    let line = env.path("work/base/line");
    std::fs::write(line, vec![b'a'; 30_000_000]).unwrap();
    let mut tar = TarBuilder::new().file("line", vec![b'b'; 30_000_000]);
    for index in 0..50_000 {
        tar = tar.file(format!("d{}/f{index}", index % 100), format!("{index}\n"));
    }
    let stream = tar.end();
    let outcome = env.run_reading(
        &["check", "-", "--base", "base", "--report", "it.json"],
        &stream,
    );
    assert_eq!(
        outcome.stderr, "wrote $ROOT/work/it.json\n",
        "{}",
        outcome.code
    );
    assert!(
        outcome
            .stdout
            .contains("1 modified, 50,100 added, 0 deleted"),
        "{}",
        outcome.stdout
    );
    let report = std::fs::read(env.path("work/it.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["counts"]["lines_added"], 50_000);
    let changes = report["changes"].as_array().unwrap();
    let line = changes
        .iter()
        .find(|change| change["path"] == "line")
        .unwrap();
    assert_eq!(line["lines_added"], Value::Null);
    assert_eq!(line["after"]["size"], 30_000_000);
    assert_bounded(outcome.most);
    // Nothing is left of the copies.
    assert_eq!(std::fs::read_dir(env.path("tmp")).unwrap().count(), 0);
}

#[test]
fn g10_what_can_not_be_read_is_a_failure_and_not_a_verdict() {
    let env = world("");
    for (words, code) in [
        ("check missing --base base", 125),
        ("check base --base missing", 125),
        ("check base --base base --profile nope", 125),
        ("check base", 2),
        ("check base --base base --report base", 1),
    ] {
        let outcome = env.run(words);
        assert_eq!(outcome.code, code, "{words}: {outcome}");
    }
}

/// What the schema of SARIF 2.1.0 requires, and what a forge needs to show a finding.
#[test]
fn sarif_names_rules_places_and_lines() {
    let env = world("f a \"1\\n\"");
    std::fs::create_dir(env.path("work/candidate")).unwrap();
    let edit = "f a \"1\\n\"\nf .vscode/tasks.json \"{}\"\nf \"a b.mk\" \"all:\\n\"\nl out -> /etc";
    tree_text::build(edit, &env.path("work/candidate"));
    std::fs::write(env.path("work/candidate/bidi.txt"), "one\ntwo \u{202e}\n").unwrap();
    let outcome = env.run("check candidate --base base --sarif -");
    assert_eq!(outcome.code, 120, "{outcome}");
    let log = outcome.json();
    assert_eq!(log["version"], "2.1.0");
    assert!(
        log["$schema"]
            .as_str()
            .unwrap()
            .ends_with("sarif-schema-2.1.0.json")
    );
    let [run] = log["runs"].as_array().unwrap().as_slice() else {
        panic!("{log}");
    };
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "lazaret");
    let rules = driver["rules"].as_array().unwrap();
    let mut shown = String::new();
    for result in run["results"].as_array().unwrap() {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(
            !rule["shortDescription"]["text"]
                .as_str()
                .unwrap()
                .is_empty()
        );
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.starts_with('/') && !uri.contains([' ', ':']), "{uri}");
        let line = &place["region"]["startLine"];
        shown.push_str(&format!(
            "{} {} {uri} {line}\n",
            result["level"].as_str().unwrap(),
            result["ruleId"].as_str().unwrap(),
        ));
    }
    assert_snapshot!(shown, @"
    error suspect.vscode .vscode/tasks.json null
    error link.absolute out null
    warning suspect.entry_point a%20b.mk null
    warning content.invisible bidi.txt 2
    ");
    let report = env.run("check candidate --base base --json").json();
    let findings = report["findings"].as_array().unwrap();
    let codes = |of: &[Value], key: &str| -> Vec<String> {
        of.iter()
            .map(|one| one[key].as_str().unwrap().to_owned())
            .collect()
    };
    let results = run["results"].as_array().unwrap();
    assert_eq!(codes(results, "ruleId"), codes(findings, "code"));
}
