//! Both ends of a resumable seat: the host's `Spawner`, and `porter seat` behind an engine whose
//! connections break.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lazaret_runtime::fake::{ExecCall, ExecOutcome, FakeEngine, Verb};
use lazaret_runtime::{
    ConnectionChange, ContainerName, ContainerSpec, Engine as _, EngineError, ExecSpec,
    HardenedSpec, ImageInfo, Limits, Network, Privilege, Process, Role, Spawner, Stdin, Transport,
    WhenAbandoned,
};
use rustix::process::{Pid, Signal, kill_process};

const TALK: &str = "while read -r line; do echo \"got $line\"; echo \"no $line\" >&2; done; exit 7";

/// Bytes of KEEP: a seat that has no ticket can't be found again.
const TICKET: usize = 5 + 48;

/// Where a connection breaks.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// After so many bytes to the porter.
    to: usize,
    /// After so many bytes from it.
    from: usize,
}

const NEVER: Cut = Cut {
    to: usize::MAX,
    from: usize::MAX,
};

/// A container of an engine in memory, whose processes are real.
struct Far {
    engine: FakeEngine,
    spawner: Spawner,
    /// The first process that was started.
    seat: Arc<Mutex<Option<u32>>>,
}

impl Far {
    /// Breaks the first connections, one after the other.
    fn new(cuts: Vec<Cut>) -> Self {
        let engine = FakeEngine::new();
        let seat = Arc::new(Mutex::new(None));
        let (count, first) = (AtomicUsize::new(0), Arc::clone(&seat));
        engine.on_exec(&[], move |call| {
            let cut = cuts.get(count.fetch_add(1, Ordering::SeqCst));
            carry(call, cut.copied().unwrap_or(NEVER), &first)
        });
        let container = container(&engine);
        // A seat whose exit is heard, though that never arrives there, waits for as long.
        let grace = Duration::from_secs(120);
        Self {
            spawner: Spawner::new(
                Arc::new(engine.clone()),
                container,
                Transport::RemoteEngine { grace },
            ),
            engine,
            seat,
        }
    }

    fn start(&self, script: &str) -> Process {
        let mut argv = vec![env!("CARGO_BIN_EXE_lazaret-porter"), "run"];
        for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
            argv.extend(["--without", control]);
        }
        argv.extend(["--", "/bin/sh", "-c", script]);
        let argv = argv.into_iter().map(str::to_owned).collect();
        let process = self.spawner.spawn(&ExecSpec {
            when_abandoned: WhenAbandoned::End,
            ..ExecSpec::new(argv, Stdin::Piped)
        });
        process.expect("it starts")
    }
}

/// Makes a running container.
fn container(engine: &FakeEngine) -> ContainerName {
    let image = "test/image:1";
    engine.add_image(ImageInfo {
        id: format!("sha256:{}", "0".repeat(64)),
        tags: vec![image.to_owned()],
        size: 1,
        labels: BTreeMap::new(),
        volumes: Vec::new(),
        entrypoint: Vec::new(),
        architecture: "amd64".to_owned(),
    });
    let name: ContainerName = "far".parse().expect("a name");
    let spec = ContainerSpec {
        name: name.clone(),
        role: Role::Agent,
        image: image.parse().expect("a name"),
        privilege: Privilege::Agent,
        volumes: Vec::new(),
        network: Network::None,
        hosts: Vec::new(),
        env: BTreeMap::new(),
        workdir: "/".to_owned(),
        limits: Limits {
            memory: 1 << 28,
            cpus: 1.0,
            pids: 64,
            tmp: 1 << 24,
            shm: 1 << 20,
            home: 1 << 24,
            nofile: 1024,
            fsize: 1 << 30,
        },
        labels: BTreeMap::new(),
    };
    let info = engine.probe().expect("it answers");
    let spec = HardenedSpec::new(spec, &info).expect("it enforces all");
    engine.create_container(&spec).expect("an image is there");
    engine.start_container(&name).expect("it was made");
    name
}

/// Is a process of the engine: the real porter, as far as the connection carries.
fn carry(call: ExecCall, cut: Cut, first: &Mutex<Option<u32>>) -> ExecOutcome {
    let ExecCall {
        argv,
        stdin,
        stdout,
        ..
    } = call;
    let (its_stdin, to) = io::pipe().expect("a pipe");
    let (from, its_stdout) = io::pipe().expect("a pipe");
    let porter = start(argv.get(1..).unwrap_or_default(), its_stdin, its_stdout);
    first
        .lock()
        .expect("no panic")
        .get_or_insert_with(|| porter.pids()[0]);
    // Dropped when it has ended: it holds the porter's ends of the pipes.
    let ended = thread::spawn(move || {
        let output = porter.wait().expect("it can be waited for");
        output.status.code().unwrap_or(137)
    });
    let (tell, over) = channel();
    let tell_too = tell.clone();
    thread::spawn(move || {
        if pass(stdin, to, cut.to) == Passed::Cut {
            let _over = tell.send(Passed::Cut);
        }
    });
    thread::spawn(move || {
        let _over = tell_too.send(pass(from, stdout, cut.from));
    });
    match over.recv().expect("one of them ends it") {
        Passed::Cut => ExecOutcome::Lost("cut".to_owned()),
        Passed::All => ExecOutcome::Exit(ended.join().expect("no panic")),
    }
}

/// Starts the porter. What is returned holds its ends of the pipes, and nothing else does.
fn start(arguments: &[String], stdin: io::PipeReader, stdout: io::PipeWriter) -> duct::Handle {
    let porter = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments);
    let porter = porter.stdin_file(stdin).stdout_file(stdout).stderr_null();
    porter.unchecked().start().expect("it was built")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passed {
    /// Up to the end.
    All,
    /// Up to where the connection breaks.
    Cut,
}

fn pass(mut from: impl Read, mut to: impl Write, mut left: usize) -> Passed {
    let mut chunk = vec![0; 64 << 10];
    while left > 0 {
        let most = left.min(chunk.len());
        let length = from.read(chunk.get_mut(..most).unwrap_or_default());
        let length = length.unwrap_or(0);
        let piece = chunk.get(..length).unwrap_or_default();
        if piece.is_empty() || to.write_all(piece).and_then(|()| to.flush()).is_err() {
            return Passed::All;
        }
        left -= length;
    }
    Passed::Cut
}

/// What came of a process.
#[derive(Debug, PartialEq, Eq)]
struct Came {
    stdout: String,
    stderr: String,
    code: i32,
}

/// Says two lines to a process and hears it to its end.
fn two_lines(process: Process) -> Came {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = process;
    let mut stdin = stdin.expect("it was asked for");
    let all = |mut from: Box<dyn Read + Send>| {
        let mut text = String::new();
        from.read_to_string(&mut text).expect("it is not lost");
        text
    };
    thread::scope(|scope| {
        let (stdout, stderr) = (scope.spawn(|| all(stdout)), scope.spawn(|| all(stderr)));
        stdin.write_all(b"one\n").expect("it is kept");
        stdin.write_all(b"two\n").expect("it is kept");
        drop(stdin);
        Came {
            stdout: stdout.join().expect("no panic"),
            stderr: stderr.join().expect("no panic"),
            code: control.wait().expect("it is not lost"),
        }
    })
}

#[track_caller]
fn survives(cuts: Vec<Cut>) {
    let shown = format!("{cuts:?}");
    let far = Far::new(cuts);
    let expected = Came {
        stdout: "got one\ngot two\n".to_owned(),
        stderr: "no one\nno two\n".to_owned(),
        code: 7,
    };
    assert_eq!(two_lines(far.start(TALK)), expected, "{shown}");
}

#[test]
fn flt_32_a_host_goes_on_after_any_byte_that_it_said() {
    // Two lines and their end; what it says at last it need not say.
    for to in TICKET..=TICKET + 2 * 9 + 5 {
        survives(vec![Cut { to, ..NEVER }]);
    }
}

#[test]
fn flt_32_a_host_goes_on_after_any_byte_that_it_heard() {
    for from in 0..4 * (5 + 8) + 6 + 9 {
        survives(vec![Cut { from, ..NEVER }]);
    }
}

/// The second connection breaks within what resumes it.
#[test]
fn flt_32_a_host_goes_on_after_any_byte_of_a_resumption() {
    for first in [TICKET, TICKET + 9, TICKET + 20] {
        for to in 56..56 + 2 * 9 + 5 {
            let cut = Cut { to, ..NEVER };
            survives(vec![Cut { to: first, ..NEVER }, cut]);
        }
        for from in 0..40 {
            let cut = Cut { from, ..NEVER };
            survives(vec![Cut { to: first, ..NEVER }, cut]);
        }
    }
}

#[test]
fn an_engine_that_is_away_for_a_while_is_tried_again_and_the_user_told() {
    let far = Far::new(vec![Cut {
        to: TICKET + 9,
        ..NEVER
    }]);
    let changes = far.spawner.connection_changes();
    far.engine.fail(Verb::Exec, 2, || EngineError::Lost {
        verb: "exec",
        message: "no route".to_owned(),
    });
    assert_eq!(two_lines(far.start(TALK)).code, 7);
    drop(far.spawner.end_changes_on_drop());
    let told: Vec<_> = changes.iter().collect();
    assert_eq!(told, [ConnectionChange::Lost, ConnectionChange::Resumed]);
}

/// The seat is killed after its connection was replaced: what carried that ends in good order, and
/// its exit code is no command's.
#[test]
fn a_seat_that_is_gone_is_lost() {
    let far = Far::new(vec![Cut {
        from: 5 + 6,
        ..NEVER
    }]);
    let mut process = far.start("echo ready; read -r line; echo again; exec sleep 1000");
    let mut ready = [0; 6];
    process.stdout.read_exact(&mut ready).expect("it says so");
    let mut stdin = process.stdin.take().expect("it was asked for");
    stdin.write_all(b"line\n").expect("it is kept");
    let mut again = [0; 6];
    process.stdout.read_exact(&mut again).expect("it goes on");
    let seat = far.seat.lock().expect("no panic").expect("it was started");
    let seat = Pid::from_raw(seat.cast_signed()).expect("a pid");
    kill_process(seat, Signal::KILL).expect("it runs");
    process.control.wait().expect_err("no code is its own");
}
