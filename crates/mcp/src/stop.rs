//! `Stop`: the client wants a call to end.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Action = Box<dyn FnOnce() + Send>;

/// Whether a call is still wanted. Clones share it.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_raised: bool,
    actions: Vec<Action>,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.lock().is_raised).finish()
    }
}

impl Stop {
    /// Runs `action` when the client cancels the call or goes away; at once if it has already.
    pub fn on_stop(&self, action: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        match state.is_raised {
            true => {
                drop(state);
                action();
            }
            false => state.actions.push(Box::new(action)),
        }
    }

    /// Ends the call.
    pub fn raise(&self) {
        let actions = {
            let mut state = self.lock();
            state.is_raised = true;
            std::mem::take(&mut state.actions)
        };
        actions.into_iter().for_each(|action| action());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
