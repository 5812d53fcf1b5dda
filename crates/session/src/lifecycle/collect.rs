//! Brings what changed out of the volume into the session's quarantine.

use std::fs;
use std::time::SystemTime;

use lazaret_protocol::{HashPolicy, StreamLimits, SurveyRequest, Writers};
use lazaret_runtime::{ContainerName, Process};
use lazaret_transfer::{BlobStore, PendingSurvey};
use lazaret_tree::Tree;

use crate::context::SessionContext;
use crate::event::Counter;
use crate::lifecycle::merge_base::{self, BaseTexts};
use crate::lifecycle::standby::{ExporterError, StandbyExporter};
use crate::lifecycle::stop::Stopped;
use crate::porter::export::{
    BatchRejection, CollectResult, ExportError, ExportTalk, SurveyedExport, export,
    not_as_surveyed, survey_rejection,
};
use crate::store::file::remove_dir;
use crate::store::record::Phase;
use crate::store::request_text;
use crate::store::sync_state::{PrefetchedState, SyncState, read_tips, write_own_work};
use crate::store::unlanded::{self, Unlanded};
use crate::store::{LockedSession, SessionDir, StoreError};

/// Why nothing was collected. Nothing is lost: it can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The container that collects could not be made.
    #[error(transparent)]
    Exporter(#[from] ExporterError),
    /// It did not bring everything out.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A session whose changes lie in the quarantine, or were rejected as a batch.
#[derive(Debug)]
#[must_use = "its changes wait for the gate"]
pub enum Collected {
    /// The changes can be judged.
    Ready(LockedSession),
    /// The batch broke a rule; the volume is kept. The record names the rule.
    Rejected(LockedSession),
}

impl Stopped {
    /// Collects the changes: a fresh container of the porter's own image mounts the volume
    /// read-only, surveys it, and sends what differs. One that stands by saves its start.
    ///
    /// # Errors
    /// The engine's, the disk's, or an interruption: nothing is lost then, the volume is
    /// kept and `recover` tries again.
    pub fn collect(
        self,
        cx: &SessionContext<'_>,
        standby: Option<StandbyExporter>,
        texts: BaseTexts<'_>,
    ) -> Result<Collected, CollectError> {
        let Self {
            mut session,
            exporter,
        } = self;
        let quiet_since_ms = milliseconds(SystemTime::now());
        let outcome = cx.phase("collect", |counter| {
            let standby = match standby {
                Some(standby) => standby,
                None => StandbyExporter::now(cx, session.dir(), session.record(), &exporter)?,
            };
            Ok::<_, CollectError>(bring_out(cx, &session, standby, texts, counter)?)
        })?;
        match outcome {
            Ok(CollectedVolume { whole, commits }) => {
                session.update(|record| {
                    record.phase = Phase::Collected;
                    record.surveyed = true;
                    record.quiet_since_ms = quiet_since_ms;
                    record.seen_whole = whole;
                    record.commits = commits;
                    record.landed_as = None;
                })?;
                Ok(Collected::Ready(session))
            }
            Err(BatchRejection { code, reason }) => {
                session.update(|record| {
                    record.phase = Phase::Rejected;
                    record.rejection = Some((code.id.to_owned(), reason));
                })?;
                Ok(Collected::Rejected(session))
            }
        }
    }
}

/// Returns the milliseconds since 1970, rounded up.
fn milliseconds(now: SystemTime) -> Option<u64> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos().div_ceil(1_000_000)).ok()
}

fn bring_out(
    cx: &SessionContext<'_>,
    session: &LockedSession,
    standby: StandbyExporter,
    texts: BaseTexts<'_>,
    counter: &Counter,
) -> CollectResult<CollectedVolume> {
    let StandbyExporter {
        known,
        lease,
        porter,
    } = standby;
    let known = match known.and_then(PrefetchedState::if_current) {
        Some(known) => known,
        None => SyncState::read(session.dir())?,
    };
    let guard = cx.kill_on_cancel(lease.name());
    let outcome = fetch_all(session, lease.name(), porter, known, texts, counter, cx);
    drop(guard);
    match session.share_lock() {
        Ok(lock) => cx.removals.remove(lease, lock),
        // A failure is among the unremoved.
        Err(_) => drop(lease.release()),
    }
    if !matches!(outcome, Ok(Ok(_))) {
        // A half-filled spool is useless, and may be what filled the disk (FLT-07).
        drop(fs::remove_dir_all(session.dir().file("quarantine")));
    }
    // After a signal, the interrupt is the cause to report.
    cx.cancel.check()?;
    outcome
}

fn fetch_all(
    session: &LockedSession,
    exporter: &ContainerName,
    porter: Process,
    known: SyncState,
    texts: BaseTexts<'_>,
    counter: &Counter,
    cx: &SessionContext<'_>,
) -> CollectResult<CollectedVolume> {
    let (dir, record) = (session.dir(), session.record());
    let limits = record.gate.stream();
    let path = dir.file("quarantine");
    remove_dir(&path)?;
    let quarantine = BlobStore::create(&path)?;
    let exported = export(cx, exporter, porter, |porter| {
        let (found, porter) = match survey_volume(dir, porter, known, limits)? {
            Ok(found) => found,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let wanted = found.surveyed.wanted(&found.baseline);
        let arrived = porter.fetch(&wanted, limits, &quarantine, counter)?;
        Ok(arrived.map(|tree| (found, tree)))
    });
    let volume = exported?.and_then(|(SurveyedVolume { baseline, surveyed }, arrived)| {
        let volume = surveyed.arrived(&arrived).map_err(not_as_surveyed)?;
        Ok(SyncState { baseline, volume })
    });
    let known = match volume {
        Ok(known) => known,
        Err(rejection) => return Ok(Err(rejection)),
    };
    known.write_volume(dir)?;
    request_text::keep(dir, record, &known, &quarantine)?;
    merge_base::keep_changed(cx.events, dir, record, &known, texts);
    let whole = known.volume.is_seen_whole();
    let found = unlanded::find(&known.baseline, &known.volume, &read_tips(dir), &quarantine);
    write_own_work(dir, found.own.as_ref())?;
    let commits = found.unlanded;
    Ok(Ok(CollectedVolume { whole, commits }))
}

/// What the survey has seen of the volume.
struct CollectedVolume {
    /// Every directory.
    whole: bool,
    /// What its repositories have that the workspace's have not.
    commits: Unlanded,
}

/// What a survey found, and what it is held against.
struct SurveyedVolume {
    baseline: Tree,
    surveyed: PendingSurvey,
}

/// Has the volume surveyed.
fn survey_volume<'a>(
    dir: &SessionDir,
    porter: ExportTalk<'a>,
    SyncState { baseline, volume }: SyncState,
    limits: StreamLimits,
) -> CollectResult<(SurveyedVolume, SurveyedExport<'a>)> {
    let is_absorbed = SyncState::is_absorbed(dir)?;
    let request = SurveyRequest {
        // What is to be folded is compared with what was found, new files included.
        hash_policy: match is_absorbed {
            true => HashPolicy::KnownOnly,
            false => HashPolicy::All,
        },
        // The command's container has stopped.
        ..volume.request(limits, Writers::Stopped, &baseline)
    };
    let (survey, porter) = match porter.survey(&request)? {
        Ok(said) => said,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let surveyed = match volume.surveyed(survey, &baseline) {
        Ok(surveyed) => surveyed,
        Err(error) => {
            porter.end()?;
            return survey_rejection(error);
        }
    };
    if is_absorbed {
        let looked = SurveyedVolume { baseline, surveyed };
        return Ok(Ok((looked, porter)));
    }
    match surveyed.whole() {
        Ok(volume) => {
            // What is folded is written down at once.
            let SyncState { baseline, volume } =
                SyncState { baseline, volume }.absorb_pending(dir)?;
            let surveyed = volume.into();
            Ok(Ok((SurveyedVolume { baseline, surveyed }, porter)))
        }
        Err(error) => {
            porter.end()?;
            survey_rejection(error)
        }
    }
}
