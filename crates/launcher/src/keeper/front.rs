//! Begins a keeper, and waits until clients can come.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;

use lazaret_runtime::SessionId;

use super::{Order, Reachable, VARIABLE};
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// What is said of a keeper that makes no sense.
const BROKEN: &str = "the session's keeper can't be started";

/// This end of a keeper's stdin: a keeper whose session the front owns stops it when this is
/// dropped.
#[derive(Debug)]
pub(crate) struct Leash(#[expect(dead_code, reason = "held for its end")] UnixStream);

/// How a keeper began.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It has a session, which clients can come to.
    Reachable(SessionId, Leash),
    /// It has ended, and has said why.
    Ended(ExitCode),
}

/// Begins a keeper with the arguments of this process.
///
/// # Errors
/// The process can't be started.
pub(crate) fn begin(order: &Order, app: &App) -> Result<Begun, Failure> {
    match start(order, app).or_fail(FailureKind::Internal, BROKEN)? {
        Started::Said(line, leash) => {
            let reachable = serde_json::from_str::<Reachable>(&line);
            let Reachable { session } = reachable.or_fail(FailureKind::Internal, BROKEN)?;
            let id = session.parse::<SessionId>();
            let id = id.or_fail(FailureKind::Internal, BROKEN)?;
            Ok(Begun::Reachable(id, leash))
        }
        Started::Ended(status) => match status.code() {
            Some(code) => Ok(Begun::Ended(ExitCode::of_command(code))),
            None => {
                let text = format!("the session's keeper was killed ({status})");
                Err(Failure::message(FailureKind::State, text)
                    .hinted("`lazaret recover` puts in order what it left behind."))
            }
        },
    }
}

enum Started {
    /// It has said this line.
    Said(String, Leash),
    /// It has ended.
    Ended(ExitStatus),
}

fn start(order: &Order, app: &App) -> io::Result<Started> {
    let (ours, theirs) = UnixStream::pair()?;
    let arguments: Vec<&OsString> = app.arguments.iter().skip(1).collect();
    // Our hold on the other end goes with the expression: the end of the keeper is the end of the
    // stream.
    let keeper = {
        let keeper = duct::cmd(own_program(app)?, arguments)
            .stdin_file(OwnedFd::from(theirs))
            .env(VARIABLE, "1")
            .unchecked();
        match &app.keeper_stderr {
            Some(file) => keeper.stderr_file(file.try_clone()?),
            None => keeper,
        }
        .start()?
    };
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
        Ok(1..) => {
            // Reaped when it ends, if this process lives as long.
            thread::spawn(move || drop(keeper.wait()));
            Ok(Started::Said(line, Leash(ours)))
        }
        Ok(0) | Err(_) => Ok(Started::Ended(keeper.wait()?.status)),
    }
}

/// This program, also if its file was replaced meanwhile. Where `/proc` is that of other
/// processes, what it was called as.
///
/// # Errors
/// The system's.
pub(crate) fn own_program(app: &App) -> io::Result<PathBuf> {
    let own = Path::new("/proc/self/exe");
    match (own.exists(), app.arguments.first()) {
        (true, _) => Ok(own.to_owned()),
        (false, Some(called)) if cfg!(target_os = "linux") => Ok(PathBuf::from(called)),
        _ => std::env::current_exe(),
    }
}
