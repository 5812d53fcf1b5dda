//! Brings what changed out of the volume into the session's quarantine.

use std::fs::{self, File};
use std::io::{self, Read};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, JoinHandle};

use lazaret_runtime::{EngineError, Process, ProcessControl};
use lazaret_transfer::{
    AtPath as _, Collection, Digests, Ending, NotAsSurveyed, PathError, Quarantine, StreamError,
    StreamLimits, Survey, SurveyError, SurveyRequest, Surveyed, Tree, Wanted, Writers,
    check_arrived, unpack, write_wanted,
};

use super::complaints::Complaints;
use super::known::{Known, ReadAhead};
use super::populate::porter_failed;
use super::record::{GateLimits, Phase};
use super::site::Site;
use super::standby::Standby;
use super::stop::Stopped;
use super::store::{LockedSession, SessionDir};
use super::texts;
use crate::failure::{Failure, FailureKind};
use crate::ui::Counter;

/// A session whose changes lie in the quarantine, or were rejected as a batch.
#[derive(Debug)]
#[must_use = "its changes wait for the gate"]
pub enum Collected {
    /// The changes can be judged.
    Ready(LockedSession),
    /// The batch broke a rule; the volume is kept. The record names the rule.
    Rejected(LockedSession),
}

/// The rule that a batch broke: a stable code, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The code.
    pub code: &'static str,
    /// The reason, raw.
    pub reason: String,
}

/// What came of a step: a batch that broke a rule is rejected, a failure can be tried again.
pub(super) type Attempt<T> = Result<Result<T, Broken>, Failure>;

impl Stopped {
    /// Collects the changes: a fresh container of the porter's own image mounts the volume
    /// read-only, surveys it, and sends what differs. One that stands by saves its start.
    ///
    /// # Errors
    /// The engine's, the disk's, or an interruption: nothing is lost then, the volume is
    /// kept and `recover` tries again.
    pub fn collect(self, site: &Site<'_>, standby: Option<Standby>) -> Result<Collected, Failure> {
        let Self {
            mut session,
            exporter,
        } = self;
        let outcome = site.step("collect", |phase| {
            let standby = match standby {
                Some(standby) => standby,
                None => Standby::now(site, (session.dir(), session.record()), &exporter)?,
            };
            bring_out(site, &session, standby, phase.counter())
        })?;
        match outcome {
            Ok(()) => {
                session.update(|record| record.phase = Phase::Collected)?;
                Ok(Collected::Ready(session))
            }
            Err(Broken { code, reason }) => {
                session.update(|record| {
                    record.phase = Phase::Rejected;
                    record.rejection = Some((code.to_owned(), reason));
                })?;
                Ok(Collected::Rejected(session))
            }
        }
    }
}

fn bring_out(
    site: &Site<'_>,
    session: &LockedSession,
    standby: Standby,
    counter: &Counter,
) -> Attempt<()> {
    let Standby {
        known,
        lease,
        survey,
        send,
    } = standby;
    let known = match known.and_then(ReadAhead::if_current) {
        Some(known) => known,
        None => Known::read(session.dir())?,
    };
    let guard = site.doom(lease.name());
    let outcome = fetch_all(session, (survey, send), known, counter, site);
    drop(guard);
    site.chores.remove(lease);
    if !matches!(outcome, Ok(Ok(()))) {
        // A half-filled spool is no use to anybody, and may be what filled the disk (FLT-07).
        drop(fs::remove_dir_all(session.dir().file("quarantine")));
    }
    // What broke off because of a signal is nobody's failure.
    site.interrupt.check()?;
    outcome
}

fn fetch_all(
    session: &LockedSession,
    (surveying, sending): (Process, Process),
    known: Known,
    counter: &Counter,
    site: &Site<'_>,
) -> Attempt<()> {
    let (dir, record) = (session.dir(), session.record());
    let limits = limits(record.gate);
    let (baseline, surveyed, leaving) = match look(dir, surveying, known, limits)? {
        Ok(found) => found,
        Err(broken) => return Ok(Err(broken)),
    };
    site.interrupt.check()?;
    let path = dir.file("quarantine");
    match fs::remove_dir_all(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(PathError { path, source }.into());
        }
        _ => {}
    }
    let quarantine = Quarantine::create(&path)?;
    let wanted = surveyed.wanted(&baseline);
    let arrived = match wanted.is_empty() {
        true => Ok(Ok(Tree::new())),
        false => fetch(sending, &wanted, limits, &quarantine, counter),
    };
    // Where both failed, this is the cause.
    leaving.map_or(Ok(()), Leaving::well)?;
    let volume = match arrived?.and_then(|tree| surveyed.arrived(&tree).map_err(mismatch)) {
        Ok(volume) => volume,
        Err(broken) => return Ok(Err(broken)),
    };
    let known = Known { baseline, volume };
    known.write_volume(dir)?;
    texts::keep_changed(site.ui, dir, record, &known);
    Ok(Ok(()))
}

/// Has the volume surveyed; returns the baseline with what was found, and the porter unless
/// it has ended well already.
fn look(
    dir: &SessionDir,
    porter: Process,
    Known { baseline, volume }: Known,
    limits: StreamLimits,
) -> Attempt<(Tree, Surveyed, Option<Leaving>)> {
    let is_folded = Known::is_folded(dir)?;
    let request = SurveyRequest {
        // What is to be folded is compared with what was found, new files included.
        digests: match is_folded {
            true => Digests::OfKnown,
            false => Digests::All,
        },
        // The command's container has stopped.
        ..volume.request(limits, Writers::Gone, &baseline)
    };
    let (survey, leaving) = match survey(porter, request)? {
        Ok(said) => said,
        Err(broken) => return Ok(Err(broken)),
    };
    let surveyed = match volume.surveyed(survey, &baseline) {
        Ok(surveyed) => surveyed,
        Err(error) => {
            leaving.well()?;
            return survey_broken(error);
        }
    };
    if is_folded {
        return Ok(Ok((baseline, surveyed, Some(leaving))));
    }
    // What is folded is written down at once.
    leaving.well()?;
    match surveyed.whole() {
        Ok(volume) => {
            let Known { baseline, volume } = Known { baseline, volume }.fold(dir)?;
            Ok(Ok((baseline, volume.into(), None)))
        }
        Err(error) => survey_broken(error),
    }
}

/// The limits of the gate are those of the stream too: a bomb stays in its volume (TAR-49).
pub(super) fn limits(gate: GateLimits) -> StreamLimits {
    StreamLimits {
        entries: gate.max_entries,
        total_bytes: gate.max_bytes,
        file_bytes: gate.max_file_bytes,
        ..StreamLimits::DEFAULT
    }
}

/// A porter that has said everything, and may still tell that it failed.
#[must_use = "what it said counts only once it has ended well"]
pub(super) struct Leaving {
    verb: &'static str,
    code: JoinHandle<Result<i32, EngineError>>,
    complaints: Complaints,
}

impl Leaving {
    fn of(verb: &'static str, control: Box<dyn ProcessControl>, complaints: Complaints) -> Self {
        Self {
            verb,
            // Asking the engine takes a while, in which others have something to do.
            code: thread::spawn(move || control.wait()),
            complaints,
        }
    }

    /// Waits until it has ended, and fails where it did (FLT-03).
    pub(super) fn well(self) -> Result<(), Failure> {
        self.ended()?
    }

    /// Says how it ended, unless the engine can't.
    fn ended(self) -> Result<Result<(), Failure>, EngineError> {
        let code = self.code.join();
        Ok(match code.unwrap_or_else(|panic| resume_unwind(panic))? {
            0 => Ok(()),
            code => Err(porter_failed(self.verb, code, &self.complaints.all())),
        })
    }
}

/// Asks a `porter survey` what differs.
pub(super) fn survey(porter: Process, request: SurveyRequest) -> Attempt<(Survey, Leaving)> {
    let Process {
        stdin,
        mut stdout,
        stderr,
        control,
    } = porter;
    let limits = request.limits;
    let leaving = Leaving::of("survey", control, Complaints::of(stderr));
    // A porter that stops reading says why on stderr and by its exit code.
    thread::spawn(move || stdin.map(|mut stdin| request.write_to(&mut stdin)));
    match Survey::read_from(&mut stdout, &limits) {
        Ok(survey) => Ok(Ok((survey, leaving))),
        Err(error) => {
            drop(stdout);
            match leaving.ended()? {
                Err(failure) if !matches!(error, SurveyError::Limit(_)) => Err(failure),
                _ => survey_broken(error),
            }
        }
    }
}

/// A survey that arrived and can't be believed breaks the batch; one that did not arrive
/// is a failure of the way.
pub(super) fn survey_broken<T>(error: SurveyError) -> Attempt<T> {
    match error {
        SurveyError::Wire(error) => Err(Failure::new(FailureKind::Transfer, error)
            .context("the survey of the volume can't be read")),
        error => Ok(Err(Broken {
            code: error.code(),
            reason: error.to_string(),
        })),
    }
}

/// Fetches the wanted contents from a `porter send`. What arrives must be what the survey
/// announced. Returns it, with the digests of what the survey had not read.
pub(super) fn fetch(
    porter: Process,
    wanted: &[Wanted],
    limits: StreamLimits,
    quarantine: &Quarantine,
    counter: &Counter,
) -> Attempt<Tree> {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = porter;
    let leaving = Leaving::of("send", control, Complaints::of(stderr));
    let unpacked = thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| write_wanted(wanted, &mut stdin)));
        let mut counted = Counted {
            inner: stdout,
            counter,
        };
        unpack(&mut counted, limits, quarantine, Ending::Trailer)
    });
    let unpacked = match (unpacked, leaving.ended()?) {
        (Ok(unpacked), Ok(())) => unpacked,
        (Err(StreamError::Read(error)), _) => {
            return Err(
                Failure::new(FailureKind::Engine, error).context("the collection broke off")
            );
        }
        (Err(StreamError::Store(error)), _) => return Err(error.into()),
        // A stream that is cut short because its sender failed is the sender's failure.
        (_, Err(failure)) => return Err(failure),
        (Err(error), Ok(())) => {
            return Ok(Err(Broken {
                code: error.code(),
                reason: error.to_string(),
            }));
        }
    };
    counter.add_files(wanted.len() as u64);
    let checked = check_arrived(wanted, &unpacked.tree).map_err(mismatch);
    Ok(checked.map(|()| unpacked.tree))
}

fn mismatch(error: NotAsSurveyed) -> Broken {
    Broken {
        code: "stream.mismatch",
        reason: error.to_string(),
    }
}

/// Reads a stored manifest.
///
/// # Errors
/// When it is missing or damaged.
pub fn read_tree(path: &Path) -> Result<Tree, Failure> {
    let mut file = io::BufReader::new(File::open(path).at(path)?);
    Tree::read_from(&mut file).map_err(|error| damaged(path, error))
}

/// Reads what was collected, as it was stored.
///
/// # Errors
/// When it is missing or damaged, or was stored by a lazaret that knew less of it.
pub fn read_collection(dir: &SessionDir) -> Result<(Tree, Collection), Failure> {
    if !is_collected(dir) {
        let text = format!("session {} was collected by an earlier lazaret", dir.id());
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "Its volume is kept: `lazaret recover {}` collects it again.",
            dir.id()
        )));
    }
    let Known { baseline, volume } = Known::read(dir)?;
    let collection = volume.collect(&baseline);
    Ok((baseline, collection))
}

/// Whether a collection can be read that the record says is there.
pub(super) fn is_collected(dir: &SessionDir) -> bool {
    dir.file("volume").exists()
}

pub(super) fn damaged(
    path: &Path,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Failure {
    Failure::new(FailureKind::State, error).context(format!("{} is damaged", path.display()))
}

struct Counted<'a, R> {
    inner: R,
    counter: &'a Counter,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.counter.add_bytes(count as u64);
        Ok(count)
    }
}
