//! `EditorSession`: the session behind an editor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lazaret_acp::{Host, TurnEnd};
use lazaret_egress::{EntryPoint, HostName, HostPort, Port};
use lazaret_runtime::SessionId;
use lazaret_session::cancel::Cancel;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::message::Request;
use lazaret_session::keeper::policy::receive;
use lazaret_session::store::SessionDir;
use lazaret_session::store::record::OutsideFolder;
use lazaret_tree::escape;
use serde_json::Value;

use super::turn;
use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::profile::ApplyMode;
use crate::ui::{OutputFormat, Ui};
use crate::verb_runner::VerbRunner;

/// How long an agent may go on that is told nothing more.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How long its last messages may wait for an agent that reads nothing.
const LAST_MESSAGES: Duration = Duration::from_secs(30);

/// The session behind an editor.
#[derive(Debug)]
pub(super) struct EditorSession {
    dir: SessionDir,
    apply: ApplyMode,
    /// To the agent's program.
    connection: Connection,
    verbs: VerbRunner,
    ui: Ui,
    cancel: Cancel,
    was_left: AtomicBool,
    /// Held while the copy is read or written. What the editor was told of it last.
    told: Mutex<String>,
}

impl EditorSession {
    pub(super) fn new(
        dir: SessionDir,
        apply: ApplyMode,
        connection: Connection,
        verbs: VerbRunner,
        app: &App,
    ) -> Self {
        Self {
            dir,
            apply,
            connection,
            verbs,
            ui: app.ui.clone(),
            cancel: app.cancel.clone(),
            was_left: AtomicBool::new(false),
            told: Mutex::default(),
        }
    }

    pub(super) fn id(&self) -> &SessionId {
        self.dir.id()
    }

    /// Whether the editor left, rather than the agent.
    pub(super) fn was_left(&self) -> bool {
        self.was_left.load(Ordering::SeqCst)
    }

    /// The editor is gone, whatever it said before.
    pub(super) fn is_gone(&self) {
        self.close_after(LAST_MESSAGES);
    }

    fn close_after(&self, patience: Duration) {
        self.was_left.store(true, Ordering::SeqCst);
        let connection = self.connection.clone();
        thread::spawn(move || {
            thread::sleep(patience);
            connection.close();
        });
    }

    /// Has the copy brought up to date. Returns what both sides changed.
    fn send_changes(&self) -> Result<Vec<String>, Failure> {
        let words = ["sync", self.id().as_str()].map(str::to_owned);
        let good = [ExitCode::SUCCESS, ExitCode::REFUSED];
        let cancel = self.cancel.clone();
        let ran = self.verbs.run(&words, OutputFormat::Json, &good, cancel)?;
        let mut report = ran.json()?;
        let conflicts = report["conflicts"].take();
        let message = |conflict: &Value| conflict["message"].as_str().map(str::to_owned);
        Ok(conflicts
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(message)
            .collect())
    }
}

impl Host for EditorSession {
    fn allows(&self, host: &str, port: u16) -> bool {
        let (Ok(host), Some(port)) = (host.parse::<HostName>(), Port::new(port)) else {
            return false;
        };
        let asked = Connection::ask(&self.dir, &Request::Policy).ok().flatten();
        let policy = asked.and_then(|(connection, _)| receive(&connection).ok());
        let target = HostPort::new(host, port);
        policy.is_some_and(|policy| policy.judge_name(&target, EntryPoint::Connect).is_ok())
    }

    fn canonical(&self, path: &str) -> Option<String> {
        let path = std::fs::canonicalize(path).ok()?;
        path.into_os_string().into_string().ok()
    }

    fn sync(&self) -> Result<Option<String>, String> {
        let _alone = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = |failure: &Failure| {
            let hints = failure.hints.iter().map(String::as_str);
            let chain = failure.chain();
            let all: Vec<&str> = chain.iter().map(String::as_str).chain(hints).collect();
            escape(all.join(": ").as_bytes())
        };
        match self.dir.record() {
            // Its copy is brought up to date when it starts.
            Ok(record) if record.bounds.outside == OutsideFolder::Closed => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(escape(error.to_string().as_bytes())),
        }
        match self.send_changes() {
            Ok(conflicts) if conflicts.is_empty() => Ok(None),
            Ok(conflicts) => Ok(Some(format!(
                "The agent keeps its version of what you changed too:\n\n{}",
                turn::listed(&conflicts)
            ))),
            Err(failure) => Err(format!(
                "cannot send your changes to the agent: {}",
                cut(&failure)
            )),
        }
    }

    fn turn_ended(&self, ended: &TurnEnd) -> Option<String> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let apply = match ended.is_complete {
            true => self.apply,
            false => ApplyMode::Never,
        };
        let nested = self
            .verbs
            .app(&[], Vec::new(), OutputFormat::Text, self.cancel.clone());
        let text = match turn::look(self.id(), apply, &nested.app) {
            Ok(text) => text,
            Err(failure) => {
                let why = escape(failure.chain().join(": ").as_bytes());
                let id = self.id();
                format!(
                    "lazaret cannot say what the agent changed: {why}. See `lazaret show {id}`."
                )
            }
        };
        // What was said once is not said after each turn.
        let is_news = !text.is_empty() && text != *told;
        *told = text;
        is_news.then(|| told.clone())
    }

    fn needs_input(&self, text: &str) {
        let text = text.to_owned();
        // An event that is lost ends nothing.
        drop(Connection::ask(&self.dir, &Request::NeedsInput { text }));
    }

    fn note(&self, text: &str) {
        self.ui.warn(&escape(text.as_bytes()));
    }

    fn hang_up(&self) {
        self.close_after(LAST_WORDS);
    }
}
