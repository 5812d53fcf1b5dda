//! `lazaret pool fill`.

use serde_json::json;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::job::limits;
use crate::network;
use crate::profile;
use crate::session_access::site;
use crate::ui::{OutputFormat, count};
use crate::user_network::UserNetwork;
use lazaret_session::engine::containers::ContainerPlan;
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

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, Failure> {
    if args.profile.contains('/') || args.profile.ends_with(".toml") {
        let text = "the pool is for profiles that have a name";
        return Err(Failure::message(FailureKind::Usage, text)
            .hinted("Put it into ~/.config/lazaret/profiles/ and name it."));
    }
    let profile = profile::load(&args.profile, &context.env)?;
    let user = UserNetwork::load(&context.env)?;
    let store = Store::open(&context.env.state_dir()?)?;
    let detected = context.engine()?;
    let images = image::ensure_both(context, &detected, [&profile.image, "porter"])?;
    let [image, porter] = images.map(|image| image.pinned);
    let site = site(context, &store, detected);
    let plan = ContainerPlan {
        limits: limits(&profile),
        policy: network::policy(&profile, &user),
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
    let done = site.step("fill the pool", |_| {
        fill(&site, &PoolStore::of(&store), &plan, wanted)
    })?;
    let Filled {
        ready,
        made,
        removed,
    } = done;
    match context.ui.format() {
        OutputFormat::Json => context.ui.json(&json!({
            "profile": plan.profile,
            "target": wanted,
            "ready": ready + made,
            "made": made,
            "removed": removed,
        })),
        OutputFormat::Text => context.ui.status(&format!(
            "{}: {} ready, of which {} made now; {} removed",
            plan.profile,
            count(u64::from(ready + made)),
            count(u64::from(made)),
            count(u64::from(removed))
        )),
    }
    Ok(ExitCode::SUCCESS)
}
