//! The door of `porter init`: what is handed in there is as an engine's exec would start it.

use std::fs;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use lazaret_protocol::init::Refusal;
use lazaret_runtime::{ConnectedChannel, ExecSpec, InitChannel, Process, StartError, Stdin};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// A first process, though of no namespace of its own. Ends with the value.
struct Init(duct::Handle);

impl Init {
    fn start() -> Self {
        let init = duct::cmd!(env!("CARGO_BIN_EXE_lazaret-porter"), "init")
            .env_remove("EXTRA")
            .env("OWN", "of the container")
            .env("BOTH", "of the container")
            .stdin_null()
            .stdout_null()
            .unchecked();
        Self(init.start().expect("it was built"))
    }

    fn pid(&self) -> i32 {
        let pids = self.0.pids();
        pids.first().expect("one process").cast_signed()
    }

    #[track_caller]
    fn hand_in(&self, spec: &ExecSpec) -> Process {
        let channel = self.connect().expect("it is open");
        channel.start(spec).expect("it answers")
    }

    fn connect(&self) -> io::Result<ConnectedChannel> {
        InitChannel::of(self.pid())?.connect()
    }

    /// Takes the other end of the door, once it is there.
    fn knock(&self) -> OwnedFd {
        let process = Pid::from_raw(self.pid()).expect("a pid");
        let process = pidfd_open(process, PidfdFlags::empty()).expect("it runs");
        loop {
            let stdout = pidfd_getfd(&process, 1, PidfdGetfdFlags::empty()).expect("it has one");
            if rustix::net::sockopt::socket_type(&stdout).is_ok() {
                return stdout;
            }
        }
    }

    /// What is open in it.
    fn descriptors(&self) -> Vec<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("ours");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("ours")
                    .file_name()
                    .into_string()
                    .expect("a number")
            })
            .collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        self.0.kill().expect("it can be killed");
    }
}

fn spec(argv: &[&str]) -> ExecSpec {
    let argv = argv.iter().map(|&word| word.to_owned());
    ExecSpec {
        env: [
            ("EXTRA", "of the order"),
            ("BOTH", "of the order\nand more"),
        ]
        .map(|(name, value)| (name.parse().expect("a name"), value.to_owned()))
        .into(),
        workdir: Some("/usr".to_owned()),
        ..ExecSpec::new(argv.collect(), Stdin::Piped)
    }
}

fn script(text: &str) -> ExecSpec {
    spec(&["/bin/sh", "-c", text, "sh", "an argument", ""])
}

/// Closes stdin, reads both outputs, and waits.
#[track_caller]
fn finish(process: Process) -> (String, String, i32) {
    let Process {
        stdin,
        mut stdout,
        mut stderr,
        control,
    } = process;
    drop(stdin);
    let (mut said, mut complaints) = (String::new(), String::new());
    stdout.read_to_string(&mut said).expect("text");
    stderr.read_to_string(&mut complaints).expect("text");
    (said, complaints, control.wait().expect("it ends"))
}

#[test]
fn what_is_handed_in_is_as_an_exec_would_start_it() {
    let init = Init::start();
    let mut process = init.hand_in(&script(
        "pwd; echo $# $1; echo $OWN, $EXTRA, \"$BOTH\"; read line; echo $line; echo no >&2; exit 7",
    ));
    let mut stdin = process.stdin.take().expect("piped");
    stdin.write_all(b"a line\n").expect("it reads");
    let (said, complaints, code) = finish(process);
    assert_eq!((complaints.as_str(), code), ("no\n", 7));
    assert_eq!(
        said,
        "/usr\n2 an argument\nof the container, of the order, of the order\nand more\na line\n"
    );
}

/// A session of its own, every signal as usual, nothing open but its streams and what the
/// first process had before.
#[test]
fn con_12_what_is_handed_in_inherits_nothing_else() {
    let init = Init::start();
    drop(init.knock());
    let before = init.descriptors();
    let process = init.hand_in(&script(
        // The shell reads its state itself: it blocks signals while it starts a program.
        "ls /proc/$$/fd; while read -r line; do case $line in SigBlk*|SigIgn*) echo \"$line\";; \
         esac; done < /proc/$$/status; cut -d' ' -f6 /proc/$$/stat; echo $$",
    ));
    // Before it hears what it is to be.
    assert_eq!(init.descriptors(), before);
    let (said, complaints, code) = finish(process);
    assert_eq!((complaints.as_str(), code), ("", 0));
    let mut lines = said.lines();
    let mut open: Vec<&str> = lines.by_ref().take(before.len()).collect();
    open.sort_unstable();
    assert_eq!(open, before);
    assert_eq!(lines.next(), Some("SigBlk:\t0000000000000000"));
    // The C library keeps 32 and 33 to itself: what the test inherited of them stays.
    let ignored = lines.next().and_then(|line| line.strip_prefix("SigIgn:\t"));
    let ignored = u64::from_str_radix(ignored.expect("a line"), 16).expect("hex");
    assert_eq!(ignored & !(0b11 << 31), 0, "{ignored:x}");
    assert_eq!(lines.next(), lines.next());
}

#[test]
fn many_processes_come_in_and_a_33rd_is_refused() {
    let init = Init::start();
    let channel = init.connect().expect("it is open");
    let start = || channel.start(&script("read line; echo $line; exit $line"));
    let processes: Vec<Process> = (0..32).map(|_| start().expect("room")).collect();
    let refused = start().expect_err("no more");
    assert!(matches!(refused, StartError::Refused(Refusal::Full)));
    assert_eq!(refused.to_string(), "32 processes run already");
    init.connect().expect_err("it is taken");
    // Each has its own streams and its own end, in any order.
    for (index, mut process) in processes.into_iter().enumerate().rev() {
        let mut stdin = process.stdin.take().expect("piped");
        stdin
            .write_all(format!("{index}\n").as_bytes())
            .expect("it reads");
        let (said, _, code) = finish(process);
        assert_eq!(
            (said, code),
            (format!("{index}\n"), i32::try_from(index).expect("small"))
        );
    }
    assert_eq!(finish(start().expect("room again")).2, 0);
}

#[test]
fn a_signal_reaches_the_whole_session_and_no_other() {
    let init = Init::start();
    let channel = init.connect().expect("it is open");
    let start = || {
        let mut process = channel
            .start(&script("sleep 1000 & echo ready; wait"))
            .expect("room");
        let mut line = [0; 6];
        process.stdout.read_exact(&mut line).expect("a line");
        process
    };
    let (first, second) = (start(), start());
    first.control.signal(15).expect("it is sent");
    let (_, complaints, code) = finish(first);
    assert_eq!((complaints.as_str(), code), ("", 143));
    // One that has ended gets none, and the other still runs.
    second.control.signal(9).expect("it is sent");
    assert_eq!(finish(second).2, 137);
}

/// A host that reads nothing doesn't hang PID 1, and loses no notice.
#[test]
fn a_host_that_does_not_read_holds_up_nothing() {
    let init = Init::start();
    let door = init.knock();
    // The smallest buffer that the kernel allows fits some notices.
    let mut started = 0;
    for id in 0..5000_u32 {
        let word = format!("start {id}");
        let nothing = fs::File::open("/dev/null").expect("it is there");
        let streams = [nothing.as_fd(), nothing.as_fd(), nothing.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&streams)));
        let word = [IoSlice::new(word.as_bytes())];
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if sendmsg(&door, &word, &mut control, flags).is_err() {
            break;
        }
        started += 1;
    }
    assert!(started > 32, "{started}");
    let mut answers = 0;
    let mut ends = 0;
    let mut refusals = 0;
    while answers < started || ends < answers - refusals {
        let mut said = [0; 64];
        let (_, length) = recv(&door, &mut said[..], RecvFlags::empty()).expect("it answers");
        let said = str::from_utf8(said.get(..length).expect("short")).expect("text");
        let word = said.split(' ').next().expect("a word");
        match word {
            "started" => answers += 1,
            "refused" => (answers, refusals) = (answers + 1, refusals + 1),
            "ended" => ends += 1,
            _ => panic!("{said:?}"),
        }
    }
}

#[test]
fn the_exit_code_after_a_signal_is_128_and_its_number() {
    let init = Init::start();
    assert_eq!(finish(init.hand_in(&script("kill -9 $$"))).2, 137);
    let init = Init::start();
    // The first process goes, and everything with it.
    let process = init.hand_in(&script("echo there; exec cat"));
    init.0.kill().expect("it can be killed");
    assert_eq!(process.control.wait().expect("known"), 137);
}

/// As it does with an engine, what a command leaves behind may have its streams for longer.
#[test]
fn a_process_that_ended_is_waited_for_no_longer() {
    let init = Init::start();
    let process = init.hand_in(&script("sleep 1000 & echo $!; echo all of it"));
    let (said, _, code) = finish(process);
    let (pid, rest) = said.split_once('\n').expect("two lines");
    assert_eq!((rest, code), ("all of it\n", 0));
    let left = Pid::from_raw(pid.parse().expect("a pid")).expect("a pid");
    rustix::process::kill_process(left, rustix::process::Signal::KILL).expect("it still runs");
}

/// Nor does one that never stops writing.
#[test]
fn what_is_left_behind_is_not_listened_to_for_ever() {
    let init = Init::start();
    let process = init.hand_in(&script("yes & echo $! >&2"));
    let (_, pid, code) = finish(process);
    assert_eq!(code, 0);
    let left = Pid::from_raw(pid.trim().parse().expect("a pid")).expect("a pid");
    // It may have met the closed pipe.
    let _gone = rustix::process::kill_process(left, rustix::process::Signal::KILL);
}

/// A process inside that reopens a pipe can read the launcher's output from it, but can't make the
/// launcher wait.
#[test]
fn output_that_a_process_inside_reads_is_not_waited_for() {
    let init = Init::start();
    let process = init.hand_in(&script(
        "cat </proc/self/fd/1 >/dev/null & echo $! >&2; echo gone; exit 3",
    ));
    let (_, pid, code) = finish(process);
    assert_eq!(code, 3);
    let left = Pid::from_raw(pid.trim().parse().expect("a pid")).expect("a pid");
    let _gone = rustix::process::kill_process(left, rustix::process::Signal::KILL);
}

#[test]
fn a_large_stream_arrives_as_it_is() {
    let init = Init::start();
    let mut process = init.hand_in(&spec(&["/bin/cat"]));
    let mut stdin = process.stdin.take().expect("piped");
    let sent: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let expected = sent.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let mut arrived = Vec::new();
    process
        .stdout
        .read_to_end(&mut arrived)
        .expect("it arrives");
    writer.join().expect("no panic").expect("it reads");
    assert!(arrived == expected);
    assert_eq!(process.control.wait().expect("it ends"), 0);
}

#[test]
fn what_can_not_be_started_says_why() {
    let told = |spec: &ExecSpec| {
        let init = Init::start();
        finish(init.hand_in(spec))
    };
    let elsewhere = ExecSpec {
        workdir: Some("/no such directory".to_owned()),
        ..script("echo no")
    };
    let lines = [spec(&["/no/such/program"]), elsewhere].map(|spec| told(&spec));
    assert_eq!(
        lines,
        [
            "can't become `/no/such/program`: No such file or directory (os error 2)",
            "enter the directory: No such file or directory (os error 2)",
        ]
        .map(|line| (String::new(), format!("porter: {line}\n"), 125))
    );
}

/// Hands `count` pipes in with a word, and returns what is answered.
fn answer(word: &[u8], count: usize) -> Option<String> {
    let init = Init::start();
    let door = init.knock();
    let pipes: Vec<_> = (0..count)
        .map(|_| rustix::pipe::pipe().expect("a pipe"))
        .collect();
    let ends: Vec<_> = pipes.iter().map(|(read, _)| read.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if count > 0 {
        assert!(control.push(SendAncillaryMessage::ScmRights(&ends)));
    }
    sendmsg(
        &door,
        &[IoSlice::new(word)],
        &mut control,
        SendFlags::NOSIGNAL,
    )
    .expect("it is open");
    let mut said = [0; 64];
    // If PID 1 has closed the channel, this returns at once.
    let (_, length) = recv(&door, &mut said[..], RecvFlags::empty()).unwrap_or_default();
    let said = said.get(..length).filter(|said| !said.is_empty());
    said.map(|said| String::from_utf8(said.to_vec()).expect("text"))
}

#[test]
fn only_three_streams_and_the_word_come_in() {
    assert_eq!(answer(b"start 7", 3).as_deref(), Some("started 7"));
    for (word, count) in [
        (&b"start 7"[..], 0),
        (b"start 7", 2),
        (b"start 7", 4),
        (b"start", 3),
        (b"start x", 3),
        (b"started 7", 3),
        (b"signal 7 9", 1),
        (b"", 3),
    ] {
        assert_eq!(answer(word, count), None, "{word:?} with {count}");
    }
}

#[test]
fn an_order_that_makes_no_sense_is_not_carried_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mark = dir.path().join("mark");
    for order in [
        "".to_owned(),
        "order\n".to_owned(),
        "order 2 0\n".to_owned(),
        format!("orders 3 0 {}", strings(&mark)),
        format!("order 4 0 {}", strings(&mark)),
        format!("order 2 1 {}", strings(&mark)).replace("mark\0", "mark"),
        format!("order 3 0 99999999999 {}", strings(&mark)),
        format!("order 3 -0 {}", strings(&mark)),
    ] {
        let init = Init::start();
        let door = init.knock();
        let (stdin, ours) = rustix::pipe::pipe().expect("a pipe");
        let (mut complaints, stderr) = io::pipe().expect("a pipe");
        let nothing = fs::File::open("/dev/null").expect("it is there");
        let streams = [stdin.as_fd(), nothing.as_fd(), stderr.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&streams)));
        let word = [IoSlice::new(b"start 0")];
        sendmsg(&door, &word, &mut control, SendFlags::NOSIGNAL).expect("it is open");
        drop((stdin, stderr));
        rustix::io::write(&ours, order.as_bytes()).expect("it fits");
        drop(ours);
        let mut said = String::new();
        complaints.read_to_string(&mut said).expect("text");
        assert!(said.starts_with("porter: the order: "), "{order:?}: {said}");
        assert!(!mark.exists(), "{order:?}");
    }
}

/// The end of a head, and an order to leave a mark.
fn strings(mark: &Path) -> String {
    let strings = format!("\0/bin/touch\0--\0{}\0", mark.display());
    format!("{}\n{strings}", strings.len())
}

/// Set if this very test runs as the process inside.
const INSIDE: &str = "LAZARET_TEST_KNOCKS_INSIDE";

/// If the engine has started the command, the channel is still open, and a process inside could
/// take its other end. What it starts would escape the limits that `porter run` sets.
#[test]
fn a_process_inside_is_rejected() {
    if knocks_inside() {
        let first = InitChannel::of(1).expect("it is there");
        let channel = first.connect().expect("it is free");
        channel
            .start(&script("exit 0"))
            .expect_err("it is not for us");
        return;
    }
    // A namespace of its own, where the porter is PID 1.
    let init = || {
        let porter = env!("CARGO_BIN_EXE_lazaret-porter");
        let namespace = duct::cmd!("unshare", "--pid", "--fork", "--kill-child", porter, "init");
        let started = namespace.stdin_null().stdout_null().unchecked();
        Init(started.start().expect("`unshare` of util-linux, as root"))
    };
    let inside = |init: &Init| {
        let children = format!("/proc/{0}/task/{0}/children", init.pid());
        loop {
            let children = fs::read_to_string(&children).expect("ours");
            if let Some(child) = children.split_whitespace().next() {
                break child.parse::<i32>().expect("a pid");
            }
        }
    };

    let outer = init();
    let first = InitChannel::of(inside(&outer)).expect("it is there");
    let channel = first.connect().expect("it is open");
    let (said, _, code) = finish(channel.start(&script("echo $$")).expect("it answers"));
    assert_eq!((said.as_str(), code), ("2\n", 0), "of the namespace");

    let outer = init();
    let pid = inside(&outer).to_string();
    let this = std::env::current_exe().expect("a test");
    let knock = duct::cmd!("nsenter", "--target", &pid, "--pid", this, "--exact")
        .before_spawn(|command| {
            command.arg("pid1_channel::a_process_inside_is_rejected");
            Ok(())
        })
        .env(INSIDE, "1")
        .stdout_capture()
        .stderr_capture();
    let knocked = knock.unchecked().run().expect("`nsenter` of util-linux");
    let said = String::from_utf8_lossy(&knocked.stdout).into_owned();
    assert!(
        knocked.status.success() && said.contains("1 passed"),
        "{said}"
    );
    // The channel is closed now, to the host too.
    let first = InitChannel::of(pid.parse().expect("a pid")).expect("it is there");
    first.connect().expect_err("it is shut");
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no `main` that could read it"
)]
fn knocks_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}
