//! What a session changed, as files: the report and the command.

mod patch;

use std::path::Path;
use std::time::SystemTime;

use insta::assert_snapshot;
use lazaret_gate::case::Case;
use lazaret_gate::check::{Candidate, CheckOptions, compare};
use lazaret_gate::export::{Checked, Form, ReportInput, ReportSubject, propose, write};
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_gate::proposal::ItemState;
use lazaret_launcher::decide::case::open_case;
use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::store::record::GateLimits;
use lazaret_tests::{Random, random_tree, tree_text};
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::unescape;

use super::verb::Verb;
use super::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Too,
    No,
}

const APPLY: &str = "git apply --whitespace=nowarn";

/// Runs a script in `dir`, in which git is alone with its own configuration. One process per
/// script: between its fork and its exec it holds every lock of the other tests.
#[track_caller]
fn script(dir: &Path, script: &str, arguments: &[&str]) {
    let words = [&["-euc", script, "script"], arguments].concat();
    let output = duct::cmd("sh", words)
        .dir(dir)
        .full_env([
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", dir.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            // The repository of a temporary directory must not be looked for above it.
            ("GIT_CEILING_DIRECTORIES", "/".to_owned()),
        ])
        .stdin_null()
        .stderr_to_stdout()
        .stdout_capture()
        .unchecked()
        .run()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

/// A world in which a command has run, and what came of it.
struct Batched {
    world: World,
    case: Case,
}

impl Batched {
    /// Makes `before` the workspace, runs `edit` on the copy, and collects.
    fn new(before: impl Fn(&Path), edit: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        let world = World::new();
        let workspace = world.path("workspace");
        std::fs::remove_dir_all(&workspace).unwrap();
        std::fs::create_dir(&workspace).unwrap();
        before(&workspace);
        world.command(move |volume, _| {
            edit(volume);
            0
        });
        let session = match world.cycle().unwrap() {
            Collected::Ready(session) => session,
            Collected::Rejected(session) => panic!("{:?}", session.record().rejection),
        };
        let case = open_case(&session, IgnoredFiles::Stay, &world.env).unwrap();
        drop(session);
        Self { world, case }
    }

    /// As [`Batched::new`], in the tree language.
    fn of(before: &'static str, edit: &'static str) -> Self {
        Self::new(
            |dir| tree_text::build(before, dir),
            |dir| tree_text::build(edit, dir),
        )
    }

    fn write(&self, form: Form) -> Vec<u8> {
        let about = self.world.record().unwrap().subject();
        let proposal = propose(&self.case).unwrap();
        let (subject, now) = (ReportSubject::Session(&about), SystemTime::UNIX_EPOCH);
        let input = ReportInput::new(subject, &self.case, &proposal, now, Vec::new()).unwrap();
        let mut bytes = Vec::new();
        write(form, &input, &self.case, &mut bytes).unwrap();
        bytes
    }

    fn patch(&self) -> Vec<u8> {
        self.write(Form::Patch)
    }

    /// Applies the patch with `git apply` in a clone of the workspace as it was copied in:
    /// git has no empty directories.
    #[track_caller]
    fn applied(&self, index: Index) -> tempfile::TempDir {
        let clone = tempfile::tempdir().unwrap();
        std::fs::write(clone.path().join("it.patch"), self.patch()).unwrap();
        let workspace = self.world.path("workspace").display().to_string();
        let made = "cp -a \"$1\" tree; cd tree
            find . -mindepth 1 -type d -empty -delete";
        let (repository, option) = match index {
            Index::Too => ("git init -q .; git add -A -f", "--index"),
            Index::No => ("", ""),
        };
        let text = format!("{made}\n{repository}\n{APPLY} {option} ../it.patch");
        script(clone.path(), &text, &[&workspace]);
        clone
    }
}

/// Runs the program on a world; returns its exit code and its two streams.
#[track_caller]
pub(super) fn lazaret(world: &World, arguments: &[&str]) -> (i32, String, String) {
    let ended = Verb::on(world).run_unlocked(arguments);
    (ended.code, ended.stdout, ended.stderr)
}

#[test]
fn g9_the_command_writes_where_it_is_told_and_replaces_nothing() {
    let batched = Batched::of("f a \"1\\n\"", "f a \"2\\n\"\nf b \"\"");
    let world = &batched.world;
    let run = |arguments: &str| lazaret(world, &arguments.split(' ').collect::<Vec<_>>());

    let (code, patch, said) = run("export shop");
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(patch.as_bytes(), batched.patch());
    let (code, only, _) = run("export shop b");
    assert_eq!(code, 0);
    assert!(only.contains("a/b") && !only.contains("a/a"), "{only}");

    let (code, out, said) = run("export shop --patch it.patch --report it.json");
    assert_eq!((code, out.as_str()), (0, ""));
    assert_snapshot!(said, @"
    wrote $ROOT/cwd/it.patch
    wrote $ROOT/cwd/it.json
    ");
    assert_eq!(
        std::fs::read(world.path("cwd/it.patch")).unwrap(),
        batched.patch()
    );
    let report = std::fs::read_to_string(world.path("cwd/it.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["schema"], "lazaret.report/1");

    // A second time nothing is overwritten, not even the one that would be free.
    std::fs::remove_file(world.path("cwd/it.patch")).unwrap();
    std::fs::write(world.path("cwd/it.json"), "mine").unwrap();
    let (code, _, said) = run("export shop --patch it.patch --report it.json");
    assert_eq!(code, 1);
    assert_snapshot!(said, @"
    error: $ROOT/cwd/it.json exists already
    hint: --force replaces it.
    ");
    assert!(!world.path("cwd/it.patch").exists());
    assert_eq!(std::fs::read(world.path("cwd/it.json")).unwrap(), b"mine");
    let (code, _, _) = run("export shop --patch it.patch --report it.json --force");
    assert_eq!(code, 0);
    assert_ne!(std::fs::read(world.path("cwd/it.json")).unwrap(), b"mine");
    let left = std::fs::read_dir(world.path("cwd")).unwrap().count();
    assert_eq!(left, 2, "a temporary file is left");
}

#[test]
fn g9_the_command_refuses_what_makes_no_sense() {
    let batched = Batched::of("f a \"1\\n\"", "f a \"2\\n\"");
    let world = &batched.world;
    drop(lazaret(world, &["ls"]));
    tree_text::build(
        "d repo/.git/hooks\nd dir\nl link -> repo/.git",
        &world.path("cwd"),
    );
    let refusals: String = [
        "export shop nothing/here",
        "export shop --patch repo/.git/hooks/pre-commit",
        "export shop --patch link/x",
        "export shop --patch .git",
        "export shop --patch dir --force",
        "export shop --patch missing/x",
        "export shop --patch x --report ./x",
        "export shop --patch - --report -",
        "export shop --json --report -",
    ]
    .map(|line| {
        let (code, out, said) = lazaret(world, &line.split(' ').collect::<Vec<_>>());
        format!("{line}\n  {code} {out}{}", said.replace('\n', "\n    "))
            .trim_end()
            .to_owned()
            + "\n"
    })
    .concat();
    assert_snapshot!(refusals, @r#"
    export shop nothing/here
      1 error: session shop changed nothing at nothing/here
    export shop --patch repo/.git/hooks/pre-commit
      1 error: $ROOT/cwd/repo/.git/hooks/pre-commit lies in a repository's .git, where nothing is written
    export shop --patch link/x
      1 error: $ROOT/cwd/link/x lies in a repository's .git, where nothing is written
    export shop --patch .git
      1 error: $ROOT/cwd/.git lies in a repository's .git, where nothing is written
    export shop --patch dir --force
      1 error: $ROOT/cwd/dir is there and is no regular file
    export shop --patch missing/x
      1 error: $ROOT/cwd/missing/x can't be written: its directory is not there
          caused by: No such file or directory (os error 2)
    export shop --patch x --report ./x
      2 error: two reports can't go to the same place
    export shop --patch - --report -
      2 error: two reports can't go to the same place
    export shop --json --report -
      2 {"error":{"causes":[],"exit_code":2,"hints":[],"kind":"usage","message":"two reports can't go to the same place"}}
    "#);

    let unchanged = Batched::of("f a \"1\\n\"", "f a \"1\\n\"");
    let (code, _, said) = lazaret(&unchanged.world, &["export", "shop"]);
    assert_eq!(code, 1);
    assert_snapshot!(said, @"error: session shop changed nothing");
}

/// Names in the report can be read back to the bytes that they are, and a script can join
/// findings and changes by them (AUD-10).
#[test]
fn aud_10_the_report_is_json_with_reversible_names() {
    let batched = Batched::of(
        "f \"back\\\\slash\" \"1\\n\"\nx tool \"a\"\nf keep \"\"",
        "
        f \"back\\\\slash\" \"2\\n3\\n\"
        f \"bidi\\xe2\\x80\\xaegnp\" \"\"
        m 644 tool
        f Makefile \"\\xff\\0\"
        l loop -> loop
        - keep
        ",
    );
    let bytes = batched.write(Form::Json);
    let report: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let named = |list: &str| -> Vec<Vec<u8>> {
        let entries = report[list].as_array().unwrap().iter();
        entries
            .map(|entry| unescape(entry["path"].as_str().unwrap()).unwrap())
            .collect()
    };
    let changes = named("changes");
    for name in [&b"back\\slash"[..], "bidi\u{202e}gnp".as_bytes()] {
        assert!(changes.contains(&name.to_vec()), "{changes:?}");
    }
    for change in report["changes"].as_array().unwrap() {
        for index in change["findings"].as_array().unwrap() {
            let finding = &report["findings"][index.as_u64().unwrap() as usize];
            assert_eq!(finding["path"], change["path"]);
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains(['\u{202e}', '\u{1b}']));
    let mut stable = report.clone();
    stable["lazaret"] = "$VERSION".into();
    stable["session"]["created"] = 0.into();
    stable["session"]["end"]["duration_ms"] = 0.into();
    stable["session"]["image"] = "$IMAGE".into();
    let root = batched.world.root.path().display().to_string();
    let shown = serde_json::to_string_pretty(&stable)
        .unwrap()
        .replace(&root, "$ROOT");
    assert_snapshot!(shown, @r#"
    {
      "changes": [
        {
          "after": {
            "blake3": "e7645220473c8ae27d6c36c8993d8409784c1aab90d22e3da4971c93ff352ce7",
            "mode": "100644",
            "size": 2,
            "target": null,
            "type": "file"
          },
          "applies": true,
          "because_of": null,
          "before": null,
          "codes": [],
          "findings": [
            2
          ],
          "kind": "added",
          "lines_added": null,
          "lines_removed": null,
          "origin": "session",
          "path": "Makefile",
          "state": "applies"
        },
        {
          "after": {
            "blake3": "214ffe938d6cf1aff5ffaa7f7cf96e9b7a38ba6decd37785ce81f40bfe41563c",
            "mode": "100644",
            "size": 4,
            "target": null,
            "type": "file"
          },
          "applies": true,
          "because_of": null,
          "before": {
            "blake3": "50cc1102b1c612e6962547aacdcef9a400d4416ef8dd9388e885991853c400c9",
            "mode": "100644",
            "size": 2,
            "target": null,
            "type": "file"
          },
          "codes": [],
          "findings": [],
          "kind": "modified",
          "lines_added": 2,
          "lines_removed": 1,
          "origin": "session",
          "path": "back\\\\slash",
          "state": "applies"
        },
        {
          "after": {
            "blake3": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
            "mode": "100644",
            "size": 0,
            "target": null,
            "type": "file"
          },
          "applies": false,
          "because_of": null,
          "before": null,
          "codes": [
            "name.invisible"
          ],
          "findings": [
            0
          ],
          "kind": "added",
          "lines_added": 0,
          "lines_removed": 0,
          "origin": "session",
          "path": "bidi\\u{202e}gnp",
          "state": "blocked"
        },
        {
          "after": null,
          "applies": true,
          "because_of": null,
          "before": {
            "blake3": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
            "mode": "100644",
            "size": 0,
            "target": null,
            "type": "file"
          },
          "codes": [],
          "findings": [],
          "kind": "deleted",
          "lines_added": 0,
          "lines_removed": 0,
          "origin": "session",
          "path": "keep",
          "state": "applies"
        },
        {
          "after": {
            "blake3": null,
            "mode": "120000",
            "size": null,
            "target": "loop",
            "type": "link"
          },
          "applies": false,
          "because_of": null,
          "before": null,
          "codes": [
            "link.loop"
          ],
          "findings": [
            1
          ],
          "kind": "added",
          "lines_added": null,
          "lines_removed": null,
          "origin": "session",
          "path": "loop",
          "state": "blocked"
        },
        {
          "after": {
            "blake3": "17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f",
            "mode": "100644",
            "size": 1,
            "target": null,
            "type": "file"
          },
          "applies": true,
          "because_of": null,
          "before": {
            "blake3": "17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f",
            "mode": "100755",
            "size": 1,
            "target": null,
            "type": "file"
          },
          "codes": [],
          "findings": [],
          "kind": "mode",
          "lines_added": 0,
          "lines_removed": 0,
          "origin": "session",
          "path": "tool",
          "state": "applies"
        }
      ],
      "check": null,
      "commits": null,
      "conflicts": [],
      "counts": {
        "added": 3,
        "applicable": 4,
        "block": 2,
        "deleted": 1,
        "lines_added": 2,
        "lines_removed": 1,
        "modified": 2,
        "note": 0,
        "warn": 1,
        "withheld": 2
      },
      "digest": "4199ddaf5feaac0b98b4902bad0bcd193ebd44aa023c51892db985d158be368b",
      "exported": 0,
      "findings": [
        {
          "allowed": false,
          "code": "name.invisible",
          "hint": null,
          "line": null,
          "message": "the name has characters that are not seen or reorder others",
          "path": "bidi\\u{202e}gnp",
          "severity": "block"
        },
        {
          "allowed": false,
          "code": "link.loop",
          "hint": null,
          "line": null,
          "message": "`loop` leads in circles",
          "path": "loop",
          "severity": "block"
        },
        {
          "allowed": false,
          "code": "suspect.entry_point",
          "hint": null,
          "line": null,
          "message": "holds commands that `make` and its like run",
          "path": "Makefile",
          "severity": "warn"
        }
      ],
      "lazaret": "$VERSION",
      "left_out": [],
      "limits": {
        "entries": 1000,
        "file_bytes": 1048576,
        "total_bytes": 1048576
      },
      "paths": [],
      "schema": "lazaret.report/1",
      "session": {
        "command": [
          "work"
        ],
        "commits": [],
        "created": 0,
        "end": {
          "duration_ms": 0,
          "exit_code": 0,
          "interrupted": false,
          "log_truncated": false,
          "oom_killed": false,
          "timed_out": false
        },
        "engine": "memory",
        "image": "$IMAGE",
        "name": "shop",
        "outcome": null,
        "profile": "base",
        "workspace": "$ROOT/workspace"
      },
      "verdict": "needs review"
    }
    "#);
}

/// Text that is too large to be compared travels as a binary part, both ways.
#[test]
fn aud_04_large_text_travels_whole() {
    let root = tempfile::tempdir().unwrap();
    let line = |byte: u8| [vec![byte; 6_000_000], b"\n".to_vec()].concat();
    for (dir, byte) in [("base", b'a'), ("candidate", b'b')] {
        std::fs::create_dir(root.path().join(dir)).unwrap();
        std::fs::write(root.path().join(dir).join("line"), line(byte)).unwrap();
    }
    let open = |name: &str| WorkspaceDir::open_ambient(&root.path().join(name)).unwrap();
    let env = Environment::new([], KINDS, None, 1000, "/".into());
    let profile = lazaret_launcher::profile::load("base", &env).unwrap();
    let limits = GateLimits {
        max_entries: 10,
        max_bytes: 10_000_000,
        max_file_bytes: 10_000_000,
    };
    let options = CheckOptions {
        exclude: &profile.workspace.exclude,
        limits,
        git: env.for_git(),
    };
    let candidate = Candidate::Dir(open("candidate"));
    let compared = compare(open("base"), candidate, options).unwrap();
    let proposal = propose(&compared.case).unwrap();
    let checked = Checked {
        base: String::new(),
        candidate: String::new(),
        profile: String::new(),
    };
    let (subject, now) = (ReportSubject::Check(&checked), SystemTime::UNIX_EPOCH);
    let input = ReportInput::new(subject, &compared.case, &proposal, now, Vec::new()).unwrap();
    let mut patch = Vec::new();
    write(Form::Patch, &input, &compared.case, &mut patch).unwrap();
    assert!(patch.len() < 100_000, "{}", patch.len());
    std::fs::write(root.path().join("it.patch"), patch).unwrap();
    let text = format!("{APPLY} ../it.patch; cmp line ../candidate/line; {APPLY} -R ../it.patch");
    script(&root.path().join("base"), &text, &[]);
    assert!(std::fs::read(root.path().join("base/line")).unwrap() == line(b'a'));
}

const KINDS: StreamKinds = StreamKinds {
    stdin: StreamKind::Other,
    stdout: StreamKind::Other,
    stderr: StreamKind::Other,
};

#[test]
fn aud_06_a_diff_in_colours_holds_no_other_sequences() {
    let batched = Batched::of(
        "f a \"one\\ntwo\\n\"\nf run \"x\"",
        "f a \"one\\n\\e[32mgreen\\n\"\nm 755 run\nf bin \"\\0\"\nl link -> a",
    );
    let (code, out, _) = lazaret(&batched.world, &["diff", "shop", "--color", "always"]);
    assert_eq!(code, 0);
    let diff = out.split("\u{1b}[1m+++ bin").next().unwrap();
    assert_snapshot!(diff.replace('\u{1b}', "ESC"), @r"
    ESC[1m--- aESC[0m
    ESC[1m+++ aESC[0m
    ESC[36m@@ -1,2 +1,2 @@ESC[0m
     one
    ESC[31m-twoESC[0m
    ESC[32m+\u{1b}[32mgreenESC[0m
    ");
    let (_, plain, _) = lazaret(&batched.world, &["diff", "shop"]);
    assert!(!plain.contains('\u{1b}'));
    let painted: String = out
        .split('\u{1b}')
        .enumerate()
        .map(|(index, part)| match index {
            0 => part,
            _ => part.split_once('m').expect("a colour").1,
        })
        .collect();
    assert_eq!(painted, plain);
}

#[test]
fn a_diff_of_one_path_sums_up_that_path() {
    let batched = Batched::of(
        "f a \"1\\n\"\nf b \"1\\n\"",
        "f a \"2\\n\"\nf b \"2\\n\"\nf Makefile \"all:\\n\"",
    );
    let (code, out, _) = lazaret(&batched.world, &["diff", "shop", "a", "--stat"]);
    assert_eq!(code, 0);
    assert_snapshot!(out, @"
      ~     +1     -1  a
    1 modified, 0 added, 0 deleted
    ");
}

#[test]
fn what_is_left_out_is_counted_if_it_is_much() {
    let batched = Batched::of(
        "f a \"1\"",
        "f n00 \"\"\nf n01 \"\"\nf n02 \"\"\nf n03 \"\"\nf n04 \"\"\nf n05 \"\"\nf n06 \"\"\n\
         f n07 \"\"\nf n08 \"\"\nf n09 \"\"\nf n10 \"\"\nf n11 \"\"",
    );
    let (code, out, _) = lazaret(&batched.world, &["apply", "shop", "n00", "--yes"]);
    assert_eq!(code, 0);
    assert_snapshot!(out, @"
      + n00
      11 more are left out
    0 modified, 12 added, 0 deleted
    ");
}

#[test]
fn g4_a_stat_counts_lines() {
    let batched = Batched::of(
        "f a \"one\\ntwo\\n\"\nf run \"x\"\nf gone \"x\\n\"",
        "f a \"one\\n2\\n3\\n\"\nm 755 run\nf bin \"\\0\"\nl link -> a\nd dir\n- gone",
    );
    let (code, out, _) = lazaret(&batched.world, &["diff", "shop", "--stat"]);
    assert_eq!(code, 0);
    assert_snapshot!(out, @"
      ~     +2     -1  a
      +       no text  bin
      +     directory  dir
      -     +0     -1  gone
      +          link  link
      ~     +0     -0  run
    2 modified, 3 added, 1 deleted (+2 -2)
    warn   mode.executable  run  becomes executable
    ");
}
