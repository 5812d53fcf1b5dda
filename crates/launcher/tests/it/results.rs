//! What happens to results that can't be written.

use std::fs::OpenOptions;
use std::io::Read as _;

use crate::support::TestEnvironment;

#[test]
fn flt_18_a_reader_that_goes_away_is_no_error() {
    let env = TestEnvironment::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let command = env
        .bare(&["profile", "schema"])
        .stdin_null()
        .stdout_file(writer)
        .stderr_capture()
        .unchecked();
    drop(reader);
    let output = command.run().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn flt_18_a_full_disk_is_an_error() {
    let env = TestEnvironment::new();
    // Every write to this device fails as on a full disk.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = env
        .bare(&["profile", "schema"])
        .stdin_null()
        .stdout_file(full)
        .stderr_capture()
        .unchecked()
        .run()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("the result could not be written"),
        "{stderr}"
    );
}

#[test]
fn flt_18_a_slow_reader_gets_everything() {
    let env = TestEnvironment::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    // Less than the text.
    rustix::pipe::fcntl_setpipe_size(&reader, 16 << 10).unwrap();
    let lazaret = env
        .bare(&["man", "--markdown"])
        .stdin_null()
        .stdout_file(writer)
        .start()
        .unwrap();
    // It is read once no whole page is left in it.
    let room = rustix::pipe::fcntl_getpipe_size(&reader).unwrap() as u64;
    while rustix::io::ioctl_fionread(&reader).unwrap() + 4096 <= room {
        assert!(lazaret.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(text.ends_with('\n'));
}

#[test]
fn flt_25_an_unusable_home_is_said_before_anything_happens() {
    let env = TestEnvironment::new().variable("HOME", "relative");
    let outcome = env.run("doctor");
    assert_eq!(outcome.code, 1);
    assert!(
        outcome
            .stdout
            .contains("HOME is not set to an absolute path"),
        "{outcome}"
    );
}

#[test]
fn colours_follow_the_choice() {
    let env = TestEnvironment::new();
    assert!(!env.run("profile show nope").stderr.contains('\u{1b}'));
    assert!(
        env.run("profile show nope --color always")
            .stderr
            .contains("\u{1b}[1;31merror:")
    );
    let forced = TestEnvironment::new().variable("CLICOLOR_FORCE", "1");
    assert!(forced.run("profile show nope").stderr.contains('\u{1b}'));
    let no = TestEnvironment::new()
        .variable("CLICOLOR_FORCE", "1")
        .variable("NO_COLOR", "1");
    assert!(!no.run("profile show nope").stderr.contains('\u{1b}'));
}

/// `nohup` ignores SIGHUP, a shell's `&` SIGINT; neither keeps lazaret from working.
#[test]
fn flt_10_ignored_signals_are_no_obstacle() {
    let env = TestEnvironment::new();
    let output = duct::cmd!("nohup", env!("CARGO_BIN_EXE_lazaret"), "profile", "schema")
        .full_env([
            ("HOME", env.path("home").display().to_string()),
            ("PATH", "/usr/bin:/bin".to_owned()),
        ])
        .stdin_null()
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
}

/// A home that nothing can be written to holds no sessions; that is an answer.
#[test]
fn flt_25_ls_makes_no_state_directory() {
    let env = TestEnvironment::new();
    let outcome = env.variable("XDG_STATE_HOME", "/proc").run("ls");
    assert_eq!(
        outcome.to_string(),
        "exit 0\n--- stderr\nno sessions\n[EOF]"
    );
    let env = TestEnvironment::new();
    assert_eq!(env.run("ls --json").stdout, "[]\n");
    assert!(!env.path("home/.local").exists());
}
