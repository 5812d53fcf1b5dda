//! The verbs of the gate as a process, on a session that was collected.

use insta::assert_snapshot;
use lazaret_session::lifecycle::collect::Collected;
use lazaret_tests::tree_text;

use super::world::{BEFORE, World, tree};
use crate::support::TestEnvironment;

/// A collected session `shop`, and a place to run `lazaret` in that knows of it. No engine
/// answers there: what lies on this machine needs none.
pub(super) struct Kept {
    pub(super) world: World,
    pub(super) env: TestEnvironment,
}

pub(super) fn kept(edits: &'static str) -> Kept {
    kept_of("", edits)
}

/// As [`kept`], of a workspace that is a little different.
pub(super) fn kept_of(before: &str, edits: &'static str) -> Kept {
    let world = World::new();
    tree_text::build(before, &world.path("workspace"));
    world.command(move |volume, _| {
        tree_text::build(edits, volume);
        0
    });
    assert!(matches!(world.cycle().unwrap(), Collected::Ready(_)));
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("xdg")).unwrap();
    std::os::unix::fs::symlink(world.path("state"), env.path("xdg/lazaret")).unwrap();
    let state = env.path("xdg").display().to_string();
    let env = env.variable("XDG_STATE_HOME", &state);
    Kept { world, env }
}

impl Kept {
    pub(super) fn user(&self, edits: &str) {
        tree_text::build(edits, &self.world.path("workspace"));
    }

    pub(super) fn run(&self, arguments: &str) -> String {
        let outcome = self.env.run(arguments).to_string();
        let root = self.world.root.path().display().to_string();
        outcome.replace(&root, "$WORLD")
    }

    /// Runs it, which has to succeed.
    #[track_caller]
    pub(super) fn does(&self, arguments: &str) {
        let outcome = self.env.run(arguments);
        assert_eq!(outcome.code, 0, "{outcome}");
    }
}

const TWO: &str = r#"
    f notes.txt "one\nthree\n"
    f src/new.rs "pub fn new() {}\n"
"#;

#[test]
fn app_06_keep_both_and_theirs() {
    let kept = kept(TWO);
    let mine = "f notes.txt \"one\\nmine\\n\"";
    kept.user(mine);
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 1
    --- stdout
      ~ notes.txt  conflict
      + src/new.rs
    1 modified, 1 added, 0 deleted (+2 -1)
    conflict  notes.txt  was changed here too
    [EOF]
    --- stderr
    error: nothing of session shop was applied
      caused by: files of the workspace changed meanwhile
    hint: Look with `lazaret diff shop PATH`; take the rest with `--yes --on-conflict keep-both`, or the session's version with `--theirs PATH`.
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, mine]));
    assert_snapshot!(kept.run("apply shop --yes --on-conflict keep-both"), @r"
    exit 0
    --- stdout
      ~ notes.txt  conflict
      + src/new.rs
    1 modified, 1 added, 0 deleted (+2 -1)
    conflict  notes.txt  was changed here too
    [EOF]
    --- stderr
    applied 1 of 2 (0 modified, 1 added, 0 deleted), 1 left out
    hint: 1 more wait in session shop: `lazaret apply shop`, or `lazaret discard shop`.
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    let new = "f src/new.rs \"pub fn new() {}\\n\"";
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, mine, new]));
    // Both versions are there: the user's in the workspace, the session's in the session.
    assert_snapshot!(kept.run("diff shop notes.txt"), @r"
    exit 0
    --- stdout
    --- notes.txt
    +++ notes.txt
    @@ -1,2 +1,2 @@
     one
    -two
    +three
    yours, from line 2:
      mine
    sent in:
      two
    the session's:
      three
    1 modified, 0 added, 0 deleted
    conflict  notes.txt  was changed here too
    [EOF]
    ");
    assert_snapshot!(kept.run("apply shop src/new.rs --theirs src/new.rs --yes"), @r"
    exit 1
    --- stderr
    error: src/new.rs is in no conflict
    [EOF]
    ");
    assert_snapshot!(kept.run("apply shop --theirs notes.txt --yes"), @r"
    exit 0
    --- stdout
      ~ notes.txt  in place of your edit
    1 modified, 0 added, 0 deleted (+1 -1)
    1 more are in the workspace already
    [EOF]
    --- stderr
    applied 1 of 1 (1 modified, 0 added, 0 deleted)
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, TWO]));
    // And the user's comes back.
    kept.does("undo shop");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, mine, new]));
}

#[test]
fn app_06_what_merges_is_applied_without_a_word() {
    let kept = kept("f src/main.rs \"fn main() {}\\n\\n\\n// end\\n\"");
    kept.user("f src/main.rs \"// start\\n\\nfn main() {}\\n\"");
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 0
    --- stdout
      ~ src/main.rs  merged with your edit
    1 modified, 0 added, 0 deleted (+3 -0)
    [EOF]
    --- stderr
    applied 1 of 1 (1 modified, 0 added, 0 deleted)
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
}

#[test]
fn app_18_app_19_undo_and_redo_go_step_by_step() {
    let kept = kept(TWO);
    kept.does("apply shop notes.txt --yes");
    let first = kept.world.workspace();
    kept.does("apply shop --yes");
    let second = kept.world.workspace();
    assert_snapshot!(kept.run("undo shop"), @r"
    exit 0
    --- stderr
    took back 1 change of shop (apply 2 of 2)
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), first);
    kept.does("undo shop");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE]));
    assert_snapshot!(kept.run("undo shop --list"), @r"
    exit 0
    --- stdout
    1  undone      1 modified, 0 added, 0 deleted
    2  undone      0 modified, 1 added, 0 deleted
    [EOF]
    ");
    assert_snapshot!(kept.run("undo shop"), @r"
    exit 1
    --- stderr
    error: everything of session shop has been undone already
    [EOF]
    ");
    assert_snapshot!(kept.run("undo shop --redo"), @r"
    exit 0
    --- stderr
    did again 1 change of shop (apply 1 of 2)
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), first);
    kept.does("undo shop --redo");
    assert_eq!(kept.world.workspace(), second);
    assert_snapshot!(kept.run("undo shop --redo"), @r"
    exit 1
    --- stderr
    error: nothing of session shop has been undone
    [EOF]
    ");
    assert_snapshot!(kept.run("--json undo shop --list"), @r#"
    exit 0
    --- stdout
    [{"apply":1,"changes":{"added":[],"deleted":[],"modified":["notes.txt"]},"state":"applied"},{"apply":2,"changes":{"added":["src/new.rs"],"deleted":[],"modified":[]},"state":"applied"}]
    [EOF]
    "#);
    // A file that the user changed since is a conflict, and nothing is taken back.
    kept.user("f src/new.rs \"mine\\n\"");
    assert_snapshot!(kept.run("undo shop"), @r"
    exit 1
    --- stderr
    error: the workspace has changed meanwhile: `src/new.rs` was changed here too
    hint: Nothing was applied; the changes are kept in the session.
    [EOF]
    ");
    assert!(kept.world.workspace().contains("mine"));
}

const BLOCKED: &str = r#"
    f .vscode/tasks.json "{}\n"
    f notes.txt "one\nthree\n"
"#;

#[test]
fn g5_allow_takes_a_name_and_a_word() {
    let kept = kept(BLOCKED);
    assert_snapshot!(kept.run("apply shop --allow .vscode/tasks.json"), @r"
    exit 1
    --- stderr
    warning: block suspect.vscode .vscode/tasks.json: tasks and settings take effect when the folder is opened
    error: .vscode/tasks.json is not allowed without a word for it
    hint: Type it at a terminal, or say --yes.
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE]));
    assert_snapshot!(kept.run("apply shop --allow notes.txt --yes"), @r"
    exit 1
    --- stderr
    error: nothing blocks notes.txt
    [EOF]
    ");
    assert_snapshot!(kept.run("apply shop --allow nowhere --yes"), @r"
    exit 1
    --- stderr
    error: session shop changed nothing at nowhere
    [EOF]
    ");
    // The rest first; what is held back waits.
    assert_snapshot!(kept.run("apply shop --yes"), @r"
    exit 0
    --- stdout
      + .vscode  skipped: needs a change that is not applied
      + .vscode/tasks.json  blocked
      ~ notes.txt
    1 modified, 2 added, 0 deleted (+2 -1)
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened
    [EOF]
    --- stderr
    applied 1 of 3 (1 modified, 0 added, 0 deleted), 2 left out
    hint: 2 more are blocked: `lazaret apply shop --allow PATH`, or `lazaret discard shop`.
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    assert!(!kept.world.path("workspace/.vscode/tasks.json").exists());
    assert_snapshot!(kept.run("apply shop --yes --allow .vscode/tasks.json"), @r"
    exit 0
    --- stdout
      + .vscode
      + .vscode/tasks.json
    0 modified, 2 added, 0 deleted (+1 -0)
    1 more are in the workspace already
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened (allowed)
    [EOF]
    --- stderr
    warning: block suspect.vscode .vscode/tasks.json: tasks and settings take effect when the folder is opened
    applied 2 of 2 (0 modified, 2 added, 0 deleted)
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, BLOCKED]));
    assert!(!kept.env.path("home/.config/lazaret/allowed.toml").exists());
}

/// What was allowed for an apply that fails, or that was refused, is not allowed for good.
#[test]
fn g5_what_is_not_applied_is_not_remembered() {
    const ALLOWED: &str = "apply shop --yes --allow .vscode/tasks.json --remember";
    let kept = kept(BLOCKED);
    let file = kept.env.path("home/.config/lazaret/allowed.toml");
    kept.user("f notes.txt \"mine\\n\"");
    let refused = kept.env.run(ALLOWED);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(!file.exists());
    kept.user(BEFORE);
    // No journal can be begun.
    let journals = kept.world.lock().unwrap().dir().file("apply");
    std::fs::write(&journals, "in the way").unwrap();
    let failed = kept.env.run(ALLOWED);
    assert_ne!(failed.code, 0, "{failed}");
    assert!(!file.exists());
    assert_eq!(kept.world.workspace(), tree(&[BEFORE]));
    std::fs::remove_file(&journals).unwrap();
    kept.does(ALLOWED);
    assert!(file.exists());
}

/// What a summary leaves out is in a file, in full and inert.
#[test]
fn ui_05_what_a_summary_leaves_out_is_in_a_file() {
    let list = |kept: &Kept| kept.world.lock().unwrap().dir().file("changes.txt");
    let short = kept(TWO);
    short.does("apply shop --yes");
    assert!(!list(&short).exists());

    const LONG: &str = r#"
        f src/a-name-that-has-more-columns-than-a-column-of-findings/and-then-some-more/AGENTS.md "x\n"
        f x/00 "" ; f x/01 "" ; f x/02 "" ; f x/03 "" ; f x/04 "" ; f x/05 "" ; f x/06 ""
    "#;
    let long = kept(LONG.replace(" ; ", "\n").leak());
    let said = long.env.run("apply shop --yes");
    let (list, path) = (list(&long), "and-then-some-more/AGENTS.md");
    assert!(said.stderr.contains("full list: "), "{said}");
    assert!(said.stderr.contains("/changes.txt\n"), "{said}");
    assert!(!said.stdout.contains(
        "suspect.agent_instructions  src/a-name-that-has-more-columns-than-a-column-of-findings"
    ));
    let text = std::fs::read_to_string(&list).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("+ src/a-name") && line.ends_with(path))
    );
    assert!(lines.contains(&"+ x/06"), "{text}");
    let is_finding = |line: &&str| {
        line.starts_with("warn suspect.agent_instructions src/a-name") && line.contains(path)
    };
    assert_eq!(lines.into_iter().filter(is_finding).count(), 1, "{text}");
}

/// What is allowed for good is what one key has git run: another key, or the same one in
/// another file, is another finding.
#[test]
fn git_27_what_is_remembered_notices_that_the_configuration_changed() {
    const EDIT: &str = "f page \"x\\n\"";
    let first = kept(EDIT);
    let pager = "[core]\n\tpager = ./page\n";
    first.env.write("home/.gitconfig", pager);
    first.does("apply shop --yes --allow page --remember");
    let again = |file: &str, text: &str| {
        let mut second = kept(EDIT);
        second.env = second.env.variable("XDG_CONFIG_HOME", &first.config());
        second.env.write(file, text);
        second.env.run("apply shop --yes").code
    };
    assert_eq!(again("home/.gitconfig", pager), 0);
    let editor = "[core]\n\teditor = ./page\n";
    assert_eq!(again("home/.gitconfig", editor), 1);
    let both = [pager, editor].concat();
    assert_eq!(again("home/.gitconfig", &both), 1);
}

#[test]
fn g5_what_is_remembered_passes_the_next_time() {
    let first = kept(BLOCKED);
    first.does("apply shop --yes --allow .vscode/tasks.json --remember");
    let file = first.env.path("home/.config/lazaret/allowed.toml");
    assert_snapshot!(std::fs::read_to_string(&file).unwrap(), @r#"
    # Written by `lazaret apply --remember`; see `lazaret allowed`.

    [[allowed]]
    code = "suspect.vscode"
    path = ".vscode/tasks.json"
    fingerprint = "335efce0da2fc9e5038b45b3b47e47ab1a7d489fb4f32365a45a27d66863c852"
    "#);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    assert_snapshot!(first.run("allowed"), @r"
    exit 0
    --- stdout
    suspect.vscode  .vscode/tasks.json
    [EOF]
    ");

    // In another workspace, the same contents at the same path.
    let mut second = kept(BLOCKED);
    second.env = second.env.variable("XDG_CONFIG_HOME", &first.config());
    assert_snapshot!(second.run("apply shop --yes"), @r"
    exit 0
    --- stdout
      + .vscode
      + .vscode/tasks.json
      ~ notes.txt
    1 modified, 2 added, 0 deleted (+2 -1)
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened (allowed)
    [EOF]
    --- stderr
    applied 3 of 3 (1 modified, 2 added, 0 deleted)
    hint: `lazaret undo shop` takes it back.
    [EOF]
    ");
    assert_eq!(second.world.workspace(), tree(&[BEFORE, BLOCKED]));
    // Other contents are not covered.
    let mut third = kept("f .vscode/tasks.json \"{ }\\n\"");
    third.env = third.env.variable("XDG_CONFIG_HOME", &first.config());
    assert_snapshot!(third.run("apply shop --yes"), @r"
    exit 1
    --- stdout
      + .vscode  skipped: needs a change that is not applied
      + .vscode/tasks.json  blocked
    0 modified, 2 added, 0 deleted (+1 -0)
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened
    [EOF]
    --- stderr
    error: nothing of session shop was applied
      caused by: findings need a review
    hint: Look with `lazaret diff shop`.
    [EOF]
    ");

    assert_snapshot!(first.run("allowed rm .vscode/tasks.json"), @r"
    exit 0
    --- stderr
    removed 1 allowed for .vscode/tasks.json
    [EOF]
    ");
    assert_snapshot!(first.run("allowed"), @r"
    exit 0
    --- stderr
    nothing is allowed
    [EOF]
    ");
    assert_snapshot!(first.run("allowed rm .vscode/tasks.json"), @r"
    exit 1
    --- stderr
    error: nothing is allowed for .vscode/tasks.json
    [EOF]
    ");
}

impl Kept {
    fn config(&self) -> String {
        self.env.path("home/.config").display().to_string()
    }
}

#[test]
fn g5_a_wrong_file_is_said_by_its_line_and_allows_nothing() {
    let kept = kept(BLOCKED);
    let print = "0".repeat(64);
    let good = format!(
        "[[allowed]]\ncode = \"suspect.vscode\"\npath = \"a\"\nfingerprint = \"{print}\"\n"
    );
    for wrong in [
        "allowed = 1\n".to_owned(),
        format!("{good}why = \"x\"\n"),
        good.replace("suspect.vscode", "git.hook"),
        good.replace("path = \"a\"", "path = \"../a\""),
        good.replace("00", "0"),
        "\n\n[[allowed]]\ncode = \"x\"\n".to_owned(),
    ] {
        kept.env.write("home/.config/lazaret/allowed.toml", &wrong);
        let outcome = kept.env.run("apply shop --yes");
        assert_eq!(outcome.code, 125, "{outcome}");
        assert!(outcome.stderr.contains("allowed.toml:"), "{outcome}");
    }
    assert_snapshot!(kept.run("diff shop"), @r"
    exit 125
    --- stderr
    error: $ROOT/home/.config/lazaret/allowed.toml:3: missing field `path`
    [EOF]
    ");
    assert_eq!(kept.world.workspace(), tree(&[BEFORE]));
    // One that others can write is none of the user's.
    let path = kept.env.write("home/.config/lazaret/allowed.toml", &good);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(path, mode).unwrap();
    assert_snapshot!(kept.run("diff shop"), @r"
    exit 125
    --- stderr
    error: $ROOT/home/.config/lazaret/allowed.toml can't be read
      caused by: others can write it: `chmod go-w` it
    [EOF]
    ");
}

/// Who names a path gets the directories that the session made for it, and nothing else.
#[test]
fn g4_a_path_comes_with_its_directories() {
    let kept = kept("f new/deep/one \"1\\n\"\nf new/two \"2\\n\"\nf new/deep/.envrc \"x\"");
    kept.does("apply shop new/deep/one --yes");
    assert_eq!(
        kept.world.workspace(),
        tree(&[BEFORE, "f new/deep/one \"1\\n\""])
    );
    kept.does("apply shop new/two --allow new/deep/.envrc --yes");
    let all = "f new/deep/one \"1\\n\"\nf new/two \"2\\n\"\nf new/deep/.envrc \"x\"";
    assert_eq!(kept.world.workspace(), tree(&[BEFORE, all]));
}

/// A file of the workspace has no say, wherever it came from.
#[test]
fn sus_29_a_workspace_allows_nothing() {
    let kept = kept(BLOCKED);
    let print = "0".repeat(64);
    let text = format!(
        "[[allowed]]\ncode = \"suspect.vscode\"\npath = \".vscode/tasks.json\"\nfingerprint = \"{print}\"\n"
    );
    for name in [
        "allowed.toml",
        "lazaret.toml",
        ".config/lazaret/allowed.toml",
    ] {
        let path = kept.world.path("workspace").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &text).unwrap();
    }
    kept.does("apply shop --yes");
    assert!(!kept.world.path("workspace/.vscode/tasks.json").exists());
}
