//! `lazaret policy allow` and `deny`: rules of a running session.

use lazaret_egress::{Pattern, Policy, Rule};
use lazaret_runtime::SessionId;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::session_access::named::named;
use lazaret_session::keeper::message::Request;
use lazaret_session::network::{PolicyEdit, RuleEffect};
use lazaret_session::store::Store;

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

pub(super) fn run(args: Args, effect: RuleEffect, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    let session = named(&store, &args.session)?;
    let dir = store.find(&session)?;
    let rule = args.rule;
    let edit = PolicyEdit {
        rule: rule.clone(),
        effect,
    };
    let (accepted, policy) = super::ask(&store, &dir, &Request::EditPolicy(edit))?;
    let word = match effect {
        RuleEffect::Allow => "allowed",
        RuleEffect::Deny => "denied",
    };
    if !accepted.changed {
        app.ui
            .status(&format!("{session}: {rule} is {word} already"));
        return Ok(ExitCode::SUCCESS);
    }
    app.ui.status(&format!("{session}: {rule} is {word}"));
    if effect == RuleEffect::Allow {
        for wider in still_denying(&policy, &rule) {
            app.ui
                .warn(&format!("what {wider} denies of it stays closed"));
        }
    }
    Ok(ExitCode::SUCCESS)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
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
