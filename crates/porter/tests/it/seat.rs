//! `porter seat`: a command in frames, with pipes or a terminal.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lazaret_protocol::TerminalSize;
use lazaret_protocol::init::SpawnMessage;
use lazaret_protocol::seat::{FrameReader, FromSeat, ToSeat, WINDOW};
use rustix::process::{Pid, Signal, kill_process};

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(60);

/// A seat, and what it has said.
struct Seat {
    handle: duct::Handle,
    to: Option<io::PipeWriter>,
    from: io::PipeReader,
    frames: FrameReader,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    credit: usize,
    exit: Option<u8>,
}

impl Seat {
    fn start(options: &[&str], script: &str) -> Self {
        let mut arguments = vec!["seat"];
        arguments.extend(options);
        arguments.push("run");
        for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
            arguments.extend(["--without", control]);
        }
        arguments.extend(["--", "/bin/sh", "-c", script]);
        Self::with(&arguments)
    }

    fn with(arguments: &[&str]) -> Self {
        let (stdin, to) = io::pipe().expect("a pipe");
        let (from, stdout) = io::pipe().expect("a pipe");
        let handle = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
            .stdin_file(stdin)
            .stdout_file(stdout)
            .stderr_capture()
            .unchecked()
            .start()
            .expect("it was built");
        Self {
            handle,
            to: Some(to),
            from,
            frames: FrameReader::default(),
            stdout: Vec::new(),
            stderr: Vec::new(),
            credit: 0,
            exit: None,
        }
    }

    fn say(&mut self, frame: ToSeat<'_>) {
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes);
        let to = self.to.as_mut().expect("open");
        match to.write_all(&bytes) {
            // Its command ended, and it after that.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            said => said.expect("a seat always reads"),
        }
    }

    /// Reads one piece of what it says. Returns false at the end.
    fn hear(&mut self) -> bool {
        let mut chunk = [0; 4096];
        let length = self.from.read(&mut chunk).expect("it arrives");
        self.frames.push(chunk.get(..length).expect("short"));
        while let Some(frame) = self.frames.next_frame().expect("a frame") {
            assert_eq!(self.exit, None, "the exit is last");
            match FromSeat::parse(frame).expect("a frame") {
                FromSeat::Stdout(bytes) => self.stdout.extend_from_slice(bytes),
                FromSeat::Stderr(bytes) => self.stderr.extend_from_slice(bytes),
                FromSeat::Credit(bytes) => self.credit += usize::try_from(bytes).expect("small"),
                FromSeat::Exit(code) => self.exit = Some(code),
                FromSeat::Received(_) => panic!("this seat is not resumable"),
            }
        }
        length > 0
    }

    /// Hears until stdout holds `text`.
    #[track_caller]
    fn until(&mut self, text: &str) {
        while !self.said().contains(text) {
            assert!(self.hear(), "it said {:?}", self.said());
        }
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Hears the rest, and returns what it said on both streams and the exit code.
    #[track_caller]
    fn rest(mut self) -> (String, String, u8) {
        while self.hear() {}
        let exit = self.exit.expect("it says how the command ended");
        let ended = self
            .handle
            .wait_timeout(LIMIT)
            .expect("it can be waited for");
        let ended = ended.expect("it ends").status.code();
        assert_eq!(ended, Some(exit.into()), "the seat ends as its command");
        let stderr = String::from_utf8_lossy(&self.stderr).into_owned();
        (self.said(), stderr, exit)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _gone = self.handle.kill();
    }
}

const SIZE: [&str; 2] = ["--terminal", "91x17"];

#[test]
fn pipes_are_apart_and_end() {
    let mut seat = Seat::start(&[], "cat; echo no >&2; test -t 0 || exit 7");
    seat.say(ToSeat::Data(b"a line\n"));
    seat.say(ToSeat::Eof);
    let (stdout, stderr, exit) = seat.rest();
    assert_eq!((&*stdout, &*stderr, exit), ("a line\n", "no\n", 7));
}

#[test]
fn a_terminal_has_its_size_from_the_first_line_on() {
    let mut seat = Seat::start(
        &SIZE,
        // The signal ends the first `read`.
        "stty size; trap 'stty size' WINCH; echo ready; read line || read line; \
         echo \"got $line\"; test -t 1 && test -t 2",
    );
    seat.until("ready");
    assert!(seat.said().starts_with("17 91\r\n"), "{:?}", seat.said());
    seat.say(ToSeat::Resize(TerminalSize {
        columns: 100,
        rows: 30,
    }));
    seat.until("30 100");
    seat.say(ToSeat::Data(b"it\n"));
    let (stdout, stderr, exit) = seat.rest();
    assert!(stdout.contains("got it"), "{stdout:?}");
    assert_eq!((&*stderr, exit), ("", 0));
}

#[test]
fn keys_become_signals_on_a_terminal() {
    let mut seat = Seat::start(
        &SIZE,
        "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done",
    );
    seat.until("ready");
    seat.say(ToSeat::Data(b"\x03"));
    assert_eq!(seat.rest().2, 9);
    let mut seat = Seat::start(&SIZE, "echo ready; cat; echo end");
    seat.until("ready");
    seat.say(ToSeat::Eof);
    assert!(seat.rest().0.ends_with("end\r\n"));
}

#[test]
fn exit_codes_are_the_commands() {
    let code = |script: &str| Seat::start(&[], script).rest().2;
    assert_eq!(code("exit 255"), 255);
    assert_eq!(code("kill -9 $$"), 137);
    let mut seat = Seat::start(&[], "echo ready; sleep 1000");
    seat.until("ready");
    seat.say(ToSeat::Signal(15));
    assert_eq!(seat.rest().2, 143);
    let not_started = |program: &str| {
        let without = ["CON-01", "CON-02", "CON-03", "CON-04"].map(|id| ["--without", id]);
        let mut arguments = vec!["seat", "run"];
        arguments.extend(without.as_flattened());
        arguments.extend(["--", program]);
        let (stdout, stderr, exit) = Seat::with(&arguments).rest();
        assert_eq!(stdout, "");
        assert!(stderr.starts_with("porter: can't run"), "{stderr}");
        exit
    };
    assert_eq!(not_started("/no/such/program"), 127);
    assert_eq!(not_started("/etc/passwd"), 126);
}

/// The checks are those of `porter run`: the test is root, which no command may be.
#[test]
fn a_seat_starts_nothing_that_is_not_contained() {
    for options in [&[][..], &SIZE] {
        let mut arguments = vec!["seat"];
        arguments.extend(options);
        arguments.extend(["run", "--", "/bin/echo", "started"]);
        let (stdout, stderr, exit) = Seat::with(&arguments).rest();
        let said = format!("{stdout}{stderr}");
        assert!(said.starts_with("porter: refused: CON-01: Uid 0"), "{said}");
        assert_eq!(exit, 125);
    }
}

#[test]
fn con_12_a_seated_command_inherits_three_streams() {
    for (options, streams) in [(&[][..], "pipe:"), (&SIZE, "/dev/pts/")] {
        let mut seat = Seat::start(
            options,
            "ls -l /proc/$$/fd; grep NoNewPrivs /proc/$$/status; \
             read stat </proc/$$/stat; set -- $stat; test $6 = $$",
        );
        seat.say(ToSeat::Eof);
        let (stdout, stderr, exit) = seat.rest();
        let open: Vec<&str> = stdout
            .lines()
            .filter(|line| line.contains(" -> "))
            .collect();
        assert_eq!(open.len(), 3, "{stdout}");
        for (descriptor, line) in open.iter().enumerate() {
            assert!(
                line.contains(&format!(" {descriptor} -> {streams}")),
                "{line}"
            );
        }
        assert!(stdout.contains("NoNewPrivs:\t1"), "{stdout}");
        assert_eq!((&*stderr, exit), ("", 0));
    }
}

/// The porter that becomes the command proves its controls first, and inherits nothing either.
#[test]
fn con_12_a_seated_porter_inherits_three_streams() {
    let without = ["CON-01", "CON-02", "CON-03", "CON-04"].map(|id| ["--without", id]);
    let mut arguments = vec!["seat", "run"];
    arguments.extend(without.as_flattened());
    arguments.extend(["--poised", "/", "--", "/bin/true"]);
    let mut seat = Seat::with(&arguments);
    let pid = seat.handle.pids()[0];
    let children = format!("/proc/{pid}/task/{pid}/children");
    let give_up = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < give_up, "it keeps what the seat has open");
        let child = fs::read_to_string(&children).expect("it waits");
        // It reads by a copy of its stdin.
        let open = child.split_whitespace().next().map(|child| {
            let open = fs::read_dir(format!("/proc/{child}/fd"))
                .into_iter()
                .flatten();
            let open = open.filter_map(|it| fs::read_link(it.ok()?.path()).ok());
            open.collect::<BTreeSet<_>>()
        });
        if open.is_some_and(|open| open.len() == 3) {
            break;
        }
    }
    seat.say(ToSeat::Data(b"go\n"));
    assert_eq!(seat.rest().2, 0);
}

/// A command that never reads holds up neither a signal nor what it says itself.
#[test]
fn a_full_window_is_no_deadlock() {
    let mut seat = Seat::start(&[], "echo ready; sleep 1000");
    seat.until("ready");
    for _ in 0..WINDOW / 1024 {
        seat.say(ToSeat::Data(&[b'x'; 1024]));
    }
    seat.say(ToSeat::Signal(9));
    assert_eq!(seat.rest().2, 137);
}

/// More than was granted is no host of ours.
#[test]
fn a_host_that_overruns_its_window_is_refused() {
    let mut seat = Seat::start(&[], "exec sleep 1000");
    let data = vec![b'x'; 2 * WINDOW];
    let mut bytes = Vec::new();
    ToSeat::Data(&data).write_to(&mut bytes);
    // It may be gone before it has read all of that.
    let _refused = seat.to.as_mut().expect("open").write_all(&bytes);
    while seat.hear() {}
    let ended = seat
        .handle
        .wait_timeout(LIMIT)
        .expect("it can be waited for");
    let output = ended.expect("it ends");
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("more data than was asked for"), "{said}");
}

/// Nor is one that says something else.
#[test]
fn what_is_no_frame_ends_the_command() {
    let mut seat = Seat::start(&[], "exec sleep 1000");
    let to = seat.to.as_mut().expect("open");
    to.write_all(&[99, 0, 0, 0, 0]).expect("it reads");
    while seat.hear() {}
    let ended = seat
        .handle
        .wait_timeout(LIMIT)
        .expect("it can be waited for");
    assert_eq!(ended.expect("it ends").status.code(), Some(125));
}

/// A host that does not read stops the command, not the seat: it still hears.
#[test]
fn a_host_that_does_not_read_stops_the_command() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("count");
    let script = format!(
        "trap 'exit 3' TERM; i=0; while :; do i=$((i+1)); echo $i >{}; \
         head -c 65536 /dev/zero || exit; done",
        file.display()
    );
    let mut seat = Seat::start(&[], &script);
    let mut last = String::new();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = fs::read_to_string(&file).unwrap_or_default();
        if !now.is_empty() && now == last {
            break;
        }
        last = now;
    }
    let written = last.trim().parse::<usize>().expect("a number") * 65536;
    assert!(written < 2 << 20, "{written} bytes are kept nowhere");
    seat.say(ToSeat::Signal(9));
    assert_eq!(seat.rest().2, 137);
}

/// An engine that passes on neither arguments, variables nor a directory starts this.
#[test]
fn a_seat_starts_what_its_input_names() {
    let mut seat = Seat::with(&["seat", "--leave", "message"]);
    let argv = [
        "/bin/sh",
        "-c",
        "pwd; echo $WORD $LAZARET_FILTER; cat; exit 7",
    ];
    let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
    let variables = ["WORD=said".to_owned()].into_iter();
    let message = SpawnMessage::new("/usr", &argv, variables).expect("no NUL");
    let mut frames = Vec::new();
    ToSeat::Data(&message.to_bytes()).write_to(&mut frames);
    ToSeat::Data(b"input").write_to(&mut frames);
    ToSeat::Eof.write_to(&mut frames);
    let to = seat.to.as_mut().expect("open");
    to.write_all(&frames).expect("it reads");
    while seat.exit.is_none() && seat.hear() {}
    assert_eq!(String::from_utf8_lossy(&seat.stdout), "/usr\nsaid\ninput");
    assert_eq!(seat.exit, Some(7));
    // It stays for a host that still reads.
    let ended = seat.handle.try_wait().expect("it can be asked");
    assert!(ended.is_none(), "it ended before its host");
    drop(seat.to.take());
    while seat.hear() {}
}

#[test]
fn all_of_a_large_stream_passes_both_ways() {
    let mut seat = Seat::start(&[], "cat");
    let sent: Vec<u8> = (0..2_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut to = seat.to.take().expect("open");
    let window = Arc::new((std::sync::Mutex::new(WINDOW), std::sync::Condvar::new()));
    let (granted, expected) = (Arc::clone(&window), sent.clone());
    let writer = std::thread::spawn(move || {
        let mut rest = &sent[..];
        while !rest.is_empty() {
            let mut left = window.0.lock().expect("no panic");
            while *left == 0 {
                left = window.1.wait(left).expect("no panic");
            }
            let (piece, more) = rest.split_at(rest.len().min(*left).min(60_000));
            *left -= piece.len();
            drop(left);
            let mut bytes = Vec::new();
            ToSeat::Data(piece).write_to(&mut bytes);
            to.write_all(&bytes).expect("it reads");
            rest = more;
        }
        let mut bytes = Vec::new();
        ToSeat::Eof.write_to(&mut bytes);
        to.write_all(&bytes).expect("it reads");
        to
    });
    while seat.hear() {
        *granted.0.lock().expect("no panic") += std::mem::take(&mut seat.credit);
        granted.1.notify_all();
    }
    let _open = writer.join().expect("no panic");
    assert!(seat.stdout == expected);
    assert_eq!(seat.exit, Some(0));
}

/// A process that is left behind may have the streams for longer.
#[test]
fn a_command_that_ended_is_waited_for_no_longer() {
    for options in [&[][..], &SIZE] {
        // A terminal's own hang-up ends what does not ignore it.
        let mut seat = Seat::start(options, "trap '' HUP; sleep 1000 & echo $!; echo all of it");
        seat.say(ToSeat::Eof);
        let (stdout, _, exit) = seat.rest();
        let mut lines = stdout.lines();
        let pid = lines.next().expect("a pid").to_owned();
        assert_eq!((lines.next(), exit), (Some("all of it"), 0));
        kill(&pid, Signal::TERM);
    }
}

/// Signals a process, which still runs.
fn kill(pid: &str, signal: Signal) {
    let pid = pid.parse().ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), signal).expect("it runs");
}

/// Whether a process is there, and no zombie.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(PathBuf::from("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until a process is gone, and returns how long that took.
#[track_caller]
fn gone(pid: &str) -> Duration {
    let begun = Instant::now();
    while runs(pid) {
        assert!(begun.elapsed() < LIMIT, "{pid} goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    begun.elapsed()
}

#[test]
fn a_host_that_is_gone_takes_the_session_along() {
    for options in [&[][..], &SIZE] {
        let mut seat = Seat::start(options, "sleep 1000 & echo $! ready; wait");
        seat.until("ready");
        let pid = seat.said().split(' ').next().expect("a pid").to_owned();
        seat.to = None;
        assert!(gone(&pid) < Duration::from_secs(4), "of SIGHUP");
        assert_eq!(seat.rest().2, 129);
    }
}

#[test]
fn what_ignores_a_hang_up_is_killed_in_the_end() {
    let ignore = "trap '' HUP TERM; echo $$ ready; while :; do sleep 1; done";
    let mut seat = Seat::start(&SIZE, ignore);
    seat.until("ready");
    let pid = seat.said().split(' ').next().expect("a pid").to_owned();
    seat.say(ToSeat::Hangup);
    let took = gone(&pid);
    assert!(took > Duration::from_secs(9), "{took:?}");
    assert_eq!(seat.rest().2, 137);
}

#[test]
fn a_command_that_may_stay_goes_on() {
    let mut seat = Seat::start(
        &["--leave"],
        "echo $$ ready; yes | head -c 3000000; sleep 1000",
    );
    seat.until("ready");
    let pid = seat.said().split(' ').next().expect("a pid").to_owned();
    seat.to = None;
    // Its output goes nowhere now: it is not held up.
    let children = format!("/proc/{pid}/task/{pid}/children");
    let sleeps = || {
        let children = fs::read_to_string(&children).unwrap_or_default();
        let comm = |child: &str| fs::read_to_string(format!("/proc/{child}/comm"));
        let mut children = children.split_whitespace();
        children.any(|child| comm(child).is_ok_and(|comm| comm == "sleep\n"))
    };
    let give_up = Instant::now() + LIMIT;
    while !sleeps() {
        assert!(Instant::now() < give_up, "it is held up");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(runs(&pid));
    kill(&pid, Signal::KILL);
}

/// SIGTERM for everyone is the command's to obey, and the seat's to report.
#[test]
fn a_seat_outlives_sigterm() {
    let mut seat = Seat::start(
        &[],
        "trap 'echo bye; exit 5' TERM; echo ready; sleep 1000 & wait",
    );
    seat.until("ready");
    kill(&seat.handle.pids()[0].to_string(), Signal::TERM);
    seat.say(ToSeat::Signal(15));
    let (stdout, _, exit) = seat.rest();
    assert_eq!((&*stdout, exit), ("ready\nbye\n", 5));
}
