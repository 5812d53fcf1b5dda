//! `Context`: what every connection of a gateway shares.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use lazaret_egress::{
    Allowed, Denied, EntryPoint, Event, HostPort, Policy, SessionLimits, Verdict,
};

use crate::event_log::{self, EventLog};
use crate::pump::Budget;
use crate::resolve::Resolver;

/// A connection of the workload's.
#[derive(Debug)]
pub struct Client {
    /// The connection.
    pub stream: UnixStream,
    /// Its number in the log.
    pub id: u64,
}

/// A connection to where the workload wanted to go.
#[derive(Debug)]
pub struct Reached {
    /// The connection.
    pub stream: TcpStream,
    /// The address that was judged and dialled.
    pub address: IpAddr,
    /// The policy that allowed it.
    pub policy: Arc<Policy>,
}

/// What every connection of a gateway shares.
#[derive(Debug)]
pub struct Context {
    policy: RwLock<Arc<Policy>>,
    /// What the session may take.
    pub caps: SessionLimits,
    /// Certificates (PEM) that the broker trusts instead of the built-in roots.
    pub trust: Vec<String>,
    /// Where events go.
    pub event_log: EventLog,
    /// The bytes that the session may still move, in every way together.
    pub(crate) budget: Arc<Budget>,
    resolver: Resolver,
    open: Mutex<Open>,
}

/// The connections that are open.
#[derive(Debug, Default)]
struct Open {
    count: u32,
    /// Those that a thread serves, for the end of the gateway.
    served: HashMap<u64, UnixStream>,
    stage: Stage,
}

/// Where a gateway is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Serving,
    Ended,
}

/// The longest wait for one of several addresses: the next may be the one that works.
const ONE_OF_SEVERAL: Duration = Duration::from_secs(3);

impl Context {
    /// Puts it together.
    pub fn new(
        policy: Policy,
        caps: SessionLimits,
        trust: Vec<String>,
        event_log: EventLog,
        resolver: Resolver,
    ) -> Self {
        let budget = Arc::new(Budget {
            idle: Duration::from_millis(caps.idle_ms),
            sent: AtomicU64::new(caps.sent_bytes),
            received: AtomicU64::new(caps.received_bytes),
        });
        Self {
            budget,
            policy: RwLock::new(Arc::new(policy)),
            caps,
            trust,
            event_log,
            resolver,
            open: Mutex::new(Open::default()),
        }
    }

    /// Returns the policy that is in force.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another policy in force for every connection that is judged from now on.
    pub(crate) fn change_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Judges a target, resolves it, judges its addresses, connects to the first allowed one
    /// that answers, and reports the decision before it returns.
    ///
    /// Nothing is resolved between judging an address and dialling it (NET-07).
    ///
    /// # Errors
    ///
    /// Why the target is denied; that has been reported as well.
    pub fn dial(&self, target: &HostPort, via: EntryPoint, id: u64) -> Result<Reached, Denied> {
        let policy = self.policy();
        let mut decision = Decision::of(target, via, id);
        let outcome = self.reach(target, via, &policy, &mut decision);
        let outcome = outcome.map(|stream| (stream, decision.address));
        decision.reason = outcome.as_ref().err().copied();
        // What can't be reported isn't done.
        self.log_decision(decision)
            .map_err(|_| Denied::Unreachable)?;
        match outcome? {
            (stream, Some(address)) => Ok(Reached {
                stream,
                address,
                policy,
            }),
            (_, None) => Err(Denied::Unreachable),
        }
    }

    fn reach(
        &self,
        target: &HostPort,
        via: EntryPoint,
        policy: &Policy,
        decision: &mut Decision,
    ) -> Result<TcpStream, Denied> {
        let judged = policy.judge_name(target, via);
        if judged == Err(Denied::Rule) {
            decision.rule = policy.denying(target).map(ToString::to_string);
        }
        let Allowed { rule } = judged?;
        decision.rule = Some(rule);
        let timeout = Duration::from_millis(self.caps.connect_ms);
        let addresses = match policy.private.hosts.get(&target.host) {
            Some(address) => vec![*address],
            None => self.resolver.addresses(&target.host, timeout),
        };
        let mut refused = None;
        let mut allowed = Vec::new();
        for address in addresses {
            match policy.judge_address(target, address) {
                Ok(()) => allowed.push(address),
                Err(denied) => {
                    refused.get_or_insert((address, denied));
                }
            }
        }
        let several = allowed.len() > 1;
        for address in &allowed {
            decision.address = Some(*address);
            let timeout = match several {
                true => timeout.min(ONE_OF_SEVERAL),
                false => timeout,
            };
            let place = SocketAddr::new(*address, target.port.get());
            if let Ok(stream) = TcpStream::connect_timeout(&place, timeout) {
                return Ok(stream);
            }
        }
        match refused {
            _ if !allowed.is_empty() => Err(Denied::Unreachable),
            Some((address, denied)) => {
                decision.address = Some(address);
                Err(denied)
            }
            None => Err(Denied::Unresolved),
        }
    }

    /// Reports that a connection was denied before any address was dialled.
    ///
    /// `asked` is escaped and short.
    pub fn log_denial(&self, asked: String, via: EntryPoint, id: u64, denied: Denied) {
        // It is denied, whether the launcher reads this or not.
        let _unread = self.log_decision(Decision {
            id,
            via,
            host: asked,
            port: None,
            rule: None,
            reason: Some(denied),
            address: None,
        });
    }

    pub(crate) fn log_decision(&self, decision: Decision) -> io::Result<()> {
        let Decision {
            id,
            via,
            host,
            port,
            rule,
            reason,
            address,
        } = decision;
        self.event_log.append(&Event::Decision {
            at: event_log::now(),
            id,
            via,
            host,
            port,
            verdict: match reason {
                None => Verdict::Allowed,
                Some(_) => Verdict::Denied,
            },
            rule,
            reason,
            address,
        })
    }

    /// Reports that the gateway itself failed at something.
    pub(crate) fn log_fault(&self, message: String) {
        let _unread = self.event_log.append(&Event::Fault {
            at: event_log::now(),
            message,
        });
    }

    /// Counts a connection in, until the slot is dropped.
    pub(crate) fn enter(self: &Arc<Self>, client: &Client) -> Result<Slot, Shut> {
        let mut open = self.open();
        if open.stage == Stage::Ended {
            return Err(Shut::Ended);
        }
        if open.count >= self.caps.connections {
            return Err(Shut::Full);
        }
        let served = client.stream.try_clone().map_err(|_| Shut::Full)?;
        open.served.insert(client.id, served);
        open.count += 1;
        Ok(Slot {
            context: Arc::clone(self),
            id: client.id,
        })
    }

    /// Ends every connection that a thread serves, and lets no other in.
    pub(crate) fn stop(&self) {
        let mut open = self.open();
        open.stage = Stage::Ended;
        for stream in open.served.values() {
            // It may have ended already.
            let _ended = stream.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a connection is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shut {
    /// There are too many.
    Full,
    /// The gateway has ended.
    Ended,
}

/// A connection that counts.
#[derive(Debug)]
pub(crate) struct Slot {
    context: Arc<Context>,
    id: u64,
}

impl Slot {
    /// The pump has it now: it ends it by itself.
    pub(crate) fn no_longer_served(&self) {
        self.context.open().served.remove(&self.id);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.context.open();
        open.served.remove(&self.id);
        open.count -= 1;
    }
}

/// What was decided of a connection, as far as it came.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) id: u64,
    pub(crate) via: EntryPoint,
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) rule: Option<String>,
    pub(crate) reason: Option<Denied>,
    pub(crate) address: Option<IpAddr>,
}

impl Decision {
    pub(crate) fn of(target: &HostPort, via: EntryPoint, id: u64) -> Self {
        Self {
            id,
            via,
            host: target.host.to_string(),
            port: Some(target.port.get()),
            rule: None,
            reason: None,
            address: None,
        }
    }
}
