//! `porter run`: becomes the command.
//!
//! The probe has judged the container; this looks once more at what it is itself about to
//! hand to the command, in the same process, and gives nothing else away: no descriptor
//! but 0, 1 and 2 (CVE-2024-21626), no ignored signal, no core dump. `--without` names
//! a control that the engine does not have (a virtual machine instead). `--poised` waits for
//! its words on stdin first ([`bootstrap`]), so that starting the process costs nothing once the
//! command may start; its directory may appear meanwhile. With `--expect` it is the probe
//! itself before it waits: its report is the first that it says. `--same` names where the
//! container's first command runs: a later one starts there and nowhere else (CON-27). `--timeout` has PID 1 end the
//! command when its time is up ([`deadline`]).

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use lazaret_protocol::verb::{BootstrapCommand, CommandStdin};
use lazaret_protocol::{Control, Placement, RunCommand, exit};
use rustix::process::DumpableBehavior;

use crate::command::bootstrap::{self, BootstrapError, StartOrder};
use crate::command::deadline::{self, DeadlineError};
use crate::command::limits::{self, NO_CORE};
use crate::command::status::Status;
use crate::probe;
use crate::syscall;

/// All rights of an owner.
const OWNER_ALL: u32 = 0o700;

/// Why the command was not started.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// What the command would inherit is more than it may have.
    #[error("refused: {}: {found}", .control.id())]
    NotContained { control: Control, found: String },
    /// It runs elsewhere than the container's first command (CON-27).
    #[error("refused: CON-27: another {what} than the first command's")]
    Elsewhere { what: &'static str },
    /// The probe failed, so it is unknown which controls hold.
    #[error("probe: {0}")]
    Probe(#[source] io::Error),
    /// A step before the start failed, or the launcher never allowed the start.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// PID 1 does not keep the deadline.
    #[error(transparent)]
    Deadline(#[from] DeadlineError),
    /// A step of the preparation failed.
    #[error("{step}: {source}")]
    Prepare {
        step: &'static str,
        source: io::Error,
    },
    /// `execve` said no.
    #[error("can't run `{command}`: {source}")]
    Exec { command: String, source: io::Error },
}

impl Error {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Exec { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                exit::NOT_FOUND
            }
            Self::Exec { .. } => exit::NOT_EXECUTABLE,
            _ => exit::FAILED,
        }
    }
}

/// Runs the verb; returns only when the command was not started.
pub(crate) fn run(command: RunCommand) -> ExitCode {
    ExitCode::from(start(command))
}

/// Becomes the command; returns an exit code only when the command was not started.
pub(crate) fn start(command: RunCommand) -> u8 {
    match become_command(command) {
        Ok(NotWanted) => 0,
        Err(error) => {
            crate::report_error(&error.to_string());
            error.exit_code()
        }
    }
}

/// A command that is not to be started after all.
struct NotWanted;

fn become_command(mut command: RunCommand) -> Result<NotWanted, Error> {
    if let Some(same) = &command.same {
        check_placement(same)?;
    }
    if let Some(BootstrapCommand {
        directory,
        request,
        stdin,
    }) = command.bootstrap.take()
    {
        if let Some(request) = request {
            probe::tell(&command.limits, *request).map_err(Error::Probe)?;
        }
        match bootstrap::listen()? {
            StartOrder::Go => enter(&directory, stdin)?,
            StartOrder::End => {
                // A command that has a terminal is started there by the engine.
                let _its_own_affair = go_to(&directory);
                return Ok(NotWanted);
            }
        }
    }
    let deadline = match command.timeout {
        Some(timeout) => deadline::set(timeout),
        // PID 1's channel is no command's, whether that has a deadline or not.
        None => deadline::hide(),
    };
    match deadline {
        // A virtual machine may have another PID 1; the launcher keeps the limit there.
        Err(DeadlineError::NoContainer)
            if command.timeout.is_none() || command.without.contains(&Control::Namespaces) => {}
        deadline => deadline?,
    }
    prepare(&command)?;
    // An argument can't hold NUL: it came by execve.
    let argv = command
        .argv
        .iter()
        .map(|argument| CString::new(argument.as_str()));
    let argv = argv.collect::<Result<Vec<_>, _>>();
    let source = match argv {
        Ok(argv) => syscall::exec(&argv),
        Err(error) => error.into(),
    };
    let program = command.argv.first().map(|name| name.as_bytes());
    Err(Error::Exec {
        command: lazaret_tree::escape(program.unwrap_or_default()),
        source,
    })
}

/// Refuses to go on anywhere but where the container's first command runs.
fn check_placement(same: &Placement) -> Result<(), Error> {
    let here = probe::placement().map_err(|source| Error::Prepare {
        step: "read the namespaces",
        source,
    })?;
    match same.difference(&here) {
        None => Ok(()),
        Some("root") => Err(Error::Elsewhere {
            what: "root directory",
        }),
        Some(what) => Err(Error::Elsewhere { what }),
    }
}

/// Goes to `dir`, and leaves the command what it is to find on stdin.
fn enter(dir: &str, stdin: CommandStdin) -> Result<(), Error> {
    let step = |step| move |source| Error::Prepare { step, source };
    go_to(dir).map_err(step("enter the directory"))?;
    if stdin == CommandStdin::Kept {
        return Ok(());
    }
    let nothing = std::fs::File::open("/dev/null").map_err(step("open /dev/null"))?;
    let became = rustix::stdio::dup2_stdin(&nothing);
    became.map_err(|error| step("close stdin")(error.into()))
}

/// Goes to `dir`. An earlier command of the session may have closed it, or what is above it: the
/// next one starts there all the same.
fn go_to(dir: &str) -> io::Result<()> {
    match std::env::set_current_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(dir.as_ref());
            std::env::set_current_dir(dir)
        }
        gone => gone,
    }
}

/// Gives the owner all rights in `dir` and everything above it that is the agent's.
fn open_up(dir: &Path) {
    let way: Vec<&Path> = dir.ancestors().collect();
    for dir in way.into_iter().rev() {
        if let Ok(found) = fs::metadata(dir) {
            let mode = found.permissions().mode() | OWNER_ALL;
            let _not_ours = fs::set_permissions(dir, fs::Permissions::from_mode(mode));
        }
    }
}

fn prepare(command: &RunCommand) -> Result<(), Error> {
    let status = Status::read().map_err(|source| Error::Prepare {
        step: "read /proc/self/status",
        source,
    })?;
    check(&status, &command.without)?;
    rustix::thread::set_no_new_privs(true).map_err(|error| Error::Prepare {
        step: "set no_new_privs",
        source: error.into(),
    })?;
    for limit in command.limits.iter().chain([&NO_CORE]) {
        limits::lower(*limit).map_err(|source| Error::Prepare {
            step: "lower a limit",
            source,
        })?;
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| {
        Error::Prepare {
            step: "make the process undumpable",
            source: error.into(),
        }
    })?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    syscall::close_from(3).map_err(|source| Error::Prepare {
        step: "close descriptors",
        source,
    })?;
    syscall::reset_signals();
    Ok(())
}

/// Compares what the kernel says of this process with what the command may be.
fn check(status: &Status, without: &[Control]) -> Result<(), Error> {
    let wanted = |control: Control| !without.contains(&control);
    let refuse = |control: Control, line: &str| {
        Err(Error::NotContained {
            control,
            found: format!("{line} {}", status.words(line).join(" ")),
        })
    };
    for line in ["Uid", "Gid"] {
        let ids = status.words(line);
        let all_the_same = ids.len() == 4 && ids.iter().all(|id| *id == ids[0]);
        if wanted(Control::User) && !(all_the_same && ids[0] != "0") {
            return refuse(Control::User, line);
        }
    }
    if let Some(line) = status.other_capabilities([0; 5]).first()
        && wanted(Control::Capabilities)
    {
        return refuse(Control::Capabilities, line);
    }
    if wanted(Control::NoNewPrivileges) && !status.is("NoNewPrivs", "1") {
        return refuse(Control::NoNewPrivileges, "NoNewPrivs");
    }
    if wanted(Control::Seccomp) && !status.is("Seccomp", "2") {
        return refuse(Control::Seccomp, "Seccomp");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n\
        CapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\n\
        NoNewPrivs:\t1\nSeccomp:\t2\n";

    #[track_caller]
    fn refused(from: &str, to: &str, without: &[Control]) -> String {
        assert!(GOOD.contains(from));
        match check(&Status::from_text(&GOOD.replace(from, to)), without) {
            Ok(()) => "started".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn con_01_to_04_are_checked_again_before_exec() {
        assert_eq!(refused("", "", &[]), "started");
        assert_eq!(
            refused("Uid:\t1000\t1000", "Uid:\t1000\t0", &[]),
            "refused: CON-01: Uid 1000 0 1000 1000"
        );
        assert_eq!(
            refused("Gid:\t1000\t1000\t1000\t1000\n", "", &[]),
            "refused: CON-01: Gid "
        );
        assert_eq!(
            refused("CapBnd:\t0", "CapBnd:\t4", &[]),
            "refused: CON-02: CapBnd 4"
        );
        assert_eq!(refused("CapAmb:\t0\n", "", &[]), "refused: CON-02: CapAmb ");
        assert_eq!(
            refused("NoNewPrivs:\t1", "NoNewPrivs:\t0", &[]),
            "refused: CON-03: NoNewPrivs 0"
        );
        assert_eq!(
            refused("Seccomp:\t2", "Seccomp:\t0", &[]),
            "refused: CON-04: Seccomp 0"
        );
        assert_eq!(
            refused("Seccomp:\t2", "Seccomp:\t0", &[Control::Seccomp]),
            "started"
        );
    }
}
