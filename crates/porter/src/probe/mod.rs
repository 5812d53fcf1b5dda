//! `porter probe [--limit NAME=NUMBER]… --expect KEY=VALUE…`: proves every control from inside.
//! `porter run` does the same where it is asked to, as the process that becomes the command.
//!
//! One line per control of docs/design/threats.md section 2, `CON-04 pass|fail|n/a <detail>`, ended by
//! `end <count>`: a report that is cut short proves nothing. The exit code is 0 when the
//! report is complete, whatever it says; the host judges it. Nothing here changes the
//! container: what would (a fork bomb, filling a tmpfs) is left to the tests, and the
//! limits are read where the kernel keeps them.

mod cgroup;
mod files;
mod identity;
mod limits;
mod mounts;
mod network;
mod sockets;
mod syscalls;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::{
    Control, NetworkBarrier, PLACEMENT_KEYS, Placement, ProbeReport, ProbeRequest, ReportLine,
    Ulimit, Verdict,
};

use crate::command::status::Status;
use mounts::Mounts;

/// What a probe found. The text is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// The control is in force.
    Pass(String),
    /// It is not.
    Fail(String),
    /// It is not, and no announcement of the host excuses that.
    Broken(String),
    /// There is nothing here that it could apply to; the host decides whether that may be.
    NotApplicable(String),
}

impl Outcome {
    /// Passes when nothing was found to complain about.
    fn of(complaints: &[String], pass: impl Into<String>) -> Self {
        match complaints {
            [] => Self::Pass(pass.into()),
            _ => Self::Fail(complaints.join("; ")),
        }
    }
}

/// What the probes look at.
struct ProbeContext {
    expected: ProbeRequest,
    status: Status,
    mounts: Mounts,
}

/// Runs the verb.
pub(crate) fn run(limits: &[Ulimit], request: ProbeRequest) -> ExitCode {
    crate::exit_with("probe", tell(limits, request))
}

/// Writes the report to stdout.
pub(crate) fn tell(limits: &[Ulimit], request: ProbeRequest) -> io::Result<()> {
    // As `porter run` does, so that what is read below is what the command will have.
    for limit in limits {
        crate::command::limits::lower(*limit)?;
    }
    let report = look(request)?.to_string();
    let mut stdout = io::stdout().lock();
    stdout.write_all(report.as_bytes())?;
    stdout.flush()
}

fn look(expected: ProbeRequest) -> io::Result<ProbeReport> {
    first_process();
    // Descriptors first: everything after opens some of its own.
    let descriptors = identity::descriptors(&expected.workdir);
    let scene = ProbeContext {
        status: Status::read()?,
        mounts: Mounts::read()?,
        expected,
    };
    let line = |control: &Control| {
        let outcome = match control {
            Control::Descriptors => Some(descriptors.clone()),
            control => scene.look(*control),
        };
        outcome.map(|outcome| scene.line(*control, outcome))
    };
    Ok(ProbeReport {
        lines: Control::ALL.iter().filter_map(line).collect(),
        placement: placement()?,
    })
}

impl ProbeContext {
    /// Looks at a control; `None` for one that is judged from elsewhere.
    fn look(&self, control: Control) -> Option<Outcome> {
        Some(match control {
            Control::User => identity::user(self),
            Control::Capabilities => identity::capabilities(self),
            Control::NoNewPrivileges => identity::no_new_privileges(self),
            Control::Seccomp => syscalls::filter(self),
            Control::SocketFamilies => syscalls::socket_families(),
            Control::ReadOnlyRoot => files::read_only_root(self),
            Control::Tmpfs => files::tmpfs(self),
            Control::Shm => files::shm(self),
            Control::MaskedPaths => files::masked_paths(self),
            Control::ReadOnlyProc => files::read_only_proc(self),
            Control::MaskIntegrity => files::mask_integrity(self),
            Control::LsmLabel => identity::lsm_label(),
            Control::UserNamespace => identity::user_namespace(self),
            Control::Pids => limits::pids(self),
            Control::Memory => limits::memory(self),
            Control::ProcessLimits => limits::process(self),
            Control::NoNetwork => match self.expected.network {
                NetworkBarrier::NoInterface => network::none(self),
                NetworkBarrier::NoSocket => sockets::refused(self),
            },
            Control::NoHostMounts => files::host_mounts(self),
            Control::EngineApi => network::engine_api(self),
            Control::Devices => files::devices(),
            Control::Namespaces => identity::namespaces(self),
            Control::Environment => identity::environment(self),
            Control::Terminal => syscalls::terminal(),
            Control::Descriptors | Control::Image | Control::EngineFloor => return None,
        })
    }

    fn line(&self, control: Control, outcome: Outcome) -> ReportLine {
        let (verdict, detail) = match outcome {
            Outcome::Pass(detail) => (Verdict::Pass, detail),
            // Only what the host announced; and a control that holds nevertheless is said to.
            Outcome::Fail(detail) if self.is_without(control) => (Verdict::NotApplicable, detail),
            Outcome::Fail(detail) | Outcome::Broken(detail) => (Verdict::Fail, detail),
            Outcome::NotApplicable(detail) => (Verdict::NotApplicable, detail),
        };
        ReportLine {
            control,
            verdict,
            detail,
        }
    }

    /// Whether the host says that a control does not apply here.
    fn is_without(&self, control: Control) -> bool {
        self.expected.not_applicable.contains(&control)
    }
}

/// Returns where this process runs.
pub(crate) fn placement() -> io::Result<Placement> {
    let mut numbers = [0; PLACEMENT_KEYS.len()];
    for (key, number) in PLACEMENT_KEYS.into_iter().zip(&mut numbers) {
        *number = match key {
            "root" => fs::metadata("/")?.dev(),
            kind => match fs::metadata(format!("/proc/self/ns/{kind}")) {
                Ok(namespace) => namespace.ino(),
                // A kernel without this kind has one for all.
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(error),
            },
        };
    }
    Ok(Placement::new(numbers))
}

/// Waits until PID 1 is the porter, two seconds at most.
///
/// An engine reports a container as running a moment before the porter is its first process. Until
/// then that is a process of the OCI runtime, whose descriptors the probes may not read. If it
/// still is after that time, the probes report it.
fn first_process() {
    let own = fs::read("/proc/self/cmdline").unwrap_or_default();
    let program = |line: &[u8]| line.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
    let give_up = Instant::now() + Duration::from_secs(2);
    while Instant::now() < give_up {
        match fs::read("/proc/1/cmdline") {
            Ok(first) if program(&first) == program(&own) => return,
            _ => thread::sleep(Duration::from_millis(5)),
        }
    }
}
