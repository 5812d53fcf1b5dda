//! `porter run --timeout`: PID 1 ends the command in time, with no launcher to tell it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lazaret_runtime::{ExecSpec, InitChannel, Process, Stdin};
use rustix::process::{Pid, Signal, kill_process};

use crate::installed;

/// What `init` ends with when it ended the command at its deadline.
const TIMED_OUT: i32 = lazaret_protocol::exit::TIMED_OUT as i32;

/// Only what hangs takes that long.
const LIMIT: Duration = Duration::from_secs(60);

/// Who starts the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartPath {
    /// PID 1, for the launcher.
    Door,
    /// The engine: PID 1 is not the parent of the command.
    Exec,
}

/// A porter that is PID 1 of a namespace of its own, and of the agent's user.
struct Container {
    handle: duct::Handle,
    /// Where its processes write to.
    dir: tempfile::TempDir,
    porter: PathBuf,
}

impl Container {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let porter = installed::porter().to_path_buf();
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(dir.path(), everyone).expect("ours");
        let namespace = ["--pid", "--fork", "--mount-proc", "--kill-child", "setpriv"];
        let init = duct::cmd("unshare", namespace)
            .before_spawn({
                let porter = porter.clone();
                move |command| {
                    command.args(USER).arg(&porter).arg("init");
                    Ok(())
                }
            })
            .stdin_null()
            .stdout_null()
            .unchecked();
        let handle = init.start().expect("`unshare` of util-linux, as root");
        Self {
            handle,
            dir,
            porter,
        }
    }

    /// The pid of its first process, outside.
    fn first(&self) -> i32 {
        let unshare = self.handle.pids()[0];
        let children = format!("/proc/{unshare}/task/{unshare}/children");
        loop {
            let children = fs::read_to_string(&children).expect("ours");
            let child = children.split_whitespace().next();
            let child = child.and_then(|child| child.parse::<i32>().ok());
            // Not before it is the porter: `setpriv` comes first.
            if let Some(child) = child
                && fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|c| c == "porter\n")
            {
                return child;
            }
        }
    }

    /// Starts a shell command that may take `timeout`, or for ever.
    fn run(&self, way: StartPath, timeout: Option<Duration>, script: &str) -> Command {
        let porter = self.porter.to_str().expect("a name that we chose");
        let millis = timeout.map(|timeout| timeout.as_millis().to_string());
        let mut argv = vec![porter, "run"];
        argv.extend(millis.iter().flat_map(|millis| ["--timeout", millis]));
        for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
            argv.extend(["--without", control]);
        }
        argv.extend(["--", "/bin/sh", "-c", script]);
        match way {
            StartPath::Door => {
                let argv = argv.iter().map(|&word| word.to_owned());
                let spec = ExecSpec {
                    workdir: Some(self.dir.path().display().to_string()),
                    ..ExecSpec::new(argv.collect(), Stdin::Closed)
                };
                let first = InitChannel::of(self.first()).expect("it is there");
                let channel = first.connect().expect("it is open");
                Command::Door(channel.start(&spec).expect("PID 1 answers"))
            }
            StartPath::Exec => {
                let target = self.first().to_string();
                let enter = ["--target", &target, "--pid", "--mount", "setpriv"];
                let words = argv.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
                let command = duct::cmd("nsenter", enter)
                    .before_spawn(move |command| {
                        command.args(USER).args(&words);
                        Ok(())
                    })
                    .dir(self.dir.path())
                    .stdin_null()
                    .unchecked();
                let handle = command.start().expect("`nsenter` of util-linux");
                Command::Exec(Box::new(handle))
            }
        }
    }

    /// Waits until every process of the namespace is gone, and returns what PID 1 ended with.
    fn end(self) -> i32 {
        let ended = self
            .handle
            .wait_timeout(LIMIT)
            .expect("it can be waited for");
        let code = ended.map(|output| output.status.code());
        if code.is_none() {
            self.handle.kill().expect("it can be killed");
        }
        code.expect("it ends in time").expect("by itself")
    }
}

/// A process that is left would hold the streams of the tests open.
impl Drop for Container {
    fn drop(&mut self) {
        let unshare = self.handle.pids();
        // `--kill-child` of unshare(1) does not outlast the change of user (prctl(2),
        // PR_SET_PDEATHSIG); PID 1 takes its namespace with it.
        for pid in unshare {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            for child in children.unwrap_or_default().split_whitespace() {
                let child = child.parse().ok().and_then(Pid::from_raw);
                let _gone = child.map(|child| kill_process(child, Signal::KILL));
            }
        }
        let _gone = self.handle.kill();
    }
}

/// What keeps a command's streams open.
enum Command {
    Door(#[expect(dead_code, reason = "its streams stay open")] Process),
    Exec(Box<duct::Handle>),
}

impl Drop for Command {
    fn drop(&mut self) {
        if let Self::Exec(handle) = self {
            let _gone = handle.kill();
        }
    }
}

/// The agent's user, as in a container.
const USER: [&str; 3] = ["--reuid=1000", "--regid=1000", "--clear-groups"];

const WAYS: [StartPath; 2] = [StartPath::Door, StartPath::Exec];

#[test]
fn flt_27_pid_1_ends_a_command_whose_launcher_says_nothing() {
    for way in WAYS {
        let container = Container::start();
        let begun = Instant::now();
        let timeout = Duration::from_millis(500);
        // What it leaves behind goes as well.
        let _command = container.run(way, Some(timeout), "setsid sleep 1000 & sleep 1000");
        assert_eq!(container.end(), TIMED_OUT, "{way:?}");
        assert!(begun.elapsed() >= timeout, "{way:?}");
    }
}

#[test]
fn flt_27_a_command_that_ignores_sigterm_is_killed_after_the_grace() {
    let container = Container::start();
    let begun = Instant::now();
    let script = "trap '' TERM; while :; do sleep 0.1; done";
    let _command = container.run(StartPath::Exec, Some(Duration::from_millis(100)), script);
    assert_eq!(container.end(), TIMED_OUT);
    assert!(begun.elapsed() >= Duration::from_secs(15));
}

/// The agent has PID 1's uid: it asks for an hour, and tries to get at PID 1's memory.
#[test]
fn flt_27_the_agent_can_not_extend_its_deadline() {
    for way in WAYS {
        let container = Container::start();
        let kept = container.dir.path().to_owned();
        let script = format!(
            "cd {}; /usr/bin/kill -s RTMIN+5 -q 3600000 1 && touch asked; \
             cat /proc/1/environ >/dev/null && touch readable; \
             (: <>/proc/1/mem) && touch writable; \
             ls -l /proc/1/fd >/dev/null && touch listed; \
             touch tried; sleep 1000",
            kept.display()
        );
        let command = container.run(way, Some(Duration::from_millis(500)), &script);
        let give_up = Instant::now() + LIMIT;
        while !kept.join("tried").exists() {
            assert!(Instant::now() < give_up, "{way:?}: it never tried");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(kept.join("asked").exists(), "{way:?}");
        for mark in ["readable", "writable", "listed"] {
            assert!(!kept.join(mark).exists(), "{way:?}: {mark}");
        }
        assert_eq!(container.end(), TIMED_OUT, "{way:?}");
        drop(command);
    }
}

/// `porter stop` comes by the engine, as on Kubernetes, which can't signal PID 1.
#[test]
fn a_stop_from_inside_ends_everything_and_then_the_container() {
    for (script, grace) in [
        ("sleep 1000", "60000"),
        ("trap '' TERM; while :; do sleep 0.1; done", "100"),
    ] {
        let container = Container::start();
        let command = container.run(StartPath::Exec, None, script);
        let target = container.first().to_string();
        let enter = ["--target", &target, "--pid", "--mount", "setpriv"];
        let porter = container.porter.to_str().expect("a name that we chose");
        let arguments = [&enter[..], &USER, &[porter, "stop", grace]].concat();
        // It is one of those that PID 1 ends.
        let asked = duct::cmd("nsenter", arguments).unchecked().run();
        asked.expect("`nsenter` of util-linux");
        assert_eq!(container.end(), 0, "{script}");
        drop(command);
    }
}

/// The command ended in time, and only what it left behind met the deadline.
#[test]
fn flt_27_a_command_that_ended_before_is_not_called_timed_out() {
    for way in WAYS {
        let container = Container::start();
        let script = "setsid sleep 1000 & exit 0";
        let _command = container.run(way, Some(Duration::from_millis(100)), script);
        assert_eq!(container.end(), 0, "{way:?}");
    }
}

/// A command whose deadline is not kept does not start, unless the engine has no namespaces: the
/// launcher keeps the deadline there.
#[test]
fn flt_27_without_a_porter_as_pid_1_the_command_does_not_start() {
    let run = |without: &[&str]| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut argv = vec!["run", "--timeout", "1000"];
        for control in without {
            argv.extend(["--without", control]);
        }
        argv.extend(["--", "/bin/touch", "mark"]);
        let output = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), argv)
            .dir(dir.path())
            .stderr_capture()
            .unchecked()
            .run()
            .expect("it was built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said, dir.path().join("mark").exists())
    };
    let unproven = ["CON-01", "CON-02", "CON-03", "CON-04"];
    let refused = "porter: cannot set the deadline: PID 1 is no porter\n".to_owned();
    assert_eq!(run(&unproven), (Some(125), refused, false));
    let machine = ["CON-01", "CON-02", "CON-03", "CON-04", "CON-22"];
    assert_eq!(run(&machine), (Some(0), String::new(), true));
}

/// A process that came first and has no limit, such as the one that keeps logins, must not keep the
/// command from its own.
#[test]
fn flt_27_a_process_before_the_command_does_not_take_its_answer() {
    for way in WAYS {
        let container = Container::start();
        let _first = container.run(way, None, "sleep 1000");
        let timeout = Some(Duration::from_millis(500));
        // Of PID 1's channel there is one host.
        let _command = container.run(StartPath::Exec, timeout, "sleep 1000");
        assert_eq!(container.end(), TIMED_OUT, "{way:?}");
    }
}

/// Without a limit, too, PID 1 is undumpable before the command has its first instruction: the
/// command can't take the channel.
#[test]
fn a_command_without_a_limit_can_not_look_into_pid_1() {
    for way in WAYS {
        let container = Container::start();
        let dir = container.dir.path().display().to_string();
        let script = format!(
            "cd {dir}; ls /proc/1/fd >seen 2>/dev/null; echo $? >code; mv code done; sleep 1000"
        );
        let _command = container.run(way, None, &script);
        let done = container.dir.path().join("done");
        let give_up = Instant::now() + LIMIT;
        let code = loop {
            if let Ok(code) = fs::read_to_string(&done) {
                break code;
            }
            assert!(Instant::now() < give_up, "{way:?}: it does not start");
        };
        assert_eq!(code, "2\n", "{way:?}");
        let seen = fs::read_to_string(container.dir.path().join("seen"));
        assert_eq!(seen.expect("it was made"), "", "{way:?}");
    }
}
