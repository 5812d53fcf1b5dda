//! `LivePolicy`: what the command of a live session may reach, as its gateway has it.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use lazaret_egress::{Policy, Rule};
use serde::{Deserialize, Serialize};

/// Hands a policy to the gateway, and returns once the gateway has it.
pub type HandOn = Box<dyn Fn(Policy) -> io::Result<()> + Send + Sync>;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// It allows. The same rule no longer denies.
    Allow,
    /// It denies, whatever others allow. The same rule no longer allows.
    Deny,
}

/// A change of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyEdit {
    /// The rule that is added.
    pub rule: Rule,
    /// What it does.
    pub effect: RuleEffect,
}

/// Whether an edit made another policy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// It is another one.
    Changed,
    /// It said so already.
    Unchanged,
}

impl PolicyEdit {
    /// Changes a policy.
    pub fn apply(&self, policy: &mut Policy) -> Edited {
        let (into, out_of) = match self.effect {
            RuleEffect::Allow => (&mut policy.rules, &mut policy.denied),
            RuleEffect::Deny => (&mut policy.denied, &mut policy.rules),
        };
        let before = out_of.len();
        out_of.retain(|known| *known != self.rule);
        let removed = out_of.len() < before;
        match into.contains(&self.rule) {
            true if !removed => Edited::Unchanged,
            true => Edited::Changed,
            false => {
                into.push(self.rule.clone());
                Edited::Changed
            }
        }
    }
}

/// The policy in force. One change at a time is made, so that none is lost.
pub struct LivePolicy {
    in_force: Mutex<Policy>,
    hand_on: HandOn,
}

impl fmt::Debug for LivePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LivePolicy")
            .field("in_force", &self.in_force)
            .finish_non_exhaustive()
    }
}

impl LivePolicy {
    /// Begins with the policy that the gateway has.
    pub fn new(in_force: Policy, hand_on: HandOn) -> Self {
        Self {
            in_force: Mutex::new(in_force),
            hand_on,
        }
    }

    /// Returns the policy that the gateway has.
    pub fn in_force(&self) -> Policy {
        let in_force = self.in_force.lock();
        in_force.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the policy. Returns once the gateway has it.
    ///
    /// # Errors
    /// The gateway is gone, or does not take it in time: the policy is as it was.
    pub fn edit(&self, edit: &PolicyEdit) -> io::Result<(Edited, Policy)> {
        let in_force = self.in_force.lock();
        let mut in_force = in_force.unwrap_or_else(PoisonError::into_inner);
        let mut policy = in_force.clone();
        let edited = edit.apply(&mut policy);
        if edited == Edited::Changed {
            (self.hand_on)(policy.clone())?;
            *in_force = policy.clone();
        }
        Ok((edited, policy))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    fn edit(rule: &str, effect: RuleEffect) -> PolicyEdit {
        let rule = rule.parse().unwrap();
        PolicyEdit { rule, effect }
    }

    #[test]
    fn a_rule_goes_from_one_list_to_the_other() {
        let mut policy = Policy::nothing();
        let (allow, deny) = (RuleEffect::Allow, RuleEffect::Deny);
        for (effect, edited, allowed, denied) in [
            (deny, Edited::Changed, 0, 1),
            (deny, Edited::Unchanged, 0, 1),
            (allow, Edited::Changed, 1, 0),
            (allow, Edited::Unchanged, 1, 0),
            (deny, Edited::Changed, 0, 1),
        ] {
            assert_eq!(edit("a.test:443", effect).apply(&mut policy), edited);
            assert_eq!((policy.rules.len(), policy.denied.len()), (allowed, denied));
        }
    }

    #[test]
    fn edits_at_the_same_time_are_all_in_force() {
        let at_gateway = Arc::new(Mutex::new(Policy::nothing()));
        let gateway = Arc::clone(&at_gateway);
        let live = LivePolicy::new(
            Policy::nothing(),
            Box::new(move |policy| {
                *gateway.lock().unwrap() = policy;
                Ok(())
            }),
        );
        let begin = Barrier::new(8);
        thread::scope(|scope| {
            for number in 0..8 {
                let (live, begin) = (&live, &begin);
                scope.spawn(move || {
                    let edit = edit(&format!("h{number}.test:443"), RuleEffect::Allow);
                    begin.wait();
                    live.edit(&edit).unwrap();
                });
            }
        });
        assert_eq!(live.in_force().rules.len(), 8);
        assert_eq!(*at_gateway.lock().unwrap(), live.in_force());
    }

    #[test]
    fn an_edit_that_the_gateway_did_not_take_is_not_in_force() {
        let gone = || Err(io::ErrorKind::BrokenPipe.into());
        let live = LivePolicy::new(Policy::nothing(), Box::new(move |_| gone()));
        let edit = edit("a.test:443", RuleEffect::Allow);
        assert!(live.edit(&edit).is_err());
        assert_eq!(live.in_force(), Policy::nothing());
    }
}
