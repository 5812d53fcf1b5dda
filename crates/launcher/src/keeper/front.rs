//! Begins a keeper, and waits until clients can come.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use lazaret_runtime::SessionId;

use super::{Order, Reachable, VARIABLE};
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// What is said of a keeper that makes no sense.
const BROKEN: &str = "the session's keeper can't be started";

/// How a keeper began.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It has a session, which clients can come to.
    Reachable(SessionId),
    /// It has ended, and has said why.
    Ended(ExitCode),
}

/// Begins a keeper with the arguments of this process.
///
/// # Errors
/// The process can't be started.
pub(crate) fn begin(order: &Order, app: &App) -> Result<Begun, Failure> {
    let (line, code) = start(order, app).or_fail(FailureKind::Internal, BROKEN)?;
    match serde_json::from_str::<Reachable>(&line) {
        Ok(Reachable { session }) => {
            let id = session.parse::<SessionId>();
            Ok(Begun::Reachable(id.or_fail(FailureKind::Internal, BROKEN)?))
        }
        Err(_) => Ok(Begun::Ended(code.unwrap_or(ExitCode::FAILED))),
    }
}

/// Returns the keeper's line, and its exit code if it has ended.
fn start(order: &Order, app: &App) -> io::Result<(String, Option<ExitCode>)> {
    let (ours, theirs) = UnixStream::pair()?;
    let arguments: Vec<&OsString> = app.arguments.iter().skip(1).collect();
    let keeper = duct::cmd(own_program()?, arguments)
        .stdin_file(OwnedFd::from(theirs))
        .env(VARIABLE, "1")
        .unchecked()
        .start()?;
    let mut line = serde_json::to_string(order)?;
    line.push('\n');
    // One that has ended already says so by its exit code.
    let _ended = (&ours).write_all(line.as_bytes());
    // Ctrl-C reaches it by the terminal, another signal only us.
    let closing = ours.try_clone()?;
    let _guard = app.cancel.guard(move |_| {
        let _ended = closing.shutdown(Shutdown::Both);
    });
    let mut line = String::new();
    match BufReader::new(&ours).read_line(&mut line) {
        Ok(1..) => Ok((line, None)),
        Ok(0) | Err(_) => {
            let status = keeper.wait()?.status;
            let code = status.code().map(ExitCode::of_command);
            Ok((line, code))
        }
    }
}

/// This program, also if its file was replaced meanwhile.
fn own_program() -> io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok(PathBuf::from("/proc/self/exe")),
        false => std::env::current_exe(),
    }
}
