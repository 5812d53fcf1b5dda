//! `session_ask`: one JSON object for the profile's command of a session, and the one it answers.

use lazaret_mcp::{SessionAsk, Stop};
use lazaret_tree::escape;
use serde_json::Value;

use super::{Host, page};
use crate::failure::{Failure, FailureKind};
use crate::profile;
use crate::ui::OutputFormat;

/// Seconds.
const DEFAULT_TIMEOUT: u64 = 50;
/// Seconds.
const MOST_TIMEOUT: u64 = 600;
/// The most bytes of an answer: escaped twice it stays below the bound of a call's.
const MOST_ANSWER: usize = 64 << 10;

impl Host {
    pub(super) fn ask(&self, input: &SessionAsk, stop: &Stop) -> Result<Value, Failure> {
        let (_, _, record) = self.session(&input.session)?;
        let name = record.id.as_str();
        // The verb takes a name for that of a profile first.
        if profile::load(name, &self.verbs.env).is_ok() {
            let text = format!("session {name} has the name of a profile, and can't be asked");
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted("Start one under another name with session_start."));
        }
        let seconds = input.timeout_s.unwrap_or(DEFAULT_TIMEOUT);
        let words = [
            "ask".to_owned(),
            name.to_owned(),
            "--envelope".to_owned(),
            format!("--timeout={}s", seconds.clamp(1, MOST_TIMEOUT)),
            format!("--wait={}s", seconds.clamp(1, MOST_TIMEOUT)),
        ];
        let request = Value::Object(input.request.clone()).to_string();
        let cancel = Self::cancel_by(stop);
        let stdin = request.into_bytes();
        let nested = self.verbs.app(&words, stdin, OutputFormat::Text, cancel);
        let asked = self.verbs.run_made(&nested);
        let stdout = nested.stdout_so_far();
        let envelope: Option<Value> = serde_json::from_str(&stdout).ok();
        // A turn that was taken is told whole, answered or not.
        match envelope.filter(|envelope| envelope["session"] == name) {
            Some(envelope) if stdout.len() <= MOST_ANSWER => Ok(shown(envelope)),
            Some(_) => {
                let bytes = stdout.len();
                let text = format!("the answer has {bytes} bytes, and at most 64 KiB are returned");
                Err(Failure::message(FailureKind::Refused, text))
            }
            None => Err(match asked {
                Err(failure) => failure,
                Ok(code) => nested.said(code),
            }),
        }
    }
}

/// Replaces in every text what a terminal would obey.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(page::shown(text.as_bytes())),
        Value::Array(values) => values.into_iter().map(shown).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(key, value)| (escape(key.as_bytes()), shown(value)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mcp_04_no_answer_has_what_a_terminal_obeys() {
        let answer = json!({ "a\u{1b}": ["b\u{1b}[2J\u{9b}2J\nc", 7, null], "é": { "x": true } });
        let text = shown(answer).to_string();
        assert!(!text.chars().any(char::is_control), "{text}");
        assert!(!text.contains("\\u001b"), "{text}");
        assert!(
            text.contains("b\\\\u{1b}") && text.contains("\"é\":{\"x\":true}"),
            "{text}"
        );
    }
}
