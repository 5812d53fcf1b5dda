//! `porter stop`: has PID 1 end the container, where no engine can signal PID 1 from outside.
//!
//! A signal carries the milliseconds from SIGTERM to SIGKILL. The agent has PID 1's uid, so it can
//! send the signal too: it ends its own container, which it can by a
//! [`deadline`](crate::command::deadline) as well.

use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Pid;

use crate::processes::first_is_porter;
use crate::syscall::{Received, queue_signal};

/// The signal, of those that are queued and carry a value (`man 7 signal`).
fn signal() -> i32 {
    libc::SIGRTMIN() + 6
}

/// Runs the verb. It does not wait for the end.
pub(crate) fn run(grace: Duration) -> ExitCode {
    crate::exit_with("stop", ask(grace))
}

fn ask(grace: Duration) -> std::io::Result<()> {
    if !first_is_porter()? {
        return Err(std::io::Error::other("PID 1 is no porter"));
    }
    let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
    queue_signal(Pid::INIT.as_raw_pid(), signal(), millis)
}

/// Returns the time from SIGTERM to SIGKILL, if a signal asks for the end.
pub(crate) fn grace(received: Received) -> Option<Duration> {
    let millis = received.value.filter(|_| received.signal == signal())?;
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_signal_with_a_value_asks_for_the_end() {
        let received = |signal, value| Received {
            signal,
            sender: 7,
            value,
        };
        let asked = grace(received(signal(), Some(1500)));
        assert_eq!(asked, Some(Duration::from_millis(1500)));
        assert_eq!(grace(received(signal(), None)), None);
        assert_eq!(grace(received(libc::SIGTERM, Some(1))), None);
    }
}
