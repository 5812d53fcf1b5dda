//! `Input`: what a gateway's launcher says, and whether it still says anything.

use std::io::{self, BufRead, Read as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::run::GatewayError;

/// The longest order or change, in bytes.
pub(crate) const LONGEST_LINE: u64 = 16 << 20;

/// How many looks in a row have to find nothing before it is silence. Looks are counted, and
/// the time between two is only waited for: while a machine is suspended nobody looks, and a
/// clock that leaps when it goes on, as that of a virtual machine may, ends one look.
const LOOKS: u32 = 30;

/// The lines of a launcher, read on a thread of their own.
#[derive(Debug)]
pub(crate) struct Input {
    lines: Receiver<Zeroizing<Vec<u8>>>,
    silence: Duration,
}

impl Input {
    /// Begins to read. The thread ends with `from`, or when a line comes that nobody takes.
    pub(crate) fn follow(
        from: impl BufRead + Send + 'static,
        silence: Duration,
    ) -> io::Result<Self> {
        let (say, lines) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("input".to_owned());
        thread.spawn(move || read(from, &say))?;
        Ok(Self { lines, silence })
    }

    /// Returns the next line that says something; `None` at the end of the input. A line is
    /// wiped: it may hold keys. An empty one says that the launcher is there.
    ///
    /// # Errors
    ///
    /// A line is no `expected`, or for the time of silence there was none at all (NET-23).
    pub(crate) fn next<T: serde::de::DeserializeOwned>(
        &self,
        expected: &'static str,
    ) -> Result<Option<T>, GatewayError> {
        let mut quiet = 0;
        while quiet < LOOKS {
            match self.lines.recv_timeout(self.silence / LOOKS) {
                Ok(line) if line.as_slice() == b"\n" => quiet = 0,
                Ok(line) => {
                    let whole = line.ends_with(b"\n");
                    let value = serde_json::from_slice(&line).ok().filter(|_| whole);
                    return value.map(Some).ok_or(GatewayError::Line { expected });
                }
                Err(RecvTimeoutError::Timeout) => quiet += 1,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        Err(GatewayError::Silence {
            after: self.silence,
        })
    }
}

fn read(mut from: impl BufRead, say: &SyncSender<Zeroizing<Vec<u8>>>) {
    loop {
        let mut line = Zeroizing::new(Vec::new());
        match (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line) {
            // A launcher that has gone ends the input in either way.
            Ok(0) | Err(_) => return,
            Ok(_) if say.send(line).is_err() => return,
            Ok(_) => {}
        }
    }
}
