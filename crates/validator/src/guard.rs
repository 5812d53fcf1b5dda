//! Rules that fail do so alone: their panics are caught, and become findings (AUD-09).

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// How many guarded calls this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs a rule, and says whether it came to its end. What it reported before stays.
pub fn completes(rule: impl FnOnce()) -> bool {
    DEPTH.set(DEPTH.get() + 1);
    // A report that a rule was adding to holds whole findings only, and nothing else
    // outlives the rule.
    let ended = panic::catch_unwind(AssertUnwindSafe(rule));
    DEPTH.set(DEPTH.get() - 1);
    ended.is_ok()
}

/// Whether a panic of this thread would be caught, and lazaret goes on. A panic's hook asks:
/// it has nothing to end then.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}

#[cfg(test)]
mod tests {
    use super::{completes, is_guarded};

    #[test]
    fn aud_09_a_panic_is_guarded_within_a_rule_and_nowhere_else() {
        assert!(!is_guarded());
        assert!(completes(|| {
            assert!(!completes(|| panic!("on purpose")));
            assert!(is_guarded());
        }));
        assert!(!completes(|| assert!(!is_guarded())));
        assert!(!is_guarded());
    }
}
