//! `lazaret review` on a terminal: a pseudo-terminal whose other end understands what it is
//! sent, as a person's would.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use lazaret_session::store::record::Phase;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::world::{BEFORE, EDITS, World, tree};
use crate::support::peak_so_far;

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// `lazaret` at a terminal.
pub(super) struct Terminal {
    master: Option<File>,
    slave: File,
    before: Termios,
    screen: vt100::Parser,
    child: duct::Handle,
}

/// How it ended, and what went to stdout.
pub(super) type End = (Option<i32>, String);

impl Terminal {
    /// Starts `lazaret review shop` on a terminal of 80 columns and 24 rows, on which
    /// something was typed before.
    fn open(world: &World, typed: &str, variables: &[(&str, &str)]) -> Self {
        let state = world.path("xdg");
        std::fs::create_dir(&state).unwrap();
        std::os::unix::fs::symlink(world.path("state"), state.join("lazaret")).unwrap();
        Self::start(world, &state, typed, variables)
    }

    /// Starts it for a world whose sessions lie in `state`.
    pub(super) fn at(world: &World, state: &Path) -> Self {
        Self::start(world, state, "", &[])
    }

    fn start(world: &World, state: &Path, typed: &str, variables: &[(&str, &str)]) -> Self {
        Self::run(world, state, &["review", "shop"], typed, variables)
    }

    /// Starts any verb, with no engine to reach.
    pub(super) fn of_verb(world: &World, state: &Path, arguments: &[&str]) -> Self {
        let engine = format!("unix://{}", world.path("no-engine.sock").display());
        Self::run(world, state, arguments, "", &[("LAZARET_ENGINE", &engine)])
    }

    fn run(
        world: &World,
        state: &Path,
        arguments: &[&str],
        typed: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(
            name,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .unwrap();
        let mut master = File::from(master);
        resize(&master, 80, 24);
        master.write_all(typed.as_bytes()).unwrap();
        rustix::io::ioctl_fionbio(&master, true).unwrap();

        let slave = File::from(slave);
        let home = world.root.path().display().to_string();
        let mut all: BTreeMap<String, String> = [
            ("HOME", home.as_str()),
            ("XDG_STATE_HOME", state.to_str().unwrap()),
            ("TERM", "xterm-256color"),
        ]
        .into_iter()
        .chain(variables.iter().copied())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
        all.retain(|_, value| !value.is_empty());
        let before = tcgetattr(&slave).unwrap();
        let child = duct::cmd(env!("CARGO_BIN_EXE_lazaret"), arguments)
            .full_env(all)
            .dir(world.root.path())
            .stdin_file(slave.try_clone().unwrap())
            .stderr_file(slave.try_clone().unwrap())
            .stdout_capture()
            .unchecked()
            // A stop is for its process group, which must not be that of the tests.
            .before_spawn(|command| {
                command.process_group(0);
                Ok(())
            })
            .start()
            .unwrap();
        Self {
            master: Some(master),
            slave,
            before,
            screen: vt100::Parser::new(size(24), size(80), 0),
            child,
        }
    }

    /// Waits for the end of a verb that must not ask; returns how it ended and all that it wrote.
    /// `typed` is typed again and again: the end of the input for what reads stdin.
    #[track_caller]
    pub(super) fn end_unasked(mut self, typed: &str) -> (Option<i32>, String) {
        let give_up = Instant::now() + PATIENCE;
        let mut said = String::new();
        loop {
            let output = self.child.try_wait().unwrap();
            let output = output.map(|output| (output.status.code(), output.stdout.clone()));
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = self.master.as_mut().unwrap().read(&mut bytes) {
                said.push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
            if let Some((code, stdout)) = output {
                said.push_str(&String::from_utf8(stdout).unwrap());
                return (code, said);
            }
            assert!(!said.contains("lazaret? "), "it asks:\n{said}");
            assert!(Instant::now() < give_up, "it waits:\n{said}");
            self.press(typed);
            self.read();
        }
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Reads until the screen is as it is wanted.
    #[track_caller]
    fn wait_until(&mut self, wanted: impl Fn(&vt100::Screen) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !wanted(self.screen.screen()) {
            assert!(Instant::now() < give_up, "never seen:\n{}", self.text());
            self.read();
        }
    }

    /// Takes what has come; waits a moment when nothing has.
    fn read(&mut self) {
        let mut bytes = [0; 4096];
        match self.master.as_mut().unwrap().read(&mut bytes) {
            Ok(length) => self.screen.process(&bytes[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[track_caller]
    pub(super) fn wait_for(&mut self, text: &str) {
        self.wait_until(|screen| screen.contents().contains(text));
    }

    pub(super) fn press(&mut self, keys: &str) {
        let master = self.master.as_mut().unwrap();
        master.write_all(keys.as_bytes()).unwrap();
    }

    /// Answers a question. What is typed in the moment in which it appears is thrown away,
    /// as what was typed before; a person types it again.
    #[track_caller]
    pub(super) fn answer(&mut self, key: &str) {
        let give_up = Instant::now() + PATIENCE;
        while self.text().contains("[y=yes, n=no]") {
            assert!(
                Instant::now() < give_up,
                "no answer taken:\n{}",
                self.text()
            );
            self.press(key);
            for _ in 0..20 {
                self.read();
            }
        }
    }

    /// Types something into a field until it appears, as in [`Self::answer`], and takes it
    /// back.
    #[track_caller]
    fn be_heard(&mut self) {
        let give_up = Instant::now() + PATIENCE;
        while !self.text().contains("to apply it: x") {
            assert!(Instant::now() < give_up, "nothing heard:\n{}", self.text());
            self.press("x");
            for _ in 0..20 {
                self.read();
            }
        }
        self.press("\x7f\x7f\x7f\x7f\x7f");
        self.wait_for("to apply it: _");
    }

    /// Returns the most memory that it has had, in KiB.
    pub(super) fn peak(&self) -> u64 {
        peak_so_far(&self.child)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.pids()[0]).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for the end, and asserts that the terminal was given back.
    #[track_caller]
    pub(super) fn end(mut self) -> End {
        let give_up = Instant::now() + PATIENCE;
        let (code, stdout) = loop {
            self.read();
            if let Some(output) = self.child.try_wait().unwrap() {
                break (output.status.code(), output.stdout.clone());
            }
            assert!(
                Instant::now() < give_up,
                "it does not end:\n{}",
                self.text()
            );
        };
        self.read();
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert!(!screen.bracketed_paste());
        let after = tcgetattr(&self.slave).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
        (code, String::from_utf8(stdout).unwrap())
    }
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn resize(master: &File, columns: u16, rows: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(master, size).unwrap();
}

/// A session that waits for its review.
fn world() -> World {
    let world = World::new();
    drop(world.cycle().unwrap());
    world
}

#[track_caller]
fn assert_kept(world: &World) {
    assert_eq!(world.workspace(), tree(&[BEFORE]));
    assert_eq!(world.phase(), Some(Phase::Collected));
}

#[test]
fn a_yes_applies_and_the_terminal_is_given_back() {
    let world = world();
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("+1 -1");
    terminal.wait_until(|screen| {
        let text = screen.contents();
        // The list, the head of the diff, the diff, the bottom line.
        [
            "[x] ~  notes.txt",
            "changed, 8 B → 10 B",
            "2   - two",
            "3 of 3",
        ]
        .iter()
        .all(|part| text.contains(part))
    });
    terminal.press("A");
    terminal.wait_for("lazaret? Apply 3 of 3");
    assert!(terminal.screen.screen().alternate_screen());
    terminal.answer("y");
    assert_eq!(terminal.end(), (Some(0), String::new()));
    assert_eq!(world.workspace(), tree(&[BEFORE, EDITS]));
}

#[test]
fn what_was_left_out_waits() {
    let world = world();
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("\x1b[B");
    terminal.wait_for("src/");
    terminal.press(" ");
    terminal.wait_for("1 of 3 will be applied");
    terminal.press("A");
    terminal.wait_for("lazaret? Apply 1 of 3");
    terminal.answer("y");
    assert_eq!(terminal.end(), (Some(0), String::new()));
    let one = "f notes.txt \"one\\nthree\\n\"";
    assert_eq!(world.workspace(), tree(&[BEFORE, one]));
    assert_eq!(world.phase(), Some(Phase::Collected));
}

/// Leaves `src/` out, and the review.
fn leave_a_part_out(world: &World) {
    let mut terminal = Terminal::open(world, "", &[]);
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("\x1b[B");
    terminal.wait_for("src/");
    terminal.press(" ");
    terminal.wait_for("1 of 3 will be applied");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(120));
}

#[test]
fn choices_of_a_review_that_was_left_are_there_again() {
    let world = world();
    let draft = world.lock().unwrap().dir().file("review-draft.json");
    leave_a_part_out(&world);
    assert!(draft.exists());
    let mut terminal = Terminal::at(&world, &world.path("xdg"));
    terminal.wait_for("Choices restored: 2 out, 0 in part.");
    terminal.wait_for("1 of 3 will be applied");
    // All is taken again, so there is nothing to restore.
    terminal.press("a");
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(120));
    assert!(!draft.exists());
    assert_kept(&world);
}

#[test]
fn choices_about_other_changes_are_dropped() {
    let world = world();
    let draft = world.lock().unwrap().dir().file("review-draft.json");
    leave_a_part_out(&world);
    // The draft of other changes at the same paths.
    let mut stored: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&draft).unwrap()).unwrap();
    stored["changes"] = "0".repeat(64).into();
    for stored in [stored.to_string(), "{".to_owned()] {
        std::fs::write(&draft, stored).unwrap();
        let mut terminal = Terminal::at(&world, &world.path("xdg"));
        terminal.wait_for("Choices dropped: other changes now.");
        terminal.wait_for("3 of 3 will be applied");
        assert!(!draft.exists());
        terminal.press("q");
        assert_eq!(terminal.end().0, Some(120));
    }
    assert_kept(&world);
}

#[test]
fn a_patch_of_what_is_chosen_is_written_beside_the_session() {
    let world = world();
    let patch = world.lock().unwrap().dir().file("lazaret-shop.patch");
    std::fs::write(&patch, "an earlier one").unwrap();
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("e");
    terminal.wait_for("Wrote a patch and two reports; their paths are printed at the end.");
    let patch = std::fs::read_to_string(&patch).unwrap();
    assert!(patch.contains("\n-two\n+three\n"), "{patch}");
    assert!(!world.path("lazaret-shop.patch").exists());
    terminal.press("q");
    terminal.wait_for("wrote ~/xdg/lazaret/sessions/shop/lazaret-shop.patch");
    assert_eq!(terminal.end().0, Some(120));
    assert_kept(&world);
}

#[test]
fn what_is_allowed_by_the_word_is_applied_and_remembered() {
    let world = World::new();
    world.command(|volume, _| {
        std::os::unix::fs::symlink("/etc/passwd", volume.join("users")).unwrap();
        0
    });
    drop(world.cycle().unwrap());
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("0 of 1 will be applied, 1 can't be");
    // What comes in one piece with the key that asks was typed before the question.
    terminal.press("!allow\r");
    terminal.wait_for("Allow what is blocked?");
    terminal.be_heard();
    terminal.press("allow");
    terminal.wait_for("to apply it: allow");
    terminal.press("\t");
    terminal.wait_for("[x] remember");
    terminal.press("\r");
    terminal.wait_for("1 of 1 will be applied");
    terminal.press("A");
    terminal.wait_for("lazaret? Apply 1 of 1");
    terminal.answer("y");
    assert_eq!(terminal.end(), (Some(0), String::new()));
    let link = std::fs::read_link(world.path("workspace/users")).unwrap();
    assert_eq!(link.to_str(), Some("/etc/passwd"));
    let allowed = std::fs::read_to_string(world.path(".config/lazaret/allowed.toml")).unwrap();
    assert!(allowed.contains("link.absolute"), "{allowed}");
}

#[test]
fn ui_06_what_was_typed_ahead_decides_nothing() {
    let world = world();
    let mut terminal = Terminal::open(&world, "Ay\nAy\n", &[]);
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("Ay");
    terminal.wait_for("lazaret? Apply 3 of 3");
    terminal.answer("n");
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("q");
    let (code, _) = terminal.end();
    assert_eq!(code, Some(120));
    assert_kept(&world);
}

#[test]
fn ui_07_a_terminal_that_goes_away_keeps_everything() {
    let world = world();
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("A");
    terminal.wait_for("lazaret? Apply 3 of 3");
    drop(terminal.master.take());
    let give_up = Instant::now() + PATIENCE;
    let output = loop {
        if let Some(output) = terminal.child.try_wait().unwrap() {
            break output;
        }
        assert!(Instant::now() < give_up, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(output.status.code(), Some(120));
    assert_eq!(output.stdout, b"");
    assert_kept(&world);
}

#[test]
fn flt_08_a_signal_keeps_everything_and_gives_the_terminal_back() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let world = world();
        let mut terminal = Terminal::open(&world, "", &[]);
        terminal.wait_for("3 of 3 will be applied");
        terminal.press("A");
        terminal.wait_for("lazaret? Apply 3 of 3");
        terminal.signal(signal);
        let (code, _) = terminal.end();
        assert_eq!(code, Some(120), "{signal:?}");
        assert_kept(&world);
    }
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_it_goes_on() {
    let world = world();
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("\x1a");
    terminal.wait_until(|screen| !screen.alternate_screen());
    // It gives the terminal back before it stops, and only what has stopped can go on.
    let give_up = Instant::now() + PATIENCE;
    while !terminal.screen.screen().alternate_screen() {
        assert!(Instant::now() < give_up, "it does not go on");
        terminal.signal(Signal::CONT);
        for _ in 0..20 {
            terminal.read();
        }
    }
    terminal.wait_for("3 of 3 will be applied");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(120));
}

#[test]
fn the_screen_follows_the_terminal() {
    let world = world();
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("3 of 3 will be applied");
    let (columns, rows) = (40, 10);
    terminal
        .screen
        .screen_mut()
        .set_size(size(rows), size(columns));
    resize(terminal.master.as_ref().unwrap(), columns, rows);
    // One pane, and no key that does not fit.
    terminal.wait_until(|screen| {
        let text = screen.contents();
        !text.contains('│') && text.trim_end().ends_with("A apply  q keep")
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(120));
}

#[test]
fn without_colours_there_are_none_on_the_terminal() {
    for (variables, has_colours) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")][..], false),
        (&[("LAZARET_COLOR", "never")][..], false),
    ] {
        let world = world();
        let mut terminal = Terminal::open(&world, "", variables);
        terminal.wait_for("+1 -1");
        let screen = terminal.screen.screen();
        let mut cells =
            (0..24).flat_map(|row| (0..80).filter_map(move |column| screen.cell(row, column)));
        let is_coloured = |cell: &vt100::Cell| {
            cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
        };
        assert_eq!(cells.any(is_coloured), has_colours, "{variables:?}");
        terminal.press("q");
        assert_eq!(terminal.end().0, Some(120));
    }
}

#[test]
fn a_terminal_that_can_not_move_its_cursor_is_asked_on_a_line() {
    for term in ["dumb", ""] {
        let world = world();
        let mut terminal = Terminal::open(&world, "", &[("TERM", term)]);
        terminal.wait_for("lazaret? Apply 3 changes");
        assert!(!terminal.text().contains("r=review"));
        assert!(!terminal.screen.screen().alternate_screen());
        terminal.press("k\n");
        let (code, stdout) = terminal.end();
        assert_eq!(code, Some(120));
        assert!(
            stdout.contains("1 modified, 1 added, 1 deleted"),
            "{stdout}"
        );
        assert_kept(&world);
    }
}

#[test]
fn g9_export_at_the_question_writes_and_asks_again() {
    let world = world();
    let mut terminal = Terminal::open(&world, "", &[("TERM", "dumb")]);
    terminal.wait_for("[e]xport");
    terminal.press("e\n");
    let dir = world.path("xdg/lazaret/sessions/shop");
    for form in ["patch", "json", "html"] {
        let name = format!("lazaret-shop.{form}");
        terminal.wait_for(&format!("wrote ~/xdg/lazaret/sessions/shop/{name}"));
        let written = std::fs::read(dir.join(name)).unwrap();
        assert!(!written.is_empty(), "{form}");
    }
    // What is typed before a question is thrown away.
    terminal.wait_until(|screen| screen.contents().matches("[e]xport").count() == 2);
    terminal.press("k\n");
    assert_eq!(terminal.end().0, Some(120));
    assert_kept(&world);
}

#[test]
fn ui_01_to_03_a_hostile_session_does_not_reach_the_terminal() {
    let world = World::new();
    world.command(|volume, _| {
        let hostile = "\u{1b}]52;c;eQ==\u{7}\u{1b}]0;owned\u{7}\u{9b}2J\u{1b}[?1049l\u{1b}c";
        std::fs::write(volume.join("notes.txt"), format!("{hostile}\n")).unwrap();
        std::fs::write(volume.join("a \u{202e}b"), "x\n").unwrap();
        0
    });
    drop(world.cycle().unwrap());
    let mut terminal = Terminal::open(&world, "", &[]);
    terminal.wait_for("of 2 will be applied");
    terminal.press("j");
    terminal.wait_for(r"\u{1b}]52;c;eQ==\u{7}");
    assert!(terminal.screen.screen().alternate_screen());
    assert!(terminal.text().contains(r"\u{202e}"));
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(120));
}
