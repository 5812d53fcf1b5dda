//! `Reporter`: what a caller reads on stdout.

use std::io::Write as _;

use lazaret_runtime::SessionId;
use lazaret_session::keeper::frame::Channel;
use serde_json::{Value, json};

use super::Args;
use super::ended::Ended;
use crate::app::App;
use crate::environment::StreamKind;
use crate::exit_code::ExitCode;
use crate::ui::terminal::{Destination, filtered};
use crate::ui::{Output, inert_json};

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The answer.
    Answer,
    /// The answer within an object that says more.
    Envelope,
    /// A line for each thing that happens.
    Stream,
}

impl Report {
    pub(super) fn of(args: &Args) -> Self {
        match (args.stream, args.envelope) {
            (true, _) => Self::Stream,
            (false, true) => Self::Envelope,
            (false, false) => Self::Answer,
        }
    }
}

/// Prints it.
pub(super) struct Reporter<'a> {
    report: Report,
    app: &'a App,
    /// What came of stdout and stderr and is no whole character yet.
    cut: [Vec<u8>; 2],
}

impl<'a> Reporter<'a> {
    pub(super) fn new(report: Report, app: &'a App) -> Self {
        Self {
            report,
            app,
            cut: [Vec::new(), Vec::new()],
        }
    }

    /// Says what lazaret does.
    pub(super) fn message(&self, text: &str) {
        match self.report {
            Report::Stream => self.line(&json!({ "type": "message", "text": text })),
            Report::Answer | Report::Envelope => self.app.ui.status(text),
        }
    }

    pub(super) fn started(&self, run: u64, session: &SessionId) {
        if self.report == Report::Stream {
            self.line(&json!({ "type": "start", "run": run, "session": session.as_str() }));
        }
    }

    /// Shows what the command printed: its stderr on stderr, all of it in a stream.
    pub(super) fn output(&mut self, channel: Channel, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (name, cut) = match (channel, &mut self.cut) {
            (Channel::Stderr, [_, cut]) => ("stderr", cut),
            (_, [cut, _]) => ("stdout", cut),
        };
        match self.report {
            Report::Stream => {
                cut.extend_from_slice(bytes);
                let text = whole_characters(cut);
                if !text.is_empty() {
                    self.line(&json!({ "type": "output", "stream": name, "text": text }));
                }
            }
            Report::Answer | Report::Envelope if name == "stderr" => {
                let destination = match self.app.env.streams.stderr {
                    StreamKind::Terminal => Destination::Terminal,
                    StreamKind::Other => Destination::Other,
                };
                let mut stderr = filtered(self.app.ui.writer(Output::Stderr), destination);
                // A reader that went away ends nothing (FLT-18).
                drop(stderr.write_all(bytes).and_then(|()| stderr.flush()));
            }
            Report::Answer | Report::Envelope => {}
        }
    }

    /// Gives an answer that was given before.
    pub(super) fn answered_before(&self, session: &SessionId, answer: &str) {
        self.end(
            json!({ "session": session.as_str(), "repeated": true }),
            answer,
        );
    }

    /// Says why there is no answer.
    pub(super) fn failed(&self, text: &str, code: ExitCode) {
        let object = no_answer(text);
        self.end(json!({ "exit": code.value() }), &object);
    }

    /// Tells how the turn ended. Returns the exit code that stands for it.
    pub(super) fn ended(&self, ended: &Ended) -> ExitCode {
        let (object, code) = match (&ended.answer, ended.timed_out) {
            (Some(answer), _) => (answer.clone(), ExitCode::SUCCESS),
            (None, true) => (
                no_answer("the command reached its time limit without an answer"),
                ExitCode::TIMEOUT,
            ),
            (None, false) => {
                let text = match ended.exit_code {
                    Some(code) => {
                        format!("the command ended with exit code {code} without an answer")
                    }
                    None => "what the command answered is not one JSON object".to_owned(),
                };
                (no_answer(&text), ExitCode::REFUSED)
            }
        };
        let [stdout, stderr] = ended.bytes;
        let rest = json!({
            "run": ended.run,
            "session": ended.session,
            "exit_code": ended.exit_code,
            "timed_out": ended.timed_out,
            "truncated": ended.truncated,
            "bytes": { "stdout": stdout, "stderr": stderr },
            "spill": ended.spill,
            "duration_ms": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
        });
        self.end(rest, &object);
        code
    }

    /// Prints the answer, and what else is known where it is wanted.
    fn end(&self, rest: Value, answer: &str) {
        match self.report {
            Report::Answer => self.print(answer),
            Report::Envelope => self.with_answer(rest, answer),
            Report::Stream => {
                self.with_answer(json!({ "type": "answer" }), answer);
                self.line(&merged(json!({ "type": "end" }), rest));
            }
        }
    }

    fn line(&self, value: &Value) {
        self.print(&value.to_string());
    }

    /// Prints an object with the answer in it, as the command wrote it.
    fn with_answer(&self, object: Value, answer: &str) {
        let text = object.to_string();
        let start = text.strip_suffix('}').unwrap_or_default();
        self.print(&format!("{start},\"answer\":{answer}}}"));
    }

    fn print(&self, json: &str) {
        self.app.ui.result(&inert_json(json));
    }
}

fn no_answer(text: &str) -> String {
    let error = Value::from(text);
    format!("{{\"status\":\"error\",\"result\":null,\"error\":{error}}}")
}

fn merged(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}

/// Takes what is whole; a character that may still be completed stays.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let kept = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.split_off(error.valid_up_to()),
        _ => match bytes.utf8_chunks().last() {
            Some(last) if !last.invalid().is_empty() && is_begun(last.invalid()) => {
                bytes.split_off(bytes.len() - last.invalid().len())
            }
            _ => Vec::new(),
        },
    };
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = kept;
    text
}

/// Whether bytes are the beginning of a character.
fn is_begun(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_pieces_is_shown_once_it_is_whole() {
        let mut cut = Vec::new();
        let mut push = |bytes: &[u8]| {
            cut.extend_from_slice(bytes);
            whole_characters(&mut cut)
        };
        assert_eq!(push(b"a\xc3"), "a");
        assert_eq!(push(b"\xa9b\xff\xe2\x82"), "éb\u{fffd}");
        assert_eq!(push(b"\xac"), "€");
        assert_eq!(push(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn ui_03_no_control_character_is_printed() {
        let answer = "{\"a\":\"\u{9b}2J\u{7f}\u{e9}\"}";
        let printed = inert_json(answer);
        assert_eq!(printed, "{\"a\":\"\\u009b2J\\u007f\u{e9}\"}");
        let same = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(same(&printed), same(answer));
    }

    #[test]
    fn no_answer_is_an_object_too() {
        let text = no_answer("a \"b\"\n\u{1b}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["status"], "error");
        assert_eq!(value["error"], "a \"b\"\n\u{1b}");
        assert!(!text.contains('\n'));
    }
}
