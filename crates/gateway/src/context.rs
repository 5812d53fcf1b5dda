//! `Context`: what every connection of a gateway shares.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{PoisonError, RwLock};

use lazaret_egress::{Caps, Denied, Event, HostPort, Policy, Verdict, Via};

use crate::Journal;
use crate::journal;

/// A connection of the workload's.
#[derive(Debug)]
pub struct Client {
    /// The connection.
    pub stream: UnixStream,
    /// Its number in the log.
    pub id: u64,
}

/// What every connection of a gateway shares.
#[derive(Debug)]
pub struct Context {
    pub(crate) policy: RwLock<Policy>,
    /// What the session may take.
    pub caps: Caps,
    /// Certificates (PEM) that the broker trusts instead of the built-in roots.
    pub trust: Vec<String>,
    /// Where events go.
    pub journal: Journal,
}

impl Context {
    /// Puts it together.
    pub fn new(policy: Policy, caps: Caps, trust: Vec<String>, journal: Journal) -> Self {
        Self {
            policy: RwLock::new(policy),
            caps,
            trust,
            journal,
        }
    }

    /// Judges a target, resolves it, judges its addresses, connects to the first allowed one
    /// that answers, and tells the decision before it returns.
    ///
    /// # Errors
    ///
    /// Says why not; that was told as well.
    pub fn dial(&self, target: &HostPort, via: Via, id: u64) -> Result<TcpStream, Denied> {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
        let outcome = policy.judge_name(target, via);
        drop(policy);
        let denied = match outcome {
            Ok(_) => Denied::Unresolved,
            Err(denied) => denied,
        };
        let told = self.journal.tell(&Event::Decision {
            at: journal::now(),
            id,
            via,
            host: target.host.to_string(),
            port: Some(target.port.get()),
            verdict: Verdict::Denied,
            rule: None,
            reason: Some(denied),
            address: None,
        });
        told.map_or(Err(Denied::Unreachable), |()| Err(denied))
    }
}
