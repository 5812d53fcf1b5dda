//! What happens in a kept session, in words for people.

use lazaret_session::keeper::journal::{Happening, StopCause};
use lazaret_session::lifecycle::disk_limits::ExceededBy;
use lazaret_tree::escape;

use crate::ui::session_events::show_command;
use crate::ui::{bytes as bytes_in_words, count};

/// The most characters of a text of the command's.
const LONGEST: usize = 256;

/// Returns an event in one line that is safe to show.
pub(crate) fn words(what: &Happening) -> String {
    match what {
        Happening::RunStarted { command } => format!("started: {}", show_command(command)),
        Happening::RunEnded {
            exit_code,
            timed_out,
            stays,
        } => {
            let timed_out = if *timed_out { ", timed out" } else { "" };
            let stays = if *stays { "; the session stays" } else { "" };
            format!("the command ended: exit code {exit_code}{timed_out}{stays}")
        }
        Happening::Attached { driver: true } => "a terminal is attached".to_owned(),
        Happening::Attached { driver: false } => "a terminal looks on".to_owned(),
        Happening::Detached => "a terminal left".to_owned(),
        Happening::NeedsInput { text } if text.is_empty() => "the command rang the bell".to_owned(),
        Happening::NeedsInput { text } => {
            format!("the command says: {}", escape(text.as_bytes()))
        }
        Happening::Denied { target, reason } => {
            let why = reason.map_or(String::new(), |reason| format!(": {reason}"));
            format!("network: denied {}{why}", escape(target.as_bytes()))
        }
        Happening::Service {
            service,
            state,
            exit_code,
        } => {
            let ended = exit_code.map_or(String::new(), |code| format!(": exit code {code}"));
            format!("service {service} is {}{ended}", state.as_str())
        }
        Happening::Disk { bytes, inodes, by } => {
            let (limit, used) = match by {
                ExceededBy::Bytes => ("limits.disk", bytes_in_words(*bytes)),
                ExceededBy::Inodes => ("limits.inodes", format!("{} files", count(*inodes))),
            };
            format!(
                "paused: the session holds {used}, more than {limit} allows; `lazaret limits` \
                 changes that, or else it is stopped in ten minutes"
            )
        }
        Happening::DiskReleased => "the command is no longer paused".to_owned(),
        Happening::Stopping { why } => format!(
            "the session is being stopped: {}",
            match why {
                StopCause::Asked => "a user asked for it",
                StopCause::Idle => "nothing happened for as long as limits.idle says",
                StopCause::Life => "it lasted as long as limits.life says",
                StopCause::Service => "a service that the profile requires is down",
                StopCause::Disk => "it held more than its limits allow for ten minutes",
            }
        ),
        Happening::Ended { exit_code } => format!("the session is at rest: exit code {exit_code}"),
    }
}

/// Returns a text of the command's as one line of at most 256 printable characters. It begins with
/// a letter, a digit or a space, so no program takes it for an option (`-x`) or a file (`@x`).
pub(crate) fn plain(text: &str) -> String {
    let line: String = escape(text.as_bytes()).chars().take(LONGEST).collect();
    match line.chars().next() {
        Some(first) if !first.is_alphanumeric() && first != ' ' => {
            format!(" {line}").chars().take(LONGEST).collect()
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_text_of_the_commands_is_one_harmless_line() {
        for (text, line) in [
            ("", ""),
            ("needs you", "needs you"),
            ("\u{e4} ok", "\u{e4} ok"),
            ("a\nb\x1b]0;x\x07", "a\\u{a}b\\u{1b}]0;x\\u{7}"),
            ("--help", " --help"),
            ("@/etc/passwd", " @/etc/passwd"),
            ("\u{202e}x", " \\u{202e}x"),
            ("$(id) `id`; 'a' \"b\"", " $(id) `id`; 'a' \"b\""),
        ] {
            assert_eq!(plain(text), line);
        }
        assert_eq!(plain(&"-".repeat(1000)).chars().count(), 256);
        assert_eq!(plain(&"\n".repeat(1000)).chars().count(), 256);
    }
}
