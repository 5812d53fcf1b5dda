//! What is said of a panic: a fault of ours, in words that may hold bytes of a container.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write as _};
use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};

use lazaret_validator::is_guarded;

use crate::ui::sanitize;

/// Has every panic of this process said by lazaret, escaped: the message of a slice that
/// went wrong quotes what it was cut from, and std would print that as it is (UI-01).
///
/// A backtrace follows where `RUST_BACKTRACE` asks for one.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        // Not through the `Ui`, which may be what panicked. If stderr is gone, the message is
        // lost.
        drop(writeln!(io::stderr(), "{}", describe(info)));
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("it left no message");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let fault = fault(message, &place);
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => format!("{fault}\n{backtrace}"),
        _ => fault,
    }
}

fn fault(message: &str, place: &str) -> String {
    format!(
        "error: a fault in lazaret itself, at {place}: {}",
        sanitize(message)
    )
}

type PanicHook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

/// Something that is done before the message of a panic is printed, as long as this lives:
/// a terminal is given back, with whose other screen the message would be lost.
///
/// Not at that of a rule, which is caught and becomes a finding: lazaret goes on, and keeps
/// the terminal (AUD-09). Its message is printed when this ends.
pub struct Hook {
    former: Arc<PanicHook>,
    later: Later,
}

/// What is said of rules that failed.
#[derive(Debug, Clone, Default)]
struct Later(Arc<Mutex<Vec<String>>>);

/// The most that are kept: a rule may fail over each of 200,000 files.
const MOST_KEPT: usize = 16;

impl Later {
    /// Keeps the words of a panic that lazaret outlives; false for any other.
    fn keeps(&self, words: impl FnOnce() -> String) -> bool {
        if !is_guarded() {
            return false;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST_KEPT {
            kept.push(words());
        }
        true
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}

impl Hook {
    /// Does `before` at every panic from now on that ends something.
    pub fn install(before: impl Fn() + Send + Sync + 'static) -> Self {
        let former = Arc::new(panic::take_hook());
        let next = Arc::clone(&former);
        let later = Later::default();
        let kept = later.clone();
        panic::set_hook(Box::new(move |info| {
            if kept.keeps(|| describe(info)) {
                return;
            }
            before();
            next(info);
        }));
        Self { former, later }
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // Setting a hook is not allowed while the thread panics.
        if !std::thread::panicking() {
            let former = Arc::clone(&self.former);
            panic::set_hook(Box::new(move |info| former(info)));
        }
        for words in self.later.take() {
            drop(writeln!(io::stderr(), "{words}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use lazaret_validator::completes;

    use super::{Later, MOST_KEPT, fault};

    #[test]
    fn aud_09_a_rule_that_fails_does_not_take_the_terminal_away() {
        let later = Later::default();
        assert!(!later.keeps(|| "not caught".to_owned()));
        for number in 0..2 * MOST_KEPT {
            assert!(completes(|| assert!(later.keeps(|| number.to_string()))));
        }
        let said: Vec<String> = (0..MOST_KEPT).map(|number| number.to_string()).collect();
        assert_eq!(later.take(), said);
        assert!(later.take().is_empty());
    }

    #[test]
    fn ui_01_what_a_panic_quotes_is_escaped() {
        insta::assert_snapshot!(
            fault("byte index 1 is inside of `\u{1b}]0;owned\u{7}\u{202e}`", "judge.rs:7:1"),
            @r"error: a fault in lazaret itself, at judge.rs:7:1: byte index 1 is inside of `\u{1b}]0;owned\u{7}\u{202e}`"
        );
    }
}
