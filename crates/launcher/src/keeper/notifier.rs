//! `Notifier`: runs a program of the user's on the host when something happens in a session.
//!
//! One process at a time, one a second for each kind of event; of several events that wait the
//! newest of each kind counts. No shell takes part, and each placeholder is replaced within its
//! argument.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lazaret_session::keeper::journal::{Happening, SessionEvent};
use rustix::process::{Pid, Signal, kill_process_group};

use super::VARIABLE;
use super::happening::{plain, words};
use crate::environment::Environment;
use crate::profile::{NoticeKind, NotifyRules};
use crate::ui::Ui;

/// Between two processes for one kind of event.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long a process may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs the program of a profile.
#[derive(Debug)]
pub(super) struct Notifier {
    rules: NotifyRules,
    variables: Vec<(OsString, OsString)>,
    ui: Ui,
}

/// A session's name, and what has happened in it.
#[derive(Debug)]
struct Notice {
    kind: NoticeKind,
    text: String,
}

impl Notifier {
    pub(super) fn new(rules: NotifyRules, env: &Environment, ui: &Ui) -> Self {
        // One that calls lazaret is no keeper.
        let variables = env.variables.iter().filter(|(name, _)| *name != VARIABLE);
        let variables = variables.map(|(name, value)| (OsString::from(name), value.clone()));
        Self {
            rules,
            variables: variables.collect(),
            ui: ui.clone(),
        }
    }

    /// Runs the program for events until they end.
    pub(super) fn start(self, session: String, events: Receiver<SessionEvent>) -> JoinHandle<()> {
        thread::spawn(move || self.follow(&session, &events))
    }

    fn follow(&self, session: &str, events: &Receiver<SessionEvent>) {
        let mut waiting: BTreeMap<NoticeKind, Notice> = BTreeMap::new();
        let mut last: BTreeMap<NoticeKind, Instant> = BTreeMap::new();
        let mut has_complained = false;
        let mut is_over = false;
        while !is_over || !waiting.is_empty() {
            let now = Instant::now();
            let left = |kind: &NoticeKind| {
                let last = last.get(kind);
                last.map_or(Duration::ZERO, |last| {
                    INTERVAL.saturating_sub(now.saturating_duration_since(*last))
                })
            };
            let next = waiting.keys().map(|kind| (left(kind), *kind)).min();
            let heard = match next {
                Some((moment, _)) if is_over => {
                    thread::sleep(moment);
                    Err(RecvTimeoutError::Timeout)
                }
                Some((moment, _)) => events.recv_timeout(moment),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(event) => {
                    if let Some(notice) = self.notice(&event.what) {
                        waiting.insert(notice.kind, notice);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => is_over = true,
                Err(RecvTimeoutError::Timeout) => {
                    let Some(notice) = next.and_then(|(_, kind)| waiting.remove(&kind)) else {
                        continue;
                    };
                    last.insert(notice.kind, Instant::now());
                    if let Err(error) = self.run(session, &notice)
                        && !std::mem::replace(&mut has_complained, true)
                    {
                        let program = self.rules.command.first();
                        let program = program.map(String::as_str).unwrap_or_default();
                        self.ui
                            .warn(&format!("cannot run `{program}` of `notify`: {error}"));
                    }
                }
            }
        }
    }

    /// Returns what the program is told of an event, if it is one that it is run for.
    fn notice(&self, what: &Happening) -> Option<Notice> {
        let kind = match what {
            Happening::NeedsInput { .. } => NoticeKind::NeedsInput,
            Happening::RunEnded { .. } => NoticeKind::RunEnded,
            Happening::Disk { .. } => NoticeKind::Disk,
            Happening::Stopping { .. } => NoticeKind::Stopping,
            Happening::Ended { .. } => NoticeKind::Ended,
            Happening::RunStarted { .. }
            | Happening::Attached { .. }
            | Happening::Detached
            | Happening::DiskReleased
            | Happening::Service { .. }
            | Happening::Denied { .. } => return None,
        };
        let text = match what {
            Happening::NeedsInput { text } if !text.is_empty() => plain(text),
            what => words(what),
        };
        let is_wanted = self.rules.on.contains(&kind);
        is_wanted.then_some(Notice { kind, text })
    }

    /// Runs the program, and ends it if it takes too long. What it ends with does not count.
    fn run(&self, session: &str, notice: &Notice) -> io::Result<()> {
        let argv = filled(&self.rules.command, session, notice);
        let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let running = duct::cmd(program, arguments)
            .full_env(self.variables.iter().cloned())
            .dir("/")
            .stdin_null()
            .stdout_null()
            .stderr_null()
            .before_spawn(|command| {
                // What it starts ends with it.
                command.process_group(0);
                Ok(())
            })
            .unchecked()
            .start()?;
        if running.wait_timeout(PATIENCE)?.is_none() {
            for pid in running.pids() {
                let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                // One that has just ended is gone.
                let _gone = pid.map(|pid| kill_process_group(pid, Signal::KILL));
            }
            running.kill()?;
        }
        Ok(())
    }
}

/// Replaces the placeholders, each within its argument. What they stand for is not read again.
fn filled(command: &[String], session: &str, notice: &Notice) -> Vec<String> {
    let values = [
        ("{session}", session),
        ("{event}", notice.kind.as_str()),
        ("{text}", notice.text.as_str()),
    ];
    let fill = |word: &String| {
        let mut filled = String::with_capacity(word.len());
        let mut rest = word.as_str();
        while let Some(char) = rest.chars().next() {
            let found = values.iter().find(|(name, _)| rest.starts_with(name));
            let (value, length) = match found {
                Some((name, value)) => (*value, name.len()),
                None => (&rest[..char.len_utf8()], char.len_utf8()),
            };
            filled.push_str(value);
            rest = &rest[length..];
        }
        filled
    };
    command.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once_and_within_their_argument() {
        let notice = Notice {
            kind: NoticeKind::NeedsInput,
            text: " {session} 'a' $(b)".to_owned(),
        };
        let command = ["p", "{text}", "{session}:{event}", "{x}", "é{text}"];
        assert_eq!(
            filled(&command.map(str::to_owned), "s", &notice),
            [
                "p",
                " {session} 'a' $(b)",
                "s:needs_input",
                "{x}",
                "é {session} 'a' $(b)"
            ]
        );
    }
}
