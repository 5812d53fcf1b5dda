//! Secrets that programs give: password managers and the system's keychain.

use std::ffi::OsString;
use std::io::{PipeReader, Read as _};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::source::{LARGEST_SECRET, SecretContext, missing};
use crate::failure::{Failure, FailureKind, OrFail as _};

/// How often the launcher checks for an interrupt while a program runs.
const TICK: Duration = Duration::from_millis(20);

/// How long output may come after a program's end, from what it left running.
const AFTER_THE_END: Duration = Duration::from_secs(5);

/// How many bytes of its complaint are shown.
const LONGEST_COMPLAINT: usize = 4096;

/// Runs a command of the profile's, and takes what it prints.
pub(super) fn print(
    argv: &[String],
    reach: SecretContext<'_>,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    run(argv, reach).map_err(|failure| {
        failure.hinted("Run the command yourself: it has to print the secret and nothing else.")
    })
}

/// Asks the keychain: the Secret Service on Linux, the login keychain on macOS.
pub(super) fn look_up(
    service: &str,
    account: &str,
    reach: SecretContext<'_>,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let (argv, store) = match cfg!(target_os = "macos") {
        true => (
            vec![
                "security",
                "find-generic-password",
                "-s",
                service,
                "-a",
                account,
                "-w",
            ],
            format!("security add-generic-password -s {service} -a {account} -w"),
        ),
        false => (
            vec![
                "secret-tool",
                "lookup",
                "service",
                service,
                "account",
                account,
            ],
            format!("secret-tool store --label {service} service {service} account {account}"),
        ),
    };
    let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
    let found = run(&argv, reach).and_then(|value| match value.is_empty() {
        true => Err(missing("the keychain has no such entry")),
        false => Ok(value),
    });
    found.map_err(|failure| failure.hinted(format!("`{store}` puts it there.")))
}

fn run(argv: &[String], reach: SecretContext<'_>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let (program, arguments) = argv.split_first().ok_or_else(|| missing("no program"))?;
    let pipe = || std::io::pipe().or_fail(FailureKind::Secret, "a pipe can't be made");
    let ((out, out_writer), (complaint, complaint_writer)) = (pipe()?, pipe()?);
    let variables = reach.env.variables.iter();
    let variables = variables.map(|(name, value)| (OsString::from(name), value.clone()));
    let started = duct::cmd(program, arguments)
        .full_env(variables)
        .stdin_null()
        .stdout_file(out_writer)
        .stderr_file(complaint_writer)
        .unchecked()
        .start();
    let running = started.or_fail(FailureKind::Secret, &format!("`{program}` can't be run"))?;
    let out = drained(out, LARGEST_SECRET + 1);
    let complaint = drained(complaint, LONGEST_COMPLAINT);
    let deadline = Instant::now() + reach.patience;
    let status = loop {
        let ended = running.wait_timeout(TICK);
        let ended = ended.or_fail(FailureKind::Secret, &format!("`{program}` is lost"))?;
        if let Some(output) = ended {
            break output.status;
        }
        let interrupted = reach.cancel.check();
        if interrupted.is_err() || Instant::now() > deadline {
            // Gone already, or not ours to end: nothing of it is used either way.
            drop(running.kill());
            interrupted?;
            let seconds = reach.patience.as_secs();
            return Err(missing(format!(
                "`{program}` did not end within {seconds} s"
            )));
        }
    };
    if !status.success() {
        let words = complaint.recv_timeout(AFTER_THE_END).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        let said = match words.trim() {
            "" => "it said nothing".to_owned(),
            words => format!("it said: {words}"),
        };
        return Err(missing(format!("`{program}` failed ({status}); {said}")));
    }
    let value = out.recv_timeout(AFTER_THE_END).map_err(|_open| {
        missing(format!(
            "`{program}` ended, and left something running that keeps its output open"
        ))
    })?;
    match value.len() > LARGEST_SECRET {
        true => Err(missing(format!(
            "`{program}` prints more than a secret can be"
        ))),
        false => Ok(value),
    }
}

/// Reads to the end in a thread, and keeps the first bytes.
fn drained(mut from: PipeReader, most: usize) -> Receiver<Zeroizing<Vec<u8>>> {
    let (tell, told) = mpsc::channel();
    // Detached: what a program left running may keep the pipe open for ever.
    drop(thread::spawn(move || {
        let mut kept = Zeroizing::new(Vec::with_capacity(most));
        let mut piece = Zeroizing::new([0; 4096]);
        while let Ok(count @ 1..) = from.read(&mut *piece) {
            let room = most - kept.len();
            kept.extend_from_slice(&piece[..count.min(room)]);
        }
        // If the program failed or took too long, the receiver may be gone.
        drop(tell.send(kept));
    }));
    told
}
