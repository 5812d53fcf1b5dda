//! The plain prompt: who may say yes, and to what.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{ApprovalMode, Decision, KeepReason, OnConflict};
use lazaret_gate::tip_report::WaitingReport;
use lazaret_launcher::decide::waiting_commits::{NoCommits, ShownCommits, WaitingCommits};
use lazaret_launcher::decide::{AskContext, decide};
use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_launcher::failure::{Failure, FailureKind};
use lazaret_launcher::ui::{
    ColorChoice, NoAnswer, OutputFormat, ProgressChoice, Streams, Ui, UiOptions, Verbosity,
};
use lazaret_session::cancel::Cancel;

use super::desk::Desk;

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What was decided, and everything that was shown and asked.
struct Talk {
    decision: Decision,
    said: String,
}

/// Decides with these lines typed.
fn talk(desk: &Desk, approval: ApprovalMode, typed: &str, streams: StreamKind) -> Talk {
    talk_beside(&mut NoCommits, desk, approval, typed, streams)
}

/// Decides while commits wait.
fn talk_beside(
    commits: &mut dyn WaitingCommits,
    desk: &Desk,
    approval: ApprovalMode,
    typed: &str,
    streams: StreamKind,
) -> Talk {
    let memory = Memory::default();
    let home = desk.root.path().to_str().unwrap().to_owned();
    let kinds = StreamKinds {
        stdin: streams,
        stdout: streams,
        stderr: streams,
    };
    let variables = [("HOME".into(), home.into()), ("PAGER".into(), "cat".into())];
    let env = Environment::new(variables, kinds, Some(100), 1000, "/".into());
    let options = UiOptions {
        format: OutputFormat::Text,
        color: ColorChoice::Never,
        progress: ProgressChoice::None,
        verbosity: Verbosity::Normal,
        questions: lazaret_launcher::ui::Questions::Asked,
    };
    let streams = Streams {
        stdin: Box::new(Cursor::new(typed.to_owned())),
        stdout: Box::new(memory.clone()),
        stderr: Box::new(memory.clone()),
        discard_typeahead: || {},
        keys: || None,
    };
    let ui = Ui::new(streams, options, &env);
    let case = desk.case();
    let context = AskContext {
        ui: &ui,
        cancel: &Cancel::new(),
        commits,
    };
    let decision = decide(&case, &Choices::all(), approval, context).unwrap();
    let said = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
    // The answers were typed: the terminal would have shown them, with their ends of lines.
    let said = said
        .replace(": lazaret? ", ":\nlazaret? ")
        .replace(": \n", ":\n");
    Talk { decision, said }
}

/// Asks at a terminal.
fn ask(desk: &Desk, typed: &str) -> Talk {
    talk(desk, ApprovalMode::Ask, typed, StreamKind::Terminal)
}

/// The paths that would be written.
fn applied(decision: &Decision) -> Vec<String> {
    match decision {
        Decision::Apply(plan) => {
            let changes = plan.approved.changes().iter();
            changes.map(|change| change.path.to_string()).collect()
        }
        other => vec![format!("{other:?}")],
    }
}

const BEFORE: &str = r#"
    f a "1\n2\n3\n4\n5\n"
    f b "1\n"
    f gone "1\n2\n"
"#;
const SESSION: &str = r#"
    f a "1\n2\n3\n4\nfive\n"
    f b "2\n"
    f new/one "1\n"
    f new/two "1\n"
    - gone
    f .vscode/tasks.json "{}\n"
    f Makefile "all:\n"
"#;
/// An edit that merges, and one that does not.
const HOST: &str = r#"
    f a "one\n2\n3\n4\n5\n"
    f b "3\n"
"#;

fn desk() -> Desk {
    Desk::new(BEFORE, SESSION, HOST)
}

#[test]
fn g4_the_question_names_numbers_and_place() {
    let talk = ask(&desk(), "y\n");
    assert_snapshot!(talk.said, @r"
      + .vscode  skipped: needs a change that is not applied
      + .vscode/tasks.json  blocked
      + Makefile
      ~ a  merged with your edit
      ~ b  conflict
      - gone
      + new
      + new/one
      + new/two
    2 modified, 6 added, 1 deleted (+6 -4)
    block  suspect.vscode       .vscode/tasks.json  tasks and settings take effect when the folder is
           opened
    warn   suspect.entry_point  Makefile            holds commands that `make` and its like run
    conflict  b  was changed here too
    lazaret? Apply 6 of 9 changes to ~/workspace? [y]es [n]o [d]iff [p]ick [k]eep [?]:
    ");
    let paths = ["Makefile", "a", "gone", "new", "new/one", "new/two"];
    assert_eq!(applied(&talk.decision), paths);
    let Decision::Apply(plan) = talk.decision else {
        unreachable!()
    };
    assert_eq!((plan.left, plan.held, plan.all), (1, 2, 9));
}

#[test]
fn g4_picking_goes_through_one_by_one() {
    // .vscode/tasks.json, Makefile, a, b, gone, new/one, new/two
    let talk = ask(&desk(), "p\nallow\nn\ny\ntheirs\nn\nn\nn\ny\n");
    assert_snapshot!(talk.said, @r"
      + .vscode  skipped: needs a change that is not applied
      + .vscode/tasks.json  blocked
      + Makefile
      ~ a  merged with your edit
      ~ b  conflict
      - gone
      + new
      + new/one
      + new/two
    2 modified, 6 added, 1 deleted (+6 -4)
    block  suspect.vscode       .vscode/tasks.json  tasks and settings take effect when the folder is
           opened
    warn   suspect.entry_point  Makefile            holds commands that `make` and its like run
    conflict  b  was changed here too
    lazaret? Apply 6 of 9 changes to ~/workspace? [y]es [n]o [d]iff [p]ick [k]eep [?]:
    (1/7)
      + .vscode/tasks.json  blocked
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened
    lazaret? Blocked. Type the word to apply it all the same: [allow] [n]o [d]iff [q]uit [?]:
    (2/7)
      + Makefile
    warn   suspect.entry_point  Makefile  holds commands that `make` and its like run
    lazaret? Apply this one? [y]es [n]o [d]iff [a]ll [q]uit [?]:
    (3/7)
      ~ a  merged with your edit
    lazaret? Apply this one? [y]es [n]o [d]iff [a]ll [q]uit [?]:
    (4/7)
      ~ b  conflict
    lazaret? Yours stays. Type the word to have the session's in its place: [theirs] [n]o [d]iff [q]uit
      [?]:
    (5/7)
      - gone
    lazaret? Apply this one? [y]es [n]o [d]iff [a]ll [q]uit [?]:
    (6/7)
      + new/one
    lazaret? Apply this one? [y]es [n]o [d]iff [a]ll [q]uit [?]:
    (7/7)
      + new/two
    lazaret? Apply this one? [y]es [n]o [d]iff [a]ll [q]uit [?]:   + .vscode
      + .vscode/tasks.json
      + Makefile  left out
      ~ a  merged with your edit
      ~ b  in place of your edit
      - gone  left out
      + new  left out
      + new/one  left out
      + new/two  left out
    2 modified, 6 added, 1 deleted (+6 -4)
    block  suspect.vscode  .vscode/tasks.json  tasks and settings take effect when the folder is opened
           (allowed)
    lazaret? Apply 4 of 9 changes to ~/workspace? [y]es [n]o [d]iff [p]ick [k]eep [?]:
    ");
    assert_eq!(
        applied(&talk.decision),
        [".vscode", ".vscode/tasks.json", "a", "b"]
    );
}

#[test]
fn g4_the_rest_at_once() {
    // All that needs no word of its own.
    let all = ask(&desk(), "p\nn\na\ny\n");
    let paths = ["Makefile", "a", "gone", "new", "new/one", "new/two"];
    assert_eq!(applied(&all.decision), paths);
    // Nothing more.
    let quit = ask(&desk(), "p\nn\ny\nq\ny\n");
    assert_eq!(applied(&quit.decision), ["Makefile"]);
}

#[test]
fn g4_a_no_throws_away_by_a_second_word_only() {
    let talk = ask(&desk(), "n\ny\n");
    assert!(matches!(talk.decision, Decision::Discard));
    let question = "lazaret? Throw 9 changes away? [y]es [k]eep [?]:";
    assert!(talk.said.contains(question), "{}", talk.said);
    let kept = ask(&desk(), "n\nk\n").decision;
    assert!(matches!(kept, Decision::Keep(KeepReason::Chosen)));
    for typed in ["n\n", "n\nn\nn\nn\n", "n\n\n\n\n"] {
        let decision = ask(&desk(), typed).decision;
        assert!(
            matches!(decision, Decision::Keep(KeepReason::NoAnswer(_))),
            "{typed:?}: {decision:?}"
        );
    }
}

/// A branch that waits, and what landing it comes to.
#[derive(Debug)]
struct Branch {
    lands: Result<(), &'static str>,
    holds_all: bool,
    asked: usize,
}

impl Branch {
    fn new(lands: Result<(), &'static str>) -> Self {
        Self {
            lands,
            holds_all: false,
            asked: 0,
        }
    }

    fn is_landed(&self) -> bool {
        self.asked > 0 && self.lands.is_ok()
    }
}

impl WaitingCommits for Branch {
    fn waiting(&self) -> Option<String> {
        (!self.is_landed()).then(|| "branch fix: 2 commits".to_owned())
    }

    fn hold_all(&self) -> bool {
        self.is_landed() && self.holds_all
    }

    fn ask(&mut self) -> Result<(), Failure> {
        self.asked += 1;
        let lands = self.lands.map(drop);
        lands.map_err(|why| Failure::message(FailureKind::Engine, why))
    }

    fn report(&mut self) -> Option<WaitingReport> {
        None
    }

    fn show(&mut self) -> Result<ShownCommits<'_>, Failure> {
        unreachable!("no screen can be drawn")
    }

    fn land(&mut self, _branches: &[usize]) -> Result<(), Failure> {
        unreachable!("the question lands all")
    }
}

fn ask_beside(branch: &mut Branch, desk: &Desk, typed: &str) -> Talk {
    talk_beside(branch, desk, ApprovalMode::Ask, typed, StreamKind::Terminal)
}

#[test]
fn commits_are_landed_at_the_question_and_the_files_are_asked_about_again() {
    let mut branch = Branch::new(Ok(()));
    let talk = ask_beside(&mut branch, &desk(), "c\ny\n");
    assert_eq!(branch.asked, 1);
    assert!(matches!(talk.decision, Decision::Apply(_)));
    let questions: Vec<&str> = talk
        .said
        .lines()
        .filter(|line| line.starts_with("lazaret? "))
        .collect();
    assert!(
        questions[0].contains("[p]ick [c]ommits [k]eep [?]"),
        "{}",
        talk.said
    );
    assert!(questions[1].contains("[p]ick [k]eep [?]"), "{}", talk.said);
}

#[test]
fn files_are_not_asked_about_again_if_what_was_landed_holds_them() {
    let mut branch = Branch {
        holds_all: true,
        ..Branch::new(Ok(()))
    };
    let talk = ask_beside(&mut branch, &desk(), "c\ny\n");
    assert!(matches!(talk.decision, Decision::Landed));
}

#[test]
fn commits_that_cannot_be_landed_leave_the_files_to_be_decided_on() {
    let mut branch = Branch::new(Err("no engine answers"));
    let talk = ask_beside(&mut branch, &desk(), "c\nn\ny\n");
    assert!(matches!(talk.decision, Decision::Discard));
    assert!(talk.said.contains("no engine answers"), "{}", talk.said);
    let question = "Throw 9 changes and the copy (branch fix: 2 commits) away?";
    assert!(talk.said.contains(question), "{}", talk.said);
}

#[test]
fn commits_are_not_asked_about_without_a_terminal_or_after_a_consent() {
    let mut branch = Branch::new(Ok(()));
    for (approval, streams) in [
        (ApprovalMode::Ask, StreamKind::Other),
        (ApprovalMode::Withheld, StreamKind::Terminal),
        (ApprovalMode::IfClean, StreamKind::Terminal),
    ] {
        let talk = talk_beside(&mut branch, &desk(), approval, "c\ny\n", streams);
        assert!(matches!(talk.decision, Decision::Keep(_)), "{}", talk.said);
        assert!(!talk.said.contains("ommits"), "{}", talk.said);
    }
    assert_eq!(branch.asked, 0);
}

#[test]
fn commits_are_asked_about_where_no_change_of_a_file_waits() {
    let desk = Desk::new("f a \"1\\n\"", "", "");
    for (typed, asked) in [("c\n", 1), ("k\n", 0)] {
        let mut branch = Branch::new(Ok(()));
        let talk = ask_beside(&mut branch, &desk, typed);
        assert!(matches!(talk.decision, Decision::NothingToApply));
        assert_eq!(branch.asked, asked, "{typed:?}");
    }
}

#[test]
fn g5_a_blocked_file_takes_the_whole_word() {
    for typed in ["p\ny\n", "p\na\n", "p\nal\nALLO\nyes\n"] {
        let talk = ask(&desk(), typed);
        let reason = match talk.decision {
            Decision::Keep(KeepReason::NoAnswer(reason)) => reason,
            other => panic!("{typed:?}: {other:?}"),
        };
        assert_eq!(reason, NoAnswer::EndOfInput);
    }
}

#[test]
fn g5_only_blocked_changes_can_still_be_allowed_at_a_terminal() {
    let desk = Desk::new("", "f .envrc \"x\"", "");
    let talk = ask(&desk, "p\nallow\ny\n");
    assert_snapshot!(talk.said, @r"
      + .envrc  blocked
    0 modified, 1 added, 0 deleted (+1 -0)
    block  suspect.directory_env  .envrc  runs when a shell enters the directory
    warn   suspect.secret         .envrc  may hold a secret
    lazaret? Nothing of 1 change can be applied as it is. [d]iff [p]ick [k]eep [?]:
    (1/1)
      + .envrc  blocked
    block  suspect.directory_env  .envrc  runs when a shell enters the directory
    warn   suspect.secret         .envrc  may hold a secret
    lazaret? Blocked. Type the word to apply it all the same: [allow] [n]o [d]iff [q]uit [?]:   + .envrc
    0 modified, 1 added, 0 deleted (+1 -0)
    block  suspect.directory_env  .envrc  runs when a shell enters the directory (allowed)
    warn   suspect.secret         .envrc  may hold a secret
    lazaret? Apply 1 change to ~/workspace? [y]es [n]o [d]iff [p]ick [k]eep [?]:
    ");
    assert_eq!(applied(&talk.decision), [".envrc"]);
}

#[test]
fn ui_07_only_the_user_says_yes() {
    let yes = "y\ny\ny\n";
    let talk = talk(&desk(), ApprovalMode::Ask, yes, StreamKind::Other);
    assert!(matches!(
        talk.decision,
        Decision::Keep(KeepReason::NoAnswer(NoAnswer::NoTerminal))
    ));
    for typed in ["", "\n\n\n", "p\n", "p\nn\n", "d\n"] {
        let talk = ask(&desk(), typed);
        assert!(
            matches!(talk.decision, Decision::Keep(KeepReason::NoAnswer(_))),
            "{typed:?}: {:?}",
            talk.decision
        );
    }
}

#[test]
fn aud_08_nothing_is_applied_unasked_with_a_conflict_or_a_finding() {
    let given = |desk: &Desk, approval| talk(desk, approval, "y\n", StreamKind::Terminal).decision;
    let finding = Desk::new("", "f Makefile \"all:\\n\"\nf a \"1\\n\"", "");
    let blocked = Desk::new("", "f .envrc \"x\"\nf a \"1\\n\"", "");
    for desk in [&finding, &blocked] {
        let decision = given(desk, ApprovalMode::IfClean);
        assert!(matches!(decision, Decision::Keep(KeepReason::NotClean)));
    }
    let conflict = Desk::new("f b \"1\\n\"", "f b \"2\\n\"\nf c \"1\\n\"", "f b \"3\\n\"");
    for approval in [
        ApprovalMode::IfClean,
        ApprovalMode::Preapproved(OnConflict::Refuse),
    ] {
        let decision = given(&conflict, approval);
        assert!(matches!(decision, Decision::Keep(KeepReason::Conflicts)));
    }
    let rest = given(&conflict, ApprovalMode::Preapproved(OnConflict::KeepBoth));
    assert_eq!(applied(&rest), ["c"]);
    // A merge is no conflict.
    let merge = Desk::new(
        BEFORE,
        "f a \"1\\n2\\n3\\n4\\nfive\\n\"",
        "f a \"one\\n2\\n3\\n4\\n5\\n\"",
    );
    assert_eq!(applied(&given(&merge, ApprovalMode::IfClean)), ["a"]);
}

/// A new place is asked about, and what was moved there goes with it (APP-27).
#[test]
fn app_27_the_prompt_asks_once_about_what_was_moved() {
    let desk = || {
        let session = "- old\nf .envrc \"1\\n\"\n- gone\nf new \"2\\n\"";
        Desk::new("f old \"1\\n\"\nf gone \"2\\n\"", session, "")
    };
    let none = ask(&desk(), "p\nn\nn\nk\n");
    assert_snapshot!(none.said, @r"
      + .envrc  blocked
      > new  moved from gone
      - old  skipped: its new place is not applied
    0 modified, 1 added, 1 deleted, 1 moved (+1 -1)
    block  suspect.directory_env  .envrc  runs when a shell enters the directory
    warn   suspect.secret         .envrc  may hold a secret
    stays     old  was moved to .envrc, which is not applied
    lazaret? Apply 2 of 4 changes to ~/workspace? [y]es [n]o [d]iff [p]ick [k]eep [?]:
    (1/2)
      + .envrc  blocked
        moved from old, which goes with it
    block  suspect.directory_env  .envrc  runs when a shell enters the directory
    warn   suspect.secret         .envrc  may hold a secret
    lazaret? Blocked. Type the word to apply it all the same: [allow] [n]o [d]iff [q]uit [?]:
    (2/2)
      + new
        moved from gone, which goes with it
    lazaret? Apply this one? [y]es [n]o [d]iff [a]ll [q]uit [?]:   > .envrc  moved from old  left out
      > new  moved from gone  left out
    0 modified, 0 added, 0 deleted, 2 moved
    lazaret? Nothing of 4 changes can be applied as it is. [d]iff [p]ick [k]eep [?]:
    ");
    let some = ask(&desk(), "p\nn\ny\ny\n");
    assert_eq!(applied(&some.decision), ["gone", "new"]);
    let all = ask(&desk(), "p\nallow\ny\ny\n");
    assert_eq!(applied(&all.decision), [".envrc", "gone", "new", "old"]);
}
