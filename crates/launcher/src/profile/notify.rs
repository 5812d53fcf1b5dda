//! `[notify]`: a program of the user's that the keeper runs on the host when something happens.
//!
//! Only a profile in the user's own configuration may have it: an agent could have written any
//! other file.

use super::raw::{RawNotice, RawNotify};
use super::source::{ProfileError, Source};

/// What stands for the session, the event and its text.
pub(super) const PLACEHOLDERS: [&str; 3] = ["{session}", "{event}", "{text}"];

/// `[notify]`: what runs, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyRules {
    /// The program, by a name of the search path or an absolute path, and its arguments, with
    /// [`PLACEHOLDERS`].
    pub command: Vec<String>,
    /// What it is run for.
    pub on: Vec<NoticeKind>,
}

/// What a program can be run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// The command asks for attention.
    NeedsInput,
    /// The command has ended.
    RunEnded,
    /// The session holds more than it may, and is paused.
    Disk,
    /// The session is being stopped.
    Stopping,
    /// The session is at rest.
    Ended,
}

impl NoticeKind {
    /// Returns its name, which is that of the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeedsInput => "needs_input",
            Self::RunEnded => "run_ended",
            Self::Disk => "disk",
            Self::Stopping => "stopping",
            Self::Ended => "ended",
        }
    }
}

impl From<RawNotice> for NoticeKind {
    fn from(raw: RawNotice) -> Self {
        match raw {
            RawNotice::NeedsInput => Self::NeedsInput,
            RawNotice::RunEnded => Self::RunEnded,
            RawNotice::Disk => Self::Disk,
            RawNotice::Stopping => Self::Stopping,
            RawNotice::Ended => Self::Ended,
        }
    }
}

/// Reads `[notify]`.
pub(super) fn notify(
    source: &Source<'_>,
    raw: Option<&RawNotify>,
) -> Result<Option<NotifyRules>, ProfileError> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let argv = raw.command.get_ref();
    if let Some(what) = wrong(argv) {
        let message = format!("`notify.command`: {what}");
        return Err(source.error(&raw.command.span(), &message));
    }
    let on = match &raw.on {
        Some(on) => on.iter().copied().map(NoticeKind::from).collect(),
        None => vec![NoticeKind::NeedsInput, NoticeKind::RunEnded],
    };
    Ok(Some(NotifyRules {
        command: argv.clone(),
        on,
    }))
}

/// Says what is wrong with a command.
fn wrong(argv: &[String]) -> Option<String> {
    let program = argv.first().map(String::as_str).unwrap_or_default();
    // A relative path would be one of the directory that the session was started in.
    if program.is_empty() || (program.contains('/') && !program.starts_with('/')) {
        let what = "expected a program by its name or its absolute path, such as \
                    [\"notify-send\", \"{session}\", \"{event}\"]";
        return Some(what.to_owned());
    }
    if argv.iter().any(|word| word.contains('\0')) {
        return Some("it holds a NUL character".to_owned());
    }
    if PLACEHOLDERS.iter().any(|name| program.contains(name)) {
        return Some("a placeholder can't choose the program".to_owned());
    }
    let is_option = |word: &&String| {
        let rest = word.trim_start_matches('-');
        rest.len() < word.len() && PLACEHOLDERS.iter().any(|name| rest.starts_with(name))
    };
    let option = argv.iter().find(is_option)?;
    Some(format!("{option:?}: a placeholder can't choose an option"))
}

/// Refuses a profile that is not one of the user's own, if it has `[notify]`.
pub(super) fn refuse(source: &Source<'_>) -> Result<(), ProfileError> {
    match source.parse()?.notify {
        None => Ok(()),
        Some(notify) => Err(source.error(
            &notify.command.span(),
            "`notify` runs a program on this machine, so only a profile in your own configuration \
             directory can set it, not a file that an agent may have written",
        )),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::tests::{error, parse};
    use super::NoticeKind;

    #[test]
    fn a_program_and_its_events_are_read() {
        let rules = |body: &str| {
            let text =
                format!("image = \"base\"\n[notify]\ncommand = [\"a\", \"{{text}}\"]\n{body}");
            parse(&text).unwrap().notify.unwrap()
        };
        let default = rules("");
        assert_eq!(default.command, ["a", "{text}"]);
        assert_eq!(default.on, [NoticeKind::NeedsInput, NoticeKind::RunEnded]);
        for kind in ["needs_input", "run_ended", "stopping", "ended"] {
            let on = rules(&format!("on = [\"{kind}\"]")).on;
            assert_eq!(
                on.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
                [kind]
            );
        }
    }

    #[test]
    fn a_program_that_an_agent_could_choose_is_refused() {
        let said: String = [
            "[]",
            "[\"\"]",
            "[\"./notify.sh\"]",
            "[\"bin/notify\"]",
            "[\"{text}\"]",
            "[\"a\", \"--{text}\"]",
            "[\"a\", \"-{event}\"]",
            "[\"a\\u0000\"]",
        ]
        .map(|command| {
            let said = error(&format!("image = \"base\"\n[notify]\ncommand = {command}"));
            said.lines().next().unwrap_or_default().to_owned() + "\n"
        })
        .concat();
        assert_snapshot!(said, @r#"
        p.toml:3:11: `notify.command`: expected a program by its name or its absolute path, such as ["notify-send", "{session}", "{event}"]
        p.toml:3:11: `notify.command`: expected a program by its name or its absolute path, such as ["notify-send", "{session}", "{event}"]
        p.toml:3:11: `notify.command`: expected a program by its name or its absolute path, such as ["notify-send", "{session}", "{event}"]
        p.toml:3:11: `notify.command`: expected a program by its name or its absolute path, such as ["notify-send", "{session}", "{event}"]
        p.toml:3:11: `notify.command`: a placeholder can't choose the program
        p.toml:3:11: `notify.command`: "--{text}": a placeholder can't choose an option
        p.toml:3:11: `notify.command`: "-{event}": a placeholder can't choose an option
        p.toml:3:11: `notify.command`: it holds a NUL character
        "#);
    }
}
