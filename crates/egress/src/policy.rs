//! `Policy`: what a session may reach, and the two judgements of a connection.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::lies_in;
use crate::{AddressClass, Denied, EntryPoint, HostName, HostPort, Net, Rule, known};

/// Which public hosts are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Those that a rule names.
    Allowlist,
    /// All, on every port. What is not public stays closed.
    Open,
}

/// What a session may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Which public hosts are allowed.
    pub mode: Mode,
    /// The allowlist, in the order in which it was written.
    pub rules: Vec<Rule>,
    /// What is closed in every mode and by every door, whatever rule allows it.
    #[serde(default)]
    pub denied: Vec<Rule>,
    /// Hosts that the broker serves: reached by [`EntryPoint::Broker`] and by no other entry point.
    pub brokered: Vec<HostPort>,
    /// What the user's own configuration opens of what is not public.
    pub private: PrivateReach,
    /// Ranges that are closed although their addresses may be public: the machine that
    /// the engine runs on, and the gateway's own network (NET-09).
    #[serde(default)]
    pub closed: Vec<Net>,
}

/// What the user's own configuration opens of what is not public. Never from a workspace.
///
/// It only widens where an allowed name may lead; which names are allowed stays with the
/// mode and the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrivateReach {
    /// Names that may lead to private networks and to the engine's machine.
    pub names: Vec<Rule>,
    /// Ranges to which any allowed name may lead.
    pub networks: Vec<Net>,
    /// Answers that no resolver is asked for.
    pub hosts: BTreeMap<HostName, IpAddr>,
}

/// A name and port that may be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// What allowed it, as it is logged: a rule, `open`, or `broker`.
    pub rule: String,
}

impl Policy {
    /// Returns the policy that allows nothing.
    pub fn nothing() -> Self {
        Self {
            mode: Mode::Allowlist,
            rules: Vec::new(),
            denied: Vec::new(),
            brokered: Vec::new(),
            private: PrivateReach::default(),
            closed: Vec::new(),
        }
    }

    /// Judges what was asked for, before anything is resolved.
    ///
    /// # Errors
    ///
    /// Says why not. The order is: what is never reached, then what a rule denies, then the
    /// broker's hosts, then the rules that allow, so that a log tells the strongest reason.
    pub fn judge_name(&self, target: &HostPort, via: EntryPoint) -> Result<Allowed, Denied> {
        let host = &target.host;
        if known::is_metadata(host) {
            return Err(Denied::Metadata);
        }
        if known::is_localhost(host) {
            return Err(Denied::Loopback);
        }
        if self.denying(target).is_some() {
            return Err(Denied::Rule);
        }
        // Any port of a brokered host: its API may listen on more than one.
        if via != EntryPoint::Broker && self.brokered.iter().any(|brokered| brokered.host == *host)
        {
            return Err(Denied::Brokered);
        }
        if known::is_engine(host) && !self.may_be_private(target) {
            return Err(Denied::Engine);
        }
        if via == EntryPoint::Broker && self.brokered.contains(target) {
            return Ok(Allowed {
                rule: "broker".to_owned(),
            });
        }
        if let Some(rule) = self.rules.iter().find(|rule| rule.is_about(target)) {
            return Ok(Allowed {
                rule: rule.to_string(),
            });
        }
        match self.mode {
            Mode::Open => Ok(Allowed {
                rule: "open".to_owned(),
            }),
            Mode::Allowlist if self.rules.iter().any(|rule| rule.names(host)) => Err(Denied::Port),
            Mode::Allowlist => Err(Denied::NotListed),
        }
    }

    /// Returns the rule that denies it, if one does.
    pub fn denying(&self, target: &HostPort) -> Option<&Rule> {
        self.denied.iter().find(|rule| rule.is_about(target))
    }

    /// Judges an address that an allowed name led to, right before it is dialled.
    ///
    /// # Errors
    ///
    /// Says why not. Metadata services and addresses of no host are denied whatever the
    /// user named; then what the user named is allowed; then the closed ranges and the
    /// class of the address decide.
    pub fn judge_address(&self, target: &HostPort, address: IpAddr) -> Result<(), Denied> {
        let class = AddressClass::of(address);
        match class {
            AddressClass::Metadata => return Err(Denied::Metadata),
            AddressClass::Unusable => return Err(Denied::Reserved),
            _ => {}
        }
        if lies_in(address, &self.private.networks) {
            return Ok(());
        }
        let private = matches!(
            class,
            AddressClass::Private | AddressClass::Shared | AddressClass::LinkLocal
        );
        let closed = lies_in(address, &self.closed);
        if (private || closed) && class != AddressClass::Loopback && self.may_be_private(target) {
            return Ok(());
        }
        if closed {
            return Err(Denied::Engine);
        }
        match class {
            AddressClass::Public => Ok(()),
            AddressClass::Loopback => Err(Denied::Loopback),
            AddressClass::LinkLocal => Err(Denied::LinkLocal),
            AddressClass::Private | AddressClass::Shared => Err(Denied::Private),
            AddressClass::Reserved | AddressClass::Transition => Err(Denied::Reserved),
            AddressClass::Metadata => Err(Denied::Metadata),
            AddressClass::Unusable => Err(Denied::Reserved),
        }
    }

    fn may_be_private(&self, target: &HostPort) -> bool {
        self.private.names.iter().any(|rule| rule.is_about(target))
    }
}
