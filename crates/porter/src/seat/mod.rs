//! `porter seat`: starts one command by the code of `porter run`, and carries its streams in
//! frames on its own stdin and stdout ([`seat`](lazaret_protocol::seat)).
//!
//! So a terminal, its size, signals and a true end of file work wherever the seat itself can be
//! started: by PID 1 and by every engine. The seat and the command have separate sessions. The
//! seat ignores every signal that it can: SIGTERM for everyone reaches the command, and the seat
//! reports how that ended.
//!
//! The command shares the seat's uid, so the seat makes itself undumpable: a command can't attach
//! to it and write frames of its own (`man 2 ptrace`).
//!
//! A seat with a grace outlives its connection: [`rejoin`] brings it another one.

mod carrier;
mod child;
mod host;
mod let_go;
pub(crate) mod rejoin;
mod rejoin_socket;

use std::io;
use std::process::ExitCode;

use lazaret_protocol::{SeatCommand, Seated, exit};
use rustix::process::DumpableBehavior;

use self::carrier::{Carrier, Linger};
use self::child::Child;
use self::host::Host;
use crate::syscall::BlockedSignals;

/// Runs the verb: ends with the command's exit code.
pub(crate) fn run(seat: SeatCommand) -> ExitCode {
    match carry(seat) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::report_error(&format!("seat: {error}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

fn carry(seat: SeatCommand) -> io::Result<u8> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let _blocked = BlockedSignals::all()?;
    let host = match seat.grace {
        None => Host::new(),
        Some(grace) => Host::resumable(grace)?,
    };
    let linger = match seat.seated {
        Seated::Command(_) => Linger::No,
        Seated::Message => Linger::UntilHostCloses,
    };
    let child = Child::start(seat.seated, seat.terminal)?;
    Carrier::new(child, host, seat.when_abandoned, linger)?.run()
}
