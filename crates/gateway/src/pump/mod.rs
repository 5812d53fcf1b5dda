//! `Pump`: carries the bytes of all tunnels after their judgement.
//!
//! A few threads, each with an epoll of its own, so that a thousand idle tunnels cost
//! nothing while one is busy: with poll(2) every wakeup looked at all of them, and 500
//! idle ones slowed a download to 170 MB/s. Nothing is kept for a tunnel but what its
//! slower side has not taken yet, and as long as that is so, its faster side isn't read.

mod budget;
mod direction;
mod filter;
mod spec;
mod tunnel;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lazaret_egress::Policy;

use worker::{Command, Worker};

pub use budget::Budget;
pub use filter::{Filter, OptionalFilter, Verdict};
pub use spec::{End, Ended, Label, TunnelSpec};

/// The threads that carry.
#[derive(Debug)]
pub struct Pump {
    workers: Vec<Arc<Worker>>,
    next: AtomicUsize,
}

impl Pump {
    /// Starts `threads` threads.
    ///
    /// # Errors
    ///
    /// When there is no descriptor or no thread to be had.
    pub fn start(threads: usize, budget: Arc<Budget>) -> io::Result<Self> {
        let mut pump = Self {
            workers: Vec::new(),
            next: AtomicUsize::new(0),
        };
        for number in 0..threads {
            let worker = Arc::new(Worker::new(Arc::clone(&budget))?);
            pump.workers.push(Arc::clone(&worker));
            let thread = std::thread::Builder::new().name(format!("pump-{number}"));
            thread.spawn(move || worker.run())?;
        }
        Ok(pump)
    }

    /// Hands a tunnel over.
    pub fn add(&self, tunnel: TunnelSpec) {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.workers[next % self.workers.len()].tell(Command::Add(tunnel));
    }

    /// Closes every tunnel, and those that are still handed over.
    pub fn stop(&self) {
        for worker in &self.workers {
            worker.tell(Command::Stop);
        }
    }

    /// Closes every tunnel that a policy would not allow any more.
    pub fn judge_again(&self, policy: &Policy) {
        let policy = Arc::new(policy.clone());
        for worker in &self.workers {
            worker.tell(Command::Judge(Arc::clone(&policy)));
        }
    }
}

/// Closes every tunnel, those that are still handed over too.
impl Drop for Pump {
    fn drop(&mut self) {
        self.stop();
    }
}
