//! `porter probe [--limit NAME=NUMBER]… --expect KEY=VALUE…`: proves every control from inside.
//! `porter run` does the same where it is asked to, as the process that becomes the command.
//!
//! One line per control of docs/design/threats.md section 2, `CON-04 pass|fail|n/a <detail>`, ended by
//! `end <count>`: a report that is cut short proves nothing. The exit code is 0 when the
//! report is complete, whatever it says; the host judges it. Nothing here changes the
//! container: what would (a fork bomb, filling a tmpfs) is left to the tests, and the
//! limits are read where the kernel keeps them.

mod cgroup;
mod expected;
mod files;
mod identity;
mod limits;
mod mounts;
mod network;
mod syscalls;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use crate::status::Status;
use expected::Expected;
use mounts::Mounts;

/// The longest detail, in bytes.
const DETAIL: usize = 300;

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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, detail) = match self {
            Self::Pass(detail) => ("pass", detail),
            Self::Fail(detail) | Self::Broken(detail) => ("fail", detail),
            Self::NotApplicable(detail) => ("n/a", detail),
        };
        f.write_str(word)?;
        f.write_str(" ")?;
        // Names in /dev or the environment may hold anything; the line format may not.
        for byte in detail.chars().take(DETAIL) {
            let shown = match byte {
                ' '..='~' => byte,
                _ => '?',
            };
            write!(f, "{shown}")?;
        }
        Ok(())
    }
}

/// What the probes look at.
struct Scene {
    expected: Expected,
    status: Status,
    mounts: Mounts,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error(transparent)]
    Expected(#[from] expected::Error),
    #[error(transparent)]
    Look(#[from] io::Error),
}

/// Runs the verb.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    crate::settle("probe", tell(arguments))
}

/// Writes the report to stdout.
pub(crate) fn tell(arguments: impl Iterator<Item = OsString>) -> Result<(), ProbeError> {
    let report = look(Expected::parse(arguments)?)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(report.as_bytes())?;
    Ok(stdout.flush()?)
}

fn look(expected: Expected) -> io::Result<String> {
    // As `porter run` does, so that what is read below is what the command will have.
    for limit in &expected.limits {
        limit.apply()?;
    }
    first_process();
    // Descriptors first: everything after opens some of its own.
    let descriptors = identity::descriptors(&expected.workdir);
    let scene = Scene {
        status: Status::read()?,
        mounts: Mounts::read()?,
        expected,
    };
    let outcomes = [
        ("CON-01", identity::user(&scene)),
        ("CON-02", identity::capabilities(&scene)),
        ("CON-03", identity::no_new_privileges(&scene)),
        ("CON-04", syscalls::filter(&scene)),
        ("CON-05", syscalls::socket_families()),
        ("CON-06", files::read_only_root(&scene)),
        ("CON-07", files::tmpfs(&scene)),
        ("CON-08", files::shm(&scene)),
        ("CON-09", files::masked_paths(&scene)),
        ("CON-10", files::read_only_proc(&scene)),
        ("CON-11", files::mask_integrity(&scene)),
        ("CON-12", descriptors),
        ("CON-13", identity::lsm_label()),
        ("CON-14", identity::user_namespace(&scene)),
        ("CON-15", limits::pids(&scene)),
        ("CON-16", limits::memory(&scene)),
        ("CON-17", limits::process(&scene)),
        ("CON-18", network::none(&scene)),
        ("CON-19", files::host_mounts(&scene)),
        ("CON-20", network::engine_api(&scene)),
        ("CON-21", files::devices()),
        ("CON-22", identity::namespaces(&scene)),
        ("CON-23", identity::environment(&scene)),
        ("CON-24", syscalls::terminal()),
    ];
    Ok(report(&scene.expected, outcomes))
}

/// Waits until PID 1 is the porter, two seconds at most.
///
/// An engine calls a container running a moment before its first process is what it was asked
/// for. Until then that is the OCI runtime's own, whose descriptors nobody may look at. What
/// is still so after that time, the probes say.
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

fn report(expected: &Expected, outcomes: [(&str, Outcome); 24]) -> String {
    let mut report = String::new();
    for (control, outcome) in &outcomes {
        let outcome = match outcome {
            // Only what the host announced; and a control that holds all the same is said to.
            Outcome::Fail(found) if expected.not_applicable(control) => {
                &Outcome::NotApplicable(found.clone())
            }
            other => other,
        };
        report.push_str(&format!("{control} {outcome}\n"));
    }
    report.push_str(&format!("end {}\n", outcomes.len()));
    report
}
