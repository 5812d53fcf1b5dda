//! `Mail`: the two shapes of mail, a message to a chat and a change of a task.

use lazaret_protocol::{MailEntry, OutBox};
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use super::when::When;
use crate::ask::json::object;

/// The most bytes of a text or a prompt.
const MOST_TEXT: usize = 16 << 10;

/// The most bytes of a chat's name or a task's `id`.
const MOST_NAME: usize = 200;

/// What a command wants of the host's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Mail {
    /// Something to send.
    Message {
        /// The chat.
        to: String,
        /// What is sent.
        text: String,
    },
    /// A task that is new, or changed as a whole.
    Schedule {
        /// Its name, which is the group's own.
        id: String,
        /// When it is due.
        when: When,
        /// What is asked then.
        prompt: String,
        /// Whose it is; `None` for the sender's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// A task that is not run for now.
    Pause {
        /// Its name.
        id: String,
        /// Whose it is; `None` for the sender's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// A task that is run again.
    Resume {
        /// Its name.
        id: String,
        /// Whose it is; `None` for the sender's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
    /// A task that is never run again.
    Cancel {
        /// Its name.
        id: String,
        /// Whose it is; `None` for the sender's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    },
}

impl Mail {
    /// Reads what lies in a mailbox.
    ///
    /// # Errors
    /// Why it is no mail.
    pub fn read(out_box: OutBox, entry: &MailEntry) -> Result<Self, Refusal> {
        let bytes = match entry {
            MailEntry::File(bytes) => bytes,
            MailEntry::Large => return Err(Refusal::Large),
            MailEntry::Link => return Err(Refusal::Link),
            MailEntry::Dir => return Err(Refusal::Directory),
            MailEntry::Special => return Err(Refusal::Special),
            MailEntry::Closed => return Err(Refusal::Closed),
        };
        let line = object(bytes)?;
        let mail: Self =
            serde_json::from_str(&line).map_err(|error| Refusal::Schema(error.to_string()))?;
        let is_message = matches!(mail, Self::Message { .. });
        if is_message != (out_box == OutBox::Messages) {
            let text = "messages belong into `messages`, tasks into `tasks`";
            return Err(Refusal::Schema(text.to_owned()));
        }
        match mail.fault() {
            Some(fault) => Err(Refusal::Schema(fault.to_owned())),
            None => Ok(mail),
        }
    }

    fn fault(&self) -> Option<&'static str> {
        let is_name = |text: &str| {
            (1..=MOST_NAME).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        match self {
            Self::Message { to, .. } if !is_name(to) => {
                Some("`to` is no text of 1 to 200 bytes without control characters")
            }
            Self::Message { text, .. } if text.len() > MOST_TEXT => {
                Some("`text` has more than 16 KiB")
            }
            Self::Message { .. } => None,
            Self::Schedule { prompt, .. } if prompt.len() > MOST_TEXT => {
                Some("`prompt` has more than 16 KiB")
            }
            Self::Schedule { id, .. }
            | Self::Pause { id, .. }
            | Self::Resume { id, .. }
            | Self::Cancel { id, .. }
                if !is_name(id) =>
            {
                Some("`id` is no text of 1 to 200 bytes without control characters")
            }
            Self::Schedule { when, .. } => when.fault(),
            Self::Pause { .. } | Self::Resume { .. } | Self::Cancel { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(out_box: OutBox, text: &str) -> Result<Mail, &'static str> {
        let entry = MailEntry::File(text.as_bytes().to_vec());
        Mail::read(out_box, &entry).map_err(|refusal| refusal.code())
    }

    #[test]
    fn both_shapes_are_read() {
        let message = read(
            OutBox::Messages,
            "{\"type\":\"message\",\"to\":\"a@g.us\",\"text\":\"\"}",
        );
        let expected = Mail::Message {
            to: "a@g.us".to_owned(),
            text: String::new(),
        };
        assert_eq!(message, Ok(expected));
        for text in [
            "{\"type\":\"schedule\",\"id\":\"1\",\"when\":{\"every\":60},\"prompt\":\"go\"}",
            "{\"type\":\"schedule\",\"id\":\"1\",\"when\":{\"cron\":\"0 9 * * *\"},\"prompt\":\"\"}",
            "{\"type\":\"schedule\",\"id\":\"1\",\"when\":{\"at\":\"2030-01-01T00:00:00Z\"},\"prompt\":\"\"}",
            "{\"type\":\"pause\",\"id\":\"1\"}",
            "{\"type\":\"resume\",\"id\":\"1\",\"group\":\"a\"}",
            " { \"type\" : \"cancel\" , \"id\" : \"1\" } ",
        ] {
            assert!(read(OutBox::Tasks, text).is_ok(), "{text}");
        }
    }

    #[test]
    fn mail_02_everything_else_is_refused_by_a_code() {
        let long = "x".repeat(MOST_TEXT + 1);
        let deep = format!("{{\"type\":{}1{}}}", "[".repeat(70), "]".repeat(70));
        for (text, code) in [
            ("", "syntax"),
            ("{\"type\":\"message\",\"to\":\"a\",\"te", "syntax"),
            ("{} {}", "syntax"),
            ("[]", "not-an-object"),
            ("{\"a\":\"\\u0000\"}", "nul"),
            ("{\"a\":1,\"a\":2}", "repeated-key"),
            (&deep, "too-deep"),
            ("{}", "schema"),
            ("{\"type\":\"message\",\"to\":\"a\"}", "schema"),
            ("{\"type\":\"message\",\"to\":\"\",\"text\":\"\"}", "schema"),
            (
                "{\"type\":\"message\",\"to\":\"a\\n\",\"text\":\"\"}",
                "schema",
            ),
            ("{\"type\":\"message\",\"to\":7,\"text\":\"\"}", "schema"),
            (
                "{\"type\":\"message\",\"to\":\"a\",\"text\":\"\",\"x\":1}",
                "schema",
            ),
            (
                &format!("{{\"type\":\"message\",\"to\":\"a\",\"text\":\"{long}\"}}"),
                "schema",
            ),
            ("{\"type\":\"cancel\",\"id\":\"1\"}", "schema"),
        ] {
            assert_eq!(read(OutBox::Messages, text), Err(code), "{text:.60}");
        }
        for text in [
            "{\"type\":\"message\",\"to\":\"a\",\"text\":\"\"}",
            "{\"type\":\"schedule\",\"id\":\"1\",\"when\":{},\"prompt\":\"\"}",
            "{\"type\":\"schedule\",\"id\":\"1\",\"when\":{\"every\":0},\"prompt\":\"\"}",
            "{\"type\":\"schedule\",\"id\":\"1\",\"when\":{\"every\":1,\"cron\":\"\"},\"prompt\":\"\"}",
            "{\"type\":\"pause\",\"id\":\"\"}",
            "{\"type\":\"pause\",\"id\":\"1\",\"when\":{\"every\":1}}",
            "{\"type\":\"PAUSE\",\"id\":\"1\"}",
        ] {
            assert_eq!(read(OutBox::Tasks, text), Err("schema"), "{text}");
        }
        let bytes = MailEntry::File(b"{\"a\":\"\xff\"}".to_vec());
        let refusal = Mail::read(OutBox::Tasks, &bytes).unwrap_err();
        assert_eq!(refusal.code(), "not-utf-8");
        for (entry, code) in [
            (MailEntry::Link, "link"),
            (MailEntry::Dir, "directory"),
            (MailEntry::Special, "special"),
            (MailEntry::Closed, "closed"),
            (MailEntry::Large, "too-large"),
        ] {
            let refusal = Mail::read(OutBox::Messages, &entry).unwrap_err();
            assert_eq!(refusal.code(), code);
        }
    }
}
