//! `lazaret policy allow` and `deny`: rules of a running session.

use std::time::{Duration, Instant};

use lazaret_egress::{Pattern, Policy, Rule};
use lazaret_runtime::SessionId;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;
use lazaret_session::network::LivePolicy;
use lazaret_session::store::file_lock::take_lock;
use lazaret_session::store::record::Phase;
use lazaret_session::store::{SessionDir, Store};

/// How long the launcher may take to hand a change on, and others to finish theirs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks.
const TICK: Duration = Duration::from_millis(50);

/// What is changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session whose command runs
    #[arg(value_name = "NAME")]
    pub session: SessionId,
    /// Host and port, such as api.example.org:443 or *.example.org:443
    #[arg(value_name = "HOST:PORT")]
    pub rule: Rule,
}

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A rule that allows, and none of the same words that denies.
    Allow,
    /// A rule that denies, whatever others allow.
    Deny,
}

pub(super) fn run(args: &Args, way: Way, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let session = named(&store, &args.session)?;
    let dir = store.find(&session)?;
    let refuse = |text: String| Failure::message(FailureKind::Refused, text);
    super::policy_of(&dir)?;
    let is_running = || -> Result<bool, Failure> {
        Ok(store.is_live(&session)? && dir.record()?.phase == Phase::Running)
    };
    if !is_running()? {
        let text = format!("the command of session {session} does not run");
        return Err(refuse(text).hinted("The rules of the next run are those of its profile."));
    }
    let _turn = turn(&dir, app)?;
    let mut live = super::policy_of(&dir)?;
    let rule = &args.rule;
    let changed = change(&mut live.policy, rule, way);
    let word = match way {
        Way::Allow => "allowed",
        Way::Deny => "denied",
    };
    if changed == Changed::Nothing {
        app.ui
            .status(&format!("{session}: {rule} is {word} already"));
        return Ok(ExitCode::SUCCESS);
    }
    live.serial += 1;
    live.write(&dir)?;
    let give_up = Instant::now() + PATIENCE;
    while LivePolicy::applied(&dir).is_none_or(|serial| serial < live.serial) {
        if !is_running()? || Instant::now() >= give_up {
            return Err(refuse(format!(
                "the gateway of session {session} took no change: its command has ended, or the \
                 gateway is gone"
            )));
        }
        app.cancel.sleep(TICK)?;
    }
    app.ui.status(&format!("{session}: {rule} is {word}"));
    if way == Way::Allow {
        for wider in still_denying(&live.policy, rule) {
            app.ui
                .warn(&format!("what {wider} denies of it stays closed"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a policy is another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Something,
    Nothing,
}

fn change(policy: &mut Policy, rule: &Rule, way: Way) -> Changed {
    let (into, out_of) = match way {
        Way::Allow => (&mut policy.rules, &mut policy.denied),
        Way::Deny => (&mut policy.denied, &mut policy.rules),
    };
    let before = out_of.len();
    out_of.retain(|known| known != rule);
    let removed = out_of.len() < before;
    match into.contains(rule) {
        true if !removed => Changed::Nothing,
        true => Changed::Something,
        false => {
            into.push(rule.clone());
            Changed::Something
        }
    }
}

/// Returns the rules that deny some of what `rule` allows, or all of it.
fn still_denying<'a>(policy: &'a Policy, rule: &'a Rule) -> impl Iterator<Item = &'a Rule> {
    let overlap = |one: &Rule, other: &Rule| match &one.pattern {
        Pattern::Exact(name) => other.names(name),
        Pattern::Below(parent) => match &other.pattern {
            Pattern::Exact(name) => one.names(name),
            Pattern::Below(_) => other.names(parent) || one.pattern == other.pattern,
        },
    };
    policy.denied.iter().filter(move |denied| {
        let same_port = denied.port == rule.port;
        same_port && (overlap(denied, rule) || overlap(rule, denied))
    })
}

/// One change at a time.
fn turn(dir: &SessionDir, app: &App) -> Result<std::fs::File, Failure> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = take_lock(&dir.file("policy.lock"))? {
            return Ok(lock);
        }
        if Instant::now() >= give_up {
            let text = "another lazaret changes the rules of this session";
            return Err(Failure::message(FailureKind::Refused, text));
        }
        app.cancel.sleep(TICK)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn a_rule_goes_from_one_list_to_the_other() {
        let mut policy = Policy::nothing();
        let one = rule("a.test:443");
        assert_eq!(change(&mut policy, &one, Way::Deny), Changed::Something);
        assert_eq!(change(&mut policy, &one, Way::Deny), Changed::Nothing);
        assert_eq!(policy.denied, std::slice::from_ref(&one));
        assert_eq!(change(&mut policy, &one, Way::Allow), Changed::Something);
        assert_eq!((policy.rules.len(), policy.denied.len()), (1, 0));
        assert_eq!(change(&mut policy, &one, Way::Allow), Changed::Nothing);
        assert_eq!(change(&mut policy, &one, Way::Deny), Changed::Something);
        assert_eq!((policy.rules.len(), policy.denied.len()), (0, 1));
    }

    #[test]
    fn what_stays_denied_of_a_rule_is_named() {
        let mut policy = Policy::nothing();
        policy.denied = ["a.b.test:443", "*.c.test:443", "a.b.test:80"]
            .map(rule)
            .into();
        let names = |text: &str| -> Vec<String> {
            let wanted = rule(text);
            let found = still_denying(&policy, &wanted);
            found.map(ToString::to_string).collect()
        };
        assert_eq!(names("a.b.test:443"), ["a.b.test:443"]);
        assert_eq!(names("*.b.test:443"), ["a.b.test:443"]);
        assert_eq!(names("x.c.test:443"), ["*.c.test:443"]);
        assert_eq!(names("*.x.c.test:443"), ["*.c.test:443"]);
        assert_eq!(names("c.test:443"), Vec::<String>::new());
        assert_eq!(names("d.test:443"), Vec::<String>::new());
    }
}
