//! `Denials`: tells of denied connections, each target once in a while.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use lazaret_egress::{Denied, Event, Verdict};

/// A denied connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What it asked for, else the address that was denied: `host:port`, or the host alone.
    pub target: String,
    /// Why.
    pub reason: Option<Denied>,
}

/// Takes denied connections.
pub type OnDenied = Box<dyn Fn(Denial) + Send>;

/// A target is told of once in this time.
const INTERVAL: Duration = Duration::from_secs(60);

/// The most targets in that time: the command can make up any number.
const MOST: usize = 64;

/// Tells of denied connections.
pub(super) struct Denials {
    tell: OnDenied,
    told: BTreeMap<String, Instant>,
}

impl fmt::Debug for Denials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Denials")
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

impl Denials {
    pub(super) fn new(tell: OnDenied) -> Self {
        Self {
            tell,
            told: BTreeMap::new(),
        }
    }

    /// Tells of a target, unless it was told of less than a minute ago.
    pub(super) fn note(&mut self, denial: Denial, now: Instant) {
        self.told
            .retain(|_, told| now.saturating_duration_since(*told) < INTERVAL);
        if self.told.len() < MOST && !self.told.contains_key(&denial.target) {
            self.told.insert(denial.target.clone(), now);
            (self.tell)(denial);
        }
    }
}

/// Returns the denial that an event tells of.
pub(super) fn denial(event: &Event) -> Option<Denial> {
    let Event::Decision {
        host,
        port,
        verdict: Verdict::Denied,
        reason,
        address,
        ..
    } = event
    else {
        return None;
    };
    let host = match (host.as_str(), address) {
        ("", Some(address)) => address.to_string(),
        ("", None) => return None,
        (host, _) => host.to_owned(),
    };
    let target = match port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    Some(Denial {
        target,
        reason: *reason,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_target_is_told_of_once_a_minute() {
        let (tell, told) = mpsc::channel();
        let mut denials = Denials::new(Box::new(move |denial| drop(tell.send(denial.target))));
        let denial = |target: &str| Denial {
            target: target.to_owned(),
            reason: None,
        };
        let start = Instant::now();
        for (target, seconds) in [
            ("a:1", 0),
            ("a:1", 59),
            ("b:1", 59),
            ("a:1", 60),
            ("b:1", 61),
        ] {
            denials.note(denial(target), start + Duration::from_secs(seconds));
        }
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["a:1", "b:1", "a:1"]);
        for number in 0..1000 {
            denials.note(denial(&number.to_string()), start + Duration::from_secs(61));
        }
        assert_eq!(told.try_iter().count(), MOST - 2);
    }

    #[test]
    fn a_target_is_what_was_asked_for() {
        let target = |rest: &str| {
            let json = format!(r#"{{"event":"decision","at":1,"id":1,"via":"connect",{rest}}}"#);
            denial(&serde_json::from_str(&json).unwrap()).map(|denial| denial.target)
        };
        for (rest, expected) in [
            (
                r#""host":"a.test","port":443,"verdict":"denied""#,
                Some("a.test:443"),
            ),
            (r#""host":"a.test","verdict":"denied""#, Some("a.test")),
            (
                r#""host":"","port":80,"verdict":"denied","address":"10.0.0.1""#,
                Some("10.0.0.1:80"),
            ),
            (r#""host":"","verdict":"denied""#, None),
            (r#""host":"a.test","port":443,"verdict":"allowed""#, None),
        ] {
            assert_eq!(target(rest).as_deref(), expected, "{rest}");
        }
    }
}
