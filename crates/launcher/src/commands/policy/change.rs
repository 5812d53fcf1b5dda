//! `lazaret policy allow` and `deny`: rules of a running session.

use std::time::{Duration, Instant};

use lazaret_egress::Rule;
use lazaret_runtime::SessionId;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session::egress::LivePolicy;
use crate::session::record::Phase;
use crate::session::store::{SessionDir, Store, take_lock};

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
    /// One rule more.
    Allow,
    /// One rule less.
    Deny,
}

pub(super) fn run(args: &Args, way: Way, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open(&context.env.state_dir()?)?;
    let dir = store.find(&args.session)?;
    let refuse = |text: String| Failure::message(FailureKind::Refused, text);
    super::policy_of(&dir)?;
    let is_running = || -> Result<bool, Failure> {
        Ok(store.is_live(&args.session)? && dir.record()?.phase == Phase::Running)
    };
    if !is_running()? {
        let text = format!("the command of session {} does not run", args.session);
        return Err(refuse(text).hinted("The rules of the next run are those of its profile."));
    }
    let _turn = turn(&dir, context)?;
    let mut live = super::policy_of(&dir)?;
    let Args { session, rule } = args;
    let rules = &mut live.policy.rules;
    match way {
        Way::Allow if rules.contains(rule) => {
            context
                .ui
                .status(&format!("{session}: {rule} is allowed already"));
            return Ok(ExitCode::SUCCESS);
        }
        Way::Allow => rules.push(rule.clone()),
        Way::Deny if !rules.contains(rule) => {
            return Err(
                refuse(format!("session {session} has no rule {rule}")).hinted(format!(
                    "`lazaret policy show {session}` lists them; a rule goes as it is written."
                )),
            );
        }
        Way::Deny => rules.retain(|known| known != rule),
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
        context.interrupt.sleep(TICK)?;
    }
    let word = match way {
        Way::Allow => "allowed",
        Way::Deny => "no longer allowed by a rule of its own",
    };
    context.ui.status(&format!("{session}: {rule} is {word}"));
    Ok(ExitCode::SUCCESS)
}

/// One change at a time.
fn turn(dir: &SessionDir, context: &Context) -> Result<std::fs::File, Failure> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = take_lock(&dir.file("policy.lock"))? {
            return Ok(lock);
        }
        if Instant::now() >= give_up {
            let text = "another lazaret changes the rules of this session";
            return Err(Failure::message(FailureKind::Refused, text));
        }
        context.interrupt.sleep(TICK)?;
    }
}
