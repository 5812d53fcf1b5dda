//! `lazaret pool fill`.

use serde_json::json;

use crate::app::App;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::profile;
use crate::resolve::network;
use crate::resolve::run_spec::limits;
use crate::resolve::user_network::UserNetwork;
use crate::session_access::session_context;
use crate::ui::{OutputFormat, count};
use lazaret_session::engine::containers::{ContainerPlan, HomeStorage};
use lazaret_session::pool::{Filled, PoolSizes, PoolStore, fill};
use lazaret_session::store::Store;

/// What is to wait.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile: a built-in name, or one of your own
    #[arg(value_name = "PROFILE")]
    profile: String,
    /// Number of containers, 16 at most [default: the number given before, else 1]
    #[arg(short = 'n', long, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(PoolSizes::MOST)))]
    count: Option<u32>,
}

pub(super) fn run(args: &Args, app: &App) -> Result<ExitCode, Failure> {
    if args.profile.contains('/') || args.profile.ends_with(".toml") {
        let text = "the pool is for profiles that have a name";
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Put it into ~/.config/lazaret/profiles/ and name it."));
    }
    let profile = profile::load(&args.profile, &app.env)?;
    if !profile.volumes.is_empty() {
        let text = format!(
            "profile {} has volumes, which belong to a session: a warm container has none",
            profile.name
        );
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Keep a session: `lazaret start NAME` goes on with its volumes."));
    }
    let user = UserNetwork::load(&app.env)?;
    let store = Store::open(&app.env.state_dir()?)?;
    let detected = app.engine()?;
    let image = image::ensure(app, &detected, &profile.image)?.pinned;
    let porter = image::ensure(app, &detected, "porter")?.pinned;
    let cx = session_context(app, &store, detected);
    let plan = ContainerPlan {
        limits: limits(&profile),
        policy: network::policy(&profile, &user),
        services: (profile.services.iter())
            .map(|service| service.name.clone())
            .collect(),
        // One with a volume fits the session that has it, and no other.
        home: HomeStorage::Memory,
        mounts: Vec::new(),
        profile: profile.name,
        image,
        porter,
    };
    let targets = PoolSizes::of(&store);
    let wanted = match (args.count, targets.get(&plan.profile)) {
        (Some(count), _) => count,
        (None, 0) => 1,
        (None, before) => before,
    };
    targets.set(&plan.profile, wanted)?;
    let done = cx.phase("fill the pool", |_| {
        fill(&cx, &PoolStore::of(&store), &plan, wanted)
    })?;
    let Filled {
        ready,
        made,
        removed,
    } = done;
    match app.ui.format() {
        OutputFormat::Json => app.ui.json(&json!({
            "profile": plan.profile,
            "target": wanted,
            "ready": ready + made,
            "made": made,
            "removed": removed,
        })),
        OutputFormat::Text => app.ui.status(&format!(
            "{}: {} ready, of which {} made now; {} removed",
            plan.profile,
            count(u64::from(ready + made)),
            count(u64::from(made)),
            count(u64::from(removed))
        )),
    }
    Ok(ExitCode::SUCCESS)
}
