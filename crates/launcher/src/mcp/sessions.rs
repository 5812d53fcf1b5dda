//! The tools about sessions.

use lazaret_mcp::{
    Condition, OnePage, OneSession, SessionDiff, SessionList, SessionLog, SessionStart,
    SessionStop, SessionWait, Stop,
};
use lazaret_runtime::SessionId;
use lazaret_session::store::record::Record;
use lazaret_session::store::run_log::{Piece, RunLog};
use lazaret_session::store::{SessionDir, Store};
use serde_json::{Value, json};

use super::{Host, page};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::profile;
use crate::resolve::scope::WorkspaceScope;
use crate::resolve::workspace;
use crate::ui::OutputFormat;

/// The most seconds of one wait: clients give a call up after 60.
const MOST_WAIT: u64 = 50;

impl Host {
    /// Finds a session that the client may use, by its whole name.
    ///
    /// # Errors
    /// There is none. One that the client may not use is as good as none.
    pub(super) fn session(&self, name: &str) -> Result<(Store, SessionDir, Record), Failure> {
        let none = || {
            let text = format!("there is no session {name:?} that you may use");
            Failure::message(FailureKind::Refused, text).hinted("session_list lists them.")
        };
        let id: SessionId = name.parse().map_err(|_| none())?;
        let store = Store::open(&self.verbs.env.state_dir()?)?;
        let dir = store.find(&id).map_err(|_| none())?;
        let record = dir.record()?;
        match self.access.allows(&record) {
            true => Ok((store, dir, record)),
            false => Err(none()),
        }
    }

    pub(super) fn start(&self, input: SessionStart, stop: &Stop) -> Result<Value, Failure> {
        let usage = |text: &str| Err(Failure::message(FailureKind::Usage, text));
        self.access.check_profile(&input.profile)?;
        // A name that is no profile could be that of a session.
        let profile = profile::load(&input.profile, &self.verbs.env)?;
        let place = self.access.open(&input.workspace)?;
        self.check_scope(&place.path, profile)?;
        if let Some(name) = &input.name {
            self.check_name(name)?;
        }
        let mut words: Vec<String> = ["start", &input.profile, "--apply=never"]
            .map(str::to_owned)
            .to_vec();
        words.push(format!("--workspace={}", place.path.display()));
        words.extend(input.name.map(|name| format!("--name={name}")));
        for (name, value) in &input.env {
            if name.contains('=') {
                return usage("the name of a variable holds no `=`");
            }
            words.push(format!("--env={name}={value}"));
        }
        match input.prompt.as_deref() {
            Some("-") => return usage("the prompt is `-`"),
            Some(_) if input.command.is_some() => return usage("a command takes no prompt"),
            Some(prompt) => words.push(format!("--prompt={prompt}")),
            None => {}
        }
        if input.stay {
            words.push("--stay".to_owned());
        }
        if let Some(command) = input.command {
            words.push("--".to_owned());
            words.extend(command);
        }
        if words.iter().any(|word| word.contains('\0')) {
            return usage("a NUL byte can't be passed to a command");
        }
        let begun = self.verb(&words, OutputFormat::Json, stop)?.json()?;
        let name = begun["session"].as_str().unwrap_or_default();
        // The workspace was opened once more, by its path. Where that has come to lead out of the
        // roots since, the session is none of the client's.
        if let Err(failure) = self.session(name) {
            let words = ["stop", "--kill", name].map(str::to_owned);
            drop(self.verb(&words, OutputFormat::Json, stop));
            return Err(failure);
        }
        Ok(json!({ "session": name }))
    }

    /// Checks that all that goes in with a workspace lies inside the roots.
    fn check_scope(
        &self,
        path: &std::path::Path,
        profile: profile::Profile,
    ) -> Result<(), Failure> {
        let opened = workspace::open(path, &self.verbs.env)?;
        let scope = WorkspaceScope::of(profile, opened, &self.verbs.env)?;
        match self.access.holds(scope.root.path()) {
            true => Ok(()),
            false => {
                let root = scope.root.path().display();
                let text = format!(
                    "the project {root} goes in with the workspace, and lies outside of the roots \
                     that you may use"
                );
                Err(Failure::message(FailureKind::Refused, text))
            }
        }
    }

    /// Checks that a name is new, or that of a session which the client may use.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        let id: SessionId = name
            .parse()
            .or_fail(FailureKind::Usage, "the name of a session")?;
        let store = Store::open(&self.verbs.env.state_dir()?)?;
        match store.find(&id).is_ok() {
            true => self.session(name).map(drop),
            false => Ok(()),
        }
    }

    pub(super) fn list(&self, input: &SessionList, stop: &Stop) -> Result<Value, Failure> {
        let mut words = vec!["ls".to_owned()];
        if let Some(text) = &input.workspace {
            let place = self.access.open(text)?;
            words.push(format!("--workspace={}", place.path.display()));
        }
        let rows = self.verb(&words, OutputFormat::Json, stop)?.json()?;
        let mine = |row: &&Value| {
            let name = row["session"].as_str().unwrap_or_default();
            self.session(name).is_ok()
        };
        let rows: Vec<&Value> = rows.as_array().into_iter().flatten().filter(mine).collect();
        Ok(json!({ "sessions": rows }))
    }

    pub(super) fn get(&self, input: &OneSession, stop: &Stop) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let words = ["show", record.id.as_str()].map(str::to_owned);
        let mut shown = self.verb(&words, OutputFormat::Json, stop)?.json()?;
        // Where the engine is, and what the store is called, is the host's.
        if let Some(shown) = shown.as_object_mut() {
            shown.retain(|key, _| !["engine", "store", "workspace_identity"].contains(&&**key));
        }
        Ok(shown)
    }

    pub(super) fn wait(&self, input: &SessionWait, stop: &Stop) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let name = record.id.as_str();
        let seconds = input.timeout_s.unwrap_or(MOST_WAIT).min(MOST_WAIT);
        let condition = match input.condition {
            Condition::Exit => "exit",
            Condition::Ready => "ready",
            Condition::Idle => "idle",
            Condition::NeedsInput => "needs-input",
            Condition::Disk => "disk",
        };
        let words = [
            "wait".to_owned(),
            name.to_owned(),
            format!("--for={condition}"),
            format!("--timeout={}s", seconds.max(1)),
        ];
        let ran = self.verb(&words, OutputFormat::Json, stop)?;
        let timed_out = ran.code == ExitCode::TIMEOUT;
        let came = match timed_out {
            true => Value::Null,
            false => ran.json()?["came"].take(),
        };
        let mut rows = self.list(&SessionList { workspace: None }, stop)?;
        let rows = rows["sessions"].as_array_mut();
        let row = rows.and_then(|rows| rows.iter_mut().find(|row| row["session"] == name));
        let mut row = row.map_or_else(|| json!({}), Value::take);
        let (_, _, record) = self.session(name)?;
        row["timed_out"] = timed_out.into();
        row["came"] = came;
        row["exit_code"] = record.end.map(|end| end.exit_code).into();
        Ok(row)
    }

    pub(super) fn stop(&self, input: &SessionStop, stop: &Stop) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let mut words = ["stop", record.id.as_str()].map(str::to_owned).to_vec();
        if input.kill {
            words.push("--kill".to_owned());
        }
        self.verb(&words, OutputFormat::Json, stop)?.json()
    }

    /// Reads a piece of the last run's log. Bytes are counted as they were printed.
    pub(super) fn log(&self, input: &SessionLog) -> Result<Value, Failure> {
        let (_, dir, record) = self.session(&input.session)?;
        let most = input.max.unwrap_or(u64::MAX).clamp(4, page::MOST_PRINTED);
        let log = RunLog::open(&dir, None)?;
        let mut log = log.ok_or_else(|| {
            let text = format!(
                "session {} has no log: its command never started",
                record.id
            );
            Failure::message(FailureKind::Refused, text)
        })?;
        let (mut at, mut missing) = (0_u64, 0_u64);
        let mut bytes = Vec::new();
        let mut is_last = true;
        while let Some(piece) = log.next_piece()? {
            match piece {
                Piece::Missing(count) => {
                    let skipped = (at + count).saturating_sub(at.max(input.since));
                    // One gap at most, before the bytes of the piece.
                    if skipped > 0 && !bytes.is_empty() {
                        is_last = false;
                        break;
                    }
                    missing += skipped;
                    at += count;
                }
                Piece::Bytes(piece) => {
                    let before = input.since.saturating_sub(at).min(piece.len() as u64);
                    let room = most - bytes.len() as u64;
                    let (from, rest) = (before, piece.len() as u64 - before);
                    let to = from + rest.min(room);
                    bytes.extend(piece.iter().skip(from as usize).take((to - from) as usize));
                    at += piece.len() as u64;
                    if rest > room {
                        is_last = false;
                        break;
                    }
                }
            }
        }
        if !is_last {
            bytes.truncate(page::whole(&bytes));
        }
        let next = input.since + missing + bytes.len() as u64;
        Ok(json!({
            "session": record.id.as_str(),
            "run": log.run,
            "text": page::shown(&bytes),
            "missing": missing,
            "next": next,
            "more": !is_last,
        }))
    }

    pub(super) fn diff(&self, input: &SessionDiff, stop: &Stop) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let mut words = ["diff", record.id.as_str(), "--"]
            .map(str::to_owned)
            .to_vec();
        words.extend(input.paths.iter().cloned());
        let ran = self.verb(&words, OutputFormat::Text, stop)?;
        Ok(page::of(record.id.as_str(), &ran.stdout, input.cursor))
    }

    pub(super) fn findings(&self, input: &OnePage, stop: &Stop) -> Result<Value, Failure> {
        let report = self.report(["diff"], input, stop)?;
        let found = json!({
            "findings": report["findings"],
            "conflicts": report["conflicts"],
        });
        Ok(page::of(&input.session, &pretty(&found), input.cursor))
    }

    pub(super) fn commits(&self, input: &OnePage, stop: &Stop) -> Result<Value, Failure> {
        let report = self.report(["commits"], input, stop)?;
        Ok(page::of(&input.session, &pretty(&report), input.cursor))
    }

    pub(super) fn export(&self, input: &OnePage, stop: &Stop) -> Result<Value, Failure> {
        let report = self.report(["export"], input, stop)?;
        Ok(page::of(&input.session, &pretty(&report), input.cursor))
    }

    fn report(&self, verb: [&str; 1], input: &OnePage, stop: &Stop) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let words = [verb[0], record.id.as_str()].map(str::to_owned);
        self.verb(&words, OutputFormat::Json, stop)?.json()
    }

    /// Returns what a person types. Nothing here types it.
    pub(super) fn review(&self, input: &OneSession) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let id = &record.id;
        Ok(json!({
            "session": id.as_str(),
            "command": format!("lazaret review {id}"),
            "for": "a person, at a terminal: no tool applies changes",
        }))
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
