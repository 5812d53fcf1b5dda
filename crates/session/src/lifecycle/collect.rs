//! Brings what changed out of the volume into the session's quarantine.

use std::fs;
use std::time::SystemTime;

use lazaret_protocol::{HashPolicy, StreamLimits, SurveyRequest, Writers};
use lazaret_runtime::{ContainerName, Process};
use lazaret_transfer::{BlobStore, PendingSurvey};
use lazaret_tree::Tree;

use crate::context::SessionContext;
use crate::event::Counter;
use crate::lifecycle::merge_base;
use crate::lifecycle::standby::{ExporterError, Standby};
use crate::lifecycle::stop::Stopped;
use crate::porter::export::{
    Answered, Attempt, Broken, ExportError, Exporting, export, mismatch, survey_broken,
};
use crate::store::file::remove_dir;
use crate::store::record::Phase;
use crate::store::sync_state::{Known, ReadAhead, read_tips};
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
        site: &SessionContext<'_>,
        standby: Option<Standby>,
    ) -> Result<Collected, CollectError> {
        let Self {
            mut session,
            exporter,
        } = self;
        let quiet_since_ms = milliseconds(SystemTime::now());
        let outcome = site.step("collect", |counter| {
            let standby = match standby {
                Some(standby) => standby,
                None => Standby::now(site, session.dir(), session.record(), &exporter)?,
            };
            Ok::<_, CollectError>(bring_out(site, &session, standby, counter)?)
        })?;
        match outcome {
            Ok(Seen { whole, commits }) => {
                session.update(|record| {
                    record.phase = Phase::Collected;
                    record.surveyed = true;
                    record.quiet_since_ms = quiet_since_ms;
                    record.seen_whole = whole;
                    record.commits = commits;
                })?;
                Ok(Collected::Ready(session))
            }
            Err(Broken { code, reason }) => {
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
    site: &SessionContext<'_>,
    session: &LockedSession,
    standby: Standby,
    counter: &Counter,
) -> Attempt<Seen> {
    let Standby {
        known,
        lease,
        porter,
    } = standby;
    let known = match known.and_then(ReadAhead::if_current) {
        Some(known) => known,
        None => Known::read(session.dir())?,
    };
    let guard = site.doom(lease.name());
    let outcome = fetch_all(session, lease.name(), porter, known, counter, site);
    drop(guard);
    site.chores.remove(lease);
    if !matches!(outcome, Ok(Ok(_))) {
        // A half-filled spool is useless, and may be what filled the disk (FLT-07).
        drop(fs::remove_dir_all(session.dir().file("quarantine")));
    }
    // After a signal, the interrupt is the cause to report.
    site.interrupt.check()?;
    outcome
}

fn fetch_all(
    session: &LockedSession,
    exporter: &ContainerName,
    porter: Process,
    known: Known,
    counter: &Counter,
    site: &SessionContext<'_>,
) -> Attempt<Seen> {
    let (dir, record) = (session.dir(), session.record());
    let limits = record.gate.stream();
    let path = dir.file("quarantine");
    remove_dir(&path)?;
    let quarantine = BlobStore::create(&path)?;
    let exported = export(site, exporter, porter, |porter| {
        let (found, porter) = match look(dir, porter, known, limits)? {
            Ok(found) => found,
            Err(broken) => return Ok(Err(broken)),
        };
        let wanted = found.surveyed.wanted(&found.baseline);
        let arrived = porter.fetch(&wanted, limits, &quarantine, counter)?;
        Ok(arrived.map(|tree| (found, tree)))
    });
    let volume = exported?.and_then(|(Looked { baseline, surveyed }, arrived)| {
        let volume = surveyed.arrived(&arrived).map_err(mismatch)?;
        Ok(Known { baseline, volume })
    });
    let known = match volume {
        Ok(known) => known,
        Err(broken) => return Ok(Err(broken)),
    };
    known.write_volume(dir)?;
    merge_base::keep_changed(site.events, dir, record, &known);
    let whole = known.volume.is_seen_whole();
    let commits = unlanded::find(&known.baseline, &known.volume, &read_tips(dir), &quarantine);
    Ok(Ok(Seen { whole, commits }))
}

/// What the survey has seen of the volume.
struct Seen {
    /// Every directory.
    whole: bool,
    /// What its repositories have that the workspace's have not.
    commits: Unlanded,
}

/// What a survey found, and what it is held against.
struct Looked {
    baseline: Tree,
    surveyed: PendingSurvey,
}

/// Has the volume surveyed.
fn look<'a>(
    dir: &SessionDir,
    porter: Exporting<'a>,
    Known { baseline, volume }: Known,
    limits: StreamLimits,
) -> Attempt<(Looked, Answered<'a>)> {
    let is_folded = Known::is_folded(dir)?;
    let request = SurveyRequest {
        // What is to be folded is compared with what was found, new files included.
        hash_policy: match is_folded {
            true => HashPolicy::KnownOnly,
            false => HashPolicy::All,
        },
        // The command's container has stopped.
        ..volume.request(limits, Writers::Stopped, &baseline)
    };
    let (survey, porter) = match porter.survey(&request)? {
        Ok(said) => said,
        Err(broken) => return Ok(Err(broken)),
    };
    let surveyed = match volume.surveyed(survey, &baseline) {
        Ok(surveyed) => surveyed,
        Err(error) => {
            porter.end()?;
            return survey_broken(error);
        }
    };
    if is_folded {
        let looked = Looked { baseline, surveyed };
        return Ok(Ok((looked, porter)));
    }
    match surveyed.whole() {
        Ok(volume) => {
            // What is folded is written down at once.
            let Known { baseline, volume } = Known { baseline, volume }.fold(dir)?;
            let surveyed = volume.into();
            Ok(Ok((Looked { baseline, surveyed }, porter)))
        }
        Err(error) => {
            porter.end()?;
            survey_broken(error)
        }
    }
}
