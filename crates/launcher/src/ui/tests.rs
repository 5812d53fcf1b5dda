//! What is said where, and who may answer.

use std::io::{self, Cursor, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;

use super::*;
use crate::failure::FailureKind;
use lazaret_session::cancel::Cancel;

/// A stream that remembers.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn text(&self) -> String {
        String::from_utf8(locked(&self.0).clone()).unwrap()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        locked(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream that fails.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stdin on which nothing ever comes.
struct Silence {
    ends: mpsc::Receiver<()>,
    /// Raised by whom it is read.
    reader: Cancel,
}

impl Read for Silence {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.reader.raise();
        let _ = self.ends.recv();
        Ok(0)
    }
}

struct Said {
    ui: Ui,
    stdout: Memory,
    stderr: Memory,
}

struct Setting {
    streams: StreamKind,
    variables: Vec<(&'static str, String)>,
    options: UiOptions,
    stdin: Box<dyn BufRead + Send>,
}

fn setting(streams: StreamKind) -> Setting {
    Setting {
        streams,
        variables: Vec::new(),
        options: UiOptions {
            format: OutputFormat::Text,
            color: ColorChoice::Never,
            progress: ProgressChoice::None,
            verbosity: Verbosity::Normal,
            questions: Questions::Asked,
        },
        stdin: Box::new(io::empty()),
    }
}

impl Setting {
    fn typed(mut self, text: &'static str) -> Self {
        self.stdin = Box::new(Cursor::new(text));
        self
    }

    fn open(self) -> Said {
        let (stdout, stderr) = (Memory::default(), Memory::default());
        let streams = Streams {
            stdin: self.stdin,
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            discard_typeahead: || {},
            keys: || None,
        };
        let kinds = StreamKinds {
            stdin: self.streams,
            stdout: self.streams,
            stderr: self.streams,
        };
        let variables = self
            .variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let env = Environment::new(variables, kinds, Some(60), 1000, "/".into());
        Said {
            ui: Ui::new(streams, self.options, &env),
            stdout,
            stderr,
        }
    }
}

const QUESTION: Question<'static> = Question {
    text: "Apply these 2 changes?",
    choices: &[
        Choice {
            key: "y",
            word: "yes",
            help: "apply what is listed",
        },
        Choice {
            key: "n",
            word: "no",
            help: "leave it",
        },
    ],
};

#[test]
fn results_and_the_rest_go_different_ways() {
    let said = setting(StreamKind::Other).open();
    said.ui.result("result");
    said.ui.status("status");
    said.ui.warn("warning");
    said.ui.detail("detail");
    assert_eq!(said.stdout.text(), "result\n");
    assert_eq!(said.stderr.text(), "status\nwarning: warning\n");
}

#[test]
fn quiet_leaves_warnings_and_errors() {
    let mut setting = setting(StreamKind::Other);
    setting.options.verbosity = Verbosity::Quiet;
    setting.options.progress = ProgressChoice::Plain;
    let said = setting.open();
    said.ui.status("status");
    said.ui.phase("copy in", Total::Unknown).finish();
    said.ui.warn("careful");
    said.ui.error("broken");
    assert_eq!(said.stderr.text(), "warning: careful\nerror: broken\n");
}

#[test]
fn ui_02_a_failure_is_shown_escaped_and_no_line_of_it_passes_for_ours() {
    let said = setting(StreamKind::Other).open();
    let failure = Failure::message(
        FailureKind::Engine,
        "refused: \u{1b}[2K\rno\u{202e}\nlazaret? Apply? [y=yes] y",
    )
    .context("create container")
    .hinted("Look.");
    said.ui.failure(&failure);
    assert_snapshot!(said.stderr.text(), @r#"
    error: create container
      caused by: refused: \u{1b}[2K\u{d}no\u{202e}
        lazaret? Apply? [y=yes] y
    hint: Look.
    "#);
}

#[test]
fn a_failure_is_one_json_object_with_json() {
    let mut setting = setting(StreamKind::Other);
    setting.options.format = OutputFormat::Json;
    let said = setting.open();
    said.ui
        .failure(&Failure::message(FailureKind::Refused, "a\nb"));
    assert_eq!(said.stderr.text().lines().count(), 1);
    said.ui.json(&serde_json::json!({ "a": 1 }));
    assert_eq!(said.stdout.text(), "{\"a\":1}\n");
}

#[test]
fn with_json_the_command_writes_to_stderr() {
    let mut setting = setting(StreamKind::Other);
    setting.options.format = OutputFormat::Json;
    let said = setting.open();
    said.ui.writer(Output::Stdout).write_all(b"raw").unwrap();
    assert_eq!(
        (said.stdout.text(), said.stderr.text()),
        (String::new(), "raw".to_owned())
    );
}

#[test]
fn a_person_may_answer_by_key_or_word() {
    for (typed, key) in [
        ("y\n", "y"),
        ("  YES \n", "y"),
        ("no\n", "n"),
        ("maybe\nn\n", "n"),
    ] {
        let said = setting(StreamKind::Terminal).typed(typed).open();
        assert_eq!(
            said.ui.prompt(&QUESTION, &Cancel::new()),
            Answer::Chosen(key),
            "{typed}"
        );
    }
}

#[test]
fn ui_06_the_question_is_the_last_line_and_starts_with_our_prefix() {
    let said = setting(StreamKind::Terminal).typed("y\n").open();
    let _ = said.ui.prompt(&QUESTION, &Cancel::new());
    assert_eq!(
        said.stderr.text(),
        "lazaret? Apply these 2 changes? [y]es [n]o [?]: "
    );
}

#[test]
fn a_question_mark_explains_and_anything_else_asks_again() {
    let typed = "what\n\nYe s\nq\n?\nn\n";
    let said = setting(StreamKind::Terminal).typed(typed).open();
    let answer = said.ui.prompt(&QUESTION, &Cancel::new());
    assert_eq!(answer, Answer::Chosen("n"));
    let question = "lazaret? Apply these 2 changes? [y]es [n]o [?]: ";
    let again = "Type one of the choices; ? explains them.\n";
    let choices = "  [y]es  apply what is listed\n  [n]o   leave it\n";
    let four_times = [question, again].concat().repeat(4);
    assert_eq!(
        said.stderr.text(),
        [&four_times, question, choices, question].concat()
    );
}

#[test]
fn ui_07_without_a_terminal_yes_means_nothing() {
    let said = setting(StreamKind::Other).typed("y\ny\ny\n").open();
    assert_eq!(
        said.ui.prompt(&QUESTION, &Cancel::new()),
        Answer::None(NoAnswer::NoTerminal)
    );
    assert_eq!(said.stderr.text(), "");
}

#[test]
fn ui_07_nothing_else_is_an_answer() {
    for (typed, why) in [
        ("", NoAnswer::EndOfInput),
        ("\n", NoAnswer::EndOfInput),
        ("\n\n\n\n", NoAnswer::EndOfInput),
        ("yy\nyess\ny n\n", NoAnswer::EndOfInput),
        ("y", NoAnswer::EndOfInput),
    ] {
        let said = setting(StreamKind::Terminal).typed(typed).open();
        let answer = said.ui.prompt(&QUESTION, &Cancel::new());
        assert_eq!(answer, Answer::None(why), "{typed:?}");
    }
}

#[test]
fn flt_08_ctrl_c_ends_a_question() {
    let (keep_open, ends) = mpsc::channel();
    let cancel = Cancel::new();
    let reader = cancel.clone();
    let mut setting = setting(StreamKind::Terminal);
    setting.stdin = Box::new(io::BufReader::new(Silence { ends, reader }));
    let said = setting.open();
    assert_eq!(
        said.ui.prompt(&QUESTION, &cancel),
        Answer::None(NoAnswer::Interrupted)
    );
    drop(keep_open);
}

#[test]
fn flt_18_a_reader_that_went_away_is_no_error_and_a_full_disk_is() {
    for (kind, reported) in [
        (io::ErrorKind::BrokenPipe, None),
        (io::ErrorKind::StorageFull, Some(io::ErrorKind::StorageFull)),
    ] {
        let said = setting(StreamKind::Other).open();
        locked(&said.ui.0.stdout).stream = Box::new(Broken(kind));
        said.ui.result("one");
        said.ui.result("two");
        assert_eq!(
            said.ui.take_output_error().map(|error| error.kind()),
            reported
        );
    }
}

#[test]
fn plain_progress_ends_with_what_a_phase_came_to() {
    let mut setting = setting(StreamKind::Other);
    setting.options.progress = ProgressChoice::Auto;
    setting.options.verbosity = Verbosity::Verbose;
    let said = setting.open();
    let phase = said.ui.phase("copy in", Total::Unknown);
    let counter = phase.counter().clone();
    thread::spawn(move || {
        counter.add_files(12_345);
        counter.add_bytes(3 << 20);
    })
    .join()
    .unwrap();
    phase.finish();
    drop(said.ui.phase("broken off", Total::Unknown));
    let text = said.stderr.text();
    let (counts, took) = text.rsplit_once(", ").unwrap();
    assert_eq!(counts, "copy in: 12,345 files, 3.0 MiB");
    assert!(took.ends_with(" s\n"), "{text:?}");
}

#[test]
fn a_short_phase_is_a_detail() {
    let mut setting = setting(StreamKind::Other);
    setting.options.progress = ProgressChoice::Auto;
    let said = setting.open();
    said.ui.phase("copy in", Total::Unknown).finish();
    assert_eq!(said.stderr.text(), "");
}

#[test]
fn progress_in_place_is_wiped_before_anything_else_is_said() {
    let mut setting = setting(StreamKind::Terminal);
    setting.options.progress = ProgressChoice::Auto;
    setting.options.verbosity = Verbosity::Verbose;
    let said = setting.open();
    let total = Total::SyncState {
        files: 10,
        bytes: 2048,
    };
    let phase = said.ui.phase("copy in", total);
    phase.counter().add_files(3);
    while !said.stderr.text().contains("3 of 10 files") {
        thread::sleep(Duration::from_millis(10));
    }
    said.ui.warn("look");
    phase.finish();
    let text = said.stderr.text();
    let before = text.split("warning: look\n").next().unwrap();
    assert!(before.ends_with("\r\u{1b}[2K"), "{text:?}");
    let (_, last) = text.rsplit_once("copy in: ").unwrap();
    assert!(last.starts_with("3 files, 0 B, "), "{text:?}");
}

#[test]
fn colours_need_a_terminal_or_a_wish() {
    let coloured = |streams, variables: &[(&'static str, &'static str)], color| {
        let mut setting = setting(streams);
        let variables = variables.iter();
        setting.variables = variables
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        setting.options.color = color;
        let said = setting.open();
        said.ui.warn("");
        said.stderr.text().contains('\u{1b}')
    };
    use ColorChoice::{Always, Auto, Never};
    use StreamKind::{Other, Terminal};
    assert!(coloured(Terminal, &[], Auto));
    assert!(!coloured(Terminal, &[("TERM", "dumb")], Auto));
    assert!(!coloured(Terminal, &[("NO_COLOR", "1")], Auto));
    assert!(!coloured(Terminal, &[], Never));
    assert!(!coloured(Other, &[], Auto));
    assert!(coloured(Other, &[("CLICOLOR_FORCE", "1")], Auto));
    assert!(!coloured(Other, &[("CLICOLOR_FORCE", "0")], Auto));
    assert!(coloured(Other, &[("NO_COLOR", "1")], Always));
}

/// Shows a text of two pieces, with this value of `PAGER`, and returns what came to stdout.
fn paged(streams: StreamKind, pager: &str) -> String {
    let mut setting = setting(streams);
    setting.variables = vec![
        ("PAGER", pager.to_owned()),
        ("PATH", "/usr/bin:/bin".to_owned()),
    ];
    let said = setting.open();
    let workspace = Path::new("/workspace");
    let page = said.ui.page(workspace, |out| {
        written(writeln!(out, "one"))?;
        written(writeln!(out, "two"))
    });
    page.expect("paged");
    said.stdout.text()
}

#[test]
fn text_goes_to_the_pager_of_a_terminal_only() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let pager = format!("cat > '{}'", file.path().display());
    assert_eq!(paged(StreamKind::Other, &pager), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "");
    assert_eq!(paged(StreamKind::Terminal, &pager), "");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "one\ntwo\n");
}

#[test]
fn without_a_pager_text_is_printed() {
    for pager in ["cat", "", "no-such-pager 2> /dev/null"] {
        assert_eq!(paged(StreamKind::Terminal, pager), "one\ntwo\n", "{pager}");
    }
}

/// `PATH` of the user, less what an agent's changes could have written.
#[test]
fn a_pager_of_the_workspace_is_not_run() {
    let workspace = tempfile::tempdir().unwrap();
    let planted = workspace.path().join("planted");
    std::fs::write(&planted, "#!/bin/sh\necho planted\n").unwrap();
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut setting = setting(StreamKind::Terminal);
    setting.variables = vec![
        ("PAGER", "planted 2> /dev/null".to_owned()),
        ("PATH", workspace.path().to_str().unwrap().to_owned()),
    ];
    let said = setting.open();
    let canonical = workspace.path().canonicalize().unwrap();
    let page = said
        .ui
        .page(&canonical, |out| written(writeln!(out, "text")));
    page.expect("paged");
    assert_eq!(said.stdout.text(), "text\n");
}
