//! `DenialNotes`: tells who looks on what the network denies, each target once.

use std::collections::BTreeSet;

use lazaret_egress::{Denied, HostPort};
use lazaret_runtime::SessionId;
use lazaret_tree::escape;

/// The most targets: the command can make up any number.
const MOST: usize = 16;

/// What was told so far.
#[derive(Debug)]
pub(super) struct DenialNotes {
    session: SessionId,
    told: BTreeSet<String>,
}

impl DenialNotes {
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            told: BTreeSet::new(),
        }
    }

    /// Returns what to say of a denial, in one line; `None` of a target that was told of, and once
    /// too many were.
    pub(super) fn next(&mut self, target: &str, reason: Option<Denied>) -> Option<String> {
        if self.told.len() > MOST || !self.told.insert(target.to_owned()) {
            return None;
        }
        let session = &self.session;
        if self.told.len() > MOST {
            return Some(format!(
                "network: more is denied; all of it is in `lazaret policy log {session}`"
            ));
        }
        let why = reason.map_or(String::new(), |reason| format!(": {reason}"));
        let open = match (target.parse::<HostPort>(), reason) {
            (Ok(target), Some(Denied::NotListed | Denied::Port | Denied::Rule)) => {
                format!(
                    "; `lazaret policy allow {session} {target}` opens it now, \
                     `--allow {target}` in the next run"
                )
            }
            _ => String::new(),
        };
        Some(format!(
            "network: denied {}{why}{open}",
            escape(target.as_bytes())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_told_of_once_with_the_command_that_opens_it() {
        let mut notes = DenialNotes::new("shop".parse().unwrap());
        for (target, reason, note) in [
            (
                "a.test:443",
                Some(Denied::NotListed),
                "network: denied a.test:443: no rule allows this host; \
                 `lazaret policy allow shop a.test:443` opens it now, \
                 `--allow a.test:443` in the next run",
            ),
            ("a.test:443", Some(Denied::NotListed), ""),
            (
                "a.test:80",
                Some(Denied::Port),
                "network: denied a.test:80: this host is allowed, but not this port; \
                 `lazaret policy allow shop a.test:80` opens it now, \
                 `--allow a.test:80` in the next run",
            ),
            (
                "b.test:443",
                Some(Denied::Reserved),
                "network: denied b.test:443: the name leads to a reserved address",
            ),
            ("10.0.0.1:80", None, "network: denied 10.0.0.1:80"),
            ("x\x1b[2J`", None, "network: denied x\\u{1b}[2J`"),
        ] {
            let found = notes.next(target, reason);
            assert_eq!(found.as_deref().unwrap_or_default(), note, "{target}");
        }
    }

    #[test]
    fn a_command_that_makes_up_targets_is_not_followed_for_ever() {
        let mut notes = DenialNotes::new("shop".parse().unwrap());
        let told = (0..1000).filter_map(|n| notes.next(&format!("h{n}.test:1"), None));
        let told: Vec<String> = told.collect();
        assert_eq!(told.len(), MOST + 1);
        assert!(told[MOST].contains("lazaret policy log shop"), "{told:?}");
    }
}
