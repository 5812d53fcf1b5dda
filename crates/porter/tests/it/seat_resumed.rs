//! `porter seat --grace`: a command that outlives its connection, wherever that is cut.

use std::fs;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lazaret_protocol::seat::{
    Arrived, FrameReader, FromSeat, RejoinRequest, Ticket, ToSeat, Unacknowledged,
};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, sendmsg_addr, socket_with,
};
use rustix::process::{Pid, test_kill_process};

use crate::installed;

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(60);

/// What no process inside knows.
const SECRET: [u8; 32] = [0x5a; 32];

/// A line on each stream for each line that comes in.
const TALK: &str = "while read -r line; do echo \"got $line\"; echo \"no $line\" >&2; done; exit 7";

/// What a porter ends with that has not done its work.
const FAILED: Option<i32> = Some(lazaret_protocol::exit::FAILED as i32);

/// Where a connection breaks.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// After so many bytes to the seat.
    to_seat: usize,
    /// After so many bytes from it.
    from_seat: usize,
}

impl Cut {
    const NEVER: Self = Self {
        to_seat: usize::MAX,
        from_seat: usize::MAX,
    };
}

/// One connection: a process of the porter, and the far ends of its streams.
struct Connection {
    porter: duct::Handle,
    to: io::PipeWriter,
    from: io::PipeReader,
}

impl Connection {
    fn start(arguments: &[&str]) -> Self {
        Self::by(duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments))
    }

    fn seat(grace: &str, script: &str) -> Self {
        let mut arguments = vec!["seat", "--grace", grace, "run"];
        for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
            arguments.extend(["--without", control]);
        }
        arguments.extend(["--", "/bin/sh", "-c", script]);
        Self::start(&arguments)
    }

    fn by(porter: duct::Expression) -> Self {
        let (stdin, to) = io::pipe().expect("a pipe");
        let (from, stdout) = io::pipe().expect("a pipe");
        let porter = porter.stdin_file(stdin).stdout_file(stdout);
        let porter = porter.stderr_capture().unchecked().start();
        Self {
            porter: porter.expect("it was built"),
            to,
            from,
        }
    }

    fn rejoin(request: RejoinRequest) -> Self {
        let mut connection = Self::start(&["rejoin"]);
        connection.say(&request.to_bytes());
        connection
    }

    fn say(&mut self, bytes: &[u8]) {
        match self.to.write_all(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            said => said.expect("it is read"),
        }
    }

    /// Breaks it, and returns its process.
    fn cut(self) -> duct::Handle {
        self.porter
    }
}

/// Waits for the end of a porter.
#[track_caller]
fn end_of(porter: &duct::Handle) -> Option<i32> {
    let ended = porter.wait_timeout(LIMIT).expect("it can be waited for");
    ended.expect("it ends").status.code()
}

/// The host's side of a seat, over one connection after another.
struct Host {
    ticket: Ticket,
    kept: Unacknowledged,
    arrived: Arrived,
    awaits_greeting: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit: Option<u8>,
}

impl Host {
    fn new() -> Self {
        let name = fresh_name();
        let mut host = Self {
            ticket: Ticket::new(name, SECRET),
            kept: Unacknowledged::default(),
            arrived: Arrived::default(),
            awaits_greeting: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
            exit: None,
        };
        host.say(ToSeat::Keep(host.ticket));
        host
    }

    fn say(&mut self, frame: ToSeat<'_>) {
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes);
        self.kept.push(&bytes);
    }

    fn request(&mut self) -> RejoinRequest {
        self.awaits_greeting = true;
        RejoinRequest {
            ticket: self.ticket,
            received: self.arrived.tell(),
        }
    }

    /// Says what it has to say, and hears until the command has ended or the cut.
    fn talk(&mut self, connection: &mut Connection, cut: Cut) {
        let mut room = cut.to_seat;
        let mut left = cut.from_seat;
        let mut frames = FrameReader::default();
        let mut chunk = vec![0; 64 << 10];
        while self.send(connection, &mut room)
            && left > 0
            && (self.exit.is_none() || self.awaits_greeting)
        {
            let most = left.min(chunk.len());
            let read = connection.from.read(chunk.get_mut(..most).expect("short"));
            let length = read.expect("it arrives");
            if length == 0 {
                return;
            }
            left -= length;
            frames.push(chunk.get(..length).expect("short"));
            self.take(&mut frames);
        }
        self.send(connection, &mut room);
    }

    /// Sends what it has, and returns false if the connection breaks meanwhile.
    fn send(&mut self, connection: &mut Connection, room: &mut usize) -> bool {
        while !self.awaits_greeting && !self.kept.unsent().is_empty() {
            let piece = self.kept.unsent();
            let piece = piece.get(..piece.len().min(*room)).expect("short");
            if piece.is_empty() {
                return false;
            }
            connection.say(piece);
            let length = piece.len();
            *room -= length;
            self.kept.mark_sent(length);
        }
        true
    }

    fn take(&mut self, frames: &mut FrameReader) {
        while let Some(frame) = frames.next_frame().expect("a frame") {
            let length = frame.length();
            let frame = FromSeat::parse(frame).expect("a frame");
            if self.awaits_greeting {
                let FromSeat::Received(count) = frame else {
                    panic!("{frame:?} comes first");
                };
                self.kept.resume(count).expect("it says what it has");
                self.awaits_greeting = false;
                continue;
            }
            assert_eq!(self.exit, None, "the exit is last");
            self.arrived.add(length);
            let count = match frame {
                FromSeat::Stdout(bytes) => {
                    self.stdout.extend_from_slice(bytes);
                    self.arrived.due()
                }
                FromSeat::Stderr(bytes) => {
                    self.stderr.extend_from_slice(bytes);
                    self.arrived.due()
                }
                FromSeat::Exit(code) => {
                    self.exit = Some(code);
                    Some(self.arrived.tell())
                }
                FromSeat::Received(count) => {
                    self.kept.acknowledge(count).expect("it was sent");
                    None
                }
                FromSeat::Credit(_) => None,
            };
            if let Some(count) = count {
                self.say(ToSeat::Received(count));
            }
        }
    }

    /// Talks over one connection after another, each of them cut where that says, until the
    /// command has ended and the seat knows that this is known.
    fn converse(&mut self, seat: Connection, cuts: impl IntoIterator<Item = Cut>) {
        let mut cuts = cuts.into_iter();
        let mut connection = seat;
        let mut porters = Vec::new();
        loop {
            let cut = cuts.next().unwrap_or(Cut::NEVER);
            self.talk(&mut connection, cut);
            porters.push(connection.cut());
            if self.exit.is_some() && self.kept.unsent().is_empty() {
                break;
            }
            connection = Connection::rejoin(self.request());
        }
        let codes: Vec<_> = porters.iter().map(end_of).collect();
        assert_eq!(codes.first(), Some(&self.exit.map(i32::from)), "the seat");
        assert!(
            codes.len() == 1 || codes.last() == Some(&Some(0)),
            "{codes:?}"
        );
    }
}

/// Names no socket of another test.
fn fresh_name() -> [u8; 16] {
    let mut name = [0; 16];
    let random = fs::File::open("/dev/urandom");
    let read = random.and_then(|mut random| random.read_exact(&mut name));
    read.expect("every kernel has it");
    name
}

/// Two lines for [`TALK`], and what becomes of them over connections that are cut.
#[track_caller]
fn two_lines_over(cuts: impl IntoIterator<Item = Cut>) {
    let mut host = Host::new();
    host.say(ToSeat::Data(b"one\n"));
    host.say(ToSeat::Data(b"two\n"));
    host.say(ToSeat::Eof);
    host.converse(Connection::seat("3600", TALK), cuts);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&host.stdout), "got one\ngot two\n");
    assert_eq!(text(&host.stderr), "no one\nno two\n");
    assert_eq!(host.exit, Some(7));
}

/// Of KEEP: a seat that has no ticket can't be found again.
const TICKET: usize = 5 + 48;

/// All that the host says to [`TALK`]: a ticket, two lines, their end, what it has received.
const SAID: usize = TICKET + 2 * 9 + 5 + 13;

#[test]
fn a_connection_may_break_after_any_byte_to_the_seat() {
    for to_seat in TICKET..=SAID {
        let cut = Cut {
            to_seat,
            ..Cut::NEVER
        };
        two_lines_over([cut]);
    }
}

#[test]
fn a_connection_may_break_after_any_byte_from_the_seat() {
    // Four pieces of output, an exit and at least one credit.
    for from_seat in 0..=4 * (5 + 8) + 6 + 9 {
        let cut = Cut {
            from_seat,
            ..Cut::NEVER
        };
        two_lines_over([cut]);
    }
}

/// Also while it is being resumed.
#[test]
fn every_connection_may_break() {
    for from_seat in 1..16 {
        let first = Cut {
            to_seat: TICKET,
            from_seat: usize::MAX,
        };
        let cut = Cut {
            to_seat: 20,
            from_seat,
        };
        two_lines_over([first].into_iter().chain(vec![cut; 8]));
    }
}

#[test]
fn nothing_of_a_long_output_is_lost_or_comes_twice() {
    let mut host = Host::new();
    let lines: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    host.say(ToSeat::Data(lines.as_bytes()));
    host.say(ToSeat::Eof);
    // The sequence is as good as random, and the same each time.
    let cuts = (0..40_usize).map(|number| Cut {
        to_seat: TICKET + number * 7919 % 50_021,
        from_seat: number * 104_729 % 400_009,
    });
    let script = "i=0; while [ $i -lt 30 ]; do seq 20000; i=$((i+1)); done; cat";
    host.converse(Connection::seat("3600", script), cuts);
    let mut expected: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    expected = expected.repeat(30) + &lines;
    assert_eq!(host.stdout.len(), expected.len());
    assert!(host.stdout == expected.as_bytes());
    assert_eq!(host.exit, Some(0));
}

/// Starts a seat whose command says its pid, and loses the connection.
fn lost(grace: &str, host: &mut Host) -> (duct::Handle, Pid) {
    let script = "printf '%08d\\n' $$; exec sleep 1000";
    let mut seat = Connection::seat(grace, script);
    let cut = Cut {
        from_seat: 5 + 9,
        ..Cut::NEVER
    };
    host.talk(&mut seat, cut);
    let pid = String::from_utf8_lossy(&host.stdout).trim().parse().ok();
    (seat.cut(), pid.and_then(Pid::from_raw).expect("a pid"))
}

#[test]
fn a_host_that_stays_away_for_too_long_takes_the_command_along() {
    let mut host = Host::new();
    let (seat, pid) = lost("1", &mut host);
    assert_eq!(end_of(&seat), Some(129), "of SIGHUP");
    test_kill_process(pid).expect_err("it is gone");
    let late = Connection::rejoin(host.request());
    assert_eq!(end_of(&late.cut()), FAILED);
}

#[test]
fn a_hang_up_is_no_lost_connection() {
    let mut host = Host::new();
    let (seat, _) = lost("3600", &mut host);
    let mut connection = Connection::rejoin(host.request());
    host.say(ToSeat::Hangup);
    host.talk(&mut connection, Cut::NEVER);
    assert_eq!((host.exit, end_of(&seat)), (Some(129), Some(129)));
    assert_eq!(end_of(&connection.cut()), Some(0));
}

/// Sends all that a process of the same user may send to a seat whose name it has read.
struct Intruder {
    is_over: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
    /// What it would have got.
    loot: io::PipeReader,
}

impl Intruder {
    fn start(ticket: Ticket) -> Self {
        // Open for as long as it goes on: at its end, a seat would say nothing.
        let (stdin, open) = io::pipe().expect("a pipe");
        let (loot, stdout) = io::pipe().expect("a pipe");
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let request = |ticket| RejoinRequest {
            ticket,
            received: 0,
        };
        let name = *ticket.to_bytes().first_chunk().expect("a name");
        let mut secret = SECRET;
        secret[31] ^= 1;
        let guessed = request(Ticket::new(name, secret)).to_bytes();
        let right = request(ticket).to_bytes();
        let longer = [right.as_slice(), &[0]].concat();
        let messages = [guessed.to_vec(), longer, right[..55].to_vec(), Vec::new()];
        let thread = thread::spawn(move || {
            let socket = socket_with(
                AddressFamily::UNIX,
                SocketType::DGRAM,
                SocketFlags::NONBLOCK,
                None,
            );
            let socket = socket.expect("a socket");
            let address = SocketAddrUnix::new_abstract_name(&ticket.socket_name());
            let address = address.expect("a name");
            let streams = [stdin.as_fd(), stdout.as_fd(), stdout.as_fd()];
            while !over.load(Ordering::SeqCst) {
                for message in &messages {
                    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
                    let mut rights = SendAncillaryBuffer::new(&mut space);
                    rights.push(SendAncillaryMessage::ScmRights(&streams));
                    // The queue may be full, or the seat gone.
                    let _unsent = sendmsg_addr(
                        &socket,
                        &address,
                        &[IoSlice::new(message)],
                        &mut rights,
                        SendFlags::NOSIGNAL,
                    );
                }
            }
            drop(open);
        });
        Self {
            is_over,
            thread,
            loot,
        }
    }

    /// Ends it, and returns what it got.
    fn end(mut self) -> Vec<u8> {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().expect("no panic");
        let mut loot = Vec::new();
        self.loot.read_to_end(&mut loot).expect("it ends");
        loot
    }
}

#[test]
fn a_process_without_the_secret_gets_nothing_and_holds_nothing_up() {
    let mut host = Host::new();
    let mut seat = Connection::seat("3600", "echo one; cat; exit 7");
    let cut = Cut {
        from_seat: 5 + 4,
        ..Cut::NEVER
    };
    host.talk(&mut seat, cut);
    let intruder = Intruder::start(host.ticket);
    let seat = seat.cut();
    host.say(ToSeat::Data(b"two\n"));
    host.say(ToSeat::Eof);
    let mut connection = Connection::rejoin(host.request());
    host.talk(&mut connection, Cut::NEVER);
    assert_eq!((host.exit, end_of(&seat)), (Some(7), Some(7)));
    assert_eq!(host.stdout, b"one\ntwo\n");
    assert_eq!(intruder.end(), b"");
}

/// A container's first process, in a pid namespace of its own.
struct Container(duct::Handle);

impl Container {
    fn start() -> Self {
        let porter = installed::porter();
        let namespace = duct::cmd!(
            "unshare",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            porter,
            "init"
        );
        let started = namespace.stdin_null().stdout_null().unchecked().start();
        Self(started.expect("`unshare` of util-linux, as root"))
    }

    /// Starts a porter as an engine does: its parent is outside.
    fn exec(&self, arguments: &[&str]) -> Connection {
        let unshare = self.0.pids()[0];
        let children = format!("/proc/{unshare}/task/{unshare}/children");
        let first = loop {
            let child = fs::read_to_string(&children).expect("ours");
            let child = child.trim().to_owned();
            let comm = fs::read_to_string(format!("/proc/{child}/comm"));
            if comm.is_ok_and(|comm| comm == "porter\n") {
                break child;
            }
        };
        let porter = installed::porter().to_str().expect("a name that we chose");
        let mut line = vec!["--target", &first, "--pid", "--mount", porter];
        line.extend(arguments);
        Connection::by(duct::cmd("nsenter", line))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _gone = self.0.kill();
    }
}

/// Even the ticket is of no use to a process that another one of the container has started.
#[test]
fn only_a_process_that_the_engine_started_can_rejoin() {
    let container = Container::start();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut host = Host::new();
    let request = RejoinRequest {
        ticket: host.ticket,
        received: 0,
    };
    fs::write(dir.path().join("request"), request.to_bytes()).expect("ours");
    let script = format!(
        "cd {}; {} rejoin <request >loot; echo \"$(wc -c <loot) bytes\"; read -r line; \
         echo \"got $line\"; exit 7",
        dir.path().display(),
        installed::porter().display(),
    );
    // With a deadline, PID 1 answers root as well.
    let mut arguments = vec!["seat", "--grace", "3600", "run", "--timeout", "3600000"];
    for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
        arguments.extend(["--without", control]);
    }
    arguments.extend(["--", "/bin/sh", "-c", &script]);
    let mut seat = container.exec(&arguments);
    let cut = Cut {
        from_seat: 5 + "0 bytes\n".len(),
        ..Cut::NEVER
    };
    host.talk(&mut seat, cut);
    assert_eq!(String::from_utf8_lossy(&host.stdout), "0 bytes\n");
    let seat = seat.cut();
    host.say(ToSeat::Data(b"it\n"));
    let mut connection = container.exec(&["rejoin"]);
    connection.say(&host.request().to_bytes());
    host.talk(&mut connection, Cut::NEVER);
    assert_eq!(host.stdout, b"0 bytes\ngot it\n");
    assert_eq!((host.exit, end_of(&seat)), (Some(7), Some(7)));
}
