//! `Forecast`: what an update of a volume would do, by what was last seen of it.

use std::thread;

use lazaret_protocol::Writers;
use lazaret_transfer::{RepositoryPlan, SyncPlan, reconcile};
use lazaret_tree::RelPath;

use crate::cancel::Cancel;
use crate::commits::both_ways::{BothWays, Settled};
use crate::commits::repository_news::RepositoryNews;
use crate::lifecycle::file_limit::FileLimit;
use crate::lifecycle::update::{UpdateError, UpdateOptions, scan};
use crate::spec::Source;
use crate::store::SessionDir;
use crate::store::file::random_hex;
use crate::store::record::{Phase, Record};
use crate::store::sync_state::SyncState;

/// What an update would do.
#[derive(Debug)]
pub struct Forecast {
    /// With the files; the packs of the user's history are not made to last.
    pub plan: SyncPlan,
    /// What would become of the copy's repository; `None` if it has none.
    pub repository: Option<RepositoryForecast>,
}

/// What would become of a copy's repository.
#[derive(Debug)]
pub enum RepositoryForecast {
    /// Nothing of it would change.
    Stays,
    /// The user's would replace it.
    Replaced,
    /// It has moved, and so has the user's.
    BothMoved(RepositoryNews),
}

/// Says what an update would do.
///
/// # Errors
/// When the session's files are damaged, the workspace can't be read, or an end is wanted.
pub fn foresee(
    dir: &SessionDir,
    record: &Record,
    source: Source<'_>,
    cancel: &Cancel,
) -> Result<Forecast, UpdateError> {
    let (state, walked) = thread::scope(|scope| {
        let scanning = scope.spawn(|| scan(dir, source));
        let state = SyncState::read(dir)?;
        let scanned = scanning.join().unwrap_or(Err(UpdateError::Panicked))?;
        Ok::<_, UpdateError>((state, scanned.walked))
    })?;
    let is_running = record.phase == Phase::Running;
    let writers = match is_running {
        true => Writers::Paused,
        false => Writers::Stopped,
    };
    let SyncState { baseline, volume } = &state;
    let agent_changes = UpdateOptions::of(record).in_state(dir, &state, writers);
    let plan = reconcile(baseline, &walked, volume, agent_changes);
    let bounds = &record.bounds;
    let both_ways = BothWays {
        dir,
        // An update of a session that runs may make its own at the same time.
        made: dir.file(&format!(".history-{}", random_hex())),
        source,
        limit: FileLimit::of(record.gate),
        write_scope: (is_running && bounds.is_fenced()).then_some(bounds),
        cancel,
    };
    let Settled { plan, news, .. } = both_ways.settle(plan, &state, &walked)?;
    let git = RelPath::new(".git").ok();
    let has_repository = git.is_some_and(|git| volume.get(git).is_some());
    let repository = match (&news, plan.repository) {
        (RepositoryNews::Nothing, RepositoryPlan::Stays) => RepositoryForecast::Stays,
        (RepositoryNews::Nothing, RepositoryPlan::BecomesHosts) => RepositoryForecast::Replaced,
        _ => RepositoryForecast::BothMoved(news),
    };
    Ok(Forecast {
        plan,
        repository: has_repository.then_some(repository),
    })
}
