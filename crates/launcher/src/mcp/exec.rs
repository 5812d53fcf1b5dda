//! `session_exec`: a command beside that of a session.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lazaret_mcp::{SessionExec, Stop};
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::{Exec, Exit, Request, Role};
use serde_json::{Value, json};

use super::{Host, page};
use crate::failure::{Failure, FailureKind};
use crate::session_access::live::ask;

/// Seconds.
const DEFAULT_TIMEOUT: u64 = 50;
/// Seconds.
const MOST_TIMEOUT: u64 = 600;

impl Host {
    pub(super) fn exec(&self, input: SessionExec, stop: &Stop) -> Result<Value, Failure> {
        let (store, dir, record) = self.session(&input.session)?;
        if input.argv.is_empty() || input.argv.iter().any(|word| word.contains('\0')) {
            let text = "`argv` holds a program, and no NUL byte";
            return Err(Failure::message(FailureKind::Usage, text));
        }
        let exec = Exec {
            argv: input.argv,
            env: BTreeMap::new(),
            workdir: None,
            terminal: None,
            stdin: input.stdin.is_some(),
            leave: false,
            role: Role::Any,
        };
        let (connection, _) = ask(&store, &dir, &Request::Exec(exec))?;
        let closing = connection.clone();
        stop.on_stop(move || closing.close());
        let seconds = input.timeout_s.unwrap_or(DEFAULT_TIMEOUT);
        let limit = Duration::from_secs(seconds.clamp(1, MOST_TIMEOUT));
        let (over, ended) = mpsc::channel::<()>();
        let closing = connection.clone();
        // Its end ends the process inside.
        let watch = thread::spawn(move || {
            let is_late = ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                closing.close();
            }
            is_late
        });
        let typing = input.stdin.map(|text| {
            let connection = connection.clone();
            thread::spawn(move || type_in(&connection, text.as_bytes()))
        });
        let (mut stdout, mut stderr) = (Stream::default(), Stream::default());
        let mut code = None;
        while let Ok(Some(frame)) = connection.read() {
            match (frame.kind, frame.channel) {
                (Kind::Data, Channel::Stderr) => stderr.take(&frame.payload),
                (Kind::Data, _) => stdout.take(&frame.payload),
                (Kind::Exit, _) => {
                    code = frame.parse().ok().map(|Exit { code, .. }| code);
                    break;
                }
                _ => {}
            }
        }
        drop(over);
        connection.close();
        let timed_out = watch.join().unwrap_or(false) && code.is_none();
        if let Some(typing) = typing {
            let _panicked = typing.join();
        }
        if code.is_none() && !timed_out {
            let id = &record.id;
            let text = format!("the command in session {id} was broken off");
            return Err(Failure::message(FailureKind::State, text)
                .hinted("session_get says where the session is."));
        }
        Ok(json!({
            "session": record.id.as_str(),
            "exit_code": code,
            "timed_out": timed_out,
            "stdout": stdout.shown(),
            "stderr": stderr.shown(),
            "stdout_bytes": stdout.total,
            "stderr_bytes": stderr.total,
            "truncated": stdout.is_cut() || stderr.is_cut(),
        }))
    }
}

fn type_in(connection: &Connection, bytes: &[u8]) {
    for frame in Frame::data(Channel::Stdin, bytes) {
        if connection.send(&frame).is_err() {
            return;
        }
    }
    // A process that has ended reads nothing more.
    drop(connection.send(&Frame::eof(Channel::Stdin)));
}

/// The first bytes of a stream, and how many there were.
#[derive(Default)]
struct Stream {
    kept: Vec<u8>,
    total: u64,
}

impl Stream {
    fn take(&mut self, bytes: &[u8]) {
        let most = usize::try_from(page::MOST_PRINTED / 2).unwrap_or(usize::MAX);
        let room = most.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.total += bytes.len() as u64;
    }

    fn is_cut(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// What a terminal can show without obeying.
    fn shown(&self) -> String {
        page::shown(&self.kept)
    }
}
